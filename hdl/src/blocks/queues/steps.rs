//! Order of what the window does: accesses one by one, a start before the next of them.
//!
//!   access:  idle ──► fetch ──► (zero x 2) ──► (visit) ──► answer
//!   start:   idle ──► (get, send) x 9 ──► gap of 8 ──► visit ──► ring ──► visit
//!
//! Invariants: a start ends before another access begins (`a_start_copies_the_registers`); every
//! access ends, whatever its address (`random_accesses_equal_the_model`). Not here: data.

use super::rows::index;
use crate::blocks::interrupts::VisitKind;
use crate::blocks::reg::{ClkRst, RegR};
use groove_spec::nic;
use rust_hdl::prelude::*;

/// What the window does.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum WindowState {
    /// Nothing, or the sweep.
    Idle,
    /// The word comes out of the RAM; a write takes effect.
    Fetch,
    /// Enable edge: the doorbell becomes 0.
    ZeroProducer,
    /// Enable edge: the consumer index becomes 0.
    ZeroConsumer,
    /// The vector hears of an acknowledgement.
    Acknowledge,
    /// The vector hears of a switch.
    Switch,
    /// The access ends.
    Answer,
    /// Start: reads a word.
    CopyGet,
    /// Start: sends it.
    CopySend,
    /// Everybody takes note.
    Gap,
    /// The vector starts.
    TellStart,
    /// Reads the doorbell.
    GetProducer,
    /// Rings it once more.
    Ring,
    /// Reads the consumer index.
    GetConsumer,
    /// Acknowledges once more.
    TellConsumer,
}

/// See the module.
#[derive(LogicBlock)]
pub struct Steps {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Accesses and starts may begin.
    pub open: Signal<In, Bit>,
    /// An access waits.
    pub access: Signal<In, Bit>,
    /// A start waits.
    pub start: Signal<In, Bit>,
    /// What the access asks for, in `fetch`.
    pub rise: Signal<In, Bit>,
    pub acknowledges: Signal<In, Bit>,
    pub switches: Signal<In, Bit>,
    /// The vector has heard.
    pub visit_ready: Signal<In, Bit>,
    /// The access takes effect.
    pub fetch: Signal<Out, Bit>,
    /// The access ends.
    pub answer: Signal<Out, Bit>,
    /// Word `number` of the access's queue becomes 0.
    pub zero: Signal<Out, Bit>,
    /// A word is read: the access's, or `number` of the queue that starts.
    pub get: Signal<Out, Bit>,
    /// A start is under way.
    pub copies: Signal<Out, Bit>,
    pub number: Signal<Out, Bits<5>>,
    /// The word read is sent.
    pub send: Signal<Out, Bit>,
    /// Its registers are everywhere.
    pub done: Signal<Out, Bit>,
    /// The word read is the doorbell.
    pub ring: Signal<Out, Bit>,
    pub visit: Signal<Out, Bit>,
    pub visit_kind: Signal<Out, VisitKind>,
    state: RegR<WindowState>,
    copy: RegR<Bits<5>>,
    gap: RegR<Bits<3>>,
    one5: Constant<Bits<5>>,
    one3: Constant<Bits<3>>,
    gap_last: Constant<Bits<3>>,
    control: Constant<Bits<5>>,
    copy_first: Constant<Bits<5>>,
    copy_last: Constant<Bits<5>>,
    producer: Constant<Bits<5>>,
    consumer: Constant<Bits<5>>,
}

impl Default for Steps {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            open: Default::default(),
            access: Default::default(),
            start: Default::default(),
            rise: Default::default(),
            acknowledges: Default::default(),
            switches: Default::default(),
            visit_ready: Default::default(),
            fetch: Default::default(),
            answer: Default::default(),
            zero: Default::default(),
            get: Default::default(),
            copies: Default::default(),
            number: Default::default(),
            send: Default::default(),
            done: Default::default(),
            ring: Default::default(),
            visit: Default::default(),
            visit_kind: Default::default(),
            state: Default::default(),
            copy: Default::default(),
            gap: Default::default(),
            one5: Constant::new(1usize.to_bits()),
            one3: Constant::new(1usize.to_bits()),
            gap_last: Constant::new(7usize.to_bits()),
            control: index(&nic::QUEUE_CONTROL),
            copy_first: index(&nic::FREE_BASE_LOW),
            copy_last: index(&nic::BUFFER_SIZE),
            producer: index(&nic::FREE_PRODUCER),
            consumer: index(&nic::COMPLETION_CONSUMER),
        }
    }
}

