//! Buffers on lease: each holds what all buffers of a queue share, and goes home when it is
//! dropped.
//!
//!   Owner ──► Lease ──► (any thread) ──► dropped ──► Home ──► Owner::collect ──► Lease ──► …
//!
//! An `Arc` in each delivery would cost two locked instructions on the owner's thread. Here the
//! count of references is bought once, for the whole pool: one for each buffer, one for the owner.
//! A buffer that is out, in a return list or with the device holds its reference, and nothing is
//! counted while it goes round. Only when the owner is gone, each buffer that comes later takes its
//! reference with it, and the last one frees all.
//!
//! Invariants: a buffer is in one place at a time, since a `Lease` can neither be copied nor made
//! out of nothing (`a_lease_comes_back_as_itself`); all is freed once, with the last of owner and
//! buffers (`the_last_one_frees_all`, `close_and_drop_free_once`); a releasing thread touches
//! nothing behind the push that hands its buffer over (`close_and_drop_free_once`).

use std::collections::VecDeque;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::Interrupt;
use crate::home::{Bounds, Home, Pushed, ReturnStats};
use crate::sync::{AtomicUsize, Ordering};

struct Inner<T> {
    references: AtomicUsize,
    home: Home,
    value: T,
}

/// Gives up one reference, and frees all with the last.
///
/// # Safety
/// The caller owns `references` references of `inner`, and uses none of them afterwards.
unsafe fn give_up<T>(inner: NonNull<Inner<T>>, references: usize) {
    // SAFETY: a reference that the caller owns keeps it alive up to this subtraction.
    let before = unsafe { &inner.as_ref().references }.fetch_sub(references, Ordering::Release);
    if before == references {
        // SAFETY: these were the last references, so nobody else reaches it. The load acquires what
        // all others did; it is no fence, since ThreadSanitizer does not see those.
        unsafe { &inner.as_ref().references }.load(Ordering::Acquire);
        // SAFETY: as above; it came from a Box.
        drop(unsafe { Box::from_raw(inner.as_ptr()) });
    }
}

/// A buffer.
pub struct Lease<T> {
    inner: NonNull<Inner<T>>,
    id: u16,
}

// SAFETY: a lease gives a shared reference to `T` on whatever thread it is, and may free `T` there.
// `Home` is built for calls from all threads.
unsafe impl<T: Send + Sync> Send for Lease<T> {}
// SAFETY: a shared lease gives a shared reference to `T`, and nothing else.
unsafe impl<T: Send + Sync> Sync for Lease<T> {}

impl<T> Lease<T> {
    /// Number of the buffer in its pool.
    #[inline]
    pub fn id(&self) -> u16 {
        self.id
    }

    /// On a thread that is not the owner's.
    #[inline(never)]
    fn away(&mut self) {
        let (inner, id) = (self.inner.as_ptr(), self.id);
        // SAFETY: this lease's reference is given up at the earliest by a push below.
        let away = unsafe { (*inner).home.away() };
        let mut held = false;
        let mut hold = || {
            if !std::mem::replace(&mut held, true) {
                // One more: `kick` is touched behind the push.
                // SAFETY: this lease's reference is there until the push.
                unsafe { &(*inner).references }.fetch_add(1, Ordering::Relaxed);
            }
        };
        // What takes the buffer hands this lease's reference to the owner. Behind that, all may be
        // gone, the list too, unless one more is held.
        let full = Pushed::Full;
        let mut pushed = away.slot.map_or(full, |l| l.push(away.next, id, away.bounds, &mut hold));
        if pushed == full {
            pushed = away.overflow.push(away.next, id, Bounds::OVERFLOW, &mut hold);
        }
        if held {
            // SAFETY: the reference that `hold` took is there until `give_up`.
            unsafe {
                if pushed == Pushed::Taken(true) {
                    (*inner).home.kick();
                }
                give_up(self.inner, 1);
            }
        }
        if pushed == Pushed::Closed {
            // SAFETY: the list did not take it: it is still this lease's.
            unsafe { give_up(self.inner, 1) };
        }
    }
}

