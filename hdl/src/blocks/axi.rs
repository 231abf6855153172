//! AXI ports: the write half and the read half of an AXI4 manager, both together, and an AXI4-Lite
//! subordinate.
//!
//!   mover ─AxiWrite─► guard ─Axi─► pins
//!   prefetch ─AxiRead─► guard            pins ─AxiLite─► axi_lite
//!
//! AMBA AXI (IHI 0022), signals A2.2 to A2.6 less those with a fixed value: a bridge ties AxLOCK,
//! AxCACHE, AxPROT and AxQOS. Invariant: both ends of a pair have the same fields (the `join` of
//! RustHDL checks it). Not here: behaviour.

// Field names are those of AXI.
#![allow(missing_docs)]

use rust_hdl::prelude::*;

/// Declares the two ends of a port: what the source drives, and what it reads.
macro_rules! port {
    ($doc:tt $source:ident $source_text:tt $sink:ident $sink_text:tt [$($generic:tt)*] {
        $($field:ident : $ty:ty),*
    } {
        $($back:ident : $back_ty:ty),*
    }) => {
        #[doc = $doc]
        #[derive(LogicInterface, Default, Clone, Debug)]
        #[join = $sink_text]
        pub struct $source<$($generic)*> {
            $(pub $field: Signal<Out, $ty>,)*
            $(pub $back: Signal<In, $back_ty>,)*
        }

        #[doc = $doc]
        #[derive(LogicInterface, Default, Clone, Debug)]
        #[join = $source_text]
        pub struct $sink<$($generic)*> {
            $(pub $field: Signal<In, $ty>,)*
            $(pub $back: Signal<Out, $back_ty>,)*
        }
    };
}

port!("Write channels of an AXI4 manager."
    AxiWriteSource "AxiWriteSource" AxiWriteSink "AxiWriteSink" [const W: usize, const K: usize] {
        awid: Bits<2>, awaddr: Bits<64>, awlen: Bits<8>, awsize: Bits<3>, awburst: Bits<2>,
        awvalid: Bit,
        wdata: Bits<W>, wstrb: Bits<K>, wlast: Bit, wvalid: Bit,
        bready: Bit
    } {
        awready: Bit, wready: Bit, bid: Bits<2>, bresp: Bits<2>, bvalid: Bit
});
port!("Read channels of an AXI4 manager."
    AxiReadSource "AxiReadSource" AxiReadSink "AxiReadSink" [const W: usize] {
        arid: Bits<2>, araddr: Bits<64>, arlen: Bits<8>, arsize: Bits<3>, arburst: Bits<2>,
        arvalid: Bit,
        rready: Bit
    } {
        arready: Bit, rid: Bits<2>, rdata: Bits<W>, rresp: Bits<2>, rlast: Bit, rvalid: Bit
});
port!("All five channels of an AXI4 manager."
    AxiSource "AxiSource" AxiSink "AxiSink" [const W: usize, const K: usize] {
        awid: Bits<2>, awaddr: Bits<64>, awlen: Bits<8>, awsize: Bits<3>, awburst: Bits<2>,
        awvalid: Bit,
        wdata: Bits<W>, wstrb: Bits<K>, wlast: Bit, wvalid: Bit,
        bready: Bit,
        arid: Bits<2>, araddr: Bits<64>, arlen: Bits<8>, arsize: Bits<3>, arburst: Bits<2>,
        arvalid: Bit,
        rready: Bit
    } {
        awready: Bit, wready: Bit, bid: Bits<2>, bresp: Bits<2>, bvalid: Bit,
        arready: Bit, rid: Bits<2>, rdata: Bits<W>, rresp: Bits<2>, rlast: Bit, rvalid: Bit
});
port!("AXI4-Lite, 16 address and 32 data bits: the manager drives the source, we are the sink."
    AxiLiteSource "AxiLiteSource" AxiLiteSink "AxiLiteSink" [] {
        awaddr: Bits<16>, awvalid: Bit, wdata: Bits<32>, wstrb: Bits<4>, wvalid: Bit, bready: Bit,
        araddr: Bits<16>, arvalid: Bit, rready: Bit
    } {
        awready: Bit, wready: Bit, bresp: Bits<2>, bvalid: Bit,
        arready: Bit, rdata: Bits<32>, rresp: Bits<2>, rvalid: Bit
});
port!("One register access at a time: `valid` and the rest hold until `ready` ends it; `rdata` \
    counts with `ready`. From `axi_lite` to `queues`."
    RegBusSource "RegBusSource" RegBusSink "RegBusSink" [] {
        valid: Bit, write: Bit, addr: Bits<16>, wdata: Bits<32>
    } {
        ready: Bit, rdata: Bits<32>
});
