//! Holds a device to its word: what a completion says against what the driver gave out.
//!
//! Follows: spec row `nic::COMPLETION`; architecture "Rings".
//! Invariants: a buffer comes home only from a device that has it (`a_buffer_comes_home_once`); a
//! delivery that passes lies wholly inside its buffers and its header slot
//! (`lengths_are_held_to_the_buffers`).
//! Not here: metadata (`metadata`).

use groove_spec::nic::HEADER_SLOT_BYTES;

use crate::completion::Words;
use crate::metadata::{Lie, Refused, check, lie};

/// What a device said that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("completion {index} of queue {queue}: {what}")]
pub struct Violation {
    /// Queue.
    pub queue: usize,
    /// Completion, counted since enable, modulo 65,536.
    pub index: u16,
    /// What is wrong with it.
    pub what: Lie,
}

/// A buffer of a delivery and the bytes in it.
#[derive(Debug, PartialEq, Eq)]
pub struct Piece<B> {
    /// The buffer.
    pub buffer: B,
    /// Its bytes of the delivery.
    pub length: u32,
}

/// A delivery that passed every check. Small, since it is moved: what its first completion says
/// stays as it came, and whatever is behind the first buffer, where most have nothing, lies apart.
#[derive(Debug, PartialEq, Eq)]
pub struct Assembled<B> {
    /// The first completion; with the mark of a DMA error if one hit any part of the delivery.
    pub head: Words,
    /// First buffer.
    pub first: B,
    /// The others.
    pub rest: Rest<B>,
}

/// The buffers of a delivery behind its first, in order. Nearly always there are none: one word in
/// each delivery, and one look at it when the delivery is dropped.
#[derive(Debug, PartialEq, Eq)]
pub struct Rest<B>(Option<Box<Pieces<B>>>);

#[derive(Debug, PartialEq, Eq)]
struct Pieces<B>(Vec<Piece<B>>);

impl<B> Rest<B> {
    /// No more buffers.
    pub const NONE: Self = Self(None);
}

impl<B> Drop for Rest<B> {
    #[inline]
    fn drop(&mut self) {
        #[cold]
        #[inline(never)]
        fn let_go<B>(pieces: Box<Pieces<B>>) {
            drop(pieces);
        }
        if let Some(pieces) = self.0.take() {
            let_go(pieces);
        }
    }
}

impl<B> Assembled<B> {
    /// What lies in the buffers behind the first.
    #[inline]
    pub fn rest(&self) -> &[Piece<B>] {
        self.rest.0.as_ref().map_or(&[], |pieces| &pieces.0)
    }

    fn bytes(&self) -> u32 {
        let rest: u32 = self.rest().iter().map(|piece| piece.length).sum();
        u32::from(self.head.hdr_len()) + self.head.length() + rest
    }

    /// The next buffer; of `all` behind the first.
    fn push(&mut self, piece: Piece<B>, all: usize) {
        let none = || Box::new(Pieces(Vec::with_capacity(all)));
        self.rest.0.get_or_insert_with(none).0.push(piece);
    }

    fn into_buffers(mut self) -> impl Iterator<Item = B> {
        let rest = self.rest.0.take().into_iter().flat_map(|pieces| pieces.0);
        std::iter::once(self.first).chain(rest.map(|piece| piece.buffer))
    }
}

/// What a completion came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken<B> {
    /// A delivery: all of it is in this completion, and in its buffer.
    Whole(B),
    /// A part of a delivery, and not the last.
    Part,
    /// The last part of a delivery, and all of it.
    Last(Box<Assembled<B>>),
    /// A buffer that came back as it went.
    Returned(B),
}

/// Who has which buffer, and the delivery under way. `B` stands for the buffer itself: it can only
/// be moved, so that the device's word can bring it home once.
#[derive(Debug)]
pub struct Ledger<B> {
    with_device: Vec<Option<B>>,
    buffer_bytes: u32,
    split: bool,
    partial: Option<Box<Assembled<B>>>,
}

impl<B> Ledger<B> {
    /// A pool of which the device has nothing.
    pub fn new(pool: usize, buffer_bytes: usize, split: bool) -> Self {
        let with_device = (0..pool).map(|_| None).collect();
        Self { with_device, buffer_bytes: buffer_bytes as u32, split, partial: None }
    }

    /// The device gets a buffer. Gives it back if there is no such buffer in the pool.
    #[inline]
    #[must_use]
    pub fn give(&mut self, id: u16, buffer: B) -> Option<B> {
        let Some(place) = self.with_device.get_mut(usize::from(id)) else { return Some(buffer) };
        let before = place.replace(buffer);
        debug_assert!(before.is_none(), "a buffer is in one place");
        // Not dropped: there is nothing to drop, and looking for it would cost what this saves.
        std::mem::forget(before);
        None
    }

