//! The bed: everything that a thread needs to put bursts through the kernel.
//!
//!   send ─► device ─[egress]═ veth ═► ring ─► NAPI thread: GRO ─► socket, [ingress] ─► dropped
//!   SCHED_FIFO 50                             SCHED_FIFO 10, same CPU
//!
//! Sender and NAPI thread share a CPU, and the sender has the higher priority: a whole burst waits
//! in the ring until the sender sleeps, and is then one poll. That makes the result the same every
//! time. TSO is off at the sending device: frames would carry a mark of it and not merge.
//!
//! Everything is the calling thread's: network namespace, priority, CPU. All of it ends with the
//! thread. Nothing is mounted: `/sys` is opened as a file system of its own, in no tree.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};
use rustix::thread::{CpuSet, Pid};

use crate::attribution::attribute;
use crate::btf::Btf;
use crate::delivery::{Csum, Delivery, Frame, GivenCsum};
use crate::error::{Error, Feature, failed, missing};
use crate::layout::{Buffer, Layout};
use crate::link::Route;
use crate::record::{Counters, Metadata, Record};
use crate::sys::bpf::{self, Hook, Map};
use crate::sys::device::{self, Offload};
use crate::sys::packet::{Outgoing, Receiver, Sender};
use crate::sys::{namespace, scheduler};
use crate::{BURST_FRAMES_MAX, FRAME_BYTES_MAX, assembly, carries};

/// The pair carries any frame that IP can fill.
const MTU: u32 = 65_535;
/// Priority of the sender, above that of the NAPI thread.
const SENDER_PRIORITY: i32 = 50;
const NAPI_PRIORITY: i32 = 10;
/// How long a burst may be under way; a guest under emulation is slow.
const DELIVERY_TIME: Duration = Duration::from_secs(5);
/// How long the kernel may take to start its thread.
const THREAD_TIME: Duration = Duration::from_secs(2);
/// How long the kernel may take to notice that the pair is up.
const CARRIER_TIME: Duration = Duration::from_secs(10);
/// Between two looks at what was delivered. While the sender sleeps, the NAPI thread runs.
const NAP: Duration = Duration::from_micros(50);

/// A namespace with its devices, programs and sockets.
pub struct Bed {
    layout: Layout,
    record: Record,
    given: Map,
    counters: Map,
    records: Map,
    sender: Sender,
    receiver: Receiver,
    buffer: Vec<u8>,
    /// They hold the programs at their hooks.
    _links: [OwnedFd; 2],
}

impl Bed {
    /// Sets everything up, for the calling thread: it is in a network namespace of its own, on one
    /// CPU and at a real-time priority from then on.
    pub fn open() -> Result<Self, Error> {
        let layout = layout()?;
        let record = Record::of(&layout);
        namespace::leave_network().map_err(missing(Feature::Namespace))?;
        let sysfs = sysfs().map_err(missing(Feature::Sysfs))?;
        silence_ipv6().map_err(failed("switching IPv6 off in the namespace"))?;
        // The thread's number is nobody else's, and short enough for a kernel thread's name.
        let thread = rustix::thread::gettid().as_raw_nonzero();
        let names = [format!("g{thread:x}"), format!("h{thread:x}")];
        let [tx, rx] = devices(&names)?;
        carrier(&sysfs, &names, tx).map_err(failed("waiting for the pair to be up"))?;
        let napi = threaded(&sysfs, &names[1]).map_err(missing(Feature::ThreadedNapi))?;
        let map = |bytes, count| Map::new(bytes, count).map_err(missing(Feature::Bpf));
        let given = map(Metadata::BYTES, BURST_FRAMES_MAX as u32 + 1)?;
        let counters = map(Counters::BYTES, 1)?;
        let records = map(record.bytes, 2 * BURST_FRAMES_MAX as u32)?;
        let ingress = assembly::ingress(counters.number(), records.number(), &layout, &record);
        let links = [
            hook(&assembly::egress(given.number()), tx, Hook::Egress)?,
            hook(&ingress, rx, Hook::Ingress)?,
        ];
        let receiver = Receiver::new(rx).map_err(missing(Feature::PacketSocket))?;
        let sender = Sender::new(tx).map_err(missing(Feature::PacketSocket))?;
        one_cpu(napi)?;
        let buffer = vec![0; FRAME_BYTES_MAX + 1024];
        Ok(Self {
            layout,
            record,
            given,
            counters,
            records,
            sender,
            receiver,
            buffer,
            _links: links,
        })
    }

    /// Puts one burst through.
    pub fn run(&mut self, frames: &[Frame]) -> Result<Vec<Delivery>, Error> {
        check(frames)?;
        for (mark, frame) in (1..).zip(frames) {
            let given = Metadata {
                hash: frame.hash,
                tag: frame.tag,
                verified: frame.csum == GivenCsum::Unnecessary,
            };
            self.given.set(mark, &given.bytes()).map_err(failed("a BPF map"))?;
        }
        self.counters.set(0, &[0; Counters::BYTES]).map_err(failed("a BPF map"))?;
        while self.received()?.is_some() {}
        let mut sent = 0;
        for poll in frames.chunk_by(|_, next| !next.gap) {
            self.send(poll, sent)?;
            sent += poll.len();
            self.wait(sent)?;
        }
        let mut deliveries = self.deliveries()?;
        attribute(frames, &mut deliveries)
            .map_err(|(delivery, what)| Error::Delivery { delivery, what })?;
        Ok(deliveries)
    }

