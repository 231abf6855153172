//! Two segments of a flow for every header bit: the second differs from the first in that bit
//! alone, wherever tags, extension headers and options have put it.
//!
//!   layout ─► segment 0 ─► segment 1, one bit over, sums made good again ─► flush ─► next bit
//!
//! Random traffic rarely has a late header and a difference in one of its fields at once; whatever
//! compares or rewrites by position is wrong at one position first.
//! Invariants: every bit of a header comes (`every_bit_comes_once`); without a difference the pair
//! merges (`equal_pairs_merge`).
//! Not here: IPv4 with options, which does not merge; UDP.

use crate::frames::{ACK, PSH, STATION, ip6, tcp, v4, v6};
use groove_model::{Config, Options, RssConfig};
use groove_spec::{MAX_HEADER_BYTES, MIN_FRAME_BYTES, Tag, TokenKind};
use groove_traffic::Item;
use groove_traffic::packet::{Packet, fold, ones_sum};

const PAYLOAD_BYTES: usize = 24;
const TAGS_MAX: usize = 3;
/// Bytes of the one extension header; 0 is none.
const EXTENSIONS: [usize; 6] = [0, 8, 16, 24, 32, 40];
/// Bytes of TCP options.
const OPTIONS: [usize; 3] = [0, 12, 40];
/// Pairs that differ in nothing, each of another flow.
const EQUAL_PAIRS: usize = 5;
/// No-operation, the TCP option of one byte.
const NOP: u8 = 1;
/// Destination options: an extension header that parse walks.
const DESTINATION: u8 = 60;

/// Where the headers of a pair are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    tags: usize,
    /// Bytes of extension headers; `None` is IPv4.
    extensions: Option<usize>,
    options: usize,
}

impl Layout {
    /// All whose headers are within what is visible.
    pub fn all() -> Vec<Self> {
        let families = || [None].into_iter().chain(EXTENSIONS.map(Some));
        let of_tags = |tags| families().map(move |extensions| (tags, extensions));
        let places = (0..=TAGS_MAX).flat_map(of_tags);
        let all = places.flat_map(|(tags, extensions)| {
            OPTIONS.map(|options| Self { tags, extensions, options })
        });
        all.filter(|layout| layout.bytes() <= MAX_HEADER_BYTES).collect()
    }

    fn l3(&self) -> usize {
        14 + 4 * self.tags
    }

    fn l4(&self) -> usize {
        self.l3() + self.extensions.map_or(20, |bytes| 40 + bytes)
    }

    /// Bytes of all headers.
    pub fn bytes(&self) -> usize {
        self.l4() + 20 + self.options
    }

    fn segment(&self, number: usize) -> Vec<u8> {
        let mut packet: Packet = match self.extensions {
            None => v4(number, PAYLOAD_BYTES),
            Some(_) => v6(number, PAYLOAD_BYTES),
        };
        packet.tags = (0..self.tags).map(|i| Tag { tpid: 0x8100, tci: 1 + i as u16 }).collect();
        if let Some(bytes) = self.extensions.filter(|&bytes| bytes > 0) {
            // One PadN option over all of it: RFC 8200 §4.2.
            let mut body = vec![0; bytes - 2];
            body[..2].copy_from_slice(&[1, (bytes - 4) as u8]);
            ip6(&mut packet).extensions = vec![(DESTINATION, body)];
        }
        let segment = tcp(&mut packet);
        segment.options = vec![NOP; self.options];
        segment.flags = ACK;
        packet.encode()
    }

    /// Makes the checksums right again after a change.
    fn seal(&self, frame: &mut [u8]) {
        let (l3, l4) = (self.l3(), self.l4());
        if self.extensions.is_none() {
            frame[l3 + 10..l3 + 12].fill(0);
            let sum = !ones_sum(&frame[l3..l4]);
            frame[l3 + 10..l3 + 12].copy_from_slice(&sum.to_be_bytes());
        }
        let addresses = if self.extensions.is_none() { l3 + 12..l3 + 20 } else { l3 + 8..l3 + 40 };
        frame[l4 + 16..l4 + 18].fill(0);
        let length = (frame.len() - l4) as u64;
        let parts = [ones_sum(&frame[addresses]), ones_sum(&frame[l4..])];
        let sum = !fold(parts.iter().map(|&s| u64::from(s)).sum::<u64>() + length + 6);
        frame[l4 + 16..l4 + 18].copy_from_slice(&sum.to_be_bytes());
    }

    /// The pair whose second frame has these bits of its headers over, counted from the first
    /// byte's lowest.
    pub fn pair(&self, bits: &[usize]) -> [Vec<u8>; 2] {
        let mut second = self.segment(1);
        for bit in bits {
            second[bit / 8] ^= 1 << (bit % 8);
        }
        if !bits.is_empty() {
            self.seal(&mut second);
        }
        [self.segment(0), second]
    }

