//! A quarter of a Toeplitz hash: 72 of 288 input bits against a key known only at run time.
//!
//!   72 input bits, step ──► 103 key bits (4:1 mux) ──► 32 parities of 72 products      0 cycles
//!
//! Follows the published definition: XOR, over the set input bits i in order of reception, of the
//! 32 key bits from bit i on. Four steps make a hash, at a quarter of the logic. Invariant: four
//! steps XORed are the model's hash (`rtl_classify_rss`). Not here: the accumulator.

use crate::blocks::bits::Pack;
use crate::blocks::byte_order::Swap;
use rust_hdl::prelude::*;

/// Combinational.
#[derive(LogicBlock)]
pub struct Toeplitz {
    /// Key words, first byte lowest.
    pub key: [Signal<In, Bits<32>>; 10],
    /// 0 to 3: which input bytes, 9 each.
    pub step: Signal<In, Bits<2>>,
    /// First byte lowest.
    pub chunk: Signal<In, Bits<72>>,
    pub partial: Signal<Out, Bits<32>>,
    key_pack: Pack<32, 10, 320>,
    key_slice: Signal<Local, Bits<104>>,
    key_order: Swap<104>,
    chunk_order: Swap<72>,
    parity: Pack<1, 32, 32>,
}

impl Default for Toeplitz {
    fn default() -> Self {
        Self {
            key: std::array::from_fn(|_| Default::default()),
            step: Default::default(),
            chunk: Default::default(),
            partial: Default::default(),
            key_pack: Default::default(),
            key_slice: Default::default(),
            key_order: Default::default(),
            chunk_order: Default::default(),
            parity: Default::default(),
        }
    }
}

impl Logic for Toeplitz {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..10 {
            self.key_pack.i[i].next = self.key[i].val();
        }
        self.key_slice.next = self.key_pack.o.val().get_bits::<104>(0);
        if self.step.val() == 1 {
            self.key_slice.next = self.key_pack.o.val().get_bits::<104>(72);
        } else if self.step.val() == 2 {
            self.key_slice.next = self.key_pack.o.val().get_bits::<104>(144);
        } else if self.step.val() == 3 {
            self.key_slice.next = self.key_pack.o.val().get_bits::<104>(216);
        }
        // Turned round, the first bit is the highest of both: input bit i meets hash bit j at key
        // bit i + j + 1.
        self.key_order.i.next = self.key_slice.val();
        self.chunk_order.i.next = self.chunk.val();
        for i in 0..32 {
            self.parity.i[i].next = (self.chunk_order.o.val()
                & self.key_order.o.val().get_bits::<72>(i + 1))
            .xor()
            .into();
        }
        self.partial.next = self.parity.o.val();
    }
}
