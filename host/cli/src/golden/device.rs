//! A whole device with the driver as a runner: what is held against the kernels came out of rings.
//!
//!   plan ─► device ═► rings ═► driver ─► deliveries ─┐
//!             └─ journal ─► model ─► which frames ───┴─► events
//!
//! A ring does not say which frames a delivery was made of, nor what was dropped: both are the
//! model's, after the journal; everything else is the driver's
//! (`lies_of_a_device_are_differences`).

use std::sync::Arc;

use groove_device::Step as Entry;
use groove_driver::identify::REGISTERS;
use groove_driver::{Nic, QueueError, Receiver, RxQueue, Settings};
use groove_model::{Config, Event, Frame, Model};
use groove_spec::stages::device::CONTROL;
use groove_spec::{Delivery, TokenKind};

use super::plan::{self, LeftOut, Plan, Step};
use super::{Case, Runner};
use crate::engine::EngineError;
use crate::run::{Bed, BedError, settings, worst_case};

/// Buffers of the queue: twice what is prefetched, and what held sessions keep.
const POOL: usize = 256;
/// Bytes of a buffer.
const BUFFER_BYTES: usize = 2048;
/// Buffers that frames between two looks at the queue may need: so many are prefetched.
const PREFETCHED: usize = 64;

/// A device, used for one case after the other.
///
/// It is set up once: each case ends with a flush and gives every buffer back, so the next one only
/// has to choose its profile and options. A case that does not makes the next one set it up anew
/// (`a_case_leaves_nothing_to_the_next`).
pub struct DeviceRunner {
    bed: Arc<dyn Bed>,
    open: Option<Open>,
}

/// A device that is set up.
struct Open {
    /// Its queues, in no thread's hands between cases.
    queues: Vec<RxQueue>,
    settings: Settings,
}

impl Runner for DeviceRunner {
    fn plan<'a>(&self, case: &'a Case, kernel: Config) -> Result<Plan<'a>, LeftOut> {
        plan::as_hardware(case, kernel)
    }

    fn run(&mut self, plan: &Plan) -> Result<Vec<Event>, EngineError> {
        let settings = Settings {
            ring: POOL,
            buffers: POOL,
            buffer_bytes: BUFFER_BYTES,
            ..settings(&plan.config)
        };
        let mut receivers = self.set_up(&settings)?;
        let mut found = Vec::new();
        let mut room = PREFETCHED;
        for step in &plan.steps {
            match step {
                Step::Frame { bytes, .. } => {
                    let need = usize::from(worst_case(bytes.len(), BUFFER_BYTES));
                    if need > room {
                        self.look(&mut receivers, &mut found)?;
                        room = PREFETCHED;
                    }
                    room = room.saturating_sub(need);
                    self.bed.inject(bytes)?;
                }
                Step::Flush => self.bed.token(0, TokenKind::FlushAll)?,
            }
        }
        self.look(&mut receivers, &mut found)?;
        if plan.steps.last() == Some(&Step::Flush) {
            let queues = receivers.into_iter().map(Receiver::detach).collect();
            self.open = Some(Open { queues, settings });
        }
        name_frames(plan, &self.bed.journal()?, found)
    }
}

impl DeviceRunner {
    /// Nothing is set up yet.
    pub fn new(bed: Arc<dyn Bed>) -> Self {
        Self { bed, open: None }
    }

    /// The device as a case wants it, with buffers that it has fetched.
    fn set_up(&mut self, settings: &Settings) -> Result<Vec<Receiver>, EngineError> {
        if let Some(open) = self.open.take() {
            let control = open.settings.control;
            if (Settings { control, ..settings.clone() }) == open.settings {
                if control != settings.control {
                    let offset = CONTROL.offset as u64;
                    let device = self.bed.device();
                    device.write32(REGISTERS, offset, settings.control).map_err(BedError::from)?;
                }
                return Ok(attach(open.queues)?);
            }
        }
        let nic = Nic::open(self.bed.device(), settings)?;
        self.bed.journal()?;
        let receivers = attach(nic.queues)?;
        self.bed.settle()?;
        Ok(receivers)
    }

    /// Takes what the device has written, and posts the buffers again.
    fn look(
        &self,
        receivers: &mut [Receiver],
        found: &mut Vec<Delivery>,
    ) -> Result<(), EngineError> {
        self.bed.settle()?;
        for receiver in receivers {
            while receiver.poll(POOL, |delivery| found.push(delivery.to_spec()))? > 0 {}
        }
        Ok(())
    }
}