    /// An equal pair of flow `number`, the second with PSH, which gets onto the merged header.
    fn pushed(&self, number: usize) -> [Vec<u8>; 2] {
        [0, 1].map(|segment| {
            let mut frame = self.segment(segment);
            // Before the addresses' last bytes nothing depends on the family.
            let last = self.l3() + if self.extensions.is_none() { 16 } else { 24 };
            frame[last] ^= (number * 0x5b) as u8;
            frame[self.l4() + 13] |= if segment == 1 { PSH } else { 0 };
            self.seal(&mut frame);
            frame
        })
    }

    /// A segment cut to every length that a frame may have, and with every length in its IP header
    /// up to the right one and a little beyond.
    fn shortened(&self) -> impl Iterator<Item = [Vec<u8>; 2]> {
        let whole = self.segment(1);
        let cut = (MIN_FRAME_BYTES..whole.len()).map({
            let whole = whole.clone();
            move |bytes| whole[..bytes].to_vec()
        });
        let field = self.l3() + if self.extensions.is_none() { 2 } else { 4 };
        let told = (0..whole.len() - self.l3() + 3).map(move |bytes| {
            let mut frame = whole.clone();
            frame[field..field + 2].copy_from_slice(&(bytes as u16).to_be_bytes());
            frame
        });
        let first = self.segment(0);
        cut.chain(told).map(move |second| [first.clone(), second])
    }

    /// Bits that cancel in a sum of 16-bit words without carry: a digest of the header is the same,
    /// the header is not. One pair a 32-bit word from byte 2 on.
    fn cancelling(&self, shift: usize) -> impl Iterator<Item = [usize; 2]> {
        let words = (2..self.bytes() - 2).step_by(4);
        words.map(move |byte| [8 * byte + shift, 8 * (byte + 2) + shift])
    }
}

/// Pairs of a layout: equal ones; one bit over, `bits` in each byte; two bits that cancel; a second
/// that is cut or tells another length. Flushes between them. All is one queue's.
pub fn items(layout: Layout, bits: impl Fn(usize) -> Vec<usize>) -> Vec<Item> {
    let of_byte = |byte| bits(byte).into_iter().map(move |bit| layout.pair(&[8 * byte + bit]));
    let flips = (0..layout.bytes()).flat_map(of_byte);
    let cancelling = (1..16).step_by(7).flat_map(|shift| layout.cancelling(shift));
    let equal = (0..EQUAL_PAIRS).map(|number| layout.pushed(number));
    let pairs = std::iter::once(layout.pair(&[])).chain(equal).chain(flips);
    let mut items = vec![];
    let pairs = pairs.chain(cancelling.map(|bits| layout.pair(&bits)));
    for pair in pairs.chain(layout.shortened()) {
        items.extend(pair.map(|bytes| Item::Frame { bytes, bad_fcs: false }));
        items.push(Item::Token { queue: 0, kind: TokenKind::FlushAll });
    }
    items
}

/// What the pairs are run under: without a hash, so that nothing but the headers tells flows apart,
/// and with the first tag stripped but where that would leave no frame with all tags in it.
pub fn config(layout: Layout, queues: u8) -> Config {
    let rss = RssConfig { hash_types: 0, ..RssConfig::default() };
    let options = Options { vlan_strip: layout.tags < TAGS_MAX, ..Options::default() };
    Config { station: STATION, queues, rss, options, ..Config::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differential::model;
    use groove_model::Event;

    #[test]
    fn every_bit_comes_once() {
        let layout = Layout { tags: 1, extensions: Some(8), options: 12 };
        let items = items(layout, |_| (0..8).collect());
        let frames = items.iter().filter(|item| matches!(item, Item::Frame { .. }));
        let pairs = 1 + EQUAL_PAIRS + 8 * layout.bytes() + 3 * layout.cancelling(0).count();
        let pairs = pairs + layout.shortened().count();
        assert_eq!(frames.count(), 2 * pairs);
        assert_eq!(layout.bytes(), 14 + 4 + 40 + 8 + 20 + 12);
    }

    #[test]
    fn equal_pairs_merge() {
        for layout in Layout::all() {
            let mut items = items(layout, |_| vec![]);
            items.truncate(3 * (1 + EQUAL_PAIRS));
            let (events, _) = model(&config(layout, 1), &items, &Default::default());
            let merged = |event: &Event| match event {
                Event::Delivery(delivery) => delivery.frames.len() == 2,
                Event::Drop { .. } => false,
            };
            assert!(
                events.len() == 1 + EQUAL_PAIRS && events.iter().all(merged),
                "{layout:?}: {events:?}"
            );
        }
    }
}
