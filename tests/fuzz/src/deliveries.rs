//! What holds of everything that comes out of the model, whatever went in.
//!
//!   configuration, events ──► each delivery possible? ──► each frame once, none lost
//!
//! Invariants, held here for the targets `frame` and `coalescer`: a delivery is one that the driver
//! would take (bounds, reasons, GSO fields); a frame alone is the frame that came; every frame is
//! delivered once, dropped once, or held.

use groove_model::{Config, Event, Model};
use groove_spec::stages::coalesce::GSO_NAMES;
use groove_spec::{AloneReason, CsumState, Delivery, EndReason, MERGED_BYTES_MAX};

/// Where a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Held,
    Delivered,
    Dropped,
}

/// All frames of a run, by number.
#[derive(Debug, Default)]
pub struct Account {
    fates: Vec<Fate>,
}

impl Account {
    /// The next frame goes in.
    pub fn enter(&mut self) {
        self.fates.push(Fate::Held);
    }

    /// What came out: every frame in it was held, and is not any more.
    pub fn leave(&mut self, events: &[Event]) {
        for event in events {
            let (frames, fate) = match event {
                Event::Delivery(delivery) => (&delivery.frames[..], Fate::Delivered),
                Event::Drop { frame, .. } => (std::slice::from_ref(frame), Fate::Dropped),
            };
            for frame in frames {
                let place = self.fates.get_mut(*frame as usize);
                let place = place.unwrap_or_else(|| panic!("frame {frame} never came"));
                assert_eq!(*place, Fate::Held, "frame {frame} left before");
                *place = fate;
            }
        }
    }

    /// Frames that are held, by number.
    pub fn held(&self) -> impl Iterator<Item = u32> {
        let all = (0u32..).zip(&self.fates);
        all.filter(|(_, fate)| **fate == Fate::Held).map(|(number, _)| number)
    }

    /// The model's own counters say the same.
    pub fn agrees_with(&self, model: &Model) {
        let count = |fate| self.fates.iter().filter(|f| **f == fate).count() as u64;
        let stats = model.stats();
        assert!(stats.conserved(), "{stats:?}");
        assert_eq!(stats.frames, self.fates.len() as u64, "frames");
        assert_eq!(stats.held_frames, count(Fate::Held), "frames held");
        assert_eq!(stats.delivered_frames, count(Fate::Delivered), "frames delivered");
        assert_eq!(stats.drops.iter().sum::<u64>(), count(Fate::Dropped), "frames dropped");
        let room = model.config().buckets * model.config().depth;
        assert!(stats.held <= (usize::from(model.config().queues) * room) as u64, "sessions");
    }
}

/// Whether a delivery can be true; `frame` gives an input frame by number.
pub fn check<'a>(config: &Config, delivery: &Delivery, frame: impl Fn(u32) -> &'a [u8]) {
    let d = delivery;
    assert!(d.queue < config.queues, "queue {}", d.queue);
    assert!(d.frames.is_sorted_by(|a, b| a < b) && !d.frames.is_empty(), "{:?}", d.frames);
    assert_ne!(d.end_reason == EndReason::None, d.alone_reason == AloneReason::None);
    if config.max_header_bytes.is_some() {
        assert!((14..=128).contains(&d.hdr_len), "header of {} bytes", d.hdr_len);
        assert!(usize::from(d.hdr_len) <= d.bytes.len(), "header behind the frame");
    }
    match d.gso_segs {
        0 => {
            assert_eq!(d.frames.len(), 1);
            assert_eq!((d.gso_size, d.gso_type, d.encapsulation), (0, 0, false));
            is_the_frame(config, d, frame(d.frames[0]));
        }
        segs => is_merged(d, segs.into()),
    }
}

fn is_merged(d: &Delivery, segs: usize) {
    assert_eq!(d.alone_reason, AloneReason::None);
    assert!(segs >= 2 && segs == d.frames.len(), "{segs} segments of {:?}", d.frames);
    assert!(d.bytes.len() <= MERGED_BYTES_MAX + 14, "{} bytes", d.bytes.len());
    let payload = d.bytes.len() - usize::from(d.hdr_len);
    assert!(d.gso_size > 0 && payload.div_ceil(d.gso_size.into()) == segs, "{payload} bytes");
    assert!(d.gso_type != 0 && d.gso_type >> GSO_NAMES.len() == 0, "type {:#x}", d.gso_type);
    assert_eq!((d.csum, d.csum_offset), (CsumState::Partial, 16));
    assert!(d.csum_start + 20 <= d.hdr_len, "TCP at {} of {}", d.csum_start, d.hdr_len);
}

/// Byte for byte, but for the tag that was taken out and the padding that was cut off.
fn is_the_frame(config: &Config, d: &Delivery, frame: &[u8]) {
    let mut expected = frame.to_vec();
    if let Some(tag) = d.vlan {
        assert!(config.options.vlan_strip, "a tag was taken out");
        let [tpid, tci] = [tag.tpid, tag.tci].map(u16::to_be_bytes);
        let taken: Vec<u8> = expected.drain(12..16).collect();
        assert_eq!(taken, [tpid, tci].concat(), "another tag");
    }
    if config.options.trim_pad {
        assert!(d.bytes.len() <= expected.len(), "longer than it came");
        expected.truncate(d.bytes.len());
    }
    assert!(d.bytes == expected, "frame {} is not what came", d.frames[0]);
}
