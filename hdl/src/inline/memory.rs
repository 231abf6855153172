//! The packet memory as the mover sees it: the write half of an AXI subordinate.
//!
//!   AW ──►[ line ]──┐
//!   W  ─────────────┴──►[ ByteRam ]──► reader          a beat per cycle, no pause between bursts
//!   B  ◄─ the cycle behind the last beat
//!
//! Bursts are INCR, of whole beats, by one identifier. When a burst is answered its bytes can be
//! read. Invariant: what is read is what the mover wrote (`the_inline_form_equals_the_model`). Not
//! here: which buffers are free.

use crate::blocks::axi::AxiWriteSink;
use crate::blocks::byte_ram::ByteRam;
use crate::blocks::reg::{ClkRst, RegE, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct Memory<const W: usize, const K: usize, const A: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Bursts.
    pub s: AxiWriteSink<W, K>,
    /// Line to read.
    pub raddr: Signal<In, Bits<A>>,
    /// Reads at this edge.
    pub ren: Signal<In, Bit>,
    /// The line, a cycle later.
    pub rdata: Signal<Out, Bits<W>>,
    ram: ByteRam<W, K, A>,
    busy: RegR<Bit>,
    line: RegE<Bits<A>>,
    answer: RegR<Bit>,
    ends: Signal<Local, Bit>,
    free: Signal<Local, Bit>,
    one: Constant<Bits<A>>,
    log2: Constant<Bits<32>>,
    data_id: Constant<Bits<2>>,
    okay: Constant<Bits<2>>,
}

impl<const W: usize, const K: usize, const A: usize> Memory<W, K, A> {
    /// A memory of `lines` lines of `K` bytes.
    pub fn new(lines: usize) -> Self {
        Self {
            cr: Default::default(),
            s: Default::default(),
            raddr: Default::default(),
            ren: Default::default(),
            rdata: Default::default(),
            ram: ByteRam::new(lines),
            busy: Default::default(),
            line: Default::default(),
            answer: Default::default(),
            ends: Default::default(),
            free: Default::default(),
            one: Constant::new(1usize.to_bits()),
            log2: Constant::new((K.ilog2() as usize).to_bits()),
            data_id: Constant::new(0usize.to_bits()),
            okay: Constant::new(0usize.to_bits()),
        }
    }
}

impl<const W: usize, const K: usize, const A: usize> Logic for Memory<W, K, A> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: inline_memory");
        ClkRst::link(&mut self.cr, &mut self.ram.cr);
        ClkRst::link(&mut self.cr, &mut self.busy.cr);
        ClkRst::link(&mut self.cr, &mut self.line.cr);
        ClkRst::link(&mut self.cr, &mut self.answer.cr);
        self.ends.next = self.busy.q.val() & self.s.wvalid.val() & self.s.wlast.val();
        self.free.next = !self.busy.q.val() | self.ends.val();
        self.s.awready.next = self.free.val();
        self.s.wready.next = self.busy.q.val();
        self.busy.d.next = self.s.awvalid.val() | !self.free.val();
        self.line.en.next = true;
        self.line.d.next = self.line.q.val();
        if self.free.val() {
            self.line.d.next = self.s.awaddr.val().get_bits::<A>(self.log2.val().index());
        } else if self.s.wvalid.val() {
            self.line.d.next = self.line.q.val() + self.one.val();
        }
        self.ram.waddr.next = self.line.q.val();
        self.ram.wdata.next = self.s.wdata.val();
        self.ram.wstrb.next = self.s.wstrb.val();
        self.ram.wen.next = self.busy.q.val() & self.s.wvalid.val();
        self.answer.d.next = self.ends.val();
        self.s.bvalid.next = self.answer.q.val();
        self.s.bid.next = self.data_id.val();
        self.s.bresp.next = self.okay.val();

        self.ram.raddr.next = self.raddr.val();
        self.ram.ren.next = self.ren.val();
        self.rdata.next = self.ram.rdata.val();
    }
}
