//! The receive pipeline in RustHDL, and its emission as Verilog.
//!
//!   ingress ─► collect ─► parse ─► classify ─► rss ─► admit ─► coalesce ─► fixup ─► operations
//!      └─► checksum ─► frame FIFO (commit or roll back) ─► strip ─► payload
//!
//! One file per stage in [`stages`], building blocks in [`blocks`], wiring in [`pipeline`], and the
//! only use of RustHDL's code generator in [`emit`]. Invariant: kernels keep to the subset that
//! means the same in Rust and in Verilog (`kernels_keep_the_rules`).

// RustHDL's derives write public methods without documentation.
#![allow(missing_docs)]

pub mod blocks {
    //! Building blocks: registers, memories, streams, records, and the larger parts of stages.
    pub mod axi;
    pub mod axi_lite;
    pub mod axis;
    pub mod beat_fifo;
    pub mod bits;
    pub mod byte_order;
    pub mod byte_ram;
    pub mod collect;
    pub mod deep_fifo;
    pub mod dma_guard;
    pub mod fifo;
    pub mod fixup;
    pub mod frame_fifo;
    pub mod frame_gate;
    pub mod head_path;
    pub mod interrupts;
    pub mod keep;
    pub mod meta;
    pub mod meta_fifo;
    pub mod mover;
    pub mod nic_core;
    pub mod nic_ports;
    pub mod op;
    pub mod op_fifo;
    pub mod prefetch;
    pub mod queues;
    pub mod ram;
    pub mod reg;
    pub mod regfile;
    pub mod round_robin;
    pub mod session_path;
    pub mod strip;
    pub mod sum_lanes;
    pub mod worst_case;
}
pub mod stages {
    //! Stages in pipeline order.
    pub mod admit;
    pub mod checksum;
    pub mod classify;
    pub mod coalesce;
    pub mod complete;
    pub mod ingress;
    pub mod parse;
    pub mod place;
    pub mod rss;
}
pub mod emit;
pub mod inline;
pub mod nic;
pub mod pipeline;
