use super::*;
use crate::stages::parse;
use crate::test_frames::{IP, TCP4, TCP6, fix, tcp4, tcp6, with};

fn verdicts(frame: &[u8]) -> Verdicts {
    run(frame, &parse::run(frame, 128, 3, false))
}

fn l4(frame: &[u8]) -> Verdict {
    verdicts(frame).l4
}

#[test]
fn plain_segments_are_good_and_any_flipped_bit_is_bad() {
    for (frame, headers) in [(tcp4(0, 33), TCP4), (tcp6(0, 33), TCP6)] {
        assert_eq!(l4(&frame), Verdict::Good);
        for byte in headers..frame.len() {
            let mut broken = frame.clone();
            broken[byte] ^= 0x10;
            assert_eq!(l4(&broken), Verdict::Bad, "byte {byte}");
        }
    }
    assert_eq!(verdicts(&tcp4(0, 33)).l3, Verdict::Good);
    assert_eq!(verdicts(&tcp6(0, 33)).l3, Verdict::NotApplicable);
}

#[test]
fn header_sums_with_many_carries_are_good() {
    // B34: a valid header whose sum needs two carries added.
    let mut frame = tcp4(0, 10);
    frame[IP + 1] = 0xff;
    frame[IP + 4..IP + 9].copy_from_slice(&[0xff, 0xff, 0x40, 0, 0xff]);
    frame[IP + 12..IP + 20].fill(0xff);
    fix(&mut frame);
    assert!(sum(&frame[IP..IP + 20]) > 0x2_0000);
    assert_eq!(verdicts(&frame), Verdicts { l3: Verdict::Good, l4: Verdict::Good });
    frame[IP + 10] ^= 1;
    assert_eq!(verdicts(&frame).l3, Verdict::Bad);
}

#[test]
fn header_verdict_covers_options_and_needs_them_visible() {
    let mut frame = tcp4(0, 60);
    frame[IP] = 0x4f;
    fix(&mut frame);
    assert_eq!(verdicts(&frame).l3, Verdict::Good);
    frame[IP + 59] ^= 1;
    assert_eq!(verdicts(&frame).l3, Verdict::Bad);
    assert_eq!(verdicts(&frame[..IP + 59]).l3, Verdict::NotApplicable);
}

#[test]
fn transport_sum_needs_a_second_fold() {
    // B35: many words of 0xffff.
    let frame = with(tcp4(0, 60), |f| f[TCP4 + 20..].fill(0xff));
    assert_eq!(l4(&frame), Verdict::Good);
    let frame = with(tcp6(0, 61), |f| f[TCP6 + 20..].fill(0xff));
    assert_eq!(l4(&frame), Verdict::Good);
}

#[test]
fn padding_is_not_summed() {
    // B38: the sum covers the IP length.
    let mut frame = tcp4(0, 1);
    frame.resize(60, 0xaa);
    assert_eq!(l4(&frame), Verdict::Good);
}

#[test]
fn lengths_decide_what_is_applicable() {
    let with_length = |ip_len: u16| {
        with(tcp4(0, 30), |f| f[IP + 2..IP + 4].copy_from_slice(&ip_len.to_be_bytes()))
    };
    assert_eq!(l4(&with_length(39)), Verdict::NotApplicable);
    assert_eq!(l4(&with_length(40)), Verdict::Good);
    assert_eq!(l4(&with_length(70)), Verdict::Good);
    assert_eq!(l4(&with_length(71)), Verdict::NotApplicable);
    assert_eq!(l4(&with_length(0)), Verdict::NotApplicable);
    let udp = |ip_len: u16| with(with_length(ip_len), |f| f[IP + 9] = 17);
    assert_eq!(l4(&udp(27)), Verdict::NotApplicable);
    assert_eq!(l4(&udp(28)), Verdict::Good);
}

#[test]
fn data_offset_plays_no_part() {
    let frame = with(tcp4(0, 30), |f| f[TCP4 + 12] = 0x40);
    assert_eq!(l4(&frame), Verdict::Good);
    let frame = with(tcp4(0, 30), |f| f[TCP4 + 12] = 0xf0);
    assert_eq!(l4(&frame), Verdict::Good);
}

#[test]
fn udp_field_zero_is_absent() {
    // B23.
    for frame in [tcp4(0, 30), tcp6(0, 30)] {
        let l4_off = parse::run(&frame, 128, 3, false).l4_off;
        let protocol = if l4_off == TCP4 { IP + 9 } else { IP + 6 };
        let mut frame = with(frame, |f| f[protocol] = 17);
        assert_eq!(l4(&frame), Verdict::Good);
        frame[l4_off + 6..l4_off + 8].fill(0);
        assert_eq!(l4(&frame), Verdict::Absent);
    }
}

#[test]
fn fragments_and_others_are_not_applicable() {
    assert_eq!(l4(&with(tcp4(0, 30), |f| f[IP + 6] = 0x20)), Verdict::NotApplicable);
    assert_eq!(l4(&with(tcp4(0, 30), |f| f[IP + 9] = 1)), Verdict::NotApplicable);
    assert_eq!(verdicts(&[0; 60]).l3, Verdict::NotApplicable);
}

#[test]
fn least_header_must_be_visible() {
    let frame = tcp4(0, 30);
    for (visible, verdict) in [(53, Verdict::NotApplicable), (54, Verdict::Good)] {
        assert_eq!(run(&frame, &parse::run(&frame, visible, 3, false)).l4, verdict);
    }
}
