//! Room: holds the wire back while buffers are on their way to the device.
//!
//!   free ring longer than the frame may need? ── yes ──► go
//!                 └─ no ──► is every buffer posted that can be? ── yes ──► go; it may be dropped
//!                                       └─ no ──► wait
//!
//! A wire does not wait; but then what is dropped depends on the threads of this machine.
//! Invariants: a run that waits and has enough buffers drops none for want of them
//! (`a_run_equals_a_simulation`); a wait ends when waiting no longer helps
//! (`a_pool_that_is_too_small_drops`).

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use groove_driver::identify::REGISTERS;
use groove_driver::{Device, Error};
use groove_spec::Register;
use groove_spec::nic::{COMPLETION_PRODUCER, FREE_CONSUMER, FREE_PRODUCER, queue_offset};

use super::receive::Seen;

/// Longest wait for one frame's buffers.
pub const WAIT_MAX: Duration = Duration::from_secs(10);

/// What happens to frames that find no free buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shortage {
    /// They wait for the driver
    Wait,
    /// They are dropped and counted
    Drop,
}

/// Buffers that a frame of so many bytes may need.
pub fn worst_case(frame_bytes: usize, buffer_bytes: usize) -> u16 {
    1 + frame_bytes.div_ceil(buffer_bytes) as u16
}

/// Descriptors of each queue that the device has certainly not fetched yet.
#[derive(Debug)]
pub struct Room {
    credit: Vec<u16>,
    buffer_bytes: usize,
}

impl Room {
    /// Nothing known yet.
    pub fn new(queues: usize, buffer_bytes: usize) -> Self {
        Self { credit: vec![0; queues], buffer_bytes }
    }

    /// Whether the free ring covers a frame; asks the device when what is known does not.
    pub fn covers(&mut self, device: &dyn Device, queue: u8, bytes: usize) -> Result<bool, Error> {
        let need = worst_case(bytes, self.buffer_bytes);
        let credit = &mut self.credit[usize::from(queue)];
        if *credit < need {
            let posted = read(device, queue, &FREE_PRODUCER)?;
            *credit = posted.wrapping_sub(read(device, queue, &FREE_CONSUMER)?);
        }
        let covered = *credit >= need;
        if covered {
            *credit -= need;
        }
        Ok(covered)
    }
}

/// Whether the driver has taken every completion and posted every buffer: nothing more comes.
pub fn is_idle(device: &dyn Device, queue: u8, seen: &Seen) -> Result<bool, Error> {
    let not_posted = seen.not_posted.load(Ordering::Acquire);
    let taken = seen.completions.load(Ordering::Relaxed) as u16;
    Ok(not_posted == 0 && taken == read(device, queue, &COMPLETION_PRODUCER)?)
}

/// Waits a little; `false` if that was long enough since `start`.
pub fn pause(start: Instant) -> bool {
    std::thread::sleep(Duration::from_micros(20));
    start.elapsed() < WAIT_MAX
}

fn read(device: &dyn Device, queue: u8, register: &Register) -> Result<u16, Error> {
    let offset = queue_offset(queue.into(), register) as u64;
    device.read32(REGISTERS, offset).map(|value| value as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_buffer_more_than_the_bytes_fill() {
        let needs = [1, 2048, 2049, 9216].map(|bytes| worst_case(bytes, 2048));
        assert_eq!(needs, [2, 2, 3, 6]);
    }
}
