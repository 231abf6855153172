//! coalesce: holds TCP sessions and merges what continues them.
//!
//!   Meta ──► key ──►[ frame ]──► lookup ──► session RAM ──► compare, rules ──►[ facts ]──► decide
//!                      A             B           C                                  D       │
//!                                ▲ tags          ▲ header, session                          │
//!                                └───────────────┴──────────────────────────────────────────┤
//!                                                                    Raw ◄── emitter ◄── describe
//!
//! One frame at a time, 4 cycles each: A reads the tag word of (queue, bucket), B chooses the first
//! candidate, or the oldest session, and reads it, C compares, D writes back and hands up to two
//! operations to the emitter, which sends them while the next frame is in A and B. A false
//! candidate (equal hash and digest, other flow) costs 2 cycles; if a held session must then be
//! evicted, 2 more. Tokens: `control`.
//!
//! Follows gro-semantics §1 with its measured corrections; decisions are those of the model's
//! coalesce stage, named there. Invariants: operations equal the model's
//! (`operations_equal_the_model`), with stalls on both sides too (`stalls_change_nothing`); 4
//! cycles per frame (`four_cycles_per_frame`); no way from `m.ready` to `s.ready` but through a
//! register (`emitter`).
//! Not here: tunnels and PPPoE (such frames are no candidates), header fix-up (`fixup`).

pub mod compare;
pub mod control;
pub mod decide;
pub mod describe;
pub mod emitter;
pub mod front;
pub mod key;
pub mod lookup;
pub mod output;
pub mod rules;
pub mod session;
pub mod store;
pub mod tags;
pub mod ticks;

use crate::blocks::meta::MetaSink;
use crate::blocks::op::RawSource;
use crate::blocks::reg::ClkRst;
use control::Control;
use decide::{Action, Decide};
use front::{Addresses, Front};
use lookup::Lookup;
use output::Output;
use rust_hdl::prelude::*;
use store::Store;
use ticks::Ticks;

/// The stage.
#[derive(LogicBlock)]
pub struct Coalesce {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Frames and tokens.
    pub s: MetaSink,
    /// Operations.
    pub m: RawSource,
    /// The tables are cleared; nothing is taken before.
    pub cleared: Signal<Out, Bit>,
    /// Code of `Profile`.
    pub profile: Signal<In, Bits<2>>,
    /// Option.
    pub rxcsum: Signal<In, Bit>,
    /// Option.
    pub vlan_gro: Signal<In, Bit>,
    /// Option.
    pub strict_order: Signal<In, Bit>,
    /// Counter.
    pub gro_packets: Signal<Out, Bits<32>>,
    /// Counter.
    pub gro_wire_packets: Signal<Out, Bits<32>>,
    /// Counter.
    pub evictions: Signal<Out, Bits<32>>,
    front: Front,
    control: Control,
    addresses: Addresses,
    lookup: Lookup,
    ticks: Ticks,
    store: Store,
    decide: Decide,
    back: Output,
    queue: Signal<Local, Bits<5>>,
    queue6: Signal<Local, Bits<6>>,
    action: Signal<Local, Action>,
    opens: Signal<Local, Bit>,
    closes: Signal<Local, Bit>,
    queues: Constant<Bits<6>>,
}

impl Coalesce {
    /// For `queues` of `buckets` buckets of `depth` sessions.
    ///
    /// # Panics
    /// If there are more than 32 of one, or buckets or depth are not a power of two.
    pub fn new(queues: usize, buckets: usize, depth: usize) -> Self {
        assert!((1..=groove_spec::QUEUES_MAX).contains(&queues), "{queues} queues");
        for (what, number) in [("buckets", buckets), ("sessions per bucket", depth)] {
            assert!(number.is_power_of_two() && number <= 32, "{number} {what}");
        }
        let words = queues * buckets;
        Self {
            cr: Default::default(),
            s: Default::default(),
            m: Default::default(),
            cleared: Default::default(),
            profile: Default::default(),
            rxcsum: Default::default(),
            vlan_gro: Default::default(),
            strict_order: Default::default(),
            gro_packets: Default::default(),
            gro_wire_packets: Default::default(),
            evictions: Default::default(),
            front: Default::default(),
            control: Control::new(words, buckets),
            addresses: Addresses::new(buckets, depth),
            lookup: Lookup::new(words, depth),
            ticks: Ticks::new(queues),
            store: Store::new(words * depth),
            decide: Default::default(),
            back: Default::default(),
            queue: Default::default(),
            queue6: Default::default(),
            action: Default::default(),
            opens: Default::default(),
            closes: Default::default(),
            queues: Constant::new((queues as u64).into()),
        }
    }
}

