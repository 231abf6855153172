//! What a queue says of itself: errors, counters, whereabouts of its buffers.

use crate::Error;
use crate::dma::OutOfBounds;
use crate::home::ReturnStats;
use crate::ledger::Violation;
use crate::queue::STOP_TIMEOUT;

/// Why a queue does not go on.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The device said what cannot be; the queue is off.
    #[error("the device broke the rules, and the queue is switched off: {0}")]
    Violation(#[from] Violation),
    /// A register access failed.
    #[error("failed to reach queue {queue}")]
    Device {
        /// Queue.
        queue: usize,
        /// Why.
        source: Error,
    },
    /// The device did not stop.
    #[error("queue {0} did not stop within {STOP_TIMEOUT:?}")]
    DoesNotStop(usize),
    /// A DMA error stopped the queue; all that it had delivered before was given out. It can be
    /// stopped and started again.
    #[error("a DMA error stopped queue {0}")]
    Fault(usize),
    /// The queue is not running.
    #[error("queue {0} is stopped")]
    Stopped(usize),
    /// The driver's own arithmetic is wrong.
    #[error(transparent)]
    Memory(#[from] OutOfBounds),
}

impl QueueError {
    /// What can be done, if it is known.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Device { source, .. } => source.help(),
            _ => None,
        }
    }
}

/// Counters of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Deliveries given out.
    pub deliveries: u64,
    /// Completions taken.
    pub completions: u64,
    /// Deliveries that a DMA error hit: not given out.
    pub errors: u64,
    /// Buffers posted.
    pub posted: u64,
    /// Buffers on their way home.
    pub returns: ReturnStats,
}

/// Where the buffers of a pool are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Posted, and not completed.
    pub with_device: usize,
    /// In deliveries, or on their way home.
    pub out: usize,
    /// Home, and not posted.
    pub spare: usize,
}
