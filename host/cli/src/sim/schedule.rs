//! The schedule: where in the sequence of frames the flush tokens stand. Time is data.
//!
//! - `Batch(n)`: n frames of one queue end that queue's poll: a flush-all token follows the n-th.
//! - `Ticks(t)`: the capture's own time is cut into intervals of t from its first frame on. Before
//!   the first frame of a later interval every queue, in ascending order, gets a tick and a
//!   flush-old token: what was opened in an earlier interval is closed.
//! - Where a wire rests, the polls that have begun end.
//! - At the end every queue is flushed, in ascending order.
//!
//! Invariants: a jump of time costs one round of tokens, however long it is, since the first round
//! leaves nothing to close (`a_jump_of_time_costs_one_round`); time that runs backwards ages
//! nothing (`time_backwards_starts_a_new_interval`).

use std::time::Duration;

use groove_spec::TokenKind;

/// Where flush points are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// That many frames of a queue are one poll; at least 1.
    Batch(u32),
    /// Sessions age by the capture's time, in intervals of that length; not zero.
    Ticks(Duration),
}

/// A token to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Queue.
    pub queue: u8,
    /// Kind.
    pub kind: TokenKind,
}

/// State of the schedule.
#[derive(Clone, Debug)]
pub struct Schedule {
    pace: Pace,
    queues: u8,
    polled: Vec<u32>,
    interval: Option<Interval>,
}

#[derive(Clone, Copy, Debug)]
struct Interval {
    start: Duration,
    end: Duration,
}

impl Schedule {
    /// At the start of a capture.
    pub fn new(pace: Pace, queues: u8) -> Self {
        Self { pace, queues, polled: vec![0; usize::from(queues)], interval: None }
    }

    /// Tokens before a frame that was captured at `time`.
    pub fn before(&mut self, time: Duration, tokens: &mut Vec<Token>) {
        let Pace::Ticks(length) = self.pace else { return };
        let fresh = |start| Interval { start, end: length.saturating_add(start) };
        match self.interval {
            Some(interval) if time >= interval.end => {
                for queue in 0..self.queues {
                    tokens.push(Token { queue, kind: TokenKind::Tick });
                    tokens.push(Token { queue, kind: TokenKind::FlushOld });
                }
                // Intervals stay multiples of their length from the first frame on.
                let passed = (time - interval.start).as_nanos() % length.as_nanos();
                let passed = Duration::from_nanos(u64::try_from(passed).unwrap_or(0));
                self.interval = Some(fresh(time - passed));
            }
            Some(interval) if time >= interval.start => {}
            _ => self.interval = Some(fresh(time)),
        }
    }

    /// Tokens after a frame of `queue`.
    pub fn after(&mut self, queue: u8, tokens: &mut Vec<Token>) {
        let Pace::Batch(frames) = self.pace else { return };
        let Some(polled) = self.polled.get_mut(usize::from(queue)) else { return };
        *polled += 1;
        if *polled >= frames {
            *polled = 0;
            tokens.push(Token { queue, kind: TokenKind::FlushAll });
        }
    }

    /// Tokens when nothing more comes for the moment: the polls that have begun end.
    pub fn rest(&mut self, tokens: &mut Vec<Token>) {
        for (queue, polled) in (0..self.queues).zip(&mut self.polled) {
            if std::mem::take(polled) > 0 {
                tokens.push(Token { queue, kind: TokenKind::FlushAll });
            }
        }
    }

    /// Tokens at the end.
    pub fn end(&self, tokens: &mut Vec<Token>) {
        tokens.extend((0..self.queues).map(|queue| Token { queue, kind: TokenKind::FlushAll }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(times_us: &[u64]) -> Vec<usize> {
        let mut schedule = Schedule::new(Pace::Ticks(Duration::from_micros(100)), 2);
        let round = |time: &u64| {
            let mut tokens = Vec::new();
            schedule.before(Duration::from_micros(*time), &mut tokens);
            tokens.len()
        };
        times_us.iter().map(round).collect()
    }

    #[test]
    fn a_queue_is_flushed_after_its_own_frames() {
        let mut schedule = Schedule::new(Pace::Batch(2), 2);
        let mut tokens = Vec::new();
        for queue in [0, 1, 0, 0, 1] {
            schedule.after(queue, &mut tokens);
        }
        let flush = |queue| Token { queue, kind: TokenKind::FlushAll };
        assert_eq!(tokens, [flush(0), flush(1)]);
        schedule.end(&mut tokens);
        assert_eq!(tokens[2..], [flush(0), flush(1)]);
    }

    #[test]
    fn a_rest_ends_the_polls_that_have_begun() {
        let mut schedule = Schedule::new(Pace::Batch(2), 3);
        let mut tokens = Vec::new();
        for queue in [0, 2, 2] {
            schedule.after(queue, &mut tokens);
        }
        tokens.clear();
        schedule.rest(&mut tokens);
        assert_eq!(tokens, [Token { queue: 0, kind: TokenKind::FlushAll }]);
        schedule.rest(&mut tokens);
        assert_eq!(tokens.len(), 1, "it is at rest already");
    }

    #[test]
    fn each_boundary_ticks_every_queue() {
        assert_eq!(rounds(&[0, 99, 100, 199, 200]), [0, 0, 4, 0, 4]);
        assert_eq!(rounds(&[50, 149, 150, 249, 250]), [0, 0, 4, 0, 4]);
        assert_eq!(rounds(&[0, 150, 199, 200]), [0, 4, 0, 4]);
    }

    #[test]
    fn a_jump_of_time_costs_one_round() {
        assert_eq!(rounds(&[0, u64::MAX / 1000, u64::MAX / 1000]), [0, 4, 0]);
    }

    #[test]
    fn time_backwards_starts_a_new_interval() {
        assert_eq!(rounds(&[1000, 500, 599, 600]), [0, 0, 0, 4]);
    }
}
