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
use groove_driver::{Nic, Receiver, Settings};
use groove_model::{Config, Event, Frame, Model};
use groove_spec::{Delivery, TokenKind};

use super::plan::{self, LeftOut, Plan, Step};
use super::{Case, Runner};
use crate::engine::EngineError;
use crate::run::{Bed, settings};

/// Buffers of the queue: more than the frames between two looks at it may need.
const POOL: usize = 256;
/// Bytes of a buffer.
const BUFFER_BYTES: usize = 2048;
/// Frames between two looks at the queue; so many fit into what a device prefetches.
const LOOK_EVERY: usize = 8;

/// A device, used for one case after the other.
pub struct DeviceRunner(pub Arc<dyn Bed>);

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
        let nic = Nic::open(self.0.device(), &settings)?;
        self.0.journal()?;
        let receivers = nic.queues.into_iter().map(|queue| queue.attach());
        let mut receivers = receivers.collect::<Result<Vec<Receiver>, _>>()?;
        // The first frame finds buffers that were fetched.
        self.0.settle()?;
        let mut found = Vec::new();
        for (i, step) in plan.steps.iter().enumerate() {
            match step {
                Step::Frame { bytes, .. } => self.0.inject(bytes)?,
                Step::Flush => self.0.token(0, TokenKind::FlushAll)?,
            }
            if i.is_multiple_of(LOOK_EVERY) {
                self.look(&mut receivers, &mut found)?;
            }
        }
        self.look(&mut receivers, &mut found)?;
        for receiver in &mut receivers {
            receiver.stop(|delivery| found.push(delivery.to_spec()))?;
        }
        name_frames(plan, &self.0.journal()?, found)
    }
}

impl DeviceRunner {
    /// Takes what the device has written, and posts the buffers again.
    fn look(
        &self,
        receivers: &mut [Receiver],
        found: &mut Vec<Delivery>,
    ) -> Result<(), EngineError> {
        self.0.settle()?;
        for receiver in receivers {
            while receiver.poll(POOL, |delivery| found.push(delivery.to_spec()))? > 0 {}
        }
        Ok(())
    }
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
    use groove_spec::DropReason;

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
