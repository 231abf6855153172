//! Keeps AXI's promises while the function behind it is reset.
//!
//!   write, read ──►[ register ]──► axi: AW, W, AR      1 cycle (W: 3 behind its AW), no beat lost
//!   write, read ◄───────────────── axi: B, R           combinational
//!   flr ──►[ busy ]──► core_rst
//!
//! A function-level reset (PCIe 6.6.2) ends what is behind the guard at once, but not the bursts
//! that AXI has seen: addresses stay until taken, missing write beats follow without strobes,
//! responses are swallowed. Then the function is released. A write beat passes only behind its
//! address, so that no beat is without one. The guard itself knows the power-on reset only.
//!
//! Invariants: every address gets its beats, WLAST on the last, whenever `flr` comes; nothing of a
//! burst of before reaches the function after it; AW, W and AR hold still; nothing but beats
//! without strobes begins while `busy` (`guard_ends_every_burst`). One beat and one burst per cycle
//! (`guard_costs_no_throughput`). Not here: the tables of the function, which a sweep clears.

pub mod account;
pub mod beats;

use super::axi::{AxiReadSink, AxiSource, AxiWriteSink};
use super::reg::{ClkRst, RegE, RegR};
use crate::comment;
use account::Account;
use beats::Beats;
use rust_hdl::prelude::*;

/// The block.
#[derive(LogicBlock)]
pub struct DmaGuard<const W: usize, const K: usize> {
    /// Clock and the power-on reset.
    pub cr: ClkRst,
    /// Function-level reset wanted; a pulse is enough.
    pub flr: Signal<In, Bit>,
    /// It is at work.
    pub busy: Signal<Out, Bit>,
    /// Reset of everything behind the guard, synchronous.
    pub core_rst: Signal<Out, Bit>,
    /// From the mover.
    pub write: AxiWriteSink<W, K>,
    /// From the prefetcher.
    pub read: AxiReadSink<W>,
    /// Pins.
    pub axi: AxiSource<W, K>,
    aw_valid: RegR<Bit>,
    aw_id: RegE<Bits<2>>,
    aw_addr: RegE<Bits<64>>,
    aw_len: RegE<Bits<8>>,
    ar_valid: RegR<Bit>,
    ar_id: RegE<Bits<2>>,
    ar_addr: RegE<Bits<64>>,
    ar_len: RegE<Bits<8>>,
    account: Account,
    beats: Beats<W, K>,
    aw_take: Signal<Local, Bit>,
    ar_take: Signal<Local, Bit>,
}

impl<const W: usize, const K: usize> Default for DmaGuard<W, K> {
    fn default() -> Self {
        assert_eq!(W, K * 8);
        Self {
            cr: Default::default(),
            flr: Default::default(),
            busy: Default::default(),
            core_rst: Default::default(),
            write: Default::default(),
            read: Default::default(),
            axi: Default::default(),
            aw_valid: Default::default(),
            aw_id: Default::default(),
            aw_addr: Default::default(),
            aw_len: Default::default(),
            ar_valid: Default::default(),
            ar_id: Default::default(),
            ar_addr: Default::default(),
            ar_len: Default::default(),
            account: Default::default(),
            beats: Default::default(),
            aw_take: Default::default(),
            ar_take: Default::default(),
        }
    }
}