    /// The device has stopped: it has nothing any more. Gives what it had, and what a delivery
    /// under way had.
    pub fn reclaim(&mut self, mut give: impl FnMut(B)) {
        self.partial
            .take()
            .into_iter()
            .flat_map(|delivery| delivery.into_buffers())
            .for_each(&mut give);
        self.with_device.iter_mut().filter_map(Option::take).for_each(give);
    }

    /// Takes the next completion, and says what it comes to.
    #[inline(always)]
    pub fn take(&mut self, c: Words) -> Result<Taken<B>, Refused> {
        let pool = self.with_device.len();
        let Some(place) = self.with_device.get_mut(usize::from(c.buf_id())) else {
            return Err(no_such_buffer(c.buf_id(), pool));
        };
        if place.is_none() {
            return Err(not_with_device(c.buf_id()));
        }
        if c.reserved() != 0 {
            return Err(lie("reserved", c.reserved(), "0"));
        }
        if c.length() > self.buffer_bytes {
            return Err(lie("length", c.length(), "more than the buffer has"));
        }
        let part = Part::of(c);
        if c.first() == 0 || self.partial.is_some() {
            return self
                .proceed(part, c.first())
                .map(|whole| whole.map_or(Taken::Part, Taken::Last));
        }
        if c.total_len() == 0 && part.length == 0 && part.last {
            return place.take().map(Taken::Returned).ok_or_else(|| not_with_device(c.buf_id()));
        }
        check(c)?;
        let bytes = in_slot(c, self.split)? + part.length;
        let whole = is_whole(part, bytes, c.total_len())?;
        // Last: a lie takes no buffer.
        let Some(first) = place.take() else { return Err(not_with_device(c.buf_id())) };
        if whole {
            return Ok(Taken::Whole(first));
        }
        self.partial = Some(Box::new(Assembled { head: c, first, rest: Rest::NONE }));
        Ok(Taken::Part)
    }

    /// The next part of a delivery under way; all of it with the last.
    #[inline(never)]
    fn proceed(&mut self, part: Part, first: u8) -> Result<Option<Box<Assembled<B>>>, Refused> {
        // After a lie the delivery stays here: its buffers are still to be reclaimed.
        let Some(delivery) = self.partial.as_mut().filter(|_| first == 0) else {
            return Err(lie("first", first, "set in the first of a delivery, and only there"));
        };
        let before = delivery.rest().last().map_or(delivery.head.length(), |piece| piece.length);
        if before != self.buffer_bytes || part.length == 0 {
            return Err(lie("length", part.length, "buffers are filled back to back"));
        }
        let whole = is_whole(part, delivery.bytes() + part.length, delivery.head.total_len())?;
        let Some(buffer) = self.with_device[usize::from(part.buf_id)].take() else {
            return Err(not_with_device(part.buf_id));
        };
        let all = delivery.head.total_len() / self.buffer_bytes;
        delivery.push(Piece { buffer, length: part.length }, all as usize);
        if part.error {
            delivery.head = delivery.head.with_error();
        }
        Ok(if whole { self.partial.take() } else { None })
    }
}

#[cold]
#[inline(never)]
fn no_such_buffer(id: u16, pool: usize) -> Refused {
    Box::new(Lie::NoSuchBuffer { id, pool })
}

#[cold]
#[inline(never)]
fn not_with_device(id: u16) -> Refused {
    Box::new(Lie::NotWithDevice(id))
}

/// Bytes in the header slot, which the completion must name.
#[inline(always)]
fn in_slot(c: Words, may_split: bool) -> Result<u32, Refused> {
    let small = c.total_len() <= HEADER_SLOT_BYTES as u32;
    let in_slot = match (small, c.split()) {
        (true, 0) => c.total_len(),
        (false, 0) => 0,
        (false, 1) if may_split => c.header_bytes().into(),
        _ => {
            return Err(lie("split", c.split(), "not of this queue, or of so short a delivery"));
        }
    };
    if u32::from(c.hdr_len()) != in_slot {
        return Err(lie("hdr_len", c.hdr_len(), "not what split and total_len make"));
    }
    Ok(in_slot)
}

/// What every completion says of its buffer, in one register.
#[derive(Clone, Copy)]
struct Part {
    length: u32,
    buf_id: u16,
    last: bool,
    error: bool,
}

impl Part {
    #[inline(always)]
    fn of(c: Words) -> Self {
        let (last, error) = (c.last() == 1, c.error() == 1);
        Self { length: c.length(), buf_id: c.buf_id(), last, error }
    }
}

/// Whether a delivery of `total` has come to its end with `bytes`.
#[inline(always)]
fn is_whole(part: Part, bytes: u32, total: u32) -> Result<bool, Refused> {
    if part.last && bytes == total {
        return Ok(true);
    }
    if bytes > total {
        return Err(lie("length", part.length, "more than total_len"));
    }
    if part.last || bytes == total {
        return Err(lie("last", part.last, "set when all of total_len is there"));
    }
    Ok(false)
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
