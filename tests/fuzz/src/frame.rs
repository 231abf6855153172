//! Target `frame`: any bytes as one frame, through the whole model, under any configuration.
//!
//!   5 bytes ─► configuration   1 byte ─► bad FCS, given metadata, mend   rest ─► frame
//!   frame ─► sums made right or left as they are ─► model, twice ─► flush-all
//!
//! Twice: what can be held meets itself. Invariants: `deliveries`; a flush-all leaves nothing; no
//! position that parse reports lies behind the frame.

use groove_model::stages::parse::{L3Kind, L4Kind};
use groove_model::stages::{ingress, parse};
use groove_model::{Config, Event, Frame, Given, GivenCsum, Model, look};
use groove_spec::{Tag, TokenKind};
use groove_traffic::packet::ones_sum;

use crate::deliveries::{self, Account};
use crate::input::Input;
use crate::{Meddle, configuration};

/// Runs one input.
pub fn run(data: &[u8]) {
    run_with(data, &mut |_| {});
}

/// Runs one input; `meddle` may change what the model gives.
pub fn run_with(data: &[u8], meddle: Meddle) {
    let mut input = Input::new(data);
    let config = configuration::decode(&mut input);
    let flags = input.byte();
    let given = given(flags, &mut input);
    let mut bytes = input.rest().to_vec();
    if flags >> 4 & 1 == 1 {
        mend(&mut bytes);
    }
    let bytes = &bytes[..];
    let frame = Frame { bytes, bad_fcs: flags & 0x0f == 0x0f, given: given.as_ref() };
    if ingress::run(&config, &frame).is_none() {
        look_at(&config, &frame);
    }
    let mut model = Model::new(config.clone()).expect("decoded configurations are possible");
    let mut account = Account::default();
    let mut step = |model: &mut Model, account: &mut Account, mut out: Vec<Event>| {
        meddle(&mut out);
        account.leave(&out);
        for event in &out {
            match event {
                Event::Delivery(d) if given.is_none() => deliveries::check(&config, d, |_| bytes),
                _ => {}
            }
        }
        account.agrees_with(model);
    };
    for _ in 0..2 {
        let mut out = Vec::new();
        account.enter();
        model.frame(frame, &mut out);
        step(&mut model, &mut account, out);
    }
    for queue in 0..config.queues {
        let mut out = Vec::new();
        model.token(queue, TokenKind::FlushAll, &mut out);
        step(&mut model, &mut account, out);
    }
    assert_eq!(account.held().count(), 0, "a flush-all leaves nothing");
}

/// Makes the sums of the outer IPv4, TCP and UDP header right: mutations seldom do.
fn mend(bytes: &mut [u8]) {
    let p = parse::run(bytes, usize::MAX, usize::MAX, false);
    if p.l3_kind == L3Kind::Ipv4 {
        put(bytes, p.l3_off + 10, 0);
        let sum = !ones_sum(&bytes[p.l3_off..p.l4_off.min(bytes.len())]);
        put(bytes, p.l3_off + 10, sum);
    }
    let addresses = match p.l3_kind {
        L3Kind::None => return,
        L3Kind::Ipv4 => p.l3_off + 12..p.l3_off + 20,
        L3Kind::Ipv6 => p.l3_off + 8..p.l3_off + 40,
    };
    let (protocol, field) = match p.l4_kind {
        L4Kind::None => return,
        L4Kind::Tcp => (parse::TCP, p.l4_off + 16),
        L4Kind::Udp => (parse::UDP, p.l4_off + 6),
    };
    put(bytes, field, 0);
    let rest = &bytes[p.l4_off..];
    let length = (rest.len() as u32).to_be_bytes();
    let sum = !ones_sum(&[&bytes[addresses], &length, &[0, protocol], rest].concat());
    put(bytes, field, sum);
}

/// Writes 16 bits, where they are.
fn put(bytes: &mut [u8], at: usize, value: u16) {
    if let Some(field) = bytes.get_mut(at..at + 2) {
        field.copy_from_slice(&value.to_be_bytes());
    }
}

/// Metadata of a recorded run, in one of eight inputs.
fn given(flags: u8, input: &mut Input) -> Option<Given> {
    if flags >> 5 != 7 {
        return None;
    }
    let csum = match input.byte() % 3 {
        0 => GivenCsum::None,
        1 => GivenCsum::Unnecessary,
        _ => GivenCsum::Partial { start: input.u16(), offset: input.u16() },
    };
    let vlan = (flags & 0x10 != 0).then(|| Tag { tpid: 0x8100, tci: input.u16() });
    Some(Given { hash: (flags & 1 == 1).then(|| input.u32()), csum, vlan })
}

/// No position lies behind the frame, and positions are in order.
fn look_at(config: &Config, frame: &Frame) {
    let seen = look(config, frame);
    let (p, bytes) = (&seen.parsed, seen.bytes.len());
    assert!(bytes <= frame.bytes.len(), "a frame grows");
    assert_eq!(p.frame_bytes, bytes);
    assert!(p.visible_bytes <= frame.bytes.len() && p.hdr_len <= frame.bytes.len(), "{p:?}");
    assert!(p.l3_off <= p.l4_off || p.l4_off == 0, "{p:?}");
    assert!(seen.steering.queue < config.queues, "queue {}", seen.steering.queue);
}
