//! `groove serve --tap`: what the kernel sends for real programs arrives through the device.
//!
//! Each test has network namespaces of its own, which go with the processes that hold them. They
//! need root; without it they are skipped by name.

mod support;

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use groove::capture::Reader;
use groove_driver::{Device, Nic, Receiver, Settings, SocketVfio, identify};
use support::groove;
use support::namespace::{LIMIT, Namespace, can_run, until};

fn attach(dir: &Path) -> Vec<Receiver> {
    let device: Arc<dyn Device> = Arc::new(SocketVfio::open(&dir.join("s")).unwrap());
    let queues = identify(&*device).unwrap().queues;
    let settings = Settings { ring: 256, buffers: 256, ..Settings::new(queues) };
    let nic = Nic::open(device, &settings).unwrap();
    nic.queues.into_iter().map(|queue| queue.attach().unwrap()).collect()
}

/// One direction of a TCP connection, put together from what was delivered.
#[derive(Default)]
struct Stream {
    first: Option<u32>,
    bytes: Vec<u8>,
    merged: usize,
}

impl Stream {
    /// Takes a delivery, if it is of the stream: IPv4, TCP, to that port.
    fn take(&mut self, frame: &[u8], segments: u16, port: u16) {
        let u16_at = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        if frame.len() < 54 || u16_at(12) != 0x0800 || frame[23] != 6 || u16_at(36) != port {
            return;
        }
        let start = 34 + usize::from(frame[46] >> 4) * 4;
        let sequence = u32::from(u16_at(38)) << 16 | u32::from(u16_at(40));
        if frame[47] & 2 != 0 {
            self.first = Some(sequence.wrapping_add(1));
            return;
        }
        // The bytes behind the datagram are padding.
        let payload = &frame[start..14 + usize::from(u16_at(16))];
        let at = sequence.wrapping_sub(self.first.expect("SYN came first")) as usize;
        if payload.is_empty() {
            return;
        }
        self.merged += usize::from(segments > 1);
        self.bytes.resize(self.bytes.len().max(at + payload.len()), 0);
        self.bytes[at..][..payload.len()].copy_from_slice(payload);
    }
}

