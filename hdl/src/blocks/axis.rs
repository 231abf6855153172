//! Stream ports: AXI4-Stream at the edges, counted beats inside.
//!
//! Inside, a beat carries the number of its valid bytes (all valid but in the last beat; bytes
//! beyond are zero). Invariant: both ends of a pair have the same fields (the `join` of RustHDL
//! checks it). Not here: behaviour.

// Field names are those of AXI4-Stream, or say what they are.
#![allow(missing_docs)]

use rust_hdl::prelude::*;

/// AXI4-Stream input with the MAC's error mark: `tuser` counts in the last beat.
#[derive(LogicInterface, Default, Clone, Debug)]
#[join = "AxisRxSource"]
pub struct AxisRxSink<const W: usize, const K: usize> {
    pub tdata: Signal<In, Bits<W>>,
    pub tkeep: Signal<In, Bits<K>>,
    pub tlast: Signal<In, Bit>,
    pub tuser: Signal<In, Bit>,
    pub tvalid: Signal<In, Bit>,
    pub tready: Signal<Out, Bit>,
}

/// The other end of [`AxisRxSink`].
#[derive(LogicInterface, Default, Clone, Debug)]
#[join = "AxisRxSink"]
pub struct AxisRxSource<const W: usize, const K: usize> {
    pub tdata: Signal<Out, Bits<W>>,
    pub tkeep: Signal<Out, Bits<K>>,
    pub tlast: Signal<Out, Bit>,
    pub tuser: Signal<Out, Bit>,
    pub tvalid: Signal<Out, Bit>,
    pub tready: Signal<In, Bit>,
}

/// AXI4-Stream output.
#[derive(LogicInterface, Default, Clone, Debug)]
#[join = "AxisSink"]
pub struct AxisSource<const W: usize, const K: usize> {
    pub tdata: Signal<Out, Bits<W>>,
    pub tkeep: Signal<Out, Bits<K>>,
    pub tlast: Signal<Out, Bit>,
    pub tvalid: Signal<Out, Bit>,
    pub tready: Signal<In, Bit>,
}

/// The other end of [`AxisSource`].
#[derive(LogicInterface, Default, Clone, Debug)]
#[join = "AxisSource"]
pub struct AxisSink<const W: usize, const K: usize> {
    pub tdata: Signal<In, Bits<W>>,
    pub tkeep: Signal<In, Bits<K>>,
    pub tlast: Signal<In, Bit>,
    pub tvalid: Signal<In, Bit>,
    pub tready: Signal<Out, Bit>,
}

/// What travels beside the data of a beat inside the pipeline.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct BeatInfo {
    /// Valid bytes, 1 to K; 0 with a token.
    pub bytes: Bits<7>,
    /// Last beat of the frame, or a token.
    pub last: Bit,
    /// A token, alone between two frames.
    pub is_token: Bit,
    /// Code of `TokenKind`.
    pub token_kind: Bits<2>,
    /// Queue of the token.
    pub queue: Bits<5>,
    /// In the last beat: the frame is to be rolled back.
    pub drop: Bit,
    /// With `drop`: code of `DropReason`.
    pub reason: Bits<3>,
    /// Number of the frame.
    pub frame: Bits<32>,
}

/// Beats out.
#[derive(LogicInterface, Default, Clone, Debug)]
#[join = "BeatSink"]
pub struct BeatSource<const W: usize> {
    pub data: Signal<Out, Bits<W>>,
    pub info: Signal<Out, BeatInfo>,
    pub valid: Signal<Out, Bit>,
    pub ready: Signal<In, Bit>,
}

/// Beats in.
#[derive(LogicInterface, Default, Clone, Debug)]
#[join = "BeatSource"]
pub struct BeatSink<const W: usize> {
    pub data: Signal<In, Bits<W>>,
    pub info: Signal<In, BeatInfo>,
    pub valid: Signal<In, Bit>,
    pub ready: Signal<Out, Bit>,
}
