//! Hashes a frame's addresses and ports, and picks its queue.
//!
//!   flow ─► which fields ─► mix ─► 4 x Toeplitz step ─►[ hash ]─► indirection table ─► meta
//!                          load        4 cycles                          0
//!
//! A frame takes 4 cycles, the next one is loaded in the last of them. Follows the published
//! definition of receive-side scaling and its verification vectors; modes as in the kernel's
//! `scaling.rst` (7.3). TCP or UDP with its own type on: addresses and ports; else addresses, if
//! that type is on; else no hash: 0, and the default queue. A queue that does not exist is 0.
//!
//! Invariants, in `rtl_classify_rss`: hash, type and queue equal the model's; 4 cycles per frame; a
//! token keeps its queue. Not here: inner headers.

mod indirection;
mod mix;
mod toeplitz;

use crate::blocks::bits::ZExt;
use crate::blocks::meta::{FlowSink, FrameMeta, MetaSource};
use crate::blocks::reg::{ClkRst, RegE, RegR};
use indirection::Indirection;
use mix::Mix;
use rust_hdl::prelude::*;
use toeplitz::Toeplitz;

/// See the module.
#[derive(LogicBlock)]
pub struct Rss {
    pub cr: ClkRst,
    /// Fields of `RSS_CONTROL`.
    pub hash_types: Signal<In, Bits<7>>,
    pub symmetric: Signal<In, Bits<2>>,
    pub default_queue: Signal<In, Bits<5>>,
    /// `RSS_KEY`.
    pub key: [Signal<In, Bits<32>>; 10],
    /// Writes an entry of the indirection table.
    pub table_write: Signal<In, Bit>,
    pub table_waddr: Signal<In, Bits<7>>,
    pub table_wdata: Signal<In, Bits<5>>,
    /// Reads an entry in the same cycle.
    pub table_raddr: Signal<In, Bits<7>>,
    pub table_rdata: Signal<Out, Bits<5>>,
    pub s: FlowSink,
    pub m: MetaSource,
    mix: Mix,
    toeplitz: Toeplitz,
    indirection: Indirection,
    busy: RegR<Bit>,
    step: RegR<Bits<2>>,
    meta: RegE<FrameMeta>,
    header: RegE<Bits<1024>>,
    hashed: RegE<Bits<288>>,
    hash_type: RegE<Bits<3>>,
    hash: RegE<Bits<32>>,
    out_waits: RegR<Bit>,
    out_meta: RegE<FrameMeta>,
    out_header: RegE<Bits<1024>>,
    ready: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
    emit: Signal<Local, Bit>,
    advance: Signal<Local, Bit>,
    code_base: Signal<Local, Bits<3>>,
    code_l4: Signal<Local, Bits<3>>,
    types_at_base: Signal<Local, Bits<7>>,
    types_at_l4: Signal<Local, Bits<7>>,
    is_ip: Signal<Local, Bit>,
    full: Signal<Local, Bit>,
    addresses_only: Signal<Local, Bit>,
    sum: Signal<Local, Bits<32>>,
    out_hash: Signal<Local, Bits<32>>,
    steered: Signal<Local, Bits<5>>,
    steered_wide: Signal<Local, Bits<6>>,
    queues: Constant<Bits<6>>,
}

impl Rss {
    /// For `queues` receive queues.
    ///
    /// # Panics
    /// If there are none, or more than the table has room for.
    pub fn new(queues: usize) -> Self {
        assert!(queues > 0 && queues <= groove_spec::QUEUES_MAX, "{queues} queues");
        Self {
            cr: Default::default(),
            hash_types: Default::default(),
            symmetric: Default::default(),
            default_queue: Default::default(),
            key: std::array::from_fn(|_| Default::default()),
            table_write: Default::default(),
            table_waddr: Default::default(),
            table_wdata: Default::default(),
            table_raddr: Default::default(),
            table_rdata: Default::default(),
            s: Default::default(),
            m: Default::default(),
            mix: Default::default(),
            toeplitz: Default::default(),
            indirection: Default::default(),
            busy: Default::default(),
            step: Default::default(),
            meta: Default::default(),
            header: Default::default(),
            hashed: Default::default(),
            hash_type: Default::default(),
            hash: Default::default(),
            out_waits: Default::default(),
            out_meta: Default::default(),
            out_header: Default::default(),
            ready: Default::default(),
            load: Default::default(),
            emit: Default::default(),
            advance: Default::default(),
            code_base: Default::default(),
            code_l4: Default::default(),
            types_at_base: Default::default(),
            types_at_l4: Default::default(),
            is_ip: Default::default(),
            full: Default::default(),
            addresses_only: Default::default(),
            sum: Default::default(),
            out_hash: Default::default(),
            steered: Default::default(),
            steered_wide: Default::default(),
            queues: Constant::new(queues.to_bits()),
        }
    }
}

