//! Attribution: which frames a merged delivery is made of.
//!
//!   delivery: first frame (its mark), segments, bytes ─┐
//!   frames of the burst ───────────────────────────────┴─► numbers, or why none fit
//!
//! The kernel names the first frame alone. Each of the others must carry on where the payload
//! stands: its bytes behind the headers are the next bytes of the delivery, its sequence number is
//! the first one's plus what came before, hash and tag are the first one's, and it lies behind it
//! in the same poll. Of frames that are alike in all this, the earlier one was merged: a session
//! takes what comes, and ends before the next one of its flow begins.
//!
//! Invariant: every frame is in exactly one delivery, or the result is refused
//! (`every_frame_is_in_one_delivery`). Not here: any rule of what merges.

use crate::delivery::{Csum, Delivery, Frame};

/// Fills `frames` of every delivery; each comes with its first frame in it. An error gives the
/// delivery's number, and what is wrong.
pub fn attribute(frames: &[Frame], deliveries: &mut [Delivery]) -> Result<(), (usize, String)> {
    let mut taken = vec![false; frames.len()];
    for (number, delivery) in deliveries.iter().enumerate() {
        match delivery.frames.first().and_then(|first| taken.get_mut(*first)) {
            Some(slot) if !*slot => *slot = true,
            Some(_) => return Err((number, "its first frame was delivered before".into())),
            None => return Err((number, "its first frame is none of the burst".into())),
        }
    }
    for (number, delivery) in deliveries.iter_mut().enumerate() {
        if delivery.gso_segs > 0 {
            follow(frames, delivery, &mut taken).map_err(|what| (number, what))?;
        } else if !is_as_it_came(&frames[delivery.frames[0]], delivery) {
            return Err((number, "a lone frame whose bytes changed".into()));
        }
    }
    match taken.iter().position(|taken| !taken) {
        Some(frame) => Err((deliveries.len(), format!("frame {frame} is in none"))),
        None => Ok(()),
    }
}

/// Bytes that the stack has moved out of band: the outermost tag of a frame that had none stripped.
fn moved_bytes(frame: &Frame, delivery: &Delivery) -> usize {
    if frame.tag.is_none() && delivery.tag.is_some() { 4 } else { 0 }
}

