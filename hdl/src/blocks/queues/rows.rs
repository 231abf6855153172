//! Rows of a queue's window, and the bounds of what a queue starts with.
//!
//!   index ──► Rows ──► mask of what the host writes, value after reset     combinational
//!   index, word ──► Bounds ──► word within its bounds                      combinational
//!   index ──► StatusWord ──► is hardware's, word                           combinational
//!
//! Follows: spec rows of `nic`; a size outside its bounds acts as the nearest bound, a buffer's as
//! the next lower multiple of 64.
//! Invariants: rows are the table's (`rows_behave_as_the_table_says`), sizes are bounded
//! (`a_start_copies_the_registers`). Not here: state.

use crate::blocks::bits::ZExt;
use groove_spec::nic::{self, BUFFER_ALIGN_BYTES, BUFFER_BYTES_MAX, BUFFER_BYTES_MIN};
use groove_spec::nic::{QUEUE_STRIDE, RING_LOG2_MIN};
use groove_spec::{Access, Register};
use rust_hdl::prelude::*;

/// Words of a queue's window.
pub const WORDS: usize = QUEUE_STRIDE / 4;

/// Word of a register in its window.
pub fn index(register: &Register) -> Constant<Bits<5>> {
    Constant::new((register.offset / 4).to_bits())
}

/// What a word of the window takes from the host, and its value after reset; 0 where nothing is.
fn row(word: usize) -> (u32, u32) {
    match nic::REGISTERS.iter().find(|r| r.offset == 4 * word) {
        Some(row) if row.access == Access::ReadWrite => (row.mask(), row.reset),
        _ => (0, 0),
    }
}

/// See the module.
#[derive(LogicBlock)]
pub struct Rows {
    /// Word of the window.
    pub index: Signal<In, Bits<5>>,
    /// Bits that the host writes.
    pub mask: Signal<Out, Bits<32>>,
    /// Value after reset.
    pub initial_word: Signal<Out, Bits<32>>,
    number: [Constant<Bits<5>>; WORDS],
    masks: [Constant<Bits<32>>; WORDS],
    words: [Constant<Bits<32>>; WORDS],
    mask_of: Signal<Local, Bits<32>>,
    word_of: Signal<Local, Bits<32>>,
}

impl Default for Rows {
    fn default() -> Self {
        Self {
            index: Default::default(),
            mask: Default::default(),
            initial_word: Default::default(),
            mask_of: Default::default(),
            word_of: Default::default(),
            number: std::array::from_fn(|i| Constant::new(i.to_bits())),
            masks: std::array::from_fn(|i| Constant::new(u64::from(row(i).0).into())),
            words: std::array::from_fn(|i| Constant::new(u64::from(row(i).1).into())),
        }
    }
}

impl Logic for Rows {
    #[hdl_gen]
    fn update(&mut self) {
        self.mask_of.next = 0.into();
        self.word_of.next = 0.into();
        for i in 0..32 {
            if self.index.val() == self.number[i].val() {
                self.mask_of.next = self.masks[i].val();
                self.word_of.next = self.words[i].val();
            }
        }
        self.mask.next = self.mask_of.val();
        self.initial_word.next = self.word_of.val();
    }
}

/// See the module.
#[derive(LogicBlock)]
pub struct Bounds {
    /// Word of the window.
    pub index: Signal<In, Bits<5>>,
    /// As written.
    pub word: Signal<In, Bits<32>>,
    /// As it acts.
    pub bounded: Signal<Out, Bits<32>>,
    free_log2: Signal<Local, Bits<4>>,
    completion_log2: Signal<Local, Bits<4>>,
    free32: Signal<Local, Bits<32>>,
    completion32: Signal<Local, Bits<32>>,
    bytes: Signal<Local, Bits<17>>,
    sizes: Constant<Bits<5>>,
    buffer: Constant<Bits<5>>,
    log2_min: Constant<Bits<4>>,
    bytes_min: Constant<Bits<17>>,
    bytes_max: Constant<Bits<17>>,
    whole: Constant<Bits<17>>,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            index: Default::default(),
            word: Default::default(),
            bounded: Default::default(),
            free_log2: Default::default(),
            completion_log2: Default::default(),
            free32: Default::default(),
            completion32: Default::default(),
            bytes: Default::default(),
            sizes: index(&nic::RING_SIZES),
            buffer: index(&nic::BUFFER_SIZE),
            log2_min: Constant::new(RING_LOG2_MIN.to_bits()),
            bytes_min: Constant::new(BUFFER_BYTES_MIN.to_bits()),
            bytes_max: Constant::new(BUFFER_BYTES_MAX.to_bits()),
            whole: Constant::new((0x1_ffff & !(BUFFER_ALIGN_BYTES - 1)).to_bits()),
        }
    }
}

