//! What an access on the register bus means.
//!
//!   addr, wdata, write ──► ours? which word? ──► masked value, enable edges, doorbell, visit
//!
//! Combinational but for the last `enable` of each queue. `fetch` is the cycle in which a write
//! takes effect.
//!
//! Follows: spec rows of `nic`. A doorbell or consumer write reaches others only from a queue that
//! runs, or that waits for no start. Invariants: a queue that was not built is not there
//! (`queues_that_were_not_built_are_not_there`); edges come from a change of `enable` alone
//! (`random_accesses_equal_the_model`). Not here: what an edge does.

use super::rows::{Rows, index};
use crate::blocks::reg::{ClkRst, RegR};
use groove_spec::nic::{self, QUEUES_BASE};
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct Access {
    /// Clock and reset.
    pub cr: ClkRst,
    pub addr: Signal<In, Bits<16>>,
    pub wdata: Signal<In, Bits<32>>,
    pub write: Signal<In, Bit>,
    /// A write takes effect now.
    pub fetch: Signal<In, Bit>,
    /// Queues that run, that wait for their start, that a DMA error stopped.
    pub running: Signal<In, Bits<32>>,
    pub starting: Signal<In, Bits<32>>,
    pub fault: Signal<In, Bits<32>>,
    /// Queue and word of its window.
    pub queue: Signal<Out, Bits<5>>,
    pub number: Signal<Out, Bits<5>>,
    /// The pipeline's register file has the address.
    pub piped: Signal<Out, Bit>,
    /// A queue that was built has it.
    pub ours: Signal<Out, Bit>,
    /// What the register takes.
    pub masked: Signal<Out, Bits<32>>,
    /// The pipeline's register file writes.
    pub pipe_writes: Signal<Out, Bit>,
    /// A register of ours is written.
    pub writes: Signal<Out, Bit>,
    /// `enable` rises, or falls.
    pub rise: Signal<Out, Bit>,
    pub fall: Signal<Out, Bit>,
    /// Descriptors were posted.
    pub rings: Signal<Out, Bit>,
    /// The queue's vector is to hear of an acknowledgement, or of a switch.
    pub acknowledges: Signal<Out, Bit>,
    pub switches: Signal<Out, Bit>,
    /// Status of the queue, as the host sees it.
    pub is_running: Signal<Out, Bit>,
    pub is_fault: Signal<Out, Bit>,
    rows: Rows,
    enabled: RegR<Bits<32>>,
    word: Signal<Local, Bits<5>>,
    slot: Signal<Local, Bits<5>>,
    slot6: Signal<Local, Bits<6>>,
    hit: Signal<Local, Bit>,
    taken: Signal<Local, Bit>,
    controls: Signal<Local, Bit>,
    up: Signal<Local, Bit>,
    down: Signal<Local, Bit>,
    only: Signal<Local, Bits<32>>,
    at_enabled: Signal<Local, Bits<32>>,
    at_running: Signal<Local, Bits<32>>,
    at_starting: Signal<Local, Bits<32>>,
    at_fault: Signal<Local, Bits<32>>,
    waits: Signal<Local, Bit>,
    runs: Signal<Local, Bit>,
    value: Signal<Local, Bits<32>>,
    built: Constant<Bits<6>>,
    page: Constant<Bits<4>>,
    one: Constant<Bits<32>>,
    control: Constant<Bits<5>>,
    producer: Constant<Bits<5>>,
    consumer: Constant<Bits<5>>,
}

