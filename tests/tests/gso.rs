//! Re-segmentation: GSO(GRO(x)) == x for everything that merges, and each exception by name.
//!
//! Exceptions: frames that no segmentation can tell apart (urgent pointer without URG, 0xffff for a
//! checksum of 0, a checksum that was given as right), and what the kernel's aggregate does not say
//! (fixed outer identification with IPv6 inside, a GRE checksum; in 6.12 any outer identification
//! that does not increment).

use std::collections::BTreeMap;
use std::path::Path;

use groove::golden::{self, Case, KernelModel, Runner, configuration};
use groove_model::gso::{SegmentError, segment, segment_as};
use groove_model::{Config, Event, Frame, GivenCsum, Model};
use groove_spec::stages::coalesce::{GSO_GRE, GSO_IPXIP4, GSO_TCPV6};
use groove_spec::{Delivery, Profile, TokenKind};
use groove_tests::frames::{encode, v4};
use groove_tests::generate::packet::{Transport, ones_sum};

const KERNELS: [&str; 4] = ["6.12.117", "6.18.44", "7.3.4", "7.3.4+pppoe"];

/// Why a merged delivery cannot give its frames back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Exception {
    UrgentPointer,
    ChecksumZero,
    GivenChecksum,
    SitFixedOuterId,
    GreChecksum,
    OuterIdOf612,
}

fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let given = root.join("../../shared/golden");
    let own = root.join("golden");
    golden::cases(if given.is_dir() { &given } else { &own }).expect("readable")
}

/// Merged deliveries of a case.
fn merged(case: &Case, label: &str) -> Vec<Delivery> {
    let config = configuration(label).expect("a known kernel");
    let plan = KernelModel.plan(case, config).expect("the kernel takes every case");
    let events = KernelModel.run(&plan).expect("the model runs");
    let deliveries = events.into_iter().filter_map(|event| match event {
        Event::Delivery(delivery) if delivery.gso_segs > 0 => Some(delivery),
        _ => None,
    });
    deliveries.collect()
}

/// Positions in which the frames differ from the segments.
fn changed(segments: &[Vec<u8>], frames: &[&[u8]]) -> Vec<(usize, usize)> {
    let mut list = Vec::new();
    for (i, (segment, frame)) in segments.iter().zip(frames).enumerate() {
        assert_eq!(segment.len(), frame.len());
        let at = (0..frame.len()).filter(|at| segment[*at] != frame[*at]);
        list.extend(at.map(|at| (i, at)));
    }
    list
}

/// The exception that explains these changes, if all of them lie where it says.
fn explain(
    profile: Profile,
    case: &Case,
    delivery: &Delivery,
    changed: &[(usize, usize)],
) -> Option<Exception> {
    let tcp = usize::from(delivery.csum_start);
    let within = |ranges: &[(usize, usize)]| {
        changed.iter().all(|(_, at)| ranges.iter().any(|(from, to)| (*from..*to).contains(at)))
    };
    let input = |i: usize| &case.frames[delivery.frames[i] as usize];
    let checksum = (tcp + 16, tcp + 18);
    let (gre, sit) = (GSO_GRE, GSO_IPXIP4 | GSO_TCPV6);
    let tunnel = delivery.encapsulation;
    let given = changed.iter().all(|(i, _)| input(*i).given.csum != GivenCsum::None);
    let ones = changed.iter().all(|(i, _)| input(*i).bytes[tcp + 16..tcp + 18] == [0xff, 0xff]);
    if within(&[checksum]) && ones {
        Some(Exception::ChecksumZero)
    } else if within(&[checksum]) && given {
        Some(Exception::GivenChecksum)
    } else if within(&[checksum, (tcp + 18, tcp + 20)]) {
        Some(Exception::UrgentPointer)
    } else if delivery.gso_type & gre != 0 && within(&[(38, 40)]) {
        Some(Exception::GreChecksum)
    } else if tunnel && profile == Profile::Linux612 && within(&[(18, 20), (24, 26)]) {
        Some(Exception::OuterIdOf612)
    } else if delivery.gso_type & sit == sit && within(&[(18, 20), (24, 26)]) {
        Some(Exception::SitFixedOuterId)
    } else {
        None
    }
}

/// Segments every merged delivery of the kernel's rules; gives how many came back, and the
/// exceptions with their cases.
fn round_trip(label: &str, cases: &[Case]) -> (usize, BTreeMap<Exception, Vec<String>>) {
    let profile = configuration(label).expect("a known kernel").profile;
    let (mut exact, mut exceptions) = (0, BTreeMap::<_, Vec<String>>::new());
    for case in cases {
        for delivery in merged(case, label) {
            let segments = segment_as(profile, &delivery).expect("a merged delivery");
            let frames: Vec<&[u8]> =
                delivery.frames.iter().map(|i| &*case.frames[*i as usize].bytes).collect();
            assert_eq!(segments.len(), frames.len(), "{}", case.name);
            let changed = changed(&segments, &frames);
            if changed.is_empty() {
                exact += 1;
                continue;
            }
            let name = &case.name;
            match explain(profile, case, &delivery, &changed) {
                Some(exception) => exceptions.entry(exception).or_default().push(name.clone()),
                None => panic!("{label}: {name}: frames {:?}: {changed:?}", delivery.frames),
            }
        }
    }
    (exact, exceptions)
}