impl Logic for Coalesce {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.front.cr);
        ClkRst::link(&mut self.cr, &mut self.control.cr);
        ClkRst::link(&mut self.cr, &mut self.lookup.cr);
        ClkRst::link(&mut self.cr, &mut self.ticks.cr);
        ClkRst::link(&mut self.cr, &mut self.store.cr);
        ClkRst::link(&mut self.cr, &mut self.back.cr);
        RawSource::link(&mut self.m, &mut self.back.m);

        self.s.ready.next = self.control.take.val();
        self.front.new_meta.next = self.s.meta.val();
        self.front.new_header.next = self.s.header.val();
        self.front.offered.next = self.s.valid.val();
        self.front.take.next = self.control.take.val();
        self.front.rxcsum.next = self.rxcsum.val();
        self.front.vlan_gro.next = self.vlan_gro.val();
        self.front.strict_order.next = self.strict_order.val();

        self.control.offered.next = self.s.valid.val();
        self.control.is_token.next = self.front.meta.val().is_token;
        self.control.token_kind.next = self.front.meta.val().token_kind;
        self.queue.next = self.front.meta.val().queue;
        self.queue6.next = bit_cast::<6, 5>(self.queue.val());
        self.control.queue_exists.next = self.queue6.val() < self.queues.val();
        self.control.action.next = self.decide.action.val();
        self.control.occupied.next = self.lookup.occupied.val();
        self.control.young.next = self.store.young.val();
        self.control.emit_free.next = self.back.free.val();
        self.cleared.next = self.control.cleared.val();

        self.addresses.queue.next = self.front.meta.val().queue;
        self.addresses.hash.next = self.front.meta.val().hash;
        self.addresses.walking.next = self.control.walking.val();
        self.addresses.bucket.next = self.control.bucket.val();
        self.addresses.bucket_ahead.next = self.control.bucket_ahead.val();
        self.addresses.clear.next = self.control.clear.val();
        self.addresses.clear_address.next = self.control.clear_address.val();
        self.addresses.next_slot.next = self.lookup.next_slot.val();
        self.addresses.slot.next = self.lookup.slot.val();
        self.addresses.frame_slot.next = self.lookup.frame_slot.val();

        self.lookup.read_address.next = self.addresses.tag_read.val();
        self.lookup.read.next = self.control.read_tag.val();
        self.lookup.write_address.next = self.addresses.tag_write.val();
        self.lookup.hash.next = self.front.meta.val().hash;
        self.lookup.digest.next = self.front.key.val().digest;
        self.lookup.search.next = self.front.key.val().search;
        self.lookup.matching.next = self.control.matching.val();
        self.lookup.select.next = self.control.read_session.val();
        self.lookup.retry.next = self.control.retry.val();
        self.lookup.clear.next = self.control.clear.val();

        self.ticks.queue.next = self.front.meta.val().queue;
        self.ticks.read.next = self.control.read_tag.val();
        self.ticks.advance.next = self.control.advance_tick.val();
        self.ticks.clear.next = self.control.clear.val();
        self.ticks.clear_address.next = self.control.clear_address.val();

        self.store.read_address.next = self.addresses.session_read.val();
        self.store.read.next = self.control.read_session.val();
        self.store.write_address.next = self.addresses.session_write.val();
        self.store.comparing.next = self.control.comparing.val();
        self.store.meta.next = self.front.meta.val();
        self.store.key.next = self.front.key.val();
        self.store.header.next = self.front.header.val();
        self.store.tick.next = self.ticks.tick.val();
        self.store.profile.next = self.profile.val();

        self.decide.facts.next = self.store.facts.val();
        self.decide.current.next = self.lookup.current.val();
        self.decide.victim.next = self.lookup.victim.val();
        self.decide.more.next = self.lookup.more.val();
        self.decide.full.next = self.lookup.full.val();
        self.decide.candidate.next = self.front.meta.val().candidate;
        self.decide.hold.next = self.front.key.val().hold;
        self.decide.ends.next = self.front.key.val().ends;

        // What is carried out.
        self.action.next = self.decide.action.val();
        self.opens.next = self.control.act.val() & self.action.val().open;
        self.closes.next =
            (self.control.act.val() & self.action.val().close) | self.control.walk_close.val();
        self.lookup.fresh.next = self.opens.val() & !self.action.val().close;
        self.lookup.insert.next = self.opens.val();
        self.lookup.remove.next = self.closes.val() & !self.opens.val();
        self.store.open.next = self.opens.val();
        self.store.append.next = self.control.act.val() & self.action.val().append;
        self.store.joins.next = self.action.val().append & !self.control.walking.val();

        self.back.act.next = self.control.act.val();
        self.back.closes.next = self.closes.val();
        self.back.mark.next = self.control.mark.val();
        self.back.walking.next = self.control.walking.val();
        self.back.token_kind.next = self.front.meta.val().token_kind;
        self.back.action.next = self.action.val();
        self.back.session.next = self.store.session.val();
        self.back.stored.next = self.store.stored.val();
        self.back.meta.next = self.front.meta.val();
        self.back.key.next = self.front.key.val();
        self.back.header.next = self.front.header.val();
        self.back.close_index.next = self.addresses.close_index.val();
        self.back.frame_index.next = self.addresses.frame_index.val();
        self.back.profile.next = self.profile.val();
        self.gro_packets.next = self.back.gro_packets.val();
        self.gro_wire_packets.next = self.back.gro_wire_packets.val();
        self.evictions.next = self.back.evictions.val();
    }
}
