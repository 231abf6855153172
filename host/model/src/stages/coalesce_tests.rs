use super::*;
use crate::test_frames::{IP, TCP4, tcp4, tcp6, with};
use crate::{Frame, Model, Options};
use groove_spec::stages::coalesce::{GSO_FIXEDID, GSO_TCPV4, GSO_TCPV6};

/// A model and what came out of it.
struct Bench {
    model: Model,
    out: Vec<Event>,
}

impl Bench {
    fn new(change: impl FnOnce(&mut Options)) -> Self {
        let mut config = Config::default();
        change(&mut config.options);
        Self { model: Model::new(config).expect("a plain configuration"), out: Vec::new() }
    }

    fn frame(&mut self, bytes: &[u8]) {
        self.model.frame(Frame::new(bytes), &mut self.out);
        assert!(self.model.stats().conserved());
    }

    fn token(&mut self, kind: TokenKind) {
        self.model.token(0, kind, &mut self.out);
        assert!(self.model.stats().conserved());
    }

    fn deliveries(&mut self) -> Vec<Delivery> {
        let events = std::mem::take(&mut self.out).into_iter();
        events
            .map(|event| match event {
                Event::Delivery(delivery) => delivery,
                Event::Drop { frame, reason } => panic!("frame {frame}: {}", reason.name()),
            })
            .collect()
    }

    /// Source frames and end reasons of what came out so far.
    fn ends(&mut self) -> Vec<(Vec<u32>, EndReason)> {
        self.deliveries().into_iter().map(|d| (d.frames, d.end_reason)).collect()
    }
}

/// Segment of another flow: the source port differs.
fn flow(port: u8, number: usize) -> Vec<u8> {
    with(tcp4(number, 100), |f| f[TCP4 + 1] = port)
}

/// All flows in one bucket with one hash.
fn no_hash() -> Bench {
    let mut bench = Bench::new(|_| {});
    let mut config = bench.model.config().clone();
    config.rss.hash_types = 0;
    bench.model = Model::new(config).expect("a plain configuration");
    bench
}

#[test]
fn merged_header_is_rewritten() {
    let mut bench = Bench::new(|_| {});
    (0..3).for_each(|n| bench.frame(&tcp4(n, 100)));
    bench.token(TokenKind::FlushAll);
    let merged = bench.deliveries().remove(0);
    assert_eq!((merged.frames, merged.gso_segs, merged.gso_size), (vec![0, 1, 2], 3, 100));
    assert_eq!((merged.gso_type, merged.csum), (GSO_TCPV4, CsumState::Partial));
    assert_eq!((merged.csum_start, merged.csum_offset, merged.hdr_len), (34, 16, 54));
    assert_eq!(merged.bytes.len(), 54 + 300);
    assert_eq!(&merged.bytes[IP + 2..IP + 4], &340u16.to_be_bytes());
    assert_eq!(crate::bytes::fold(crate::bytes::sum(&merged.bytes[IP..IP + 20])), 0xffff);
    let pseudo = crate::bytes::sum(&merged.bytes[IP + 12..IP + 20]) + 6 + 320;
    let pseudo = crate::bytes::fold(pseudo).to_be_bytes();
    assert_eq!(&merged.bytes[TCP4 + 16..TCP4 + 18], &pseudo);
    assert_eq!(merged.bytes[154..254], tcp4(1, 100)[54..]);
}

#[test]
fn a_single_segment_is_delivered_as_it_came() {
    let mut bench = Bench::new(|_| {});
    bench.frame(&tcp6(0, 100));
    bench.token(TokenKind::FlushAll);
    let single = bench.deliveries().remove(0);
    assert_eq!((single.gso_segs, single.gso_size, single.gso_type), (0, 0, 0));
    assert_eq!((single.bytes, single.csum), (tcp6(0, 100), CsumState::Unnecessary));
    assert_eq!((single.end_reason, single.alone_reason), (EndReason::FlushAll, AloneReason::None));
}