impl<T> Deref for Lease<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this lease owns a reference.
        unsafe { &(*self.inner.as_ptr()).value }
    }
}

impl<T> Drop for Lease<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this lease owns a reference. On the owner's thread it is handed over by `stage`,
        // to an owner that this thread has, or that nobody has.
        unsafe {
            let home = &(*self.inner.as_ptr()).home;
            if home.is_owner() && home.stage(self.id) {
                return;
            }
        }
        self.away();
    }
}

impl<T> std::fmt::Debug for Lease<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Lease").field(&self.id).finish()
    }
}

/// The one to whom all buffers of a pool return.
pub struct Owner<T> {
    inner: NonNull<Inner<T>>,
}

// SAFETY: it gives a shared reference to `T`, and may free `T`. What of `Home` belongs to the
// owner's thread is touched only if that is this thread, or nobody: `Home::is_mine` decides at run
// time.
unsafe impl<T: Send + Sync> Send for Owner<T> {}
// SAFETY: a shared owner gives shared references to `T`, and counters; all else takes `&mut`.
unsafe impl<T: Send + Sync> Sync for Owner<T> {}

impl<T> Owner<T> {
    /// A pool of so many buffers, all of them at hand, with return slots for `domains` threads of
    /// at most `max` - 1 buffers each. `kick` wakes the owner.
    pub fn new(
        value: T,
        pool: u16,
        domains: usize,
        max: u32,
        kick: Arc<Interrupt>,
    ) -> (Self, Vec<Lease<T>>) {
        let home = Home::new(pool.into(), domains, max, kick);
        let references = AtomicUsize::new(usize::from(pool) + 1);
        let inner = NonNull::from(Box::leak(Box::new(Inner { references, home, value })));
        (Self { inner }, (0..pool).map(|id| Lease { inner, id }).collect())
    }

    fn home(&self) -> &Home {
        // SAFETY: the owner has a reference.
        unsafe { &(*self.inner.as_ptr()).home }
    }

    /// Buffers that are dropped on this thread go home without a locked instruction from now on.
    /// While another thread is bound, it is that thread still.
    pub fn bind(&mut self) {
        self.home().bind();
    }

    /// The end of [`Owner::bind`], on the same thread.
    pub fn unbind(&mut self) {
        self.home().unbind();
    }

    /// Appends everything that came home.
    pub fn collect(&mut self, into: &mut VecDeque<Lease<T>>) {
        self.collect_home(|lease| into.push_back(lease));
        self.collect_away(into);
    }

    /// Gives what was dropped on this thread, in order. `each` drops no buffer.
    #[inline]
    pub(crate) fn collect_home(&mut self, mut each: impl FnMut(Lease<T>)) {
        let inner = self.inner;
        // `Home` gives each buffer once that was dropped since, and with it the reference that the
        // lease had (`push_and_drain_lose_nothing`).
        self.home().collect_home(|id| each(Lease { inner, id }));
    }

    /// Appends what was dropped on other threads.
    pub(crate) fn collect_away(&mut self, into: &mut VecDeque<Lease<T>>) {
        let inner = self.inner;
        // As above.
        self.home().collect_away(|id| into.push_back(Lease { inner, id }));
    }

    /// Counters of the way home.
    pub fn stats(&self) -> ReturnStats {
        self.home().stats()
    }
}

impl<T> Deref for Owner<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the owner has a reference.
        unsafe { &(*self.inner.as_ptr()).value }
    }
}

impl<T> Drop for Owner<T> {
    fn drop(&mut self) {
        let home = self.home().close();
        // SAFETY: the owner's own reference, and those of the buffers that were at home: nobody
        // else has them, since the lists are closed and empty.
        unsafe { give_up(self.inner, home + 1) };
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Owner<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Owner").field(&**self).finish()
    }
}
