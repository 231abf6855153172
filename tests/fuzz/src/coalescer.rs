//! Target `coalescer`: a sequence of frames of a few flows, of ticks and of flushes.
//!
//!   configuration ─► (flow, change of fields ─► frame │ token)* ─► model ─► deliveries
//!
//! Invariants: `deliveries`, after every step; frames of a flow are delivered in their order, but
//! for those that bypass (with `strict_order`, those as well); every merged delivery is cut into
//! the frames that went in (`groove_tests::inverse` names the exceptions); a bucket holds no more
//! sessions than it is deep; a flush-all leaves nothing of its queue, a flush-old nothing that an
//! earlier tick opened.

mod flows;

use std::collections::{BTreeMap, BTreeSet};

use groove_model::stages::ingress;
use groove_model::stages::parse::{L3Kind, L4Kind};
use groove_model::{Config, Event, Frame, Model, look};
use groove_spec::{AloneReason, Delivery, TokenKind};

use crate::deliveries::{self, Account};
use crate::input::Input;
use crate::shared::inverse::Inverse;
use crate::{Meddle, configuration};
use flows::Flows;

/// Most steps of an input.
const STEPS_MAX: usize = 256;
/// Most bytes of all frames of an input, so that it ends soon.
const BYTES_MAX: usize = 400_000;

/// What a flow is to the rules: queue, hash, stripped tag, and the bytes that are compared.
type Key = (u8, u32, Option<(u16, u16)>, Vec<u8>);

/// A frame that went in.
struct Sent {
    bytes: Vec<u8>,
    queue: u8,
    bucket: usize,
    /// Tick of its queue when it came.
    tick: u64,
    key: Option<Key>,
}

/// Runs one input.
pub fn run(data: &[u8]) {
    run_with(data, &mut |_| {});
}

/// Runs one input; `meddle` may change what the model gives.
pub fn run_with(data: &[u8], meddle: Meddle) {
    let mut input = Input::new(data);
    let config = configuration::decode(&mut input);
    let mut run = Run::new(config, meddle);
    let mut flows = Flows::default();
    let mut bytes = 0;
    for _ in 0..STEPS_MAX {
        if input.is_empty() || bytes > BYTES_MAX {
            break;
        }
        let kind = input.byte();
        if kind & 7 == 7 {
            let token = input.byte();
            run.token(token >> 3, TokenKind::ALL[usize::from(token) % TokenKind::ALL.len()]);
        } else {
            let frame = flows.frame(kind, &mut input);
            bytes += frame.len();
            run.frame(frame);
        }
    }
    for queue in 0..run.model.config().queues {
        run.token(queue, TokenKind::FlushAll);
    }
    assert_eq!(run.account.held().count(), 0, "a flush-all leaves nothing");
}

struct Run<'a> {
    model: Model,
    account: Account,
    sent: Vec<Sent>,
    ticks: [u64; 32],
    /// Number of the frame of each flow that was delivered last.
    last: BTreeMap<Key, u32>,
    meddle: Meddle<'a>,
}

impl<'a> Run<'a> {
    fn new(config: Config, meddle: Meddle<'a>) -> Self {
        let model = Model::new(config).expect("decoded configurations are possible");
        let (account, sent, last) = (Account::default(), Vec::new(), BTreeMap::new());
        Self { model, account, sent, ticks: [0; 32], last, meddle }
    }

    fn frame(&mut self, bytes: Vec<u8>) {
        let config = self.model.config();
        let frame = Frame::new(&bytes);
        let (mut queue, mut bucket, mut key) = (0, 0, None);
        // Ingress drops the others, which have no flow.
        if ingress::run(config, &frame).is_none() {
            let seen = look(config, &frame);
            queue = seen.steering.queue;
            bucket = seen.steering.hash as usize & (config.buckets - 1);
            let (hash, tag) = (seen.steering.hash, seen.vlan.map(|tag| (tag.tpid, tag.tci)));
            key = identity(&seen).map(|identity| (queue, hash, tag, identity));
        }
        let mut out = Vec::new();
        self.account.enter();
        self.model.frame(frame, &mut out);
        let tick = self.ticks[usize::from(queue)];
        self.sent.push(Sent { bytes, queue, bucket, tick, key });
        self.take(out);
    }