impl Logic for Rss {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.indirection.cr);
        ClkRst::link(&mut self.cr, &mut self.busy.cr);
        ClkRst::link(&mut self.cr, &mut self.step.cr);
        ClkRst::link(&mut self.cr, &mut self.meta.cr);
        ClkRst::link(&mut self.cr, &mut self.header.cr);
        ClkRst::link(&mut self.cr, &mut self.hashed.cr);
        ClkRst::link(&mut self.cr, &mut self.hash_type.cr);
        ClkRst::link(&mut self.cr, &mut self.hash.cr);
        ClkRst::link(&mut self.cr, &mut self.out_waits.cr);
        ClkRst::link(&mut self.cr, &mut self.out_meta.cr);
        ClkRst::link(&mut self.cr, &mut self.out_header.cr);

        self.emit.next = self.busy.q.val() & (self.step.q.val() == 3) & !self.out_waits.q.val();
        self.ready.next = !self.busy.q.val() | self.emit.val();
        self.load.next = self.ready.val() & self.s.valid.val();
        self.advance.next = self.busy.q.val() & (self.step.q.val() != 3);
        self.busy.d.next = self.load.val() | (self.busy.q.val() & !self.emit.val());
        self.step.d.next = self.step.q.val();
        if self.advance.val() {
            self.step.d.next = self.step.q.val() + 1;
        }
        if self.load.val() {
            self.step.d.next = 0.into();
        }

        // Codes of HashType: 1 and 4 for the addresses, then TCP, then UDP.
        self.is_ip.next =
            (self.s.meta.val().l3_kind != 0) & self.s.hashable.val() & !self.s.meta.val().is_token;
        self.code_base.next = 1.into();
        if self.s.meta.val().l3_kind == 2 {
            self.code_base.next = 4.into();
        }
        self.code_l4.next = self.code_base.val() + bit_cast::<3, 2>(self.s.meta.val().l4_kind);
        self.types_at_base.next = self.hash_types.val() >> self.code_base.val();
        self.types_at_l4.next = self.hash_types.val() >> self.code_l4.val();
        self.full.next =
            self.is_ip.val() & (self.s.meta.val().l4_kind != 0) & self.types_at_l4.val().get_bit(0);
        self.addresses_only.next =
            self.is_ip.val() & !self.full.val() & self.types_at_base.val().get_bit(0);
        self.hash_type.en.next = self.load.val();
        self.hash_type.d.next = 0.into();
        if self.full.val() {
            self.hash_type.d.next = self.code_l4.val();
        } else if self.addresses_only.val() {
            self.hash_type.d.next = self.code_base.val();
        }
        self.mix.addresses.next = self.s.addresses.val();
        self.mix.ports.next = self.s.ports.val();
        self.mix.wide.next = self.s.meta.val().l3_kind == 2;
        self.mix.use_addresses.next = self.full.val() | self.addresses_only.val();
        self.mix.use_ports.next = self.full.val();
        self.mix.mode.next = self.symmetric.val();

        self.meta.en.next = self.load.val();
        self.meta.d.next = self.s.meta.val();
        self.header.en.next = self.load.val();
        self.header.d.next = self.s.header.val();
        self.hashed.en.next = self.load.val() | self.advance.val();
        self.hashed.d.next = self.hashed.q.val() >> 72;
        self.hash.en.next = self.load.val() | self.advance.val();
        for i in 0..10 {
            self.toeplitz.key[i].next = self.key[i].val();
        }
        self.toeplitz.step.next = self.step.q.val();
        self.toeplitz.chunk.next = self.hashed.q.val().get_bits::<72>(0);
        self.sum.next = self.hash.q.val() ^ self.toeplitz.partial.val();
        self.hash.d.next = self.sum.val();
        if self.load.val() {
            self.hashed.d.next = self.mix.hashed.val();
            self.hash.d.next = 0.into();
        }

        self.out_waits.d.next = self.emit.val() | (self.out_waits.q.val() & !self.m.ready.val());
        self.out_meta.en.next = self.emit.val();
        self.out_meta.d.next = self.meta.q.val();
        self.out_meta.d.next.hash = self.sum.val();
        self.out_meta.d.next.hash_type = self.hash_type.q.val();
        self.out_header.en.next = self.emit.val();
        self.out_header.d.next = self.header.q.val();

        self.indirection.write.next = self.table_write.val();
        self.indirection.waddr.next = self.table_waddr.val();
        self.indirection.wdata.next = self.table_wdata.val();
        self.indirection.host_index.next = self.table_raddr.val();
        self.table_rdata.next = self.indirection.host_queue.val();
        self.out_hash.next = self.out_meta.q.val().hash;
        self.indirection.index.next = self.out_hash.val().get_bits::<7>(0);
        self.steered.next = self.indirection.queue.val();
        if self.out_meta.q.val().hash_type == 0 {
            self.steered.next = self.default_queue.val();
        }
        self.steered_wide.next = self.steered.val().to_bits();
        self.m.meta.next = self.out_meta.q.val();
        if !self.out_meta.q.val().is_token {
            self.m.meta.next.queue = self.steered.val();
            if self.steered_wide.val() >= self.queues.val() {
                self.m.meta.next.queue = 0.into();
            }
        }
        self.m.header.next = self.out_header.q.val();
        self.m.valid.next = self.out_waits.q.val();
        self.s.ready.next = self.ready.val();
    }
}
