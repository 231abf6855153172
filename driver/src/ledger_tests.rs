use super::*;
use crate::completion::Completion;

/// A delivery of 3,000 bytes in buffers of 2,048, split.
fn first() -> Completion {
    Completion {
        buf_id: 1,
        length: 2048,
        hdr_len: 66,
        first: 1,
        split: 1,
        header_bytes: 66,
        total_len: 3000,
        protocol: 0x0800,
        alone_reason: 1,
        ..Completion::default()
    }
}

fn second() -> Completion {
    Completion { buf_id: 2, length: 886, last: 1, ..Completion::default() }
}

/// A delivery that lies wholly in its slot.
fn small() -> Completion {
    Completion {
        buf_id: 1,
        hdr_len: 60,
        first: 1,
        last: 1,
        header_bytes: 54,
        total_len: 60,
        alone_reason: 1,
        ..Completion::default()
    }
}

fn ledger() -> Ledger<u16> {
    let mut ledger = Ledger::new(4, 2048, true);
    (0..3).for_each(|id| assert_eq!(ledger.give(id, id), None));
    ledger
}

/// What a completion came to, with the delivery if there is one.
#[derive(Debug, PartialEq)]
enum Outcome {
    More,
    Delivery(Assembled<u16>),
    Returned(u16),
}

fn take(ledger: &mut Ledger<u16>, c: &Completion) -> Result<Outcome, Lie> {
    let head = c.encode();
    Ok(match ledger.take(head).map_err(|lie| *lie)? {
        Taken::Part => Outcome::More,
        Taken::Returned(buffer) => Outcome::Returned(buffer),
        Taken::Whole(first) => Outcome::Delivery(Assembled { head, first, rest: Rest::NONE }),
        Taken::Last(parts) => Outcome::Delivery(*parts),
    })
}

fn reclaim(ledger: &mut Ledger<u16>) -> Vec<u16> {
    let mut all = Vec::new();
    ledger.reclaim(|id| all.push(id));
    all
}

#[track_caller]
fn refused(c: Completion, text: &str) {
    let mut ledger = ledger();
    let error = take(&mut ledger, &c).unwrap_err().to_string();
    assert!(error.contains(text), "{error}");
    assert_eq!(reclaim(&mut ledger).len(), 3, "a lie takes no buffer");
}

#[test]
fn a_delivery_of_two_buffers_is_put_together() {
    let mut ledger = ledger();
    assert_eq!(take(&mut ledger, &first()), Ok(Outcome::More));
    let Ok(Outcome::Delivery(delivery)) = take(&mut ledger, &second()) else { panic!("not whole") };
    assert_eq!((delivery.head, delivery.first), (first().encode(), 1));
    assert_eq!(delivery.rest(), [Piece { buffer: 2, length: 886 }]);
    assert_eq!(reclaim(&mut ledger), [0]);
}

#[test]
fn a_buffer_comes_home_once() {
    let mut ledger = ledger();
    assert!(matches!(take(&mut ledger, &small()), Ok(Outcome::Delivery(_))));
    assert_eq!(take(&mut ledger, &small()), Err(Lie::NotWithDevice(1)));
    let returned = Completion { buf_id: 0, first: 1, last: 1, ..Completion::default() };
    assert_eq!(take(&mut ledger, &returned), Ok(Outcome::Returned(0)));
    assert_eq!(take(&mut ledger, &returned), Err(Lie::NotWithDevice(0)));
    let stranger = Completion { buf_id: 4, ..small() };
    assert_eq!(take(&mut ledger, &stranger), Err(Lie::NoSuchBuffer { id: 4, pool: 4 }));
    assert_eq!(ledger.give(4, 4), Some(4));
    let never_given = Completion { buf_id: 3, ..small() };
    assert_eq!(take(&mut ledger, &never_given), Err(Lie::NotWithDevice(3)));
}

#[test]
fn what_was_under_way_is_reclaimed_too() {
    let mut ledger = ledger();
    assert_eq!(take(&mut ledger, &first()), Ok(Outcome::More));
    let mut all = reclaim(&mut ledger);
    all.sort_unstable();
    assert_eq!(all, [0, 1, 2]);
    assert!(reclaim(&mut ledger).is_empty());

    ledger = self::ledger();
    assert_eq!(take(&mut ledger, &first()), Ok(Outcome::More));
    assert!(take(&mut ledger, &Completion { length: 885, ..second() }).is_err());
    assert_eq!(reclaim(&mut ledger).len(), 3, "after a lie in its midst as well");
}