#[test]
fn fin_and_psh_are_kept_and_end_the_session() {
    for (flags, name) in [(0x08, "PSH"), (0x01, "FIN"), (0x09, "both")] {
        let mut bench = Bench::new(|_| {});
        bench.frame(&tcp6(0, 100));
        bench.frame(&with(tcp6(1, 100), |f| f[54 + 13] |= flags));
        let merged = bench.deliveries().remove(0);
        assert_eq!((merged.bytes[54 + 13], merged.end_reason), (0x10 | flags, EndReason::Flags));
        assert_eq!(merged.gso_type, GSO_TCPV6, "{name}");
    }
}

#[test]
fn short_segment_ends_the_session() {
    let mut bench = Bench::new(|_| {});
    let at =
        |bytes| with(tcp4(1, bytes), |f| f[TCP4 + 4..TCP4 + 8].copy_from_slice(&[0, 0, 4, 76]));
    bench.frame(&tcp4(0, 100));
    bench.frame(&at(99));
    assert_eq!(bench.ends(), [(vec![0, 1], EndReason::Short)]);
    // With PSH as well, flags is the reason.
    bench.frame(&tcp4(0, 100));
    bench.frame(&with(at(99), |f| f[TCP4 + 13] |= 8));
    assert_eq!(bench.ends(), [(vec![2, 3], EndReason::Flags)]);
}

#[test]
fn candidates_that_cannot_be_held_are_delivered_alone() {
    let mut bench = Bench::new(|_| {});
    bench.frame(&tcp4(0, 0));
    bench.frame(&with(tcp4(0, 0), |f| f[TCP4 + 13] |= 2));
    bench.frame(&with(tcp4(0, 100), |f| f[TCP4 + 13] |= 8));
    bench.frame(&[&tcp4(0, 100)[..], &[0]].concat());
    bench.frame(&with(tcp4(0, 100), |f| f[IP] = 0x46));
    let reasons: Vec<_> = bench.deliveries().into_iter().map(|d| d.alone_reason).collect();
    let (empty, flags) = (AloneReason::Empty, AloneReason::Flags);
    assert_eq!(reasons, [empty, empty, flags, AloneReason::SoftFlush, AloneReason::Bypass]);
}

#[test]
fn conflict_is_closed_before_its_successor() {
    let mut bench = Bench::new(|_| {});
    bench.frame(&tcp4(0, 100));
    bench.frame(&tcp4(2, 100));
    bench.frame(&tcp4(4, 0));
    let ends = bench.ends();
    let expected = [EndReason::IpId, EndReason::IpId, EndReason::None];
    assert_eq!(ends.iter().map(|(_, end)| *end).collect::<Vec<_>>(), expected);
}

#[test]
fn ninth_flow_evicts_the_oldest() {
    for flows in [7, 8, 9] {
        let mut bench = no_hash();
        (0..flows).for_each(|port| bench.frame(&flow(port, 0)));
        // A merge does not refresh.
        bench.frame(&flow(0, 1));
        let evicted = if flows == 9 {
            vec![(vec![0], EndReason::Evicted), (vec![1], EndReason::Evicted)]
        } else {
            vec![]
        };
        assert_eq!(bench.ends(), evicted, "{flows} flows");
        assert_eq!(bench.model.stats().evictions, evicted.len() as u64);
        let met = bench.model.stats().equal_hash_meetings;
        assert_eq!(met > 0, flows > 1);
    }
}

#[test]
fn flush_all_empties_the_queue() {
    let mut bench = no_hash();
    (0..8).for_each(|port| bench.frame(&flow(port, 0)));
    bench.token(TokenKind::FlushAll);
    let order: Vec<u32> = bench.deliveries().iter().map(|d| d.frames[0]).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 5, 6, 7], "oldest first");
    assert_eq!(bench.model.stats().held, 0);
    bench.token(TokenKind::FlushAll);
    assert_eq!(bench.ends(), []);
}

#[test]
fn flush_old_stops_at_the_current_tick() {
    let mut bench = no_hash();
    bench.frame(&flow(0, 0));
    bench.token(TokenKind::Tick);
    bench.frame(&flow(1, 0));
    bench.frame(&flow(0, 1));
    bench.token(TokenKind::FlushOld);
    assert_eq!(bench.ends(), [(vec![0, 2], EndReason::FlushOld)], "a merge does not refresh");
    bench.token(TokenKind::FlushOld);
    assert_eq!(bench.ends(), []);
    bench.token(TokenKind::Tick);
    bench.token(TokenKind::FlushOld);
    assert_eq!(bench.ends(), [(vec![1], EndReason::FlushOld)]);
}

