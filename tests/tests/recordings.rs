//! Our own captures: small, described in `docs/captures.md`, and what that page says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use groove::capture::Reader;
use groove_model::stages::parse::{L3Kind, L4Kind, Parsed};
use groove_model::stages::{checksum, parse};
use groove_spec::{MAX_HEADER_BYTES, Verdict};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests is a member").to_owned()
}

/// Names and paths of all recordings in a directory, in order.
fn recordings(directory: &Path) -> Vec<(String, PathBuf)> {
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let captures = paths.filter(|path| path.extension().is_some_and(|e| e == "pcap"));
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let mut all: Vec<_> = captures.map(|path| (name(&path), path)).collect();
    all.sort();
    all
}

/// What was seen in a recording.
#[derive(Default)]
struct Seen {
    frames: usize,
    tcp_segments: usize,
    bad_checksums: usize,
    ipv4: usize,
    ipv6: usize,
    ce_marks: usize,
    tags_least: usize,
    tags_most: usize,
    padded: usize,
    longest_bytes: usize,
}

fn ce_mark(frame: &[u8], parsed: &Parsed) -> bool {
    match parsed.l3_kind {
        L3Kind::None => false,
        L3Kind::Ipv4 => frame[parsed.l3_off + 1] & 3 == 3,
        L3Kind::Ipv6 => frame[parsed.l3_off + 1] >> 4 & 3 == 3,
    }
}

fn look(path: &Path) -> Seen {
    let mut reader = Reader::open(path).unwrap();
    let mut seen = Seen { tags_least: usize::MAX, ..Seen::default() };
    while let Some(frame) = reader.next_frame().unwrap() {
        let bytes: &[u8] = frame.bytes;
        let parsed = parse::run(bytes, MAX_HEADER_BYTES, 3, false);
        let verdicts = checksum::run(bytes, &parsed);
        let tags = bytes[12..].chunks(4).take_while(|t| matches!(t[..2], [0x81, 0] | [0x88, 0xa8]));
        let tags = tags.count();
        seen.frames += 1;
        seen.tcp_segments += usize::from(parsed.l4_kind == L4Kind::Tcp);
        seen.bad_checksums += usize::from([verdicts.l3, verdicts.l4].contains(&Verdict::Bad));
        seen.ipv4 += usize::from(parsed.l3_kind == L3Kind::Ipv4);
        seen.ipv6 += usize::from(parsed.l3_kind == L3Kind::Ipv6);
        seen.ce_marks += usize::from(ce_mark(bytes, &parsed));
        seen.tags_least = seen.tags_least.min(tags);
        seen.tags_most = seen.tags_most.max(tags);
        let is_tcp = parsed.l4_kind == L4Kind::Tcp;
        seen.padded += usize::from(is_tcp && parsed.l3_off + parsed.ip_len < bytes.len());
        seen.longest_bytes = seen.longest_bytes.max(bytes.len());
    }
    seen
}

#[test]
fn recordings_are_small_and_described() {
    let page = fs::read_to_string(root().join("docs/captures.md")).unwrap();
    let all = recordings(&root().join("tests/captures"));
    assert!(all.len() >= 10, "only {} recordings", all.len());
    for (name, path) in all {
        let bytes = fs::metadata(&path).unwrap().len();
        assert!(bytes < 1_000_000, "{name}: {bytes} bytes");
        let row = format!("| `{name}` | {} |", look(&path).frames);
        assert!(page.contains(&row), "docs/captures.md has no row {row}");
    }
}

fn check(name: &str, seen: &Seen) {
    assert_eq!(seen.bad_checksums, 0, "{name}");
    assert!(seen.tcp_segments * 10 > seen.frames * 9, "{name}: mostly TCP");
    let (own, other) = match name.contains("_v6") {
        true => (seen.ipv6, seen.ipv4),
        false => (seen.ipv4, seen.ipv6),
    };
    assert!(own > 0 && own >= 10 * other, "{name}: {own} frames of its IP version, {other} others");
    let tags = match name {
        "http_v4_vlan" => 1,
        "qinq_v4" => 2,
        _ => 0,
    };
    assert_eq!((seen.tags_least, seen.tags_most), (tags, tags), "{name}: tags");
    assert_eq!(seen.ce_marks > 0, name.starts_with("ce_marks"), "{name}: {} marks", seen.ce_marks);
    let is_padded = matches!(name, "rr_v4" | "short_flows_v4");
    assert_eq!(seen.padded > 50, is_padded, "{name}: {} padded segments", seen.padded);
    assert_eq!(seen.longest_bytes > 8000, name.ends_with("jumbo"), "{name}");
}

#[test]
fn recordings_hold_what_the_page_says() {
    for (name, path) in recordings(&root().join("tests/captures")) {
        check(&name, &look(&path));
    }
}

#[test]
fn one_command_records_again() {
    let skip = |why: &str| println!("skipped: one_command_records_again: {why}");
    let succeeds = |command: &mut Command| command.output().is_ok_and(|o| o.status.success());
    let namespace = format!("groove-probe-{}", std::process::id());
    if !succeeds(Command::new("ip").args(["netns", "add", &namespace])) {
        return skip("needs root and iproute2");
    }
    let removed = succeeds(Command::new("ip").args(["netns", "del", &namespace]));
    assert!(removed, "{namespace} stays behind");
    if !succeeds(Command::new("python3").arg("--version")) {
        return skip("needs python3");
    }
    let out = tempfile::tempdir().unwrap();
    let script = root().join("tests/captures/record.py");
    let output = Command::new("python3")
        .arg("-B")
        .arg(script)
        .args(["rr_v4", "short_flows_v6", "http_v4_vlan", "--out"])
        .arg(out.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let fresh = recordings(out.path());
    assert_eq!(fresh.len(), 3);
    for (name, path) in fresh {
        check(&name, &look(&path));
    }
}
