//! Goal: every form of capture that Groove says it reads is read. Method: files made byte by byte
//! here, read through the library, compared frame by frame.

mod support;

use std::io::{Cursor, Read};
use std::time::Duration;

use groove::capture::{Error, Reader};
use support::{Order, enhanced, interface, obsolete, pcap_header, pcap_record, section, simple};

type Seen = (Duration, u32, Vec<u8>);

fn read(file: &[u8]) -> (Vec<Seen>, Option<Error>) {
    read_from(Box::new(Cursor::new(file.to_vec())))
}

fn read_from(source: Box<dyn Read>) -> (Vec<Seen>, Option<Error>) {
    let mut reader = match Reader::new("x.pcap".into(), source, None) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut seen = Vec::new();
    loop {
        match reader.next_frame() {
            Ok(Some(frame)) => seen.push((frame.time, frame.wire_bytes, frame.bytes.to_vec())),
            Ok(None) => return (seen, None),
            Err(error) => return (seen, Some(error)),
        }
    }
}

/// Gives one byte at a time, as a slow pipe may.
struct Trickle(Cursor<Vec<u8>>);

impl Read for Trickle {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let most = into.len().min(1);
        self.0.read(&mut into[..most])
    }
}

const FRAMES: [&[u8]; 3] = [&[1; 60], &[2; 61], &[3; 1514]];

#[test]
fn pcap_in_both_orders_and_both_units() {
    for order in [Order::Big, Order::Little] {
        for (nanoseconds, unit_ns) in [(false, 1000), (true, 1)] {
            let mut file = pcap_header(order, nanoseconds, 1);
            let mut expected = Vec::new();
            for (i, frame) in FRAMES.iter().enumerate() {
                let (seconds, fraction) = (100 + i as u32, 7 * i as u32);
                file.extend(pcap_record(order, seconds, fraction, frame, frame.len() as u32));
                let time = Duration::new(seconds.into(), fraction * unit_ns);
                expected.push((time, frame.len() as u32, frame.to_vec()));
            }
            let (seen, error) = read(&file);
            assert!(error.is_none(), "{error:?}");
            assert_eq!(seen, expected);
            let (slow, _) = read_from(Box::new(Trickle(Cursor::new(file))));
            assert_eq!(slow, expected);
        }
    }
}

#[test]
fn pcapng_with_sections_interfaces_and_every_packet_block() {
    for order in [Order::Big, Order::Little] {
        let other = match order {
            Order::Big => Order::Little,
            Order::Little => Order::Big,
        };
        // Microseconds by default, nanoseconds and 2^-10 s by option.
        let mut file = section(order);
        file.extend(interface(order, 1, 0, 0));
        file.extend(interface(order, 1, 0, 9));
        file.extend(enhanced(order, 0, 5_000_001, FRAMES[0], 60));
        file.extend(enhanced(order, 1, 5_000_000_001, FRAMES[1], 61));
        file.extend(simple(order, FRAMES[2], 1514));
        file.extend(obsolete(order, 1, 7_000_000_002, FRAMES[0], 60));
        // Statistics and an unknown block are passed over.
        file.extend(support::block(order, 5, &[0; 12]));
        file.extend(support::block(order, 0x0bad_beef, &[0; 4]));
        // A second section in the other order, with its own interfaces.
        file.extend(section(other));
        file.extend(interface(other, 1, 40, 0x80 | 10));
        file.extend(enhanced(other, 0, 2048, FRAMES[1], 61));
        file.extend(simple(other, &FRAMES[0][..40], 60));
        let (seen, error) = read(&file);
        assert!(error.is_none(), "{error:?}");
        let time = |seconds, nanoseconds| Duration::new(seconds, nanoseconds);
        let expected: Vec<Seen> = vec![
            (time(5, 1000), 60, FRAMES[0].to_vec()),
            (time(5, 1), 61, FRAMES[1].to_vec()),
            (time(0, 0), 1514, FRAMES[2].to_vec()),
            (time(7, 2), 60, FRAMES[0].to_vec()),
            (time(2, 0), 61, FRAMES[1].to_vec()),
            (time(0, 0), 60, FRAMES[0][..40].to_vec()),
        ];
        assert_eq!(seen, expected);
    }
}

#[test]
fn cut_frames_are_told_from_whole_ones() {
    let mut file = pcap_header(Order::Little, false, 1);
    file.extend(pcap_record(Order::Little, 0, 0, &[0; 96], 1514));
    file.extend(pcap_record(Order::Little, 0, 0, &[0; 60], 60));
    let mut reader = Reader::new("x".into(), Box::new(Cursor::new(file)), None).unwrap();
    assert!(reader.next_frame().unwrap().unwrap().is_cut());
    assert!(!reader.next_frame().unwrap().unwrap().is_cut());
}