#[test]
fn everything_that_merges_comes_back() {
    let cases = cases();
    for label in KERNELS {
        let (exact, exceptions) = round_trip(label, &cases);
        let excepted: usize = exceptions.values().map(Vec::len).sum();
        assert!(exact > 1000 && excepted * 15 < exact, "{label}: {exact} and {excepted}");
        let in_612 = exceptions.contains_key(&Exception::OuterIdOf612);
        assert_eq!(in_612, label.starts_with("6.12"));
    }
}

/// The exceptions that one recorded case shows under one kernel's rules.
fn exceptions_of(name: &str, label: &str) -> Vec<Exception> {
    let cases = cases();
    let case: Vec<Case> = cases.into_iter().filter(|case| case.name == name).collect();
    assert_eq!(case.len(), 1, "{name}");
    round_trip(label, &case).1.into_keys().collect()
}

#[test]
fn exception_urgent_pointer_without_urg() {
    assert_eq!(exceptions_of("v4_urgptr_at1", "7.3.4"), [Exception::UrgentPointer]);
}

#[test]
fn exception_input_merged_on_a_given_but_wrong_checksum() {
    for name in ["v4_badcsum_at2_unnecessary", "v4_partial_bad", "v4_partial_pseudo"] {
        assert_eq!(exceptions_of(name, "7.3.4"), [Exception::GivenChecksum], "{name}");
    }
}

#[test]
fn exception_sit_with_fixed_outer_identifications() {
    let name = "sit_outer_id_df0_fixed";
    assert_eq!(exceptions_of(name, "7.3.4"), [Exception::SitFixedOuterId]);
    // The same with IPv4 inside is told by a bit, and comes back.
    assert_eq!(exceptions_of("ipip_outer_id_df0_fixed", "7.3.4"), []);
}

#[test]
fn exception_outer_identification_of_6_12() {
    let name = "ipip_outer_id_df1_random";
    assert_eq!(exceptions_of(name, "6.12.117"), [Exception::OuterIdOf612]);
    assert_eq!(exceptions_of("ipip_outer_id_df1_inc", "6.12.117"), []);
}

/// Runs frames as they come from the wire, tunnels on; gives the only merged delivery.
fn merge(frames: &[Vec<u8>]) -> Delivery {
    let mut config = Config { max_header_bytes: None, ..Config::default() };
    config.options.tunnels = true;
    let mut model = Model::new(config).expect("a possible configuration");
    let mut out = Vec::new();
    frames.iter().for_each(|bytes| model.frame(Frame::new(bytes), &mut out));
    model.token(0, TokenKind::FlushAll, &mut out);
    match out.as_slice() {
        [Event::Delivery(delivery)] if delivery.gso_segs > 1 => delivery.clone(),
        other => panic!("not one merged delivery: {other:?}"),
    }
}

#[test]
fn exception_checksum_of_ones_in_place_of_zero() {
    let zero = |n: usize| encode(v4(n, 100), |p| p.zero_sum = n == 1);
    let mut frames = [zero(0), zero(1)];
    assert_eq!(frames[1][50..52], [0, 0], "the computed checksum is 0");
    assert_eq!(segment(&merge(&frames)).expect("merged"), frames);
    // 0xffff verifies as well, but is not what is computed.
    frames[1][50..52].fill(0xff);
    let segments = segment(&merge(&frames)).expect("merged");
    assert_eq!(changed(&segments, &[&frames[0], &frames[1]]), [(1, 50), (1, 51)]);
}

#[test]
fn exception_gre_checksum() {
    // Checksums inside cancel out: with equal lengths the first frame's is right for all.
    let frames = [gre(0, 100), gre(1, 100), gre(2, 100)];
    assert_eq!(segment(&merge(&frames)).expect("merged"), frames);
    let frames = [gre(0, 100), gre(1, 100), gre(2, 50)];
    let segments = segment(&merge(&frames)).expect("merged");
    let frames: Vec<&[u8]> = frames.iter().map(|f| f.as_slice()).collect();
    assert_eq!(changed(&segments, &frames), [(2, 39)]);
}

/// A segment of an IPv4 flow of 100 bytes each, in GRE with a checksum.
fn gre(number: usize, payload_len: usize) -> Vec<u8> {
    let inner = encode(v4(number, 100), |p| p.payload_len = payload_len);
    let mut packet = vec![0x80, 0, 0x08, 0x00, 0, 0, 0, 0];
    packet.extend(&inner[14..]);
    let checksum = !ones_sum(&packet);
    packet[4..6].copy_from_slice(&checksum.to_be_bytes());
    let mut outer = v4(number, packet.len());
    outer.transport = Transport::Other(47);
    let mut frame = outer.encode();
    frame[34..].copy_from_slice(&packet);
    frame
}

#[test]
fn impossible_sizes_are_an_error() {
    let delivery = merge(&[v4(0, 100).encode(), v4(1, 100).encode()]);
    let with = |change: fn(&mut Delivery)| {
        let mut delivery = delivery.clone();
        change(&mut delivery);
        segment(&delivery)
    };
    assert_eq!(with(|d| d.gso_size = 0), Err(SegmentError::Sizes));
    assert_eq!(with(|d| d.gso_segs = 3), Err(SegmentError::Sizes));
    assert_eq!(with(|d| d.bytes.truncate(40)), Err(SegmentError::Headers));
    assert_eq!(with(|d| d.bytes[13] = 1), Err(SegmentError::Headers));
    assert_eq!(with(|d| d.bytes.clear()), Err(SegmentError::Headers));
}
