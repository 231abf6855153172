//! Completes the metadata of a frame whose length is known.
//!
//!   meta, lengths, sum ──► trim ──► payload, soft flush ──► verdict, candidate ──► meta   0 cycles
//!
//! Follows the kernel's `inet_gro_receive`, `ipv6_gro_receive` and `tcp4_gro_receive` (7.3): a
//! length that is not the frame's makes a soft flush, and a soft-flushed frame is not verified.
//! Invariant: equal to the model's (`rtl_admit`). Not here: tokens, which pass as they are.

use crate::blocks::meta::FrameMeta;
use rust_hdl::prelude::*;

/// Combinational.
#[derive(LogicBlock, Default)]
pub struct Settle {
    pub trim_pad: Signal<In, Bit>,
    pub meta: Signal<In, FrameMeta>,
    /// Bytes of the frame without a stripped tag, padding included.
    pub available: Signal<In, Bits<17>>,
    /// Where the datagram ends, by its header.
    pub ip_end: Signal<In, Bits<17>>,
    pub sum_good: Signal<In, Bit>,
    pub settled: Signal<Out, FrameMeta>,
    /// Bytes of the frame as it is delivered.
    pub delivered: Signal<Out, Bits<17>>,
    is_ip: Signal<Local, Bit>,
    possible: Signal<Local, Bit>,
    fits: Signal<Local, Bit>,
    trims: Signal<Local, Bit>,
    bytes: Signal<Local, Bits<17>>,
    header: Signal<Local, Bits<17>>,
    payload: Signal<Local, Bits<17>>,
    soft_now: Signal<Local, Bit>,
    verdict: Signal<Local, Bits<2>>,
}

impl Logic for Settle {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_ip.next = self.meta.val().l3_kind != 0;
        self.fits.next = self.ip_end.val() <= self.available.val();
        // IPv6 gives at least 40 bytes by construction.
        self.possible.next = self.meta.val().ip_len >= 20;
        self.trims.next =
            self.trim_pad.val() & self.is_ip.val() & self.possible.val() & self.fits.val();
        self.bytes.next = self.available.val();
        if self.trims.val() {
            self.bytes.next = self.ip_end.val();
        }
        self.delivered.next = self.bytes.val();
        self.header.next = bit_cast::<17, 8>(self.meta.val().hdr_len);
        self.payload.next = self.bytes.val() - self.header.val();
        self.soft_now.next = self.is_ip.val()
            & (self.meta.val().soft_flush | (self.ip_end.val() != self.bytes.val()));
        self.verdict.next = 0.into();
        if self.fits.val() {
            self.verdict.next = self.meta.val().l4_verdict;
            if (self.meta.val().l4_verdict == 1) & !self.sum_good.val() {
                self.verdict.next = 2.into();
            }
        }
        self.settled.next = self.meta.val();
        self.settled.next.l4_verdict = self.verdict.val();
        self.settled.next.soft_flush = self.soft_now.val();
        self.settled.next.candidate =
            self.meta.val().candidate & (self.soft_now.val() | (self.verdict.val() == 1));
        self.settled.next.payload_len = self.payload.val().get_bits::<16>(0);
        self.settled.next.frame_bytes = self.bytes.val().get_bits::<16>(0);
    }
}
