//! FIFO of whole frames: a frame can be read once its last beat was written, or vanishes with it.
//!
//!   s ──►[ block RAM, 32 KiB ]──► m      3 cycles from last beat to first out, 1 beat per cycle
//!
//! Beats are written behind a working pointer. The last beat commits them, or, marked as dropped,
//! rolls the pointer back. 32 KiB hold three frames of the longest kind (9,216 bytes).
//!
//! Invariants: a dropped frame leaves no beat (`frame_fifo_rolls_back`); order kept, nothing lost
//! under any stalls (same test); `s_ready` comes from a register. Not here: the judgement.

use super::axis::{BeatInfo, BeatSink, BeatSource};
use super::ram::Ram;
use super::reg::{ClkRst, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// Bytes of storage.
pub const FRAME_FIFO_BYTES: usize = 32 * 1024;

/// What is kept beside the data.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct StoredInfo {
    /// Valid bytes.
    pub bytes: Bits<7>,
    /// Last beat.
    pub last: Bit,
}

/// The block. Pointers run through more than two rounds of the largest RAM, so that their
/// difference is the number of beats in it.
#[derive(LogicBlock)]
pub struct FrameFifo<const W: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Beats in, judged at the last one.
    pub s: BeatSink<W>,
    /// Beats of committed frames; `info` has `bytes` and `last` only.
    pub m: BeatSource<W>,
    data: Ram<Bits<W>, 13>,
    info: Ram<StoredInfo, 13>,
    wptr: RegR<Bits<13>>,
    committed: RegR<Bits<13>>,
    rptr: RegR<Bits<13>>,
    room: RegR<Bit>,
    holds: RegR<Bit>,
    used: Signal<Local, Bits<13>>,
    wnext: Signal<Local, Bits<13>>,
    put: Signal<Local, Bit>,
    get: Signal<Local, Bit>,
    stored: Signal<Local, StoredInfo>,
    out: Signal<Local, BeatInfo>,
    one: Constant<Bits<13>>,
    limit: Constant<Bits<13>>,
    nothing: Constant<BeatInfo>,
    unstored: Constant<StoredInfo>,
}

impl<const W: usize> Default for FrameFifo<W> {
    fn default() -> Self {
        let beats = FRAME_FIFO_BYTES / (W / 8);
        assert!(beats <= 4096);
        Self {
            cr: Default::default(),
            s: Default::default(),
            m: Default::default(),
            data: Ram::new(beats),
            info: Ram::new(beats),
            wptr: Default::default(),
            committed: Default::default(),
            rptr: Default::default(),
            room: Default::default(),
            holds: Default::default(),
            used: Default::default(),
            wnext: Default::default(),
            put: Default::default(),
            get: Default::default(),
            stored: Default::default(),
            out: Default::default(),
            one: Constant::new(1usize.to_bits()),
            // The flag is one cycle old, in which one more beat may have been written.
            limit: Constant::new((beats - 2).to_bits()),
            nothing: Constant::new(BeatInfo::default()),
            unstored: Constant::new(StoredInfo::default()),
        }
    }
}

impl<const W: usize> Logic for FrameFifo<W> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: frame_fifo");
        ClkRst::link(&mut self.cr, &mut self.data.cr);
        ClkRst::link(&mut self.cr, &mut self.info.cr);
        ClkRst::link(&mut self.cr, &mut self.wptr.cr);
        ClkRst::link(&mut self.cr, &mut self.committed.cr);
        ClkRst::link(&mut self.cr, &mut self.rptr.cr);
        ClkRst::link(&mut self.cr, &mut self.room.cr);
        ClkRst::link(&mut self.cr, &mut self.holds.cr);

        self.used.next = self.wptr.q.val() - self.rptr.q.val();
        self.room.d.next = self.used.val() < self.limit.val();
        self.wnext.next = self.wptr.q.val() + self.one.val();
        self.put.next = self.s.valid.val() & self.room.q.val();
        self.stored.next = self.unstored.val();
        self.stored.next.bytes = self.s.info.val().bytes;
        self.stored.next.last = self.s.info.val().last;
        self.data.waddr.next = self.wptr.q.val();
        self.data.wdata.next = self.s.data.val();
        self.data.wen.next = self.put.val();
        self.info.waddr.next = self.wptr.q.val();
        self.info.wdata.next = self.stored.val();
        self.info.wen.next = self.put.val();

        self.wptr.d.next = self.wptr.q.val();
        self.committed.d.next = self.committed.q.val();
        if self.put.val() {
            self.wptr.d.next = self.wnext.val();
            if self.s.info.val().last {
                if self.s.info.val().drop {
                    self.wptr.d.next = self.committed.q.val();
                } else {
                    self.committed.d.next = self.wnext.val();
                }
            }
        }

        self.get.next = (self.rptr.q.val() != self.committed.q.val())
            & (!self.holds.q.val() | self.m.ready.val());
        self.data.raddr.next = self.rptr.q.val();
        self.data.ren.next = self.get.val();
        self.info.raddr.next = self.rptr.q.val();
        self.info.ren.next = self.get.val();
        self.rptr.d.next = self.rptr.q.val();
        self.holds.d.next = self.holds.q.val() & !self.m.ready.val();
        if self.get.val() {
            self.rptr.d.next = self.rptr.q.val() + self.one.val();
            self.holds.d.next = true;
        }

        self.out.next = self.nothing.val();
        self.out.next.bytes = self.info.rdata.val().bytes;
        self.out.next.last = self.info.rdata.val().last;
        self.s.ready.next = self.room.q.val();
        self.m.data.next = self.data.rdata.val();
        self.m.info.next = self.out.val();
        self.m.valid.next = self.holds.q.val();
    }
}
