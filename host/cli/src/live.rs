//! A run without a capture: whatever a device delivers is counted, and given away.
//!
//!   device ═► rings ═► driver ──► count ──► given (written down, or not) ──► home
//!      └── counters, at the end
//!
//! One thread owns all queues: it polls while there is something, and waits for interrupts when
//! there is not. Nobody knows what should come, so nothing is compared.
//! Invariants: at the end, however it comes, the queues are flushed and every buffer is home
//! (`a_run_without_a_capture_ends_by_its_bounds`); a device that goes is told, with what was
//! counted until then (`a_device_that_goes_ends_the_run`).
//! Not here: printing, signals, the file that deliveries go to; the kernel as the one who gets them
//! is in `kernel`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use groove_driver::identify::REGISTERS;
use groove_driver::{
    Delivery, Device, IdentityError, Nic, QueueError, Receiver, Settings, SetupError, identify,
    wait_any,
};
use serde::Serialize;

use crate::capture;
use crate::live::kernel::{Given, KernelError};
use crate::stats::{self, Stats};

pub mod kernel;

/// Deliveries of a poll.
const BUDGET: usize = 64;
/// Longest sleep, behind which the device is looked at.
const SLEEP: Duration = Duration::from_millis(100);

/// What to run, and until when.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Set-up of the device.
    pub settings: Settings,
    /// Most frames; deliveries are not cut, so it may be some more.
    pub frames: Option<u64>,
    /// Longest time.
    pub time: Option<Duration>,
}

/// Why a run ended before it was told to.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The driver does not take the device.
    #[error("the driver does not take the device")]
    Setup(#[from] SetupError),
    /// The device is no longer what it was.
    #[error("the device is lost")]
    Device(#[from] IdentityError),
    /// A queue failed.
    #[error("the driver gave up a queue")]
    Queue(#[from] QueueError),
    /// A delivery could not be written down, or handed over.
    #[error(transparent)]
    Give(#[from] GiveError),
    /// Buffers are not all home.
    #[error("buffers are not conserved: {0} of queue {1} are not home")]
    Buffers(usize, usize),
}

/// Why a delivery could not be given away.
#[derive(Debug, thiserror::Error)]
pub enum GiveError {
    /// To a file.
    #[error(transparent)]
    Capture(#[from] capture::Error),
    /// To the kernel.
    #[error(transparent)]
    Kernel(#[from] KernelError),
}

/// Counts of one queue, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Frames in the deliveries.
    pub frames: u64,
    /// Deliveries.
    pub deliveries: u64,
    /// Bytes of the deliveries.
    pub bytes: u64,
    /// Deliveries of more than one frame.
    #[serde(rename = "rx-hw-gro-packets")]
    pub gro_packets: u64,
    /// Frames in those.
    #[serde(rename = "rx-hw-gro-wire-packets")]
    pub gro_wire_packets: u64,
}

impl Count {
    fn add(&mut self, delivery: &Delivery) {
        let metadata = delivery.metadata();
        let segments = u64::from(metadata.gso_segs);
        self.frames += segments.max(1);
        self.deliveries += 1;
        self.bytes += u64::from(metadata.total_len);
        self.gro_packets += u64::from(segments > 1);
        self.gro_wire_packets += segments;
    }
}

/// What was counted. Serialised as it stands by `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Device.
    pub device: String,
    /// What ended it: `signal`, `frames`, `seconds` or `failure`.
    pub ended: &'static str,
    /// From the first wait to the last buffer at home.
    pub seconds: f64,
    /// Receive queues.
    pub queue_count: usize,
    /// All queues together.
    pub total: Count,
    /// Each queue that delivered anything.
    pub queues: BTreeMap<usize, Count>,
    /// What the kernel was handed, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tap: Option<Given>,
    /// The device's own counters; none if it could not be read any more.
    pub counters: Option<Stats>,
}

/// Receives until told to stop, or until what the plan says. `give` gets every delivery.
pub fn run(
    name: &str,
    device: Arc<dyn Device>,
    plan: &Plan,
    stop: &AtomicBool,
    give: &mut dyn FnMut(&Delivery) -> Result<(), GiveError>,
) -> (Report, Result<(), LiveError>) {
    let report = Report {
        device: name.into(),
        ended: "failure",
        seconds: 0.0,
        queue_count: plan.settings.queues,
        total: Count::default(),
        queues: BTreeMap::new(),
        tap: None,
        counters: None,
    };
    let start = Instant::now();
    let mut live = Live { plan, give, report, failed: None };
    let result = live.receive(&device, start, stop);
    let mut report = live.report;
    report.seconds = start.elapsed().as_secs_f64();
    (report, result)
}

struct Live<'a> {
    plan: &'a Plan,
    give: &'a mut dyn FnMut(&Delivery) -> Result<(), GiveError>,
    report: Report,
    /// The first delivery that could not be given.
    failed: Option<GiveError>,
}

impl Live<'_> {
    fn receive(
        &mut self,
        device: &Arc<dyn Device>,
        start: Instant,
        stop: &AtomicBool,
    ) -> Result<(), LiveError> {
        let nic = Nic::open(Arc::clone(device), &self.plan.settings)?;
        let attached = nic.queues.into_iter().map(|queue| queue.attach());
        let mut receivers = attached.collect::<Result<Vec<_>, _>>()?;
        let ended = loop {
            let end = self.end(start, stop);
            if let Some(failed) = self.failed.take() {
                return Err(failed.into());
            }
            if let Some(end) = end {
                break end;
            }
            if self.poll_all(&mut receivers)? == 0 {
                let left = self.plan.time.map(|time| time.saturating_sub(start.elapsed()));
                if !wait_any(&mut receivers, left.unwrap_or(SLEEP).min(SLEEP))? {
                    identify(&**device)?;
                }
            }
        };
        for receiver in &mut receivers {
            receiver.stop(|delivery| self.take(&delivery))?;
            let away = self.plan.settings.buffers - receiver.census().spare;
            if away > 0 {
                return Err(LiveError::Buffers(away, receiver.number()));
            }
        }
        let counters = stats::read(&self.report.device, |at| device.read32(REGISTERS, at))?;
        self.report.counters = Some(counters);
        self.report.ended = ended;
        self.failed.take().map_or(Ok(()), |failed| Err(failed.into()))
    }

    /// What ends it now.
    fn end(&self, start: Instant, stop: &AtomicBool) -> Option<&'static str> {
        let frames = self.plan.frames.is_some_and(|most| self.report.total.frames >= most);
        let seconds = self.plan.time.is_some_and(|time| start.elapsed() >= time);
        let ends = [(frames, "frames"), (seconds, "seconds")];
        let signal = (stop.load(Ordering::Relaxed), "signal");
        ends.into_iter().chain([signal]).find(|(ended, _)| *ended).map(|(_, name)| name)
    }

    fn poll_all(&mut self, receivers: &mut [Receiver]) -> Result<usize, QueueError> {
        let mut given = 0;
        for receiver in receivers {
            given += receiver.poll(BUDGET, |delivery| self.take(&delivery))?;
        }
        Ok(given)
    }

    fn take(&mut self, delivery: &Delivery) {
        self.report.total.add(delivery);
        self.report.queues.entry(delivery.queue()).or_default().add(delivery);
        if self.failed.is_none() {
            self.failed = (self.give)(delivery).err();
        }
    }
}