/// A TCP connection between two namespaces, on a bridge that acts as a hub: the device hears it.
fn a_connection_goes_by(more: &[&str], bytes: usize) {
    const PORT: u16 = 9000;
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Namespace::serve(dir.path(), more);
    let peer = Namespace::of("sleep", &["300"], other.path());
    server.ip(&format!(
        "link add br0 type bridge ageing_time 0
         link add pa type veth peer name va
         link add pb type veth peer name vb netns {}
         link set dev pa master br0
         link set dev pb master br0
         link set dev g0 master br0
         address add 10.9.0.1/24 dev va",
        peer.id()
    ));
    peer.ip("address add 10.9.0.2/24 dev vb\nlink set dev vb up");
    let mut receivers = attach(dir.path());
    for name in ["br0", "pa", "pb", "g0", "va"] {
        server.ip(&format!("link set dev {name} up"));
    }
    let sent: Vec<u8> = (0..bytes).map(|i| (i * 7 + i / 256) as u8).collect();
    let listener = peer.run(|| TcpListener::bind(("10.9.0.2", PORT)).unwrap());
    let mut stream = Stream::default();
    std::thread::scope(|scope| {
        let received = scope.spawn(move || {
            let mut bytes = Vec::new();
            listener.accept().unwrap().0.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let sender = scope.spawn(|| {
            server.run(|| {
                let mut connection = TcpStream::connect(("10.9.0.2", PORT)).unwrap();
                connection.write_all(&sent).unwrap();
                connection.shutdown(Shutdown::Write).unwrap();
            });
        });
        let end = Instant::now() + LIMIT;
        while stream.bytes.len() < bytes {
            assert!(Instant::now() < end, "{} of {bytes} bytes came", stream.bytes.len());
            for receiver in &mut receivers {
                let take = |delivery: groove_driver::Delivery| {
                    let mut frame = Vec::new();
                    delivery.copy_to_frame(&mut frame);
                    stream.take(&frame, delivery.metadata().gso_segs, PORT);
                };
                receiver.poll(64, take).unwrap();
            }
        }
        sender.join().unwrap();
        assert!(received.join().unwrap() == sent, "the program at the other end");
    });
    assert!(stream.bytes == sent, "what came through the device");
    assert!(stream.merged > 0, "segments of a bulk transfer are merged");
}

#[test]
fn what_a_program_sends_comes_out() {
    if can_run("what_a_program_sends_comes_out") {
        a_connection_goes_by(&["--queues", "2"], 300_000);
    }
}

/// One build for all: the default width and queues.
#[test]
fn what_a_program_sends_comes_out_of_hardware() {
    let test = "what_a_program_sends_comes_out_of_hardware";
    if !support::installed("verilator") {
        println!("skipped: {test}: needs verilator");
    } else if can_run(test) {
        a_connection_goes_by(&["--device", "rtl"], 60_000);
    }
}

/// `groove run` without a capture, and datagrams to a neighbour that is not there.
#[test]
fn datagrams_are_received_without_a_capture() {
    if !can_run("datagrams_are_received_without_a_capture") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let server = Namespace::serve(dir.path(), &["--queues", "2"]);
    server.ip("address add 10.8.0.1/24 dev g0
         link set dev g0 mtu 9600 up
         neighbour add 10.8.0.2 lladdr 02:00:00:00:00:02 dev g0 nud permanent");
    let socket = server.run(|| UdpSocket::bind("10.8.0.1:0").unwrap());
    let done = AtomicBool::new(false);
    let run = std::thread::scope(|scope| {
        scope.spawn(|| {
            // 9,216 bytes are the longest frame that the device takes.
            for number in 0u32.. {
                let mut datagram = vec![0; if number % 4 == 3 { 9300 } else { 1 }];
                datagram.extend(number.to_be_bytes());
                socket.send_to(&datagram, "10.8.0.2:9000").unwrap();
                std::thread::sleep(Duration::from_millis(2));
                if done.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        let args = ["run", "--device", "vfio-user:s", "--frames", "20", "--out", "x.pcapng"];
        let run = groove(dir.path(), &[&args[..], &["--seconds", "60", "--json"]].concat());
        done.store(true, Ordering::Relaxed);
        run
    });
    assert_eq!(run.code, 0, "{}", run.shown());
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["ended"], "frames", "{report}");
    assert_eq!(report["queue_count"], 2, "as many as the device has");
    assert!(report["counters"]["counters"]["DROP_OVERSIZE"].as_u64().unwrap() > 0, "{report}");
    let mut reader = Reader::open(&dir.path().join("x.pcapng")).unwrap();
    let mut numbers = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        assert_eq!(frame.bytes.len(), 60, "padded as a MAC pads it");
        numbers.push(u32::from_be_bytes(frame.bytes[43..47].try_into().unwrap()));
    }
    assert!(numbers.len() >= 20, "{numbers:?}");
    // Three of four, none missing in between, each once.
    let expected = (numbers[0]..).filter(|number| number % 4 != 3).take(numbers.len());
    assert_eq!(numbers, expected.collect::<Vec<_>>());
}

#[test]
fn interfaces_that_cannot_be_had_are_explained() {
    if !can_run("interfaces_that_cannot_be_had_are_explained") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let server = Namespace::serve(dir.path(), &["--queues", "2"]);
    let serve = |name: &str| {
        let args = ["serve", "--socket", "other", "--tap", name];
        server.run(|| groove(dir.path(), &args).shown())
    };
    insta::assert_snapshot!("serve_tap_taken", serve("g0"));
    insta::assert_snapshot!("serve_tap_other_kind", serve("lo"));
    // It goes away under the server.
    server.ip("link delete dev g0");
    until("an end of the server", || !dir.path().join("s").exists());
    let log = fs::read_to_string(dir.path().join("log")).unwrap();
    assert!(log.contains("error: failed to read from the TAP interface"), "{log}");
}