impl<const W: usize, const K: usize> Logic for DmaGuard<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: dma_guard");
        ClkRst::link(&mut self.cr, &mut self.aw_valid.cr);
        ClkRst::link(&mut self.cr, &mut self.aw_id.cr);
        ClkRst::link(&mut self.cr, &mut self.aw_addr.cr);
        ClkRst::link(&mut self.cr, &mut self.aw_len.cr);
        ClkRst::link(&mut self.cr, &mut self.ar_valid.cr);
        ClkRst::link(&mut self.cr, &mut self.ar_id.cr);
        ClkRst::link(&mut self.cr, &mut self.ar_addr.cr);
        ClkRst::link(&mut self.cr, &mut self.ar_len.cr);
        ClkRst::link(&mut self.cr, &mut self.account.cr);
        ClkRst::link(&mut self.cr, &mut self.beats.cr);

        // Addresses.
        self.aw_take.next = self.write.awvalid.val()
            & !self.account.busy.val()
            & self.beats.room.val()
            & (!self.aw_valid.q.val() | self.axi.awready.val());
        self.ar_take.next = self.read.arvalid.val()
            & !self.account.busy.val()
            & (!self.ar_valid.q.val() | self.axi.arready.val());
        self.write.awready.next = !self.account.busy.val()
            & self.beats.room.val()
            & (!self.aw_valid.q.val() | self.axi.awready.val());
        self.read.arready.next =
            !self.account.busy.val() & (!self.ar_valid.q.val() | self.axi.arready.val());
        self.aw_valid.d.next =
            self.aw_take.val() | (self.aw_valid.q.val() & !self.axi.awready.val());
        self.ar_valid.d.next =
            self.ar_take.val() | (self.ar_valid.q.val() & !self.axi.arready.val());
        self.aw_id.en.next = self.aw_take.val();
        self.aw_addr.en.next = self.aw_take.val();
        self.aw_len.en.next = self.aw_take.val();
        self.aw_id.d.next = self.write.awid.val();
        self.aw_addr.d.next = self.write.awaddr.val();
        self.aw_len.d.next = self.write.awlen.val();
        self.ar_id.en.next = self.ar_take.val();
        self.ar_addr.en.next = self.ar_take.val();
        self.ar_len.en.next = self.ar_take.val();
        self.ar_id.d.next = self.read.arid.val();
        self.ar_addr.d.next = self.read.araddr.val();
        self.ar_len.d.next = self.read.arlen.val();

        self.axi.awid.next = self.aw_id.q.val();
        self.axi.awaddr.next = self.aw_addr.q.val();
        self.axi.awlen.next = self.aw_len.q.val();
        self.axi.awsize.next = self.write.awsize.val();
        self.axi.awburst.next = self.write.awburst.val();
        self.axi.awvalid.next = self.aw_valid.q.val();
        self.axi.arid.next = self.ar_id.q.val();
        self.axi.araddr.next = self.ar_addr.q.val();
        self.axi.arlen.next = self.ar_len.q.val();
        self.axi.arsize.next = self.read.arsize.val();
        self.axi.arburst.next = self.read.arburst.val();
        self.axi.arvalid.next = self.ar_valid.q.val();

        // Beats.
        self.beats.fill.next = self.account.busy.val();
        self.beats.len.next = self.write.awlen.val();
        self.beats.take.next = self.aw_take.val();
        self.beats.s_data.next = self.write.wdata.val();
        self.beats.s_strobe.next = self.write.wstrb.val();
        self.beats.s_valid.next = self.write.wvalid.val();
        self.write.wready.next = self.beats.s_ready.val();
        self.axi.wdata.next = self.beats.m_data.val();
        self.axi.wstrb.next = self.beats.m_strobe.val();
        self.axi.wlast.next = self.beats.m_last.val();
        self.axi.wvalid.next = self.beats.m_valid.val();
        self.beats.m_ready.next = self.axi.wready.val();

        // Responses: swallowed while the function is in reset.
        self.write.bid.next = self.axi.bid.val();
        self.write.bresp.next = self.axi.bresp.val();
        self.write.bvalid.next = self.axi.bvalid.val() & !self.account.busy.val();
        self.axi.bready.next = self.write.bready.val() | self.account.busy.val();
        self.read.rid.next = self.axi.rid.val();
        self.read.rdata.next = self.axi.rdata.val();
        self.read.rresp.next = self.axi.rresp.val();
        self.read.rlast.next = self.axi.rlast.val();
        self.read.rvalid.next = self.axi.rvalid.val() & !self.account.busy.val();
        self.axi.rready.next = self.read.rready.val() | self.account.busy.val();

        self.account.flr.next = self.flr.val();
        self.account.write_begins.next = self.aw_take.val();
        self.account.read_begins.next = self.ar_take.val();
        self.account.write_ends.next =
            self.axi.bvalid.val() & (self.write.bready.val() | self.account.busy.val());
        self.account.read_ends.next = self.axi.rvalid.val()
            & self.axi.rlast.val()
            & (self.read.rready.val() | self.account.busy.val());
        self.busy.next = self.account.busy.val();
        self.core_rst.next = self.account.busy.val() | self.cr.rst.val();
    }
}
