//! Takes a whole frame in, or drops it, before it changes any state.
//!
//!   meta ────┐                       ask ──► answer
//!            ├─► join ─►[ lengths ]─► finish ─┬─►[ meta ]───► coalesce     2 cycles and the
//!   outcome ─┘                                ├─►[ strip ]──► strip        answer's
//!                                             └─►[ drop log, counters ]
//!
//! Here the length of the frame is known for the first time: payload, padding, truncation, the
//! transport verdict and the final say on merging follow from it. A frame rolled back leaves a line
//! in the drop log and nothing else; one refused for want of buffers (`buffers` low with the
//! `answer`) also tells `strip` to discard it. The question stands, unchanged, until `take` or
//! `refuse` ends it. Follows the kernel's `inet_gro_receive` and `ipv6_gro_receive` (7.3) for
//! the soft flush.
//!
//! Invariants, in `rtl_admit`: every field equals the model's; each frame leaves once, as metadata
//! or as a drop, and is taken or refused as answered; tokens pass in order. Not here: who decides
//! on buffers.

mod drop_log;
mod settle;

use crate::blocks::meta::{
    FrameMeta, MetaSink, MetaSource, OutcomeSink, StripControl, StripSource,
};
use crate::blocks::reg::{ClkRst, RegE, RegR};
use drop_log::DropLog;
use rust_hdl::prelude::*;
use settle::Settle;

/// See the module.
#[derive(LogicBlock, Default)]
pub struct Admit {
    pub cr: ClkRst,
    /// Option of `CONTROL`.
    pub trim_pad: Signal<In, Bit>,
    /// With `answer`: there are buffers for the frame that is asked for.
    pub buffers: Signal<In, Bit>,
    /// `buffers` answers what is asked now.
    pub answer: Signal<In, Bit>,
    /// Asks for the buffers of a frame.
    pub ask: Signal<Out, Bit>,
    /// Its queue.
    pub ask_queue: Signal<Out, Bits<5>>,
    /// Its bytes as delivered.
    pub ask_bytes: Signal<Out, Bits<17>>,
    /// The frame passes.
    pub take: Signal<Out, Bit>,
    /// The frame is dropped for want of buffers.
    pub refuse: Signal<Out, Bit>,
    pub s: MetaSink,
    pub outcome: OutcomeSink,
    pub m: MetaSource,
    pub strip: StripSource,
    /// Drop log: one cycle per drop.
    pub drop_valid: Signal<Out, Bit>,
    pub drop_frame: Signal<Out, Bits<32>>,
    pub drop_reason: Signal<Out, Bits<3>>,
    /// Counters.
    pub runt: Signal<Out, Bits<32>>,
    pub oversize: Signal<Out, Bits<32>>,
    pub bad_fcs: Signal<Out, Bits<32>>,
    pub no_buffer: Signal<Out, Bits<32>>,
    settle: Settle,
    log: DropLog,
    finish: RegR<Bit>,
    available: RegE<Bits<17>>,
    ip_end: RegE<Bits<17>>,
    out_waits: RegR<Bit>,
    out_meta: RegE<FrameMeta>,
    out_header: RegE<Bits<1024>>,
    strip_waits: RegR<Bit>,
    strip_held: RegE<StripControl>,
    joined: Signal<Local, Bit>,
    is_frame: Signal<Local, Bit>,
    rolled_back: Signal<Local, Bit>,
    asks: Signal<Local, Bit>,
    refuses: Signal<Local, Bit>,
    pass: Signal<Local, Bit>,
    tell_strip: Signal<Local, Bit>,
    done: Signal<Local, Bit>,
    received: Signal<Local, Bits<17>>,
    header_bytes: Signal<Local, Bits<8>>,
}

