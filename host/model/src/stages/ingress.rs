//! ingress: says which received frames go no further.
//!
//! Follows: architecture "ingress"; spec rows `ingress::MAX_FRAME`, `DropReason`.
//! Lengths are those of the received frame, without FCS, before a tag is stripped.
//! Invariant: one reason per frame, the first that holds of runt, oversize, bad FCS
//! (test: `one_reason_at_each_bound`).
//! Not here: overflow and no-buffer, which depend on time; `Model::skip` replays those.

use groove_spec::{DropReason, MAX_FRAME_BYTES, MIN_FRAME_BYTES};

use crate::{Config, Frame};

/// Longest frame that passes. The register acts as 9,216 above that; with headers unbounded, as in
/// a kernel run, there is no such bound.
pub fn max_frame_bytes(config: &Config) -> usize {
    match config.max_header_bytes {
        Some(_) => config.max_frame_bytes.min(MAX_FRAME_BYTES),
        None => config.max_frame_bytes,
    }
}

/// Why the frame is dropped, if it is.
pub fn run(config: &Config, frame: &Frame) -> Option<DropReason> {
    if frame.bytes.len() < MIN_FRAME_BYTES {
        Some(DropReason::Runt)
    } else if frame.bytes.len() > max_frame_bytes(config) {
        Some(DropReason::Oversize)
    } else if frame.bad_fcs {
        Some(DropReason::BadFcs)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(config: &Config, len: usize, bad_fcs: bool) -> Option<DropReason> {
        run(config, &Frame { bytes: &vec![0; len], bad_fcs, given: None })
    }

    #[test]
    fn one_reason_at_each_bound() {
        let config = Config::default();
        assert_eq!(reason(&config, 0, false), Some(DropReason::Runt));
        assert_eq!(reason(&config, 13, true), Some(DropReason::Runt));
        assert_eq!(reason(&config, 14, false), None);
        assert_eq!(reason(&config, 14, true), Some(DropReason::BadFcs));
        assert_eq!(reason(&config, 9216, false), None);
        assert_eq!(reason(&config, 9217, false), Some(DropReason::Oversize));
        assert_eq!(reason(&config, 9217, true), Some(DropReason::Oversize));
    }

    #[test]
    fn register_above_9216_acts_as_9216() {
        let config = Config { max_frame_bytes: 16383, ..Config::default() };
        assert_eq!(reason(&config, 9216, false), None);
        assert_eq!(reason(&config, 9217, false), Some(DropReason::Oversize));
        let lower = Config { max_frame_bytes: 1518, ..Config::default() };
        assert_eq!(reason(&lower, 1518, false), None);
        assert_eq!(reason(&lower, 1519, false), Some(DropReason::Oversize));
    }
}