impl Logic for Bounds {
    #[hdl_gen]
    fn update(&mut self) {
        // The highest that four bits hold is the largest ring.
        self.free_log2.next = self.word.val().get_bits::<4>(0);
        if self.word.val().get_bits::<4>(0) < self.log2_min.val() {
            self.free_log2.next = self.log2_min.val();
        }
        self.completion_log2.next = self.word.val().get_bits::<4>(8);
        if self.word.val().get_bits::<4>(8) < self.log2_min.val() {
            self.completion_log2.next = self.log2_min.val();
        }
        self.free32.next = self.free_log2.val().to_bits();
        self.completion32.next = self.completion_log2.val().to_bits();
        self.bytes.next = self.word.val().get_bits::<17>(0) & self.whole.val();
        if self.word.val().get_bits::<17>(0) < self.bytes_min.val() {
            self.bytes.next = self.bytes_min.val();
        } else if self.word.val().get_bits::<17>(0) > self.bytes_max.val() {
            self.bytes.next = self.bytes_max.val();
        }
        self.bounded.next = self.word.val();
        if self.index.val() == self.sizes.val() {
            self.bounded.next = (self.completion32.val() << 8) | self.free32.val();
        } else if self.index.val() == self.buffer.val() {
            self.bounded.next = self.bytes.val().to_bits();
        }
    }
}

/// Registers that hardware drives, in the order of their lanes.
const STATUS_ROWS: [&Register; 5] = [
    &nic::QUEUE_STATUS,
    &nic::FREE_CONSUMER,
    &nic::COMPLETION_PRODUCER,
    &nic::QUEUE_NO_BUFFER,
    &nic::QUEUE_DMA_ERRORS,
];

/// See the module. All inputs are of the queue that is looked at.
#[derive(LogicBlock)]
pub struct StatusWord {
    /// Word of the window.
    pub index: Signal<In, Bits<5>>,
    /// Enabled, and not yet stopped.
    pub running: Signal<In, Bit>,
    /// Stopped by a DMA error.
    pub fault: Signal<In, Bit>,
    pub fetched: Signal<In, Bits<16>>,
    pub produced: Signal<In, Bits<16>>,
    pub no_buffer: Signal<In, Bits<32>>,
    pub dma_errors: Signal<In, Bits<32>>,
    /// The register is one of these.
    pub hit: Signal<Out, Bit>,
    /// Its value.
    pub word: Signal<Out, Bits<32>>,
    at: [Constant<Bits<5>>; 5],
    lane: [Signal<Local, Bits<32>>; 5],
    word_of: Signal<Local, Bits<32>>,
    hit_of: Signal<Local, Bit>,
    running_bit: Constant<Bits<32>>,
    fault_bit: Constant<Bits<32>>,
}

impl Default for StatusWord {
    fn default() -> Self {
        let bit = |name| Constant::new(u64::from(nic::QUEUE_STATUS.field(name).mask()).into());
        Self {
            index: Default::default(),
            running: Default::default(),
            fault: Default::default(),
            fetched: Default::default(),
            produced: Default::default(),
            no_buffer: Default::default(),
            dma_errors: Default::default(),
            hit: Default::default(),
            word: Default::default(),
            word_of: Default::default(),
            hit_of: Default::default(),
            lane: std::array::from_fn(|_| Default::default()),
            at: std::array::from_fn(|i| index(STATUS_ROWS[i])),
            running_bit: bit("running"),
            fault_bit: bit("fault"),
        }
    }
}

impl Logic for StatusWord {
    #[hdl_gen]
    fn update(&mut self) {
        self.lane[0].next = 0.into();
        if self.running.val() & self.fault.val() {
            self.lane[0].next = self.running_bit.val() | self.fault_bit.val();
        } else if self.running.val() {
            self.lane[0].next = self.running_bit.val();
        } else if self.fault.val() {
            self.lane[0].next = self.fault_bit.val();
        }
        self.lane[1].next = self.fetched.val().to_bits();
        self.lane[2].next = self.produced.val().to_bits();
        self.lane[3].next = self.no_buffer.val();
        self.lane[4].next = self.dma_errors.val();
        self.hit_of.next = false;
        self.word_of.next = 0.into();
        for i in 0..5 {
            if self.index.val() == self.at[i].val() {
                self.hit_of.next = true;
                self.word_of.next = self.lane[i].val();
            }
        }
        self.hit.next = self.hit_of.val();
        self.word.next = self.word_of.val();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_row_has_a_lane() {
        let rows = nic::REGISTERS.iter().filter(|r| r.access == Access::ReadOnly);
        assert!(rows.map(|r| r.name).eq(STATUS_ROWS.iter().map(|r| r.name)));
    }

    #[test]
    fn fields_are_where_the_table_has_them() {
        let lsb = |row: &Register, name: &str| row.field(name).lsb;
        assert_eq!(
            [lsb(&nic::RING_SIZES, "free_log2"), lsb(&nic::RING_SIZES, "completion_log2")],
            [0, 8]
        );
        assert_eq!(lsb(&nic::QUEUE_CONTROL, "enable"), 0);
        assert_eq!(lsb(&nic::QUEUE_CONTROL, "interrupt"), 2);
        assert_eq!([lsb(&nic::MODERATION, "count"), lsb(&nic::MODERATION, "time")], [0, 16]);
        assert_eq!(nic::RING_LOG2_MAX, 15);
    }
}