    fn send(&self, poll: &[Frame], before: usize) -> Result<(), Error> {
        let outgoing = |(frame, mark)| {
            let frame: &Frame = frame;
            let partial = match frame.csum {
                GivenCsum::Partial { start, offset } => Some((start, offset)),
                _ => None,
            };
            Outgoing { bytes: &frame.bytes, mark, partial }
        };
        let marks = 1 + before as u32..;
        let outgoing: Vec<Outgoing> = poll.iter().zip(marks).map(outgoing).collect();
        self.sender
            .send(&outgoing)
            .map_err(|(frame, source)| Error::Refused { frame: before + frame, source })
    }

    fn counted(&self) -> Result<Counters, Error> {
        Ok(Counters::read(&self.counters.value(0).map_err(failed("a BPF map"))?))
    }

    /// Sleeps until all frames that were sent are accounted for.
    fn wait(&self, sent: usize) -> Result<(), Error> {
        let start = Instant::now();
        loop {
            std::thread::sleep(NAP);
            let delivered = self.counted()?.segments;
            match delivered.cmp(&sent) {
                std::cmp::Ordering::Equal => return Ok(()),
                std::cmp::Ordering::Less if start.elapsed() < DELIVERY_TIME => {}
                _ => {
                    let seconds = DELIVERY_TIME.as_secs();
                    return Err(Error::Lost { sent, delivered, seconds });
                }
            }
        }
    }

    /// Length of the next frame at the receiving end.
    fn received(&mut self) -> Result<Option<usize>, Error> {
        self.receiver.next(&mut self.buffer).map_err(failed("the receiving socket"))
    }

    fn deliveries(&mut self) -> Result<Vec<Delivery>, Error> {
        let mut deliveries = Vec::new();
        for number in 0..self.counted()?.deliveries {
            let bytes = self.records.value(number as u32).map_err(failed("a BPF map"))?;
            let buffer = self.layout.read(&self.record, &bytes);
            let wrong = |what: String| Error::Delivery { delivery: number, what };
            let length = self.received()?.ok_or_else(|| wrong("its bytes are missing".into()))?;
            let bytes = self.buffer.get(..length).unwrap_or(&self.buffer).to_vec();
            deliveries.push(delivery(&buffer, bytes).map_err(wrong)?);
        }
        match self.received()? {
            None => Ok(deliveries),
            Some(length) => {
                let what = format!("{length} bytes without a record");
                Err(Error::Delivery { delivery: deliveries.len(), what })
            }
        }
    }
}

/// Refuses what the method does not carry, before anything is sent.
fn check(frames: &[Frame]) -> Result<(), Error> {
    if frames.is_empty() || frames.len() > BURST_FRAMES_MAX {
        return Err(Error::Burst(frames.len()));
    }
    for (number, frame) in frames.iter().enumerate() {
        if !carries(&frame.bytes, frame.tag.is_some()) {
            return Err(Error::Length { frame: number, bytes: frame.bytes.len() });
        }
    }
    Ok(())
}

/// One delivery from its record and its bytes; its frames are the first one alone.
fn delivery(buffer: &Buffer, bytes: Vec<u8>) -> Result<Delivery, String> {
    let [length, segs, size] = buffer.twice;
    if [length, segs, size].iter().any(|(seen, stored)| seen != stored) {
        return Err(format!("its record does not agree with itself: {:?}", buffer.twice));
    }
    if length.0 as usize != bytes.len() {
        return Err(format!("{} bytes, but its record says {}", bytes.len(), length.0));
    }
    let first = buffer.mark.checked_sub(1).ok_or("a frame that nobody sent")?;
    let csum = match buffer.summed {
        0 => Csum::None,
        1 => Csum::Unnecessary { level: buffer.level as u8 },
        2 => Csum::Complete,
        _ => Csum::Partial { start: buffer.start, offset: buffer.offset },
    };
    Ok(Delivery {
        frames: vec![first as usize],
        bytes,
        gso_size: buffer.gso_size,
        gso_segs: buffer.gso_segs,
        gso_type: buffer.gso_type.clone(),
        csum,
        encapsulation: buffer.encapsulation,
        hash: buffer.hash,
        tag: buffer.tag,
    })
}

fn layout() -> Result<Layout, Error> {
    let bytes = std::fs::read("/sys/kernel/btf/vmlinux").map_err(missing(Feature::Btf))?;
    Ok(Layout::of(&Btf::new(&bytes)?)?)
}

