//! A target that cannot fail proves nothing: each is given a fault, and has to say which.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex};

use groove_driver::{Delivery, Device, DmaMemory, Error, Interrupt, Region};
use groove_fuzz::{capture, coalescer, completions, frame, spec, vfio_user};
use groove_model::Event;
use groove_spec::{Field, Layout};
use groove_traffic::frames::v4;

/// Rules of 7.3, the default options, sizes, hash and header bound.
const DEFAULT: [u8; 5] = [2, 7, 0, 0, 0];

/// `broken` panics, and its message has these words.
#[track_caller]
fn catches(words: &str, broken: impl FnOnce()) {
    let payload = panic::catch_unwind(AssertUnwindSafe(broken)).expect_err(words);
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or(payload.downcast_ref::<&str>().copied()).expect("a text");
    assert!(text.contains(words), "{words:?} is not in {text:?}");
}

fn lose(out: &mut Vec<Event>) {
    out.pop();
}

fn repeat(out: &mut Vec<Event>) {
    out.extend(out.first().cloned());
}

/// Changes every delivery.
fn bend(change: fn(&mut groove_spec::Delivery)) -> impl FnMut(&mut Vec<Event>) {
    move |out| {
        for event in out {
            if let Event::Delivery(delivery) = event {
                change(delivery);
            }
        }
    }
}

#[test]
fn frame_catches_what_is_lost_repeated_or_changed() {
    let input = [&DEFAULT[..], &[0], &v4(0, 100).encode()].concat();
    frame::run(&input);
    catches("frames held", || frame::run_with(&input, &mut lose));
    catches("left before", || frame::run_with(&input, &mut repeat));
    let mut other = bend(|delivery| delivery.bytes[60] ^= 1);
    // An empty frame is delivered alone.
    let alone = [&DEFAULT[..], &[0], &v4(0, 0).encode(), &[7; 20]].concat();
    frame::run(&alone);
    catches("is not what came", || frame::run_with(&alone, &mut other));
    let mut long = bend(|delivery| delivery.hdr_len = 200);
    catches("header of 200 bytes", || frame::run_with(&input, &mut long));
}

#[test]
fn coalescer_catches_loss_disorder_and_what_does_not_come_back() {
    // Two segments merge; one without payload closes the session and is delivered alone.
    let input = [&DEFAULT[..], &[0, 0, 4, 0, 0]].concat();
    coalescer::run(&input);
    catches("frames held", || coalescer::run_with(&input, &mut lose));
    catches("left before", || coalescer::run_with(&input, &mut repeat));
    let mut swap = |out: &mut Vec<Event>| out.reverse();
    catches("was delivered before", || coalescer::run_with(&input, &mut swap));
    let mut payload = bend(|delivery| {
        let last = delivery.bytes.len() - 1;
        delivery.bytes[last] ^= 1;
    });
    catches("it is not cut into what went in", || coalescer::run_with(&input, &mut payload));
    let mut size = bend(|delivery| delivery.gso_size += u16::from(delivery.gso_segs > 0));
    catches("it is not cut into what went in", || coalescer::run_with(&input, &mut size));
}

#[test]
fn capture_catches_a_lost_byte_and_another_time() {
    let mut input = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0];
    input.extend([1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 14, 0, 0, 0, 14, 0, 0, 0]);
    input.extend([9; 14]);
    capture::run(&input);
    let mut shorter = |frames: &mut [capture::Read]| frames[0].bytes.truncate(13);
    catches("was Read", || capture::run_with(&input, &mut shorter));
    let mut later = |frames: &mut [capture::Read]| frames[0].time *= 2;
    catches("was Read", || capture::run_with(&input, &mut later));
}