impl Logic for Admit {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.log.cr);
        ClkRst::link(&mut self.cr, &mut self.finish.cr);
        ClkRst::link(&mut self.cr, &mut self.available.cr);
        ClkRst::link(&mut self.cr, &mut self.ip_end.cr);
        ClkRst::link(&mut self.cr, &mut self.out_waits.cr);
        ClkRst::link(&mut self.cr, &mut self.out_meta.cr);
        ClkRst::link(&mut self.cr, &mut self.out_header.cr);
        ClkRst::link(&mut self.cr, &mut self.strip_waits.cr);
        ClkRst::link(&mut self.cr, &mut self.strip_held.cr);

        // Join: both records are there (they stay until `finish` takes them). Finish: exactly one
        // of pass, refuse and rolled_back, as soon as the outputs that it needs are free.
        self.is_frame.next = !self.s.meta.val().is_token;
        self.joined.next = !self.finish.q.val()
            & self.s.valid.val()
            & (self.outcome.valid.val() | !self.is_frame.val());
        self.rolled_back.next =
            self.finish.q.val() & self.is_frame.val() & self.outcome.outcome.val().drop;
        self.asks.next =
            self.finish.q.val() & self.is_frame.val() & !self.outcome.outcome.val().drop;
        self.refuses.next =
            self.asks.val() & self.answer.val() & !self.buffers.val() & !self.strip_waits.q.val();
        self.pass.next = self.finish.q.val()
            & !self.out_waits.q.val()
            & (!self.is_frame.val()
                | (self.asks.val()
                    & self.answer.val()
                    & self.buffers.val()
                    & !self.strip_waits.q.val()));
        self.ask.next =
            self.finish.q.val() & self.is_frame.val() & !self.outcome.outcome.val().drop;
        self.ask_queue.next = self.s.meta.val().queue;
        self.ask_bytes.next = self.settle.delivered.val();
        self.take.next = self.pass.val() & self.is_frame.val();
        self.refuse.next = self.refuses.val();
        self.done.next = self.rolled_back.val() | self.refuses.val() | self.pass.val();
        self.finish.d.next = self.joined.val() | (self.finish.q.val() & !self.done.val());
        self.s.ready.next = self.done.val();
        self.outcome.ready.next = self.done.val() & self.is_frame.val();

        self.received.next = bit_cast::<17, 16>(self.outcome.outcome.val().bytes);
        self.header_bytes.next = self.s.meta.val().hdr_len;
        self.available.en.next = self.joined.val();
        self.available.d.next = self.received.val();
        if self.s.meta.val().vlan_valid {
            self.available.d.next = self.received.val() - 4;
            self.header_bytes.next = self.s.meta.val().hdr_len + 4;
        }
        self.ip_end.en.next = self.joined.val();
        self.ip_end.d.next = bit_cast::<17, 5>(self.s.meta.val().l3_off) + self.s.meta.val().ip_len;
        self.settle.trim_pad.next = self.trim_pad.val();
        self.settle.meta.next = self.s.meta.val();
        self.settle.available.next = self.available.q.val();
        self.settle.ip_end.next = self.ip_end.q.val();
        self.settle.sum_good.next = self.outcome.outcome.val().sum_good;

        self.out_waits.d.next = self.pass.val() | (self.out_waits.q.val() & !self.m.ready.val());
        self.out_meta.en.next = self.pass.val();
        self.out_meta.d.next = self.settle.settled.val();
        if self.s.meta.val().is_token {
            self.out_meta.d.next = self.s.meta.val();
        }
        self.out_header.en.next = self.pass.val();
        self.out_header.d.next = self.s.header.val();
        self.m.meta.next = self.out_meta.q.val();
        self.m.header.next = self.out_header.q.val();
        self.m.valid.next = self.out_waits.q.val();

        self.tell_strip.next = (self.pass.val() & self.is_frame.val()) | self.refuses.val();
        self.strip_waits.d.next =
            self.tell_strip.val() | (self.strip_waits.q.val() & !self.strip.ready.val());
        self.strip_held.en.next = self.tell_strip.val();
        self.strip_held.d.next.discard = self.refuses.val();
        self.strip_held.d.next.header_bytes = self.header_bytes.val();
        self.strip_held.d.next.payload_bytes = self.settle.settled.val().payload_len;
        self.strip.control.next = self.strip_held.q.val();
        self.strip.valid.next = self.strip_waits.q.val();

        self.log.drop.next = self.rolled_back.val() | self.refuses.val();
        self.log.drop_frame.next = self.outcome.outcome.val().frame;
        self.log.drop_reason.next = self.outcome.outcome.val().reason;
        if self.refuses.val() {
            // DropReason::NoBuffer.
            self.log.drop_reason.next = 4.into();
        }
        self.drop_valid.next = self.log.valid.val();
        self.drop_frame.next = self.log.frame.val();
        self.drop_reason.next = self.log.reason.val();
        self.runt.next = self.log.runt.val();
        self.oversize.next = self.log.oversize.val();
        self.bad_fcs.next = self.log.bad_fcs.val();
        self.no_buffer.next = self.log.no_buffer.val();
    }
}