/// The namespace's view of `/sys`, as a directory that is in no tree.
fn sysfs() -> io::Result<OwnedFd> {
    let context = rustix::mount::fsopen("sysfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(&context)?;
    let flags = FsMountFlags::FSMOUNT_CLOEXEC;
    Ok(rustix::mount::fsmount(&context, flags, MountAttrFlags::empty())?)
}

/// Without IPv6 the kernel sends nothing of its own over the pair.
fn silence_ipv6() -> io::Result<()> {
    for which in ["all", "default"] {
        let path = format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
        match std::fs::write(path, "1") {
            // A kernel without IPv6 is silent anyway.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => other?,
        }
    }
    Ok(())
}

/// Makes the pair and brings it up; numbers of sender and receiver.
fn devices(names: &[String; 2]) -> Result<[u32; 2], Error> {
    let route = Route::open().map_err(missing(Feature::Veth))?;
    route.create_pair(&names[0], &names[1]).map_err(missing(Feature::Veth))?;
    let switch = |name, offload, on| {
        let socket = rustix::net::AddressFamily::INET;
        let socket = rustix::net::socket(socket, rustix::net::SocketType::DGRAM, None)?;
        device::switch(socket, name, offload, on)
    };
    switch(&names[0], Offload::Tso, false).map_err(missing(Feature::Offloads))?;
    switch(&names[1], Offload::Gro, true).map_err(missing(Feature::Offloads))?;
    let mut numbers = [0; 2];
    for (number, name) in numbers.iter_mut().zip(names) {
        *number = route.index(name).map_err(missing(Feature::Veth))?;
        route.bring_up(*number, MTU).map_err(missing(Feature::Veth))?;
    }
    Ok(numbers)
}

/// Waits until the kernel has noticed that both ends are up. It does so in a worker of its own;
/// until then, what is sent is dropped without a word.
fn carrier(sysfs: &OwnedFd, names: &[String; 2], tx: u32) -> io::Result<()> {
    let start = Instant::now();
    for name in names {
        let path = format!("class/net/{name}/operstate");
        loop {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            let mut state = String::new();
            File::from(rustix::fs::openat(sysfs, &*path, flags, Mode::empty())?)
                .read_to_string(&mut state)?;
            if state.trim() == "up" {
                break;
            }
            if start.elapsed() > CARRIER_TIME {
                let what = format!("{name} stays {} for {CARRIER_TIME:?}", state.trim());
                return Err(io::Error::other(what));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    // The worker sets the state first and lets frames through then, under a lock that this request,
    // which changes nothing, has to wait for.
    Route::open()?.bring_up(tx, MTU)
}

/// Lets the receiver be polled by a thread of the kernel, and finds it.
fn threaded(sysfs: &OwnedFd, name: &str) -> io::Result<Pid> {
    let path = format!("class/net/{name}/threaded");
    let open = |flags| rustix::fs::openat(sysfs, &*path, flags | OFlags::CLOEXEC, Mode::empty());
    File::from(open(OFlags::WRONLY)?).write_all(b"1")?;
    let mut state = String::new();
    File::from(open(OFlags::RDONLY)?).read_to_string(&mut state)?;
    if state.trim() != "1" {
        let what = format!("{name} stays without a thread: threaded is {}", state.trim());
        return Err(io::Error::other(what));
    }
    let start = Instant::now();
    while start.elapsed() < THREAD_TIME {
        if let Some(pid) = kernel_thread(&format!("napi/{name}-"))? {
            return Ok(pid);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(io::Error::other("the kernel's thread is not among the processes that are visible"))
}

/// The process whose name begins so.
fn kernel_thread(begin: &str) -> io::Result<Option<Pid>> {
    for entry in std::fs::read_dir("/proc")? {
        let path: PathBuf = entry?.path();
        let number = path.file_name().and_then(|n| n.to_str()).and_then(|n| n.parse().ok());
        let Some(number) = number else { continue };
        // A process may end while its name is read.
        let name = std::fs::read_to_string(path.join(Path::new("comm"))).unwrap_or_default();
        if name.starts_with(begin) {
            return Ok(Pid::from_raw(number));
        }
    }
    Ok(None)
}

/// Puts the calling thread and the NAPI thread onto one CPU, the sender first.
fn one_cpu(napi: Pid) -> Result<(), Error> {
    let allowed = rustix::thread::sched_getaffinity(None).map_err(failed("the CPUs"))?;
    // The last one: interrupts of devices mostly go to the first.
    let last = (0..CpuSet::MAX_CPU).rev().find(|cpu| allowed.is_set(*cpu)).unwrap_or(0);
    let mut cpu = CpuSet::new();
    cpu.set(last);
    rustix::thread::sched_setaffinity(None, &cpu).map_err(failed("choosing a CPU"))?;
    rustix::thread::sched_setaffinity(Some(napi), &cpu).map_err(failed("choosing a CPU"))?;
    let number = napi.as_raw_nonzero().get();
    scheduler::fifo(number, NAPI_PRIORITY).map_err(missing(Feature::Fifo))?;
    scheduler::fifo(0, SENDER_PRIORITY).map_err(missing(Feature::Fifo))
}

fn hook(program: &[assembly::Instruction], device: u32, hook: Hook) -> Result<OwnedFd, Error> {
    let program = bpf::load(program, hook).map_err(missing(Feature::Bpf))?;
    bpf::attach(&program, device, hook).map_err(missing(Feature::Tcx))
}