impl Logic for Steps {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.state.cr);
        ClkRst::link(&mut self.cr, &mut self.copy.cr);
        ClkRst::link(&mut self.cr, &mut self.gap.cr);
        self.state.d.next = self.state.q.val();
        self.copy.d.next = self.copy.q.val();
        self.gap.d.next = self.gap.q.val() + self.one3.val();
        self.fetch.next = self.state.q.val() == WindowState::Fetch;
        self.answer.next = self.state.q.val() == WindowState::Answer;
        self.zero.next = false;
        self.get.next = false;
        self.copies.next = true;
        self.number.next = self.copy.q.val();
        self.send.next = self.state.q.val() == WindowState::CopySend;
        self.done.next = false;
        self.ring.next = self.state.q.val() == WindowState::Ring;
        self.visit.next = false;
        self.visit_kind.next = VisitKind::Consumer;
        match self.state.q.val() {
            WindowState::Idle => {
                self.copies.next = false;
                self.get.next = true;
                self.copy.d.next = self.copy_first.val();
                if self.open.val() & self.start.val() {
                    self.state.d.next = WindowState::CopyGet;
                } else if self.open.val() & self.access.val() {
                    self.state.d.next = WindowState::Fetch;
                }
            }
            WindowState::Fetch => {
                self.copies.next = false;
                self.state.d.next = WindowState::Answer;
                if self.rise.val() {
                    self.state.d.next = WindowState::ZeroProducer;
                } else if self.acknowledges.val() {
                    self.state.d.next = WindowState::Acknowledge;
                } else if self.switches.val() {
                    self.state.d.next = WindowState::Switch;
                }
            }
            WindowState::ZeroProducer => {
                self.copies.next = false;
                self.zero.next = true;
                self.number.next = self.producer.val();
                self.state.d.next = WindowState::ZeroConsumer;
            }
            WindowState::ZeroConsumer => {
                self.copies.next = false;
                self.zero.next = true;
                self.number.next = self.consumer.val();
                self.state.d.next = WindowState::Answer;
            }
            WindowState::Acknowledge => {
                self.copies.next = false;
                self.visit.next = true;
                if self.visit_ready.val() {
                    self.state.d.next = WindowState::Answer;
                }
            }
            WindowState::Switch => {
                self.copies.next = false;
                self.visit.next = true;
                self.visit_kind.next = VisitKind::Control;
                if self.visit_ready.val() {
                    self.state.d.next = WindowState::Answer;
                }
            }
            WindowState::Answer => {
                self.copies.next = false;
                self.state.d.next = WindowState::Idle;
            }
            WindowState::CopyGet => {
                self.get.next = true;
                self.state.d.next = WindowState::CopySend;
            }
            WindowState::CopySend => {
                self.state.d.next = WindowState::CopyGet;
                self.copy.d.next = self.copy.q.val() + self.one5.val();
                self.gap.d.next = 0.into();
                if self.copy.q.val() == self.copy_last.val() {
                    self.copy.d.next = self.control.val();
                } else if self.copy.q.val() == self.control.val() {
                    self.state.d.next = WindowState::Gap;
                }
            }
            WindowState::Gap => {
                if self.gap.q.val() == self.gap_last.val() {
                    self.done.next = true;
                    self.state.d.next = WindowState::TellStart;
                }
            }
            WindowState::TellStart => {
                self.visit.next = true;
                self.visit_kind.next = VisitKind::Start;
                if self.visit_ready.val() {
                    self.state.d.next = WindowState::GetProducer;
                }
            }
            WindowState::GetProducer => {
                self.get.next = true;
                self.number.next = self.producer.val();
                self.state.d.next = WindowState::Ring;
            }
            WindowState::Ring => {
                self.state.d.next = WindowState::GetConsumer;
            }
            WindowState::GetConsumer => {
                self.get.next = true;
                self.number.next = self.consumer.val();
                self.state.d.next = WindowState::TellConsumer;
            }
            WindowState::TellConsumer => {
                self.visit.next = true;
                if self.visit_ready.val() {
                    self.state.d.next = WindowState::Idle;
                }
            }
            _ => {}
        }
    }
}