#[test]
fn lengths_are_held_to_the_buffers() {
    refused(Completion { length: 2049, ..first() }, "length is 2049: more than the buffer has");
    refused(Completion { last: 1, ..first() }, "last is 1");
    refused(Completion { length: 1, last: 1, ..small() }, "more than total_len");
    let after_first = |c: Completion, text: &str| {
        let mut ledger = ledger();
        assert_eq!(take(&mut ledger, &first()), Ok(Outcome::More));
        let error = take(&mut ledger, &c).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    };
    after_first(Completion { length: 887, ..second() }, "more than total_len");
    after_first(Completion { length: 885, ..second() }, "last is 1");
    after_first(Completion { last: 0, ..second() }, "last is 0");
    after_first(Completion { length: 0, ..second() }, "back to back");
    after_first(Completion { first: 1, ..second() }, "first is 1");
    after_first(Completion { buf_id: 1, ..second() }, "does not have it");

    let mut ledger = ledger();
    assert_eq!(take(&mut ledger, &Completion { length: 2047, ..first() }), Ok(Outcome::More));
    let gap = Completion { length: 887, ..second() };
    assert!(take(&mut ledger, &gap).unwrap_err().to_string().contains("back to back"));
}

#[test]
fn each_lie_is_named() {
    let lies = [
        (Completion { reserved: 1, ..small() }, "reserved is 1"),
        (Completion { first: 0, ..small() }, "first is 0"),
        (Completion { total_len: 13, hdr_len: 13, ..small() }, "total_len is 13"),
        (Completion { total_len: 65550, ..first() }, "total_len is 65550"),
        (Completion { header_bytes: 13, ..small() }, "header_bytes is 13"),
        (Completion { header_bytes: 61, ..small() }, "header_bytes is 61"),
        (Completion { header_bytes: 129, hdr_len: 129, ..first() }, "header_bytes is 129"),
        (Completion { hdr_len: 59, ..small() }, "hdr_len is 59"),
        (Completion { hdr_len: 65, ..first() }, "hdr_len is 65"),
        (Completion { split: 1, ..small() }, "split is 1"),
        (Completion { csum: 3, ..small() }, "csum is 3"),
        (Completion { csum: 2, csum_start: 37, ..small() }, "csum_start is 37"),
        (Completion { csum: 1, csum_start: 36, ..small() }, "csum_start is 36"),
        (Completion { hash_type: 7, ..small() }, "hash_type is 7"),
        (Completion { end_reason: 1, ..small() }, "end_reason is 1"),
        (Completion { alone_reason: 0, ..small() }, "end_reason is 0"),
        (Completion { alone_reason: 5, ..small() }, "alone_reason is 5"),
        (Completion { alone_reason: 0, end_reason: 31, ..small() }, "end_reason is 31"),
        (Completion { gso_size: 1, ..small() }, "gso_segs is 0"),
        (Completion { gso_segs: 1, gso_size: 6, gso_type: 1, ..small() }, "gso_segs is 1"),
        (Completion { gso_segs: 2, gso_size: 2, gso_type: 1, ..small() }, "gso_segs is 2"),
        (Completion { gso_segs: 2, gso_size: 0, gso_type: 1, ..small() }, "gso_segs is 2"),
        (Completion { gso_segs: 2, gso_size: 3, gso_type: 0, ..small() }, "gso_type is 0"),
    ];
    for (c, text) in lies {
        refused(c, text);
    }
    let merged = Completion { gso_segs: 2, gso_size: 3, gso_type: 1, ..small() };
    assert!(take(&mut ledger(), &merged).is_ok());
    assert!(take(&mut ledger(), &Completion { csum: 2, csum_start: 36, ..small() }).is_ok());
}

#[test]
fn split_is_refused_where_it_was_not_asked_for() {
    let mut ledger = Ledger::new(4, 2048, false);
    assert_eq!(ledger.give(1, 1), None);
    assert!(take(&mut ledger, &first()).unwrap_err().to_string().contains("split is 1"));
    let together = Completion { split: 0, hdr_len: 0, ..first() };
    assert_eq!(take(&mut ledger, &together), Ok(Outcome::More));
}
