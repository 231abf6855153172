//! What the host may write, word by word, and the sweep that fills it after reset.
//!
//!   sweep, put ──►[ 32 words of 32 queues ]──► word       1 cycle after get
//!        └─────────► set                                  in the same cycle
//!
//! The sweep takes 1,024 cycles, queue by queue within each word; it brings the table's reset
//! values, and in the cycles of the last word it clears the tables of others. Nothing may be put or
//! got before it is over.
//!
//! Invariants: every word has its reset value after the sweep (`rows_behave_as_the_table_says`);
//! every queue is cleared once (`the_sweep_clears_every_queue_once`). Not here: masks.

use super::rows::{Rows, WORDS};
use crate::blocks::ram::Ram;
use crate::blocks::reg::{ClkRst, RegR};
use rust_hdl::prelude::*;

/// See the module.
#[derive(LogicBlock)]
pub struct Store {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Word to write.
    pub put: Signal<In, Bit>,
    pub put_queue: Signal<In, Bits<5>>,
    pub put_number: Signal<In, Bits<5>>,
    pub put_word: Signal<In, Bits<32>>,
    /// Word to read.
    pub get: Signal<In, Bit>,
    pub get_queue: Signal<In, Bits<5>>,
    pub get_number: Signal<In, Bits<5>>,
    /// The word that was read last.
    pub word: Signal<Out, Bits<32>>,
    /// The sweep is over.
    pub cleared: Signal<Out, Bit>,
    /// Tables clear their entry of `set_queue`.
    pub clear: Signal<Out, Bit>,
    /// A word is written, by the sweep or by `put`.
    pub set_valid: Signal<Out, Bit>,
    pub set_queue: Signal<Out, Bits<5>>,
    pub set_number: Signal<Out, Bits<5>>,
    pub set_word: Signal<Out, Bits<32>>,
    rows: Rows,
    memory: Ram<Bits<32>, 10>,
    swept: RegR<Bit>,
    step: RegR<Bits<10>>,
    queue: Signal<Local, Bits<5>>,
    number: Signal<Local, Bits<5>>,
    value: Signal<Local, Bits<32>>,
    wide_queue: Signal<Local, Bits<10>>,
    wide_number: Signal<Local, Bits<10>>,
    get_wide_queue: Signal<Local, Bits<10>>,
    get_wide_number: Signal<Local, Bits<10>>,
    one: Constant<Bits<10>>,
    last_step: Constant<Bits<10>>,
    last_number: Constant<Bits<5>>,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            put: Default::default(),
            put_queue: Default::default(),
            put_number: Default::default(),
            put_word: Default::default(),
            get: Default::default(),
            get_queue: Default::default(),
            get_number: Default::default(),
            word: Default::default(),
            cleared: Default::default(),
            clear: Default::default(),
            set_valid: Default::default(),
            set_queue: Default::default(),
            set_number: Default::default(),
            set_word: Default::default(),
            rows: Default::default(),
            swept: Default::default(),
            step: Default::default(),
            queue: Default::default(),
            number: Default::default(),
            value: Default::default(),
            wide_queue: Default::default(),
            wide_number: Default::default(),
            get_wide_queue: Default::default(),
            get_wide_number: Default::default(),
            memory: Ram::new(WORDS * 32),
            one: Constant::new(1usize.to_bits()),
            last_step: Constant::new((WORDS * 32 - 1).to_bits()),
            last_number: Constant::new((WORDS - 1).to_bits()),
        }
    }
}

impl Logic for Store {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.memory.cr);
        ClkRst::link(&mut self.cr, &mut self.swept.cr);
        ClkRst::link(&mut self.cr, &mut self.step.cr);

        self.step.d.next = self.step.q.val() + self.one.val();
        self.swept.d.next = self.swept.q.val() | (self.step.q.val() == self.last_step.val());
        self.rows.index.next = self.step.q.val().get_bits::<5>(5);
        self.queue.next = self.put_queue.val();
        self.number.next = self.put_number.val();
        self.value.next = self.put_word.val();
        self.memory.wen.next = self.put.val();
        self.set_valid.next = self.put.val();
        self.clear.next = false;
        if !self.swept.q.val() {
            self.queue.next = self.step.q.val().get_bits::<5>(0);
            self.number.next = self.step.q.val().get_bits::<5>(5);
            self.value.next = self.rows.initial_word.val();
            self.memory.wen.next = true;
            self.set_valid.next = true;
            self.clear.next = self.step.q.val().get_bits::<5>(5) == self.last_number.val();
        }
        self.wide_queue.next = bit_cast::<10, 5>(self.queue.val());
        self.wide_number.next = bit_cast::<10, 5>(self.number.val());
        self.get_wide_queue.next = bit_cast::<10, 5>(self.get_queue.val());
        self.get_wide_number.next = bit_cast::<10, 5>(self.get_number.val());
        self.memory.waddr.next = (self.wide_queue.val() << 5) | self.wide_number.val();
        self.memory.wdata.next = self.value.val();
        self.memory.raddr.next = (self.get_wide_queue.val() << 5) | self.get_wide_number.val();
        self.memory.ren.next = self.get.val();
        self.word.next = self.memory.rdata.val();
        self.set_queue.next = self.queue.val();
        self.set_number.next = self.number.val();
        self.set_word.next = self.value.val();
        self.cleared.next = self.swept.q.val();
    }
}
