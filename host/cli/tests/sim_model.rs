//! `groove sim --engine model` from outside: what it prints, writes and refuses.

mod support;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use groove::capture::Reader;
use serde_json::Value;
use support::{Order, groove, pcap, pcap_header, pcap_record, tcp, train};

/// Two flows that merge, one frame alone, one runt, one oversize, one cut, one empty record.
fn mixed() -> Vec<u8> {
    let order = Order::Little;
    let mut frames = train(1000, 10, 1000);
    frames.extend(train(1001, 3, 100));
    frames.push(tcp(1002, 1, 0x02, &[]));
    frames.push(vec![0; 13]);
    frames.push(vec![0; 9217]);
    let mut file = pcap(&frames);
    file.extend(pcap_record(order, 2, 0, &[0; 60], 1514));
    file.extend(pcap_record(order, 2, 0, &[], 0));
    file
}

fn with(bytes: &[u8]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.pcap"), bytes).unwrap();
    dir
}

fn json(dir: &Path, more: &[&str]) -> Value {
    let args = [&["sim", "x.pcap", "--engine", "model", "--json"], more].concat();
    let run = groove(dir, &args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn prints_a_table() {
    let dir = with(&mixed());
    let args = ["sim", "x.pcap", "--engine", "model", "--queues", "4"];
    insta::assert_snapshot!("sim_table", groove(dir.path(), &args).shown());
    let args = ["sim", "x.pcap", "--engine", "model", "--queues", "1", "--cut", "run"];
    insta::assert_snapshot!("sim_table_one_queue", groove(dir.path(), &args).shown());
}

#[test]
fn prints_json_with_the_table_beside_it() {
    let dir = with(&mixed());
    let args = ["sim", "x.pcap", "--engine", "model", "--queues", "1", "--json"];
    let run = groove(dir.path(), &args);
    insta::assert_snapshot!("sim_json", run.stdout);
    assert!(run.stderr.contains("coalesce ratio"), "{}", run.stderr);
    let args = ["sim", "x.pcap", "--engine", "model", "--queues", "1", "--json=r.json"];
    let to_file = groove(dir.path(), &args);
    assert_eq!(to_file.stdout, run.stderr);
    assert_eq!(fs::read_to_string(dir.path().join("r.json")).unwrap(), run.stdout);
}

#[test]
fn frames_in_are_frames_delivered_and_dropped() {
    let report = json(with(&mixed()).path(), &[]);
    let drops: u64 = report["drops"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert_eq!(drops, 2);
    assert_eq!(report["frames"], 16);
    assert_eq!(report["total"]["frames"], 14);
    assert_eq!(report["records"], 18);
}

#[test]
fn a_lone_frame_does_not_count_as_coalesced() {
    let report = json(with(&mixed()).path(), &["--queues", "1"]);
    let total = &report["total"];
    assert_eq!(total["deliveries"], 3);
    assert_eq!(total["rx-packets"], 14);
    assert_eq!(total["rx-hw-gro-packets"], 2);
    assert_eq!(total["rx-hw-gro-wire-packets"], 13);
    assert_eq!(total["rx-hw-gro-wire-bytes"], 10 * 1054 + 3 * 154);
    assert_eq!(total["rx-hw-gro-bytes"], 54 + 10_000 + 54 + 300);
    assert_eq!(total["alone"]["empty"], 1);
}

#[test]
fn a_poll_ends_after_its_frames() {
    let dir = with(&pcap(&train(1000, 9, 100)));
    let deliveries = |batch| json(dir.path(), &["--batch", batch])["total"]["deliveries"].clone();
    assert_eq!(deliveries("1"), 9);
    assert_eq!(deliveries("2"), 5);
    assert_eq!(deliveries("4"), 3);
    assert_eq!(deliveries("64"), 1);
}

#[test]
fn sessions_age_by_the_time_of_the_capture() {
    // One frame every 10 microseconds.
    let dir = with(&pcap(&train(1000, 9, 100)));
    let report = |ticks| json(dir.path(), &["--ticks", ticks]);
    assert_eq!(report("10")["total"]["deliveries"], 9);
    assert_eq!(report("30")["total"]["deliveries"], 3);
    assert_eq!(report("30")["total"]["end"]["flush-old"], 2);
    assert_eq!(report("1000000")["total"]["deliveries"], 1);
}

#[test]
fn options_reach_the_model() {
    let mut frames = train(1000, 4, 100);
    for frame in &mut frames {
        frame.splice(12..12, [0x81, 0x00, 0x00, 0x07]);
    }
    let dir = with(&pcap(&frames));
    let deliveries = |more: &[&str]| json(dir.path(), more)["total"]["deliveries"].clone();
    assert_eq!(deliveries(&[]), 1);
    assert_eq!(deliveries(&["--set", "vlan_strip=off"]), 1);
    assert_eq!(deliveries(&["--set", "vlan_strip=off", "--set", "vlan_gro=off"]), 4);
    let report = json(dir.path(), &["--set", "max_frame_bytes=100"]);
    assert_eq!(report["drops"]["oversize"], 4);
}

#[test]
fn limit_stops_early_and_still_flushes() {
    let dir = with(&pcap(&train(1000, 9, 100)));
    let report = json(dir.path(), &["--limit", "5"]);
    assert_eq!((&report["frames"], &report["total"]["deliveries"]), (&5.into(), &1.into()));
}

#[test]
fn what_is_written_is_what_was_delivered() {
    let mut frames = train(1000, 44, 1460);
    for frame in &mut frames {
        frame.splice(12..12, [0x81, 0x00, 0xa0, 0x07]);
    }
    let dir = with(&pcap(&frames));
    json(dir.path(), &["--out", "out.pcapng"]);
    let mut reader = Reader::open(&dir.path().join("out.pcapng")).unwrap();
    let frame = reader.next_frame().unwrap().unwrap();
    assert_eq!(frame.bytes[..18], frames[0][..18], "the tag is back");
    assert_eq!(frame.bytes.len(), 18 + 40 + 44 * 1460);
    assert_eq!(frame.time.as_secs(), 1);
    assert!(reader.next_frame().unwrap().is_none());
}

#[test]
fn tshark_reads_the_deliveries() {
    if !support::installed("tshark") {
        println!("skipped: tshark_reads_the_deliveries: no tshark");
        return;
    }
    // The largest there is: 65,535 bytes behind the MAC header, and a stripped tag.
    let mut frames = train(1000, 47, 1393);
    frames.extend([tcp(1000, 1 + 47 * 1393, 0x10, &[0x5a; 24])]);
    let last = frames.len() - 2;
    frames[last] = tcp(1000, 1 + 46 * 1393, 0x10, &[0x5a; 1393]);
    for frame in &mut frames {
        frame.splice(12..12, [0x81, 0x00, 0xa0, 0x07]);
    }
    let dir = with(&pcap(&frames));
    json(dir.path(), &["--out", "out.pcapng"]);
    let output = Command::new("tshark")
        .args(["-r", "out.pcapng", "-T", "fields", "-E", "separator=;"])
        .args(["-e", "frame.len", "-e", "vlan.id", "-e", "ip.len", "-e", "tcp.len"])
        .args(["-e", "frame.comment"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let size = 47 * 1393 + 24;
    assert_eq!(40 + size, 65_535);
    let fields = format!("{};7;65535;{size};queue ", 18 + 65_535);
    assert!(text.starts_with(&fields), "{text}");
    assert!(text.contains("gso_size 1393, gso_segs 48, gso_type TCPV4"), "{text}");
}

/// 96 MB through a pipe, and the peak of memory before the end.
#[test]
fn memory_is_flat() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_groove"))
        .args(["sim", "-", "--engine", "model", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let frame = vec![0x5a; 9000];
    let record = pcap_record(Order::Little, 1, 0, &frame, 9000);
    input.write_all(&pcap_header(Order::Little, false, 1)).unwrap();
    let records = 96 * 1024 * 1024 / record.len();
    for _ in 0..records {
        input.write_all(&record).unwrap();
    }
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["frames"], records);
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = peak.split_whitespace().next().unwrap().parse().unwrap();
    assert!(kib < 40 * 1024, "peak of {kib} KiB");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let dir = with(&pcap(&train(1000, 2, 100)));
    let mut child = Command::new(env!("CARGO_BIN_EXE_groove"))
        .args(["spec", "show"])
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{:?}", String::from_utf8(output.stderr));
}
