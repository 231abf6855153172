//! Interrupts of one queue: moderation, and re-arm by the consumer write.
//!
//!   completions ──► count or time reached, armed? ──► MSI-X, disarmed
//!   consumer write ──► newer ones there? ── yes ──► MSI-X at once
//!                                        └─ no ───► armed
//!   DMA error ──► armed? ──► MSI-X; at each consumer write behind it, too
//!
//! Invariants: a completion that the host has not acknowledged is signalled, whatever the order of
//! its write and the host's (`no_wake_up_is_lost`), and so is a DMA error (`a_fault_is_told`); none
//! is signalled twice (`fires_once_until_re_armed`).

/// State of a queue's vector.
#[derive(Clone, Copy, Debug)]
pub struct Moderation {
    armed: bool,
    /// Completions that the host knows of.
    known: u16,
    /// When the oldest that it does not know of was written.
    since: Option<u64>,
}

/// Settings, as the registers have them now.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Interrupts are on.
    pub on: bool,
    /// Completions; at least 1.
    pub count: u16,
    /// Cycles; 0 is off.
    pub cycles: u64,
}

impl Moderation {
    /// As at enable: armed, nothing known.
    pub fn new() -> Self {
        Self { armed: true, known: 0, since: None }
    }

    fn fire(&mut self, produced: u16) -> bool {
        self.armed = false;
        self.known = produced;
        self.since = None;
        true
    }

    /// Completions up to `produced` are visible. `true`: signal.
    pub fn completed(&mut self, limits: Limits, produced: u16, now: u64) -> bool {
        let new = produced.wrapping_sub(self.known);
        if new == 0 {
            return false;
        }
        self.since.get_or_insert(now);
        limits.on && self.armed && new >= limits.count && self.fire(produced)
    }

    /// The host has consumed up to `consumed`. `true`: signal.
    pub fn acknowledged(&mut self, limits: Limits, consumed: u16, produced: u16) -> bool {
        self.armed = true;
        self.known = consumed;
        self.since = None;
        limits.on && consumed != produced && self.fire(produced)
    }

    /// The queue stands still behind a DMA error, which is to be told even if no completion is
    /// new. `true`: signal.
    pub fn failed(&mut self, limits: Limits, produced: u16) -> bool {
        limits.on && self.armed && self.fire(produced)
    }

    /// Whether the time is over. The queue is flushed before [`Moderation::expire`].
    pub fn is_due(&self, limits: Limits, now: u64) -> bool {
        let waited = |since| limits.cycles > 0 && now - since >= limits.cycles;
        limits.on && self.armed && self.since.is_some_and(waited)
    }

    /// Signals what came up to the end of the flush. `true`: signal.
    pub fn expire(&mut self, produced: u16) -> bool {
        self.armed && self.fire(produced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EACH: Limits = Limits { on: true, count: 1, cycles: 0 };

    #[test]
    fn fires_once_until_re_armed() {
        let mut vector = Moderation::new();
        assert!(vector.completed(EACH, 1, 0));
        assert!(!vector.completed(EACH, 2, 0));
        assert!(!vector.completed(EACH, 3, 0));
        assert!(vector.acknowledged(EACH, 1, 3), "two newer ones");
        assert!(!vector.acknowledged(EACH, 3, 3));
        assert!(!vector.completed(EACH, 3, 0), "nothing new");
        assert!(vector.completed(EACH, 4, 0));
    }

    #[test]
    fn a_fault_is_told() {
        let mut vector = Moderation::new();
        assert!(vector.failed(EACH, 0), "though nothing is new");
        assert!(!vector.failed(EACH, 0), "once until it is armed");
        assert!(!vector.acknowledged(EACH, 0, 0));
        assert!(vector.failed(EACH, 0));
        let off = Limits { on: false, ..EACH };
        assert!(!vector.acknowledged(off, 0, 0));
        assert!(!vector.failed(off, 0));
    }

    /// Every interleaving of the host's read, its acknowledgement and the device's next completion.
    #[test]
    fn no_wake_up_is_lost() {
        for completion_at in 0..4 {
            let mut vector = Moderation::new();
            let mut produced = 1;
            let mut pending = vector.completed(EACH, produced, 0);
            let mut seen = 0;
            for step in 0..4 {
                if step == completion_at {
                    produced += 1;
                    pending |= vector.completed(EACH, produced, 0);
                }
                match step {
                    0 => pending = false, // the host wakes
                    1 => seen = produced,
                    2 => pending |= vector.acknowledged(EACH, seen, produced),
                    _ => {}
                }
            }
            assert!(pending || seen == produced, "completion at step {completion_at}");
        }
    }

    #[test]
    fn waits_for_count_or_time() {
        let limits = Limits { on: true, count: 3, cycles: 64 };
        let mut vector = Moderation::new();
        assert!(!vector.completed(limits, 2, 10));
        assert!(!vector.is_due(limits, 73));
        assert!(vector.is_due(limits, 74));
        assert!(vector.expire(2));
        assert!(!vector.is_due(limits, 1000), "nothing is waiting");
        assert!(!vector.acknowledged(limits, 2, 2));
        assert!(vector.completed(limits, 5, 1000));
    }

    #[test]
    fn indices_wrap() {
        let mut vector = Moderation::new();
        assert!(!vector.acknowledged(EACH, 65535, 65535));
        assert!(vector.completed(EACH, 0, 0));
        assert!(vector.acknowledged(EACH, 0, 1));
    }

    #[test]
    fn off_is_silent() {
        let off = Limits { on: false, count: 1, cycles: 1 };
        let mut vector = Moderation::new();
        assert!(!vector.completed(off, 9, 0));
        assert!(!vector.is_due(off, 99));
        assert!(!vector.acknowledged(off, 1, 9));
        assert!(vector.completed(EACH, 10, 100), "still armed");
    }
}