    fn token(&mut self, queue: u8, kind: TokenKind) {
        let mut out = Vec::new();
        self.model.token(queue, kind, &mut out);
        self.take(out);
        if queue >= self.model.config().queues {
            return;
        }
        if kind == TokenKind::Tick {
            self.ticks[usize::from(queue)] += 1;
        }
        let mut sessions = BTreeMap::new();
        for number in self.account.held() {
            let sent = &self.sent[number as usize];
            if let Some(held) = self.model.session_of(sent.queue, number) {
                *sessions.entry((sent.queue, sent.bucket)).or_insert(0) += 1;
                let opened = self.sent[held.frames[0] as usize].tick;
                let now = self.ticks[usize::from(sent.queue)];
                let old = sent.queue == queue && kind == TokenKind::FlushOld && opened != now;
                assert!(!old, "opened at tick {opened}, held behind a flush-old at {now}");
            }
            let flushed = sent.queue == queue && kind == TokenKind::FlushAll;
            assert!(!flushed, "frame {number} is held behind a flush-all");
        }
        let deepest = sessions.values().copied().max().unwrap_or(0);
        assert!(deepest <= self.model.config().depth, "{deepest} sessions in a bucket");
    }

    fn take(&mut self, mut out: Vec<Event>) {
        (self.meddle)(&mut out);
        self.account.leave(&out);
        self.account.agrees_with(&self.model);
        let config = self.model.config().clone();
        let mut inverse = Inverse::default();
        for event in &out {
            let Event::Delivery(delivery) = event else { continue };
            let frame = |number: u32| &self.sent[number as usize].bytes[..];
            deliveries::check(&config, delivery, frame);
            let exact = inverse.check(&config, delivery, frame);
            assert_eq!(exact, Ok(()), "it is not cut into what went in");
            self.is_in_order(&config, delivery);
        }
    }

    /// Behind all frames of its flow that were delivered before.
    fn is_in_order(&mut self, config: &Config, delivery: &Delivery) {
        if delivery.alone_reason == AloneReason::Bypass && !config.options.strict_order {
            return;
        }
        let keys: BTreeSet<&Key> =
            delivery.frames.iter().filter_map(|n| self.sent[*n as usize].key.as_ref()).collect();
        assert!(keys.len() <= 1, "frames {:?} are of several flows", delivery.frames);
        let Some(key) = keys.first() else { return };
        let last = delivery.frames.iter().max().expect("it has frames");
        if let Some(before) = self.last.insert((*key).clone(), *last) {
            assert!(before < delivery.frames[0], "frame {before} was delivered before {last}");
        }
    }
}

/// Bytes that make the flow of a TCP frame: addresses of both layers, tags, protocol, ports; of
/// IPv6 version, label and what is walked. Frames with IPv4 options have their ports elsewhere: the
/// rules look for no session of theirs.
fn identity(seen: &groove_model::Seen) -> Option<Vec<u8>> {
    let (p, bytes) = (&seen.parsed, &seen.bytes);
    let options = p.l3_kind == L3Kind::Ipv4 && p.l4_off != p.l3_off + 20;
    if p.l4_kind != L4Kind::Tcp || options {
        return None;
    }
    let (mac, ip, ports) = (&bytes[..p.l3_off], &bytes[p.l3_off..p.l4_off], &bytes[p.l4_off..]);
    let mut identity = [mac, ports.get(..4)?].concat();
    match p.l3_kind {
        L3Kind::None => return None,
        L3Kind::Ipv4 => identity.extend_from_slice(&ip[12..20]),
        L3Kind::Ipv6 => {
            let label = [ip[0] & 0xf0, ip[1] & 0x0f, ip[2], ip[3], ip[6]];
            identity.extend_from_slice(&[&label[..], &ip[8..]].concat());
        }
    }
    Some(identity)
}