#[test]
fn tick_wraps_at_sixteen_bits() {
    let mut bench = Bench::new(|_| {});
    bench.frame(&tcp4(0, 100));
    (0..65_536).for_each(|_| bench.token(TokenKind::Tick));
    bench.token(TokenKind::FlushOld);
    assert_eq!(bench.ends(), [], "the same tick again");
    bench.token(TokenKind::Tick);
    bench.token(TokenKind::FlushOld);
    assert_eq!(bench.ends().len(), 1);
}

#[test]
fn tokens_reach_their_queue_alone() {
    let mut bench = Bench::new(|_| {});
    bench.frame(&tcp4(0, 100));
    for queue in [1, 31, 255] {
        bench.model.token(queue, TokenKind::FlushAll, &mut bench.out);
    }
    assert_eq!(bench.ends(), []);
}

#[test]
fn merges_up_to_65535_bytes() {
    // 40 header bytes and 100 per segment: 654 segments are 65,440, 95 more are the limit.
    for (last, expected) in [(94, 65_534), (95, 65_535), (96, 65_440)] {
        let mut bench = Bench::new(|_| {});
        let segment = |n: usize, bytes: usize| {
            with(tcp4(0, bytes), |f| {
                f[IP + 4..IP + 6].copy_from_slice(&(n as u16).to_be_bytes());
                let seq = 1000 + n as u32 * 100;
                f[TCP4 + 4..TCP4 + 8].copy_from_slice(&seq.to_be_bytes());
            })
        };
        (0..654).for_each(|n| bench.frame(&segment(n, 100)));
        bench.frame(&segment(654, last));
        bench.token(TokenKind::FlushAll);
        let merged = bench.deliveries().remove(0);
        assert_eq!(merged.bytes.len() - 14, expected);
        assert_eq!(bench.model.stats().full_aggregates, u64::from(expected == 65_535));
    }
}

#[test]
fn bypass_overtakes_unless_order_is_strict() {
    let options = |n| with(tcp4(n, 100), |f| f[IP] = 0x46);
    let bad_sum = || {
        let mut frame = tcp4(1, 100);
        frame[60] ^= 1;
        frame
    };
    let order = |strict, second: &[u8]| {
        let mut bench = Bench::new(|o| o.strict_order = strict);
        bench.frame(&tcp4(0, 100));
        bench.frame(second);
        bench.token(TokenKind::FlushAll);
        bench.ends()
    };
    let (none, all) = (EndReason::None, EndReason::FlushAll);
    assert_eq!(order(false, &bad_sum()), [(vec![1], none), (vec![0], all)]);
    let closed = [(vec![0], EndReason::StrictOrder), (vec![1], none)];
    assert_eq!(order(true, &bad_sum()), closed);
    // Ports lie elsewhere behind options: not the same bytes, so no session is met.
    assert_eq!(order(true, &options(1)), [(vec![1], none), (vec![0], all)]);
    // Nor are they when the payload repeats the session's bytes there: all else is equal here.
    assert_eq!(
        order(true, &with(tcp4(0, 100), |f| f[IP] = 0x46)),
        [(vec![1], none), (vec![0], all)]
    );
    let fragment = with(tcp4(1, 100), |f| f[IP + 6] = 0x20);
    assert_eq!(order(true, &fragment), [(vec![1], none), (vec![0], all)]);
}

#[test]
fn stripped_tag_is_part_of_the_flow() {
    let tagged = |n, vid| crate::test_frames::tagged(&tcp4(n, 100), &[[0x81, 0, 0, vid]]);
    let mut bench = Bench::new(|_| {});
    bench.frame(&tagged(0, 5));
    bench.frame(&tagged(1, 5));
    bench.frame(&tagged(2, 6));
    bench.frame(&tcp4(3, 100));
    bench.token(TokenKind::FlushAll);
    let found = bench.deliveries();
    let tags: Vec<_> = found.iter().map(|d| (d.frames.len(), d.vlan.map(|t| t.tci))).collect();
    assert_eq!(tags, [(2, Some(5)), (1, Some(6)), (1, None)]);
}

