//! Goal: tshark finds nothing wrong in what `--out` writes, and its reassembly of every TCP stream
//! gives the bytes that the input capture gives.
//! Method: both files go through `tshark -z follow`. A delivery stands where its last frame let it
//! go, which may be behind an acknowledgement of its bytes; `reordercap` puts it at the time of its
//! first frame, or tshark would call those bytes missing. Captures whose frames were cut are left
//! out: there is nothing to reassemble. `GROOVE_CAPTURES=DIR` runs those of a directory.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use support::groove;

/// Of what is skipped, the reason.
fn tools(test: &str) -> bool {
    let missing = ["tshark", "reordercap"].into_iter().find(|tool| !support::installed(tool));
    if let Some(tool) = missing {
        println!("skipped: {test}: no {tool}");
    }
    missing.is_none()
}

fn output(program: &str, args: &[String]) -> String {
    let output = Command::new(program).args(args).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What tshark says of a file.
#[derive(Default)]
struct Read {
    frames: usize,
    streams: usize,
    /// Numbers of the malformed frames, from 0, with their comments.
    malformed: BTreeMap<u32, String>,
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(' ').map(str::to_owned)
}

fn read(file: &Path) -> Read {
    let fields = "-T fields -e frame.number -e _ws.malformed -e tcp.stream -e frame.comment";
    let args = words("-n -r").chain([file.display().to_string()]).chain(words(fields));
    let text = output("tshark", &args.collect::<Vec<_>>());
    let mut read = Read::default();
    for line in text.lines() {
        let [number, malformed, streams, comment] =
            line.split('\t').collect::<Vec<_>>().try_into().expect("four fields");
        read.frames += 1;
        if !malformed.is_empty() {
            let number = number.parse::<u32>().unwrap() - 1;
            read.malformed.insert(number, comment.to_owned());
        }
        for stream in streams.split(',').filter_map(|stream| stream.parse::<usize>().ok()) {
            read.streams = read.streams.max(stream + 1);
        }
    }
    read
}

/// Bytes of each direction, in hexadecimal digits, in the order of its connections, by both ends.
type Streams = BTreeMap<(String, String), Vec<String>>;

fn follow(file: &Path, streams: usize) -> Streams {
    let mut all = Streams::new();
    let each = (0..streams).flat_map(|n| ["-z".into(), format!("follow,tcp,raw,{n}")]);
    let args = words("-n -q -r").chain([file.display().to_string()]).chain(each);
    let text = output("tshark", &args.collect::<Vec<_>>());
    for part in text.split("\nFollow: tcp,raw\n").skip(1) {
        let mut lines = part.lines();
        let mut end = |which: &str| {
            lines.find_map(|line| line.strip_prefix(which)).expect("two ends").to_owned()
        };
        let ends = [end("Node 0: "), end("Node 1: ")];
        let mut bytes = [String::new(), String::new()];
        for line in lines.take_while(|line| !line.starts_with('=')) {
            bytes[usize::from(line.starts_with('\t'))] += line.trim();
        }
        let [a, b] = ends;
        let [of_a, of_b] = bytes;
        all.entry((a.clone(), b.clone())).or_default().push(of_a);
        all.entry((b, a)).or_default().push(of_b);
    }
    all
}

/// Numbers of the frames in a delivery, as its comment has them.
fn frames(comment: &str) -> std::ops::RangeInclusive<u32> {
    let word = comment.split(", ").find_map(|part| {
        part.strip_prefix("frame ").or_else(|| part.split_once(" frames ").map(|(_, range)| range))
    });
    let word = word.expect("a delivery has frames");
    let (first, last) = word.split_once("..").unwrap_or((word, word));
    first.parse().unwrap()..=last.parse().unwrap()
}

/// Bytes of payload, or why there is nothing to hold against another.
fn agree(capture: &Path, out: &Path) -> Result<usize, &'static str> {
    let name = capture.display().to_string();
    let (written, sorted) = (out.join("out.pcapng"), out.join("sorted.pcapng"));
    let args = ["sim", &name, "--engine", "model", "--out", "out.pcapng", "--json"];
    let run = groove(out, &args);
    assert_eq!(run.code, 0, "{name}: {}", run.shown());
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    if report["skipped"]["cut"].as_u64().unwrap() > 0 {
        return Err("its frames were cut");
    }
    let files = [&written, &sorted].map(|path| path.display().to_string());
    output("reordercap", &files);
    let after = read(&sorted);
    assert_eq!(after.frames, report["total"]["deliveries"].as_u64().unwrap() as usize, "{name}");
    // What was malformed on the wire is delivered as it came.
    let before = if after.malformed.is_empty() { Read::default() } else { read(capture) };
    for comment in after.malformed.values() {
        let was = frames(comment).any(|frame| before.malformed.contains_key(&frame));
        assert!(was, "{name}: malformed, and was not: {comment}");
    }
    // One more than there are: empty in both.
    let streams = after.streams + 1;
    let (wanted, came) = (follow(capture, streams), follow(&sorted, streams));
    let ends: BTreeSet<_> = wanted.keys().chain(came.keys()).collect();
    for key in ends {
        assert!(wanted.get(key) == came.get(key), "{name}: {} to {}", key.0, key.1);
    }
    Ok(wanted.values().flatten().map(|digits| digits.len() / 2).sum())
}

fn captures(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let is_capture = |path: &PathBuf| {
        path.extension().is_some_and(|e| e == "pcap" || e == "pcapng") && path.is_file()
    };
    let mut paths: Vec<_> = entries.filter(is_capture).collect();
    paths.sort();
    paths
}

#[test]
fn tshark_reassembles_the_same_bytes() {
    if !tools("tshark_reassembles_the_same_bytes") {
        return;
    }
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures");
    let directory = std::env::var_os("GROOVE_CAPTURES").map_or(ours, PathBuf::from);
    let captures = captures(&directory);
    assert!(!captures.is_empty(), "no captures in {}", directory.display());
    let queue = std::sync::Mutex::new(captures.iter());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let out = tempfile::tempdir().unwrap();
                loop {
                    let Some(capture) = queue.lock().unwrap().next() else { return };
                    match agree(&capture.canonicalize().unwrap(), out.path()) {
                        Ok(bytes) => println!("{}: {bytes} bytes", capture.display()),
                        Err(why) => println!("skipped: {}: {why}", capture.display()),
                    }
                }
            });
        }
    });
}

/// A byte that changes, a frame that is cut: the comparison can fail.
#[test]
fn a_changed_stream_is_another() {
    if !tools("a_changed_stream_is_another") {
        return;
    }
    let out = tempfile::tempdir().unwrap();
    let write = |name: &str, frames: &[Vec<u8>]| {
        let path = out.path().join(name);
        std::fs::write(&path, support::pcap(frames)).unwrap();
        path
    };
    let mut frames = support::train(1000, 3, 100);
    let whole = write("whole", &frames);
    assert!(read(&whole).malformed.is_empty());
    let bytes: usize = follow(&whole, 1).values().flatten().map(|digits| digits.len() / 2).sum();
    assert_eq!(bytes, 300);
    *frames[1].last_mut().unwrap() ^= 1;
    assert!(follow(&whole, 1) != follow(&write("changed", &frames), 1));
    // TCP's header ends within its options.
    frames[2].truncate(14 + 20 + 16);
    frames[2][16..18].copy_from_slice(&36u16.to_be_bytes());
    assert_eq!(read(&write("cut", &frames)).malformed.keys().collect::<Vec<_>>(), [&2]);
}