fn attach(queues: Vec<RxQueue>) -> Result<Vec<Receiver>, QueueError> {
    queues.into_iter().map(RxQueue::attach).collect()
}

/// The driver's deliveries with the model's frame numbers, and the drops.
fn name_frames(
    plan: &Plan,
    journal: &[Entry],
    found: Vec<Delivery>,
) -> Result<Vec<Event>, EngineError> {
    let mut model = Model::new(plan.config.clone())?;
    let mut events = Vec::new();
    let mut frames = plan.steps.iter().filter_map(|step| match step {
        Step::Frame { bytes, .. } => Some(bytes),
        Step::Flush => None,
    });
    for entry in journal {
        match entry {
            Entry::Token { queue, kind } => model.token(*queue, *kind, &mut events),
            Entry::Frame => {
                let bytes = frames.next().map_or(&[][..], |bytes| bytes);
                model.frame(Frame::new(bytes), &mut events);
            }
            Entry::Skip(reason) => {
                frames.next();
                model.skip(*reason, &mut events);
            }
        }
    }
    let mut found = found.into_iter();
    let mut named = Vec::new();
    for event in events {
        match event {
            Event::Drop { .. } => named.push(event),
            Event::Delivery(delivery) => named.extend(found.next().map(|mut found| {
                found.frames = delivery.frames;
                Event::Delivery(found)
            })),
        }
    }
    named.extend(found.map(Event::Delivery));
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::frames::Flow;
    use crate::run::ModelBed;
    use groove_spec::DropReason;

    /// A case without its last flush leaves a session behind: the next one must not see it.
    #[test]
    fn a_case_leaves_nothing_to_the_next() {
        let mut bytes = Flow::new(1).frame(200);
        bytes.splice(12..12, [0x81, 0, 0, 5]);
        let run = |runner: &mut DeviceRunner, strip, flush| {
            let mut config = Config { queues: 1, ..Config::default() };
            config.options.vlan_strip = strip;
            let frame = Step::Frame { bytes: bytes.clone().into(), given: None };
            let steps = [frame].into_iter().chain(flush).collect();
            runner.run(&Plan { config, steps }).unwrap()
        };
        let flush = || Some(Step::Flush);
        let mut runner = DeviceRunner::new(Arc::new(ModelBed::new(1)));
        let one = run(&mut runner, true, flush());
        assert_eq!(one.len(), 1);
        assert!(runner.open.is_some());
        assert_eq!(run(&mut runner, true, None), [], "held");
        assert!(runner.open.is_none(), "the session would be the next case's");
        assert_eq!(run(&mut runner, true, flush()), one);
        // Other options in the same set-up.
        let other = run(&mut runner, false, flush());
        assert_eq!(other, run(&mut DeviceRunner::new(Arc::new(ModelBed::new(1))), false, flush()));
        assert_ne!(other, one, "the tag is in the frame");
        assert!(runner.open.is_some());
    }

    #[test]
    fn lies_of_a_device_are_differences() {
        let frame = |byte| Step::Frame { bytes: vec![byte; 60].into(), given: None };
        let plan = Plan { config: Config::default(), steps: vec![frame(1), frame(2)] };
        let name = |journal: &[Entry], found| name_frames(&plan, journal, found).unwrap();
        let mut model = Model::new(plan.config.clone()).unwrap();
        let mut honest = Vec::new();
        model.frame(Frame::new(&[1; 60]), &mut honest);
        model.frame(Frame::new(&[2; 60]), &mut honest);
        let found: Vec<Delivery> = honest
            .iter()
            .map(|event| match event {
                Event::Delivery(delivery) => Delivery { frames: Vec::new(), ..delivery.clone() },
                Event::Drop { .. } => panic!("dropped"),
            })
            .collect();
        let both = [Entry::Frame, Entry::Frame];
        assert_eq!(name(&both, found.clone()), honest);
        let mut changed = found.clone();
        changed[1].bytes[0] ^= 1;
        assert_ne!(name(&both, changed), honest);
        assert_eq!(name(&both, found[..1].to_vec()).len(), 1, "one is missing");
        assert_eq!(name(&both, [&found[..], &found].concat()).len(), 4, "two are too much");
        let dropped = name(&[Entry::Frame, Entry::Skip(DropReason::NoBuffer)], found);
        assert!(dropped.contains(&Event::Drop { frame: 1, reason: DropReason::NoBuffer }));
    }
}