#[test]
fn records_know_their_number_and_place() {
    let file = support::pcap(&FRAMES.map(<[u8]>::to_vec));
    let mut reader = Reader::new("x".into(), Box::new(Cursor::new(file)), None).unwrap();
    let mut places = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        places.push((frame.record, frame.offset));
    }
    assert_eq!(places, [(1, 24), (2, 24 + 76), (3, 24 + 76 + 77)]);
}

#[test]
fn other_link_types_are_refused() {
    let mut file = pcap_header(Order::Little, false, 113);
    file.extend(pcap_record(Order::Little, 0, 0, &[0; 60], 60));
    let (seen, error) = read(&file);
    assert!(seen.is_empty());
    let text = error.unwrap().to_string();
    assert_eq!(
        text,
        "capture x.pcap holds frames of link type 113 (LINUX_SLL); Groove takes Ethernet (1)"
    );
    // An interface of another kind matters only if a frame comes from it.
    let order = Order::Little;
    let mut file = section(order);
    file.extend(interface(order, 1, 0, 0));
    file.extend(interface(order, 105, 0, 0));
    file.extend(enhanced(order, 0, 0, FRAMES[0], 60));
    assert!(read(&file).1.is_none());
    file.extend(enhanced(order, 1, 0, FRAMES[0], 60));
    let (seen, error) = read(&file);
    assert_eq!(seen.len(), 1);
    assert!(matches!(error, Some(Error::LinkType { .. })), "{error:?}");
}

/// Every prefix of a capture: the frames that are whole in it, then an end or an error, never a
/// panic.
#[test]
fn damage_is_an_error_after_the_good_frames() {
    let order = Order::Little;
    let short = [FRAMES[0], FRAMES[1]];
    let mut pcapng = section(order);
    pcapng.extend(interface(order, 1, 0, 9));
    let mut pcap = pcap_header(order, false, 1);
    let (mut ng_ends, mut ends) = (Vec::new(), Vec::new());
    for frame in short {
        pcapng.extend(enhanced(order, 0, 1, frame, frame.len() as u32));
        ng_ends.push(pcapng.len());
        pcap.extend(pcap_record(order, 1, 1, frame, frame.len() as u32));
        ends.push(pcap.len());
    }
    for (file, ends) in [(pcap, ends), (pcapng, ng_ends)] {
        for length in 0..=file.len() {
            let (seen, error) = read(&file[..length]);
            let whole = ends.iter().filter(|end| **end <= length).count();
            assert_eq!(seen.len(), whole, "prefix of {length} bytes");
            let clean = ends.contains(&length);
            assert!(!clean || error.is_none(), "prefix of {length} bytes: {error:?}");
        }
    }
}

/// Every single byte of a small capture set to 0, 0xff, and inverted: an end or an error, never a
/// panic.
/// Found by fuzzing: behind a frame of another link type the next one was given.
#[test]
fn nothing_comes_behind_an_error() {
    let order = Order::Little;
    let mut file = section(order);
    file.extend(interface(order, 101, 0, 0));
    file.extend(interface(order, 1, 0, 0));
    file.extend(enhanced(order, 0, 1, FRAMES[0], 60));
    file.extend(enhanced(order, 1, 2, FRAMES[0], 60));
    let mut reader = Reader::new("x".into(), Box::new(Cursor::new(file)), None).unwrap();
    assert!(matches!(reader.next_frame(), Err(Error::LinkType { .. })));
    assert!(matches!(reader.next_frame(), Ok(None)));
}

#[test]
fn wrong_bytes_never_panic() {
    let order = Order::Big;
    let mut pcapng = section(order);
    pcapng.extend(interface(order, 1, 64, 9));
    pcapng.extend(enhanced(order, 0, 1, FRAMES[0], 60));
    pcapng.extend(simple(order, FRAMES[0], 60));
    pcapng.extend(obsolete(order, 0, 1, FRAMES[0], 60));
    let pcap = support::pcap(&[FRAMES[0].to_vec(), FRAMES[1].to_vec()]);
    for file in [pcap, pcapng] {
        for at in 0..file.len() {
            for value in [0, 0xff, !file[at]] {
                let mut file = file.clone();
                file[at] = value;
                let (seen, _) = read(&file);
                assert!(seen.len() <= 3);
            }
        }
    }
}

#[test]
fn an_absurd_length_is_damage_not_an_allocation() {
    let mut file = support::pcap(&[FRAMES[0].to_vec()]);
    file.extend([0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 60, 0, 0, 0]);
    file.extend([0; 4096]);
    let (seen, error) = read(&file);
    assert_eq!(seen.len(), 1);
    assert!(matches!(error, Some(Error::CutOff { offset: 100, .. })), "{error:?}");
}