/// For people.
pub fn table(report: &Report) -> String {
    let mut text = String::new();
    let rate = |count: u64| count as f64 / report.seconds.max(1e-9);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "device    {}, {} queues", report.device, report.queue_count);
    let _ = writeln!(
        text,
        "time      {:.3} s, ended by {}: {:.0} frames/s, {:.0} deliveries/s, {:.1} Mb/s\n",
        report.seconds,
        report.ended,
        rate(report.total.frames),
        rate(report.total.deliveries),
        rate(8 * report.total.bytes) / 1e6
    );
    let _ = writeln!(
        text,
        "{:7} {:>10} {:>10} {:>12} {:>18} {:>23}",
        "", "frames", "deliveries", "bytes", "rx-hw-gro-packets", "rx-hw-gro-wire-packets"
    );
    let mut row = |name: String, count: &Count| {
        let Count { frames, deliveries, bytes, gro_packets, gro_wire_packets } = count;
        let _ = writeln!(
            text,
            "{name:7} {frames:>10} {deliveries:>10} {bytes:>12} {gro_packets:>18} \
             {gro_wire_packets:>23}"
        );
    };
    row("total".into(), &report.total);
    if report.queues.len() > 1 {
        report.queues.iter().for_each(|(queue, count)| row(format!("q{queue}"), count));
    }
    if let Some(given) = &report.tap {
        text += &kernel::line(given);
    }
    if let Some(counters) = &report.counters {
        text.push('\n');
        text += &stats::device_table(counters);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use groove_device::{ModelDevice, Parameters};
    use groove_driver::{DmaMemory, Error, Interrupt, Region};

    fn plan(frames: Option<u64>, time: Option<Duration>) -> Plan {
        let settings = Settings { ring: 64, buffers: 64, ..Settings::new(2) };
        Plan { settings, frames, time }
    }

    /// A software device that frames come to once its queues run, and that may go away.
    struct Fed {
        device: ModelDevice,
        frames: u8,
        gone: AtomicBool,
    }

    impl Fed {
        fn new(frames: u8) -> Arc<Self> {
            let parameters = Parameters { queues: 2, ..Parameters::default() };
            Arc::new(Self {
                device: ModelDevice::new(parameters),
                frames,
                gone: AtomicBool::new(false),
            })
        }
    }

    impl Device for Fed {
        fn region_bytes(&self, region: Region) -> u64 {
            self.device.region_bytes(region)
        }
        fn read32(&self, region: Region, offset: u64) -> Result<u32, Error> {
            match self.gone.load(Ordering::Relaxed) {
                true => Ok(u32::MAX),
                false => self.device.read32(region, offset),
            }
        }
        fn write32(&self, region: Region, offset: u64, value: u32) -> Result<(), Error> {
            self.device.write32(region, offset, value)
        }
        fn dma_map(&self, iova: u64, memory: Arc<DmaMemory>) -> Result<(), Error> {
            self.device.dma_map(iova, memory)
        }
        fn dma_unmap(&self, iova: u64, bytes: u64) -> Result<(), Error> {
            self.device.dma_unmap(iova, bytes)
        }
        fn vectors(&self) -> usize {
            self.device.vectors()
        }
        fn set_interrupts(&self, interrupts: &[Arc<Interrupt>]) -> Result<(), Error> {
            self.device.set_interrupts(interrupts)
        }
        fn reset(&self) -> Result<(), Error> {
            self.device.reset()
        }
    }

    /// Once the last queue runs.
    fn feed(device: &Fed) {
        let status = groove_spec::nic::QUEUE_STATUS;
        let last = groove_spec::nic::queue_offset(1, &status) as u64;
        while device.device.read32(REGISTERS, last).unwrap() & 1 == 0 {
            std::thread::yield_now();
        }
        for number in 0..device.frames {
            let mut frame = vec![0xff; 64];
            frame[12..14].copy_from_slice(&[0x88, 0xb5]);
            frame[20] = number;
            device.device.inject(&frame, false).unwrap();
        }
    }

    fn run_fed(device: &Arc<Fed>, plan: &Plan) -> (Report, Result<(), LiveError>, Vec<u8>) {
        let mut seen = Vec::new();
        let (report, result) = std::thread::scope(|scope| {
            scope.spawn(|| feed(device));
            let front = Arc::clone(device) as Arc<dyn Device>;
            run("it", front, plan, &AtomicBool::new(false), &mut |delivery| {
                seen.push(delivery.to_spec().bytes[20]);
                Ok(())
            })
        });
        (report, result, seen)
    }

    #[test]
    fn a_run_without_a_capture_ends_by_its_bounds() {
        let device = Fed::new(20);
        let (report, result, seen) = run_fed(&device, &plan(Some(20), None));
        result.unwrap();
        assert_eq!(seen, (0..20).collect::<Vec<_>>());
        assert_eq!((report.ended, report.total.frames, report.total.bytes), ("frames", 20, 1280));
        let counters = report.counters.as_ref().unwrap();
        assert_eq!(counters.counters.value("FRAMES"), Some(20));
        assert!(table(&report).contains("ended by frames"));

        let (report, result, _) = run_fed(&Fed::new(3), &plan(None, Some(SLEEP)));
        result.unwrap();
        assert_eq!((report.ended, report.total.frames), ("seconds", 3));

        let (front, stop) = (Fed::new(0), AtomicBool::new(true));
        let (report, result) = run("it", front, &plan(None, None), &stop, &mut |_| Ok(()));
        result.unwrap();
        assert_eq!((report.ended, report.total.frames), ("signal", 0));
    }

    /// Takes, is down, takes, is gone.
    struct Moody(usize);

    impl kernel::Taker for Moody {
        fn take(&mut self, header: &[u8; 10], frame: &[u8]) -> std::io::Result<bool> {
            assert_eq!((*header, frame.len()), ([0; 10], 64), "alone, and no sum of it is known");
            self.0 += 1;
            match self.0 {
                1..=3 => Ok(true),
                4..=5 => Ok(false),
                _ => Err(std::io::ErrorKind::NotFound.into()),
            }
        }
    }

    #[test]
    fn each_delivery_is_counted_once() {
        let device = Fed::new(9);
        let mut kernel = kernel::Kernel::new("g1", Moody(0));
        let (_, result) = std::thread::scope(|scope| {
            scope.spawn(|| feed(&device));
            let front = Arc::clone(&device) as Arc<dyn Device>;
            let give = &mut |delivery: &Delivery| Ok(kernel.give(delivery)?);
            run("it", front, &plan(None, None), &AtomicBool::new(false), give)
        });
        let error = result.unwrap_err();
        assert!(matches!(error, LiveError::Give(GiveError::Kernel(_))), "{error}");
        let given = kernel.given();
        assert_eq!((given.taken, given.merged), (3, 0));
        assert_eq!((given.lost, given.without_words), (2, 0));
        assert!(kernel::line(&given).contains("g1: the kernel took 3 deliveries"));
    }

    #[test]
    fn a_device_that_goes_ends_the_run() {
        let device = Fed::new(5);
        let (report, result) = std::thread::scope(|scope| {
            let gone = &device.gone;
            let mut left = 5;
            let front = Arc::clone(&device) as Arc<dyn Device>;
            scope.spawn(|| feed(&device));
            run("it", front, &plan(None, None), &AtomicBool::new(false), &mut |_| {
                left -= 1;
                gone.store(left == 0, Ordering::Relaxed);
                Ok(())
            })
        });
        assert!(matches!(result, Err(LiveError::Device(IdentityError::Gone))), "{result:?}");
        assert_eq!((report.ended, report.total.frames), ("failure", 5));
        assert!(report.counters.is_none());
    }
}
