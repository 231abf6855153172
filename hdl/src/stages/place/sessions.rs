//! Buffers of the held sessions: where each goes on, and which buffers it filled.
//!
//!   (queue, session) ──►[ state RAM ]──► first buffer, next byte, counts     1 cycle
//!                    ──►[ chain RAM ]──► buffer n + 1                        1 cycle
//!   buffers of an ALONE ──►[ LutRam ]──► buffer n                            same cycle
//!
//! Both RAMs are written in states of the FSM that do not read them.
//!
//! Invariant: a word is read only after an OPEN wrote it, so that nothing is cleared
//! (`commands_and_records_equal_the_reference`). Not here: what the words mean.

use crate::blocks::ram::{LutRam, Ram};
use crate::blocks::reg::ClkRst;
use crate::comment;
use rust_hdl::prelude::*;

/// State of a held session: word of the state RAM.
#[derive(Copy, Clone, Debug, PartialEq, Default, LogicStruct)]
pub struct Held {
    /// First buffer.
    pub id: Bits<16>,
    /// Where it starts.
    pub iova: Bits<64>,
    /// Where the next byte goes.
    pub at: Bits<64>,
    /// Bytes of the current buffer in use.
    pub position: Bits<17>,
    /// Buffers.
    pub count: Bits<6>,
    /// Header and payload bytes; 511 stands for more than a header slot holds.
    pub used: Bits<9>,
}

/// The RAMs.
#[derive(LogicBlock)]
pub struct Sessions {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Queue of the session.
    pub queue: Signal<In, Bits<5>>,
    /// Session within the queue.
    pub session: Signal<In, Bits<10>>,
    /// Reads its state.
    pub read: Signal<In, Bit>,
    /// Its state.
    pub held: Signal<Out, Held>,
    /// Writes it.
    pub write: Signal<In, Bit>,
    /// New state.
    pub new_held: Signal<In, Held>,
    /// Buffers so far: where `id` goes.
    pub count: Signal<In, Bits<6>>,
    /// A buffer joins.
    pub id: Signal<In, Bits<16>>,
    /// It does so now.
    pub add: Signal<In, Bit>,
    /// The chain is that of an ALONE, which has no session.
    pub alone: Signal<In, Bit>,
    /// Buffer that returns now; the first one is 0.
    pub index: Signal<In, Bits<6>>,
    /// It is handed over: the next one is wanted.
    pub advance: Signal<In, Bit>,
    /// Buffer `index`, 1 and up.
    pub chained: Signal<Out, Bits<16>>,
    states: Ram<Held, 15>,
    chains: Ram<Bits<16>, 20>,
    scratch: LutRam<Bits<16>, 5>,
    queue15: Signal<Local, Bits<15>>,
    address: Signal<Local, Bits<15>>,
    address20: Signal<Local, Bits<20>>,
    place: Signal<Local, Bits<6>>,
    previous: Signal<Local, Bits<6>>,
    write_index: Signal<Local, Bits<5>>,
    read_index: Signal<Local, Bits<5>>,
    width: Constant<Bits<4>>,
    five: Constant<Bits<4>>,
    one: Constant<Bits<6>>,
}

impl Sessions {
    /// For `queues` queues of `sessions` sessions, a power of two.
    pub fn new(queues: usize, sessions: usize) -> Self {
        Self {
            cr: Default::default(),
            queue: Default::default(),
            session: Default::default(),
            read: Default::default(),
            held: Default::default(),
            write: Default::default(),
            new_held: Default::default(),
            count: Default::default(),
            id: Default::default(),
            add: Default::default(),
            alone: Default::default(),
            index: Default::default(),
            advance: Default::default(),
            chained: Default::default(),
            states: Ram::new(queues * sessions),
            chains: Ram::new(queues * sessions * 32),
            scratch: Default::default(),
            queue15: Default::default(),
            address: Default::default(),
            address20: Default::default(),
            place: Default::default(),
            previous: Default::default(),
            write_index: Default::default(),
            read_index: Default::default(),
            width: Constant::new(u64::from(sessions.ilog2()).into()),
            five: Constant::new(5.into()),
            one: Constant::new(1.into()),
        }
    }
}

impl Logic for Sessions {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: place_sessions");
        ClkRst::link(&mut self.cr, &mut self.states.cr);
        ClkRst::link(&mut self.cr, &mut self.chains.cr);
        ClkRst::link(&mut self.cr, &mut self.scratch.cr);
        self.queue15.next = bit_cast::<15, 5>(self.queue.val());
        self.address.next =
            (self.queue15.val() << self.width.val()) | bit_cast::<15, 10>(self.session.val());
        self.states.raddr.next = self.address.val();
        self.states.ren.next = self.read.val();
        self.states.waddr.next = self.address.val();
        self.states.wdata.next = self.new_held.val();
        self.states.wen.next = self.write.val();
        self.held.next = self.states.rdata.val();

        // Buffer 2 of a session is word 0 of its chain.
        self.place.next = self.count.val() - self.one.val();
        self.previous.next = self.index.val() - self.one.val();
        self.write_index.next = self.place.val().get_bits::<5>(0);
        self.read_index.next = self.index.val().get_bits::<5>(0);
        self.address20.next = bit_cast::<20, 15>(self.address.val());
        self.chains.waddr.next =
            (self.address20.val() << self.five.val()) | bit_cast::<20, 5>(self.write_index.val());
        self.chains.wdata.next = self.id.val();
        self.chains.wen.next = self.add.val() & !self.alone.val();
        self.chains.raddr.next =
            (self.address20.val() << self.five.val()) | bit_cast::<20, 5>(self.read_index.val());
        self.chains.ren.next = self.advance.val();
        self.scratch.waddr.next = self.place.val().get_bits::<5>(0);
        self.scratch.wdata.next = self.id.val();
        self.scratch.wen.next = self.add.val() & self.alone.val();
        self.scratch.raddr.next = self.previous.val().get_bits::<5>(0);
        self.chained.next = self.chains.rdata.val();
        if self.alone.val() {
            self.chained.next = self.scratch.rdata.val();
        }
    }
}
