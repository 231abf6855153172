//! admit: takes a whole frame in, with its lengths and the checksum state it enters with.
//!
//! Follows: architecture "Admission"; kernel `sk_buff` checksum states (`include/linux/skbuff.h`,
//! 7.3).
//!
//! Decisions, the same in hardware:
//! - `rxcsum` off: every frame enters as unverified. On: a TCP or UDP frame whose transport verdict
//!   is good and whose header verdict is not bad enters as verified, level 0; all others enter as
//!   unverified.
//! - soft flush, of a frame with an IP header: the IP length is not the number of bytes from the IP
//!   header to the end of the delivered frame (padding or truncation), or the reserved IPv4
//!   fragment bit is set.
//!
//! Invariant: what was given from outside is kept (test: `given_state_wins`).
//! Not here: buffers. The model has room for every frame; hardware's refusals are replayed by
//! `Model::skip`.

use groove_spec::Verdict;

use super::checksum::Verdicts;
use super::parse::{L3Kind, Parsed};
use crate::{Given, GivenCsum};

/// Checksum state while a frame is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Csum {
    /// State in the kernel's terms.
    pub state: GivenCsum,
    /// With `Unnecessary`: verified levels minus one.
    pub level: u8,
    /// Verified levels that no header has used up yet (`csum_cnt`).
    pub credit: u8,
}

impl Csum {
    /// One checksum verified by the receiver.
    const VERIFIED: Self = Self { state: GivenCsum::Unnecessary, level: 0, credit: 1 };
}

/// State with which the frame enters.
pub fn entry_csum(rxcsum: bool, verdicts: &Verdicts, given: Option<&Given>) -> Csum {
    match given.map(|g| g.csum) {
        Some(GivenCsum::Unnecessary) => Csum::VERIFIED,
        Some(state) => Csum { state, ..Csum::default() },
        None if rxcsum && verdicts.l4 == Verdict::Good && verdicts.l3 != Verdict::Bad => {
            Csum::VERIFIED
        }
        None => Csum::default(),
    }
}

/// The IP length does not match the frame, or the reserved fragment bit is set.
pub fn soft_flush(frame: &[u8], parsed: &Parsed) -> bool {
    let reserved = parsed.l3_kind == L3Kind::Ipv4 && frame[parsed.l3_off + 6] & 0x80 != 0;
    parsed.l3_kind != L3Kind::None
        && (parsed.l3_off + parsed.ip_len != parsed.frame_bytes || reserved)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Verdicts = Verdicts { l3: Verdict::Good, l4: Verdict::Good };

    #[test]
    fn verdict_is_given_only_with_rxcsum() {
        assert_eq!(entry_csum(true, &GOOD, None), Csum::VERIFIED);
        assert_eq!(entry_csum(false, &GOOD, None), Csum::default());
        for (l3, l4, verified) in [
            (Verdict::NotApplicable, Verdict::Good, true),
            (Verdict::Bad, Verdict::Good, false),
            (Verdict::Good, Verdict::Bad, false),
            (Verdict::Good, Verdict::Absent, false),
            (Verdict::Good, Verdict::NotApplicable, false),
        ] {
            let entry = entry_csum(true, &Verdicts { l3, l4 }, None);
            assert_eq!(entry == Csum::VERIFIED, verified, "{l3:?} {l4:?}");
        }
    }

    #[test]
    fn given_state_wins() {
        let with = |csum| entry_csum(true, &GOOD, Some(&Given { csum, ..Given::default() }));
        assert_eq!(with(GivenCsum::None), Csum::default());
        assert_eq!(with(GivenCsum::Unnecessary), Csum::VERIFIED);
        let partial = GivenCsum::Partial { start: 34, offset: 16 };
        assert_eq!(with(partial), Csum { state: partial, level: 0, credit: 0 });
    }
}