fn is_as_it_came(frame: &Frame, delivery: &Delivery) -> bool {
    let moved = moved_bytes(frame, delivery);
    let addresses = frame.bytes.len().min(12);
    frame.bytes.get(addresses + moved..).is_some_and(|rest| {
        delivery.bytes.len() == addresses + rest.len()
            && delivery.bytes[..addresses] == frame.bytes[..addresses]
            && delivery.bytes[addresses..] == *rest
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()).map(|w| u32::from_be_bytes(*w))
}

/// Finds the frames behind the first one.
fn follow(frames: &[Frame], delivery: &mut Delivery, taken: &mut [bool]) -> Result<(), String> {
    let Csum::Partial { start, .. } = delivery.csum else {
        return Err("merged without a transport header".into());
    };
    let tcp = usize::from(start);
    let offset = delivery.bytes.get(tcp + 12).ok_or("its transport header is cut")?;
    let header = tcp + 4 * usize::from(offset >> 4);
    let payload = delivery.bytes.get(header..).ok_or("its headers are cut")?;
    let first = delivery.frames[0];
    let moved = moved_bytes(&frames[first], delivery);
    let begin = word(&frames[first].bytes, tcp + moved + 4).ok_or("its first frame is cut")?;
    let size = usize::from(delivery.gso_size);
    for segment in 0..usize::from(delivery.gso_segs) {
        let at = segment * size;
        let end = if segment + 1 == delivery.gso_segs.into() { payload.len() } else { at + size };
        let part = payload.get(at..end).filter(|p| !p.is_empty() && p.len() <= size);
        let part = part.ok_or_else(|| format!("segment {segment} has no payload"))?;
        let seq = begin.wrapping_add(at as u32);
        let fits = |frame: &Frame| {
            frame.bytes.get(header + moved..) == Some(part)
                && word(&frame.bytes, tcp + moved + 4) == Some(seq)
                && (frame.hash, frame.tag) == (frames[first].hash, frames[first].tag)
        };
        if segment == 0 {
            if !fits(&frames[first]) {
                return Err("it does not begin with its first frame".into());
            }
            continue;
        }
        let last = delivery.frames.last().copied().unwrap_or(first);
        let same_poll = frames[last + 1..].iter().take_while(|frame| !frame.gap);
        let found = same_poll.zip(last + 1..).find(|(frame, n)| !taken[*n] && fits(frame));
        let (_, found) = found.ok_or_else(|| format!("no frame is its segment {segment}"))?;
        taken[found] = true;
        delivery.frames.push(found);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame with 34 bytes before TCP, a header of 20, and this payload.
    fn frame(seq: u32, payload: &[u8]) -> Frame {
        let mut bytes = vec![0; 54];
        bytes[38..42].copy_from_slice(&seq.to_be_bytes());
        bytes[46] = 0x50;
        bytes.extend(payload);
        Frame { bytes, hash: 1, csum: Default::default(), tag: None, gap: false }
    }

    fn lone(number: usize, frame: &Frame) -> Delivery {
        Delivery {
            frames: vec![number],
            bytes: frame.bytes.clone(),
            gso_size: 0,
            gso_segs: 0,
            gso_type: vec![],
            csum: Csum::None,
            encapsulation: false,
            hash: 1,
            tag: None,
        }
    }

    fn merged(first: usize, frames: &[Frame], segs: u16, payload: &[u8]) -> Delivery {
        let mut delivery = lone(first, &frames[first]);
        delivery.bytes.truncate(54);
        delivery.bytes.extend(payload);
        delivery.csum = Csum::Partial { start: 34, offset: 16 };
        Delivery { gso_size: 2, gso_segs: segs, ..delivery }
    }

    #[test]
    fn every_frame_is_in_one_delivery() {
        let frames = [frame(10, b"ab"), frame(50, b"xx"), frame(12, b"cd"), frame(14, b"e")];
        let mut good = [lone(1, &frames[1]), merged(0, &frames, 3, b"abcde")];
        attribute(&frames, &mut good).unwrap();
        assert_eq!(good[1].frames, [0, 2, 3]);
        let missing = attribute(&frames, &mut [merged(0, &frames, 3, b"abcde")]);
        assert_eq!(missing.unwrap_err().1, "frame 1 is in none");
        let twice = attribute(&frames, &mut [lone(1, &frames[1]), lone(1, &frames[1])]);
        assert_eq!(twice.unwrap_err(), (1, "its first frame was delivered before".into()));
        let odd = attribute(&frames, &mut [lone(4, &frames[1])]);
        assert_eq!(odd.unwrap_err().1, "its first frame is none of the burst");
    }

    #[test]
    fn what_is_not_there_is_not_made_up() {
        let frames = [frame(10, b"ab"), frame(12, b"cd")];
        let wrong = |payload: &[u8], segs| {
            let mut list = [merged(0, &frames, segs, payload)];
            attribute(&frames, &mut list).unwrap_err().1
        };
        assert_eq!(wrong(b"abcx", 2), "no frame is its segment 1");
        assert_eq!(wrong(b"xbcd", 2), "it does not begin with its first frame");
        assert_eq!(wrong(b"abcd", 3), "segment 2 has no payload");
        let mut changed = lone(0, &frames[0]);
        changed.bytes[3] ^= 1;
        let list = &mut [changed, lone(1, &frames[1])];
        assert_eq!(attribute(&frames, list).unwrap_err().1, "a lone frame whose bytes changed");
    }

    #[test]
    fn a_repeated_segment_goes_to_the_session_of_its_time() {
        let frames = [frame(10, b"ab"), frame(12, b"cd"), frame(10, b"ab"), frame(12, b"cd")];
        // Delivered in the other order, as buckets may have it.
        let mut list = [merged(2, &frames, 2, b"abcd"), merged(0, &frames, 2, b"abcd")];
        attribute(&frames, &mut list).unwrap();
        assert_eq!((&list[0].frames[..], &list[1].frames[..]), (&[2, 3][..], &[0, 1][..]));
    }

    #[test]
    fn a_gap_ends_what_may_follow() {
        let mut frames = [frame(10, b"ab"), frame(12, b"cd")];
        frames[1].gap = true;
        let mut list = [merged(0, &frames, 2, b"abcd")];
        assert_eq!(attribute(&frames, &mut list).unwrap_err().1, "no frame is its segment 1");
    }

    #[test]
    fn an_in_band_tag_has_moved() {
        let tagged = |seq, payload: &[u8]| {
            let mut frame = frame(seq, payload);
            frame.bytes.splice(12..12, [0x81, 0, 0, 5]);
            frame
        };
        let frames = [tagged(10, b"ab"), tagged(12, b"cd"), tagged(99, b"zz")];
        let untagged = [frame(10, b"ab"), frame(12, b"cd"), frame(99, b"zz")];
        let tag = Some((0x8100, 5));
        let mut list = [
            Delivery { tag, ..lone(2, &untagged[2]) },
            Delivery { tag, ..merged(0, &untagged, 2, b"abcd") },
        ];
        attribute(&frames, &mut list).unwrap();
        assert_eq!(list[1].frames, [0, 1]);
    }
}