#[test]
fn in_band_tag_merges_only_with_vlan_gro() {
    let tagged = |n| crate::test_frames::tagged(&tcp4(n, 100), &[[0x81, 0, 0, 5]]);
    for (vlan_gro, segs) in [(true, 2), (false, 0)] {
        let mut bench = Bench::new(|o| (o.vlan_strip, o.vlan_gro) = (false, vlan_gro));
        bench.frame(&tagged(0));
        bench.frame(&tagged(1));
        bench.token(TokenKind::FlushAll);
        assert_eq!(bench.deliveries()[0].gso_segs, segs);
    }
}

#[test]
fn trimmed_padding_merges() {
    let padded = |n| [&tcp4(n, 1)[..], &[0; 5]].concat();
    for (trim_pad, frames) in [(true, vec![0, 1]), (false, vec![0])] {
        let mut bench = Bench::new(|o| o.trim_pad = trim_pad);
        (0..2).for_each(|n| bench.frame(&padded(n)));
        bench.token(TokenKind::FlushAll);
        let found = bench.deliveries();
        assert_eq!(found[0].frames, frames);
        assert_eq!(found[0].bytes.len(), if trim_pad { 54 + 2 } else { 60 });
    }
}

#[test]
fn fixed_identification_is_reported() {
    let mut bench = Bench::new(|_| {});
    (0..2).for_each(|n| bench.frame(&with(tcp4(n, 100), |f| f[IP + 5] = 7)));
    bench.token(TokenKind::FlushAll);
    assert_eq!(bench.deliveries()[0].gso_type, GSO_TCPV4 | GSO_FIXEDID);
}

#[test]
fn nothing_is_lost() {
    let mut bench = no_hash();
    for i in 0..500usize {
        bench.frame(&flow((i * 7 % 11) as u8, i % 5));
        match i % 50 {
            10 => bench.token(TokenKind::Tick),
            20 => bench.token(TokenKind::FlushOld),
            30 => bench.token(TokenKind::FlushAll),
            40 => bench.model.skip(groove_spec::DropReason::Overflow, &mut bench.out),
            _ => bench.model.frame(Frame::new(&[0; 13]), &mut bench.out),
        }
    }
    bench.token(TokenKind::FlushAll);
    let stats = bench.model.stats();
    assert_eq!((stats.held, stats.held_frames), (0, 0));
    assert_eq!(stats.frames, stats.delivered_frames + stats.drops.iter().sum::<u64>());
    let mut seen: Vec<u32> = Vec::new();
    for event in &bench.out {
        match event {
            Event::Delivery(delivery) => seen.extend(&delivery.frames),
            Event::Drop { frame, .. } => seen.push(*frame),
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..stats.frames as u32).collect::<Vec<_>>(), "each frame once");
}

#[test]
fn a_session_is_found_by_its_last_frame() {
    let mut bench = Bench::new(|_| {});
    (0..2).for_each(|n| bench.frame(&tcp4(n, 100)));
    bench.frame(&flow(7, 0));
    assert!(bench.model.session_of(0, 0).is_none(), "frame 1 came behind it");
    assert_eq!(bench.model.session_of(0, 1).unwrap().frames, [0, 1]);
    assert_eq!(bench.model.session_of(0, 2).unwrap().frames, [2]);
    assert!(bench.model.session_of(1, 2).is_none(), "no such queue");
    bench.token(TokenKind::FlushAll);
    assert!(bench.model.session_of(0, 2).is_none());
}

#[test]
fn a_new_configuration_leaves_sessions_and_sizes() {
    let mut bench = Bench::new(|_| {});
    bench.frame(&tcp4(0, 100));
    let mut config = bench.model.config().clone();
    config.options.rxcsum = false;
    bench.model.reconfigure(&Config { queues: 9, buckets: 1, depth: 1, ..config.clone() });
    assert_eq!(*bench.model.config(), config);
    bench.frame(&tcp4(1, 100));
    bench.token(TokenKind::FlushAll);
    assert_eq!(bench.deliveries().remove(0).frames, [0, 1]);
}