#[test]
fn spec_catches_fields_that_overlap_or_leave_a_gap() {
    let input = [0xff; 64];
    let bent = |lsb| {
        let first = Field { name: "first", lsb: 0, width: 9, doc: "" };
        let second = Field { name: "second", lsb, width: 30, doc: "" };
        [Layout { name: "RECORD", fields: vec![first, second].leak() }]
    };
    spec::run_with(&input, &bent(9));
    catches("the fields are not the whole record", || spec::run_with(&input, &bent(11)));
    // The second field is written over the first: 0 in what both have.
    let zero = [&[0, 1, 0, 0, 0, 0, 0, 0, 0, 0][..], &[0xff; 8]].concat();
    spec::run_with(&zero, &bent(9));
    catches("RECORD.first", || spec::run_with(&zero, &bent(5)));
}

#[test]
fn completions_catches_a_lost_buffer_and_disorder() {
    // Two frames, a poll of both.
    let input = [0, 0, 0, 1, 1, 0, 2, 2, 7, 255, 0];
    completions::run(&input);
    let mut leak = |delivery: Delivery| {
        std::mem::forget(delivery);
        None
    };
    let lost = || completions::run_with(&input, &mut leak);
    catches("2 frames were not delivered", lost);
    // The same of a device that lied, where nobody counts frames.
    let lied = [&input[..], &[10, 200, 0, 0]].concat();
    catches("buffers are lost", || completions::run_with(&lied, &mut leak));
    let mut held = None;
    let mut swap = |delivery| match held.take() {
        Some(first) => Some(first),
        None => {
            held = Some(delivery);
            None
        }
    };
    let three = [&input[..8], &input[2..]].concat();
    completions::run(&three);
    catches("not what was sent", || completions::run_with(&three, &mut swap));
}

/// What is wrong with a device that stands in front of another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    Nothing,
    HoldsMemory,
    IgnoresReset,
    ReadsBetweenRegisters,
    MapsTwice,
}

struct Broken {
    inner: Arc<dyn Device>,
    fault: Fault,
}

/// Memory that nobody lets go.
static HELD: Mutex<Vec<Arc<DmaMemory>>> = Mutex::new(Vec::new());

impl Device for Broken {
    fn region_bytes(&self, region: Region) -> u64 {
        self.inner.region_bytes(region)
    }
    fn read32(&self, region: Region, offset: u64) -> Result<u32, Error> {
        let between = u64::from(self.fault == Fault::ReadsBetweenRegisters);
        self.inner.read32(region, offset + between)
    }
    fn write32(&self, region: Region, offset: u64, value: u32) -> Result<(), Error> {
        self.inner.write32(region, offset, value)
    }
    fn dma_map(&self, iova: u64, memory: Arc<DmaMemory>) -> Result<(), Error> {
        if self.fault == Fault::HoldsMemory {
            HELD.lock().unwrap().push(Arc::clone(&memory));
        }
        if self.fault == Fault::MapsTwice {
            self.inner.dma_map(iova, Arc::clone(&memory))?;
        }
        self.inner.dma_map(iova, memory)
    }
    fn dma_unmap(&self, iova: u64, bytes: u64) -> Result<(), Error> {
        self.inner.dma_unmap(iova, bytes)
    }
    fn vectors(&self) -> usize {
        self.inner.vectors()
    }
    fn set_interrupts(&self, interrupts: &[Arc<Interrupt>]) -> Result<(), Error> {
        self.inner.set_interrupts(interrupts)
    }
    fn reset(&self) -> Result<(), Error> {
        if self.fault == Fault::IgnoresReset { Ok(()) } else { self.inner.reset() }
    }
}

#[test]
fn vfio_user_catches_what_is_held_and_what_no_device_may_be_asked() {
    // A queue is set up, whose set-up maps memory; then a register is read.
    let input = [0, 2, 0, 0, 3, 9, 0, 0];
    let with = |fault| {
        vfio_user::run_with(&input, &|inner| Arc::new(Broken { inner, fault }));
    };
    with(Fault::Nothing);
    catches("memory is held", || with(Fault::HoldsMemory));
    catches("something is mapped still", || with(Fault::IgnoresReset));
    catches("a read of a register", || with(Fault::ReadsBetweenRegisters));
    catches("mappings overlap", || with(Fault::MapsTwice));
}