impl Access {
    /// To so many queues.
    pub fn new(queues: usize) -> Self {
        assert!((1..=groove_spec::QUEUES_MAX).contains(&queues), "{queues} queues");
        Self {
            cr: Default::default(),
            addr: Default::default(),
            wdata: Default::default(),
            write: Default::default(),
            fetch: Default::default(),
            running: Default::default(),
            starting: Default::default(),
            fault: Default::default(),
            queue: Default::default(),
            number: Default::default(),
            piped: Default::default(),
            ours: Default::default(),
            masked: Default::default(),
            pipe_writes: Default::default(),
            writes: Default::default(),
            rise: Default::default(),
            fall: Default::default(),
            rings: Default::default(),
            acknowledges: Default::default(),
            switches: Default::default(),
            is_running: Default::default(),
            is_fault: Default::default(),
            rows: Default::default(),
            enabled: Default::default(),
            word: Default::default(),
            slot: Default::default(),
            slot6: Default::default(),
            hit: Default::default(),
            taken: Default::default(),
            controls: Default::default(),
            up: Default::default(),
            down: Default::default(),
            only: Default::default(),
            at_enabled: Default::default(),
            at_running: Default::default(),
            at_starting: Default::default(),
            at_fault: Default::default(),
            waits: Default::default(),
            runs: Default::default(),
            value: Default::default(),
            built: Constant::new(queues.to_bits()),
            page: Constant::new((QUEUES_BASE >> 12).to_bits()),
            one: Constant::new(1usize.to_bits()),
            control: index(&nic::QUEUE_CONTROL),
            producer: index(&nic::FREE_PRODUCER),
            consumer: index(&nic::COMPLETION_CONSUMER),
        }
    }
}

impl Logic for Access {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.enabled.cr);

        self.slot.next = self.addr.val().get_bits::<5>(7);
        self.word.next = self.addr.val().get_bits::<5>(2);
        self.slot6.next = bit_cast::<6, 5>(self.slot.val());
        self.piped.next = self.addr.val().get_bits::<4>(12) < self.page.val();
        self.pipe_writes.next = self.fetch.val()
            & self.write.val()
            & (self.addr.val().get_bits::<4>(12) < self.page.val());
        self.hit.next = (self.addr.val().get_bits::<4>(12) == self.page.val())
            & (self.slot6.val() < self.built.val());
        self.rows.index.next = self.addr.val().get_bits::<5>(2);
        self.value.next = self.wdata.val() & self.rows.mask.val();
        self.taken.next =
            self.fetch.val() & self.hit.val() & self.write.val() & self.rows.mask.val().any();

        self.only.next = self.one.val() << self.slot.val();
        self.at_enabled.next = self.enabled.q.val() & self.only.val();
        self.at_running.next = self.running.val() & self.only.val();
        self.at_starting.next = self.starting.val() & self.only.val();
        self.at_fault.next = self.fault.val() & self.only.val();
        self.waits.next = self.at_starting.val().any();
        self.runs.next = self.at_running.val().any();
        self.is_running.next = self.runs.val() | self.waits.val();
        self.is_fault.next = self.at_fault.val().any() & !self.waits.val();

        self.controls.next = self.taken.val() & (self.word.val() == self.control.val());
        self.up.next =
            self.controls.val() & self.value.val().get_bit(0) & !self.at_enabled.val().any();
        self.down.next =
            self.controls.val() & !self.value.val().get_bit(0) & self.at_enabled.val().any();
        self.enabled.d.next = self.enabled.q.val();
        if self.up.val() {
            self.enabled.d.next = self.enabled.q.val() | self.only.val();
        } else if self.down.val() {
            self.enabled.d.next = self.enabled.q.val() & !self.only.val();
        }
        self.rings.next = self.taken.val()
            & (self.word.val() == self.producer.val())
            & self.runs.val()
            & !self.waits.val();
        self.acknowledges.next =
            self.taken.val() & (self.word.val() == self.consumer.val()) & !self.waits.val();
        self.switches.next = self.controls.val() & !self.up.val() & !self.waits.val();
        self.rise.next = self.up.val();
        self.fall.next = self.down.val();
        self.writes.next = self.taken.val();
        self.masked.next = self.value.val();
        self.ours.next = self.hit.val();
        self.queue.next = self.slot.val();
        self.number.next = self.word.val();
    }
}
