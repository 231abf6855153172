//! Target `capture`: any bytes as a capture file.
//!
//!   bytes ─► reader ─┬─► frames ─► writer ─► reader ─► the same frames
//!                    └─► or an error, with help, and nothing behind it
//!
//! Invariants: no more frames than a file of that length can hold, none longer than the file, each
//! behind the one before; an error names the file and says what to do; what was read is written
//! and read again as it was, with its time.

use std::io::Cursor;
use std::path::Path;
use std::time::Duration;

use crate::shared::captures::{Error, Reader, Writer};

/// Least bytes of a record: a simple packet block is the shortest.
const RECORD_BYTES_MIN: usize = 16;

/// A frame as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// Since 1970.
    pub time: Duration,
    /// What was captured.
    pub bytes: Vec<u8>,
}

/// Runs one input.
pub fn run(data: &[u8]) {
    run_with(data, &mut |_| {});
}

/// Runs one input; `meddle` may change what is written again.
pub fn run_with(data: &[u8], meddle: &mut dyn FnMut(&mut [Read])) {
    let source = Box::new(Cursor::new(data.to_vec()));
    let mut reader = match Reader::new("input".into(), source, Some(data.len() as u64)) {
        Ok(reader) => reader,
        Err(error) => return is_helpful(&error),
    };
    let (frames, error) = read(&mut reader, data.len());
    if let Some(error) = error {
        is_helpful(&error);
        for _ in 0..3 {
            let next = reader.next_frame();
            assert!(!matches!(next, Ok(Some(_))), "a frame behind an error");
        }
    }
    if !frames.is_empty() {
        comes_back(&frames, meddle);
    }
}

/// All frames up to the end or an error.
fn read(reader: &mut Reader, length: usize) -> (Vec<Read>, Option<Error>) {
    let (mut frames, mut last) = (Vec::new(), None);
    loop {
        match reader.next_frame() {
            Ok(Some(frame)) => {
                assert!(frame.bytes.len() <= length, "longer than the file");
                assert!((frame.offset as usize) < length, "it starts behind the file");
                assert!(last < Some(frame.offset), "it starts before the one before");
                last = Some(frame.offset);
                frames.push(Read { time: frame.time, bytes: frame.bytes.to_vec() });
                assert_eq!(frame.record, frames.len() as u64);
                assert!(frames.len() <= length / RECORD_BYTES_MIN, "more than there can be");
            }
            Ok(None) => return (frames, None),
            Err(error) => return (frames, Some(error)),
        }
    }
}

/// What was read is written, and read again as it was.
fn comes_back(frames: &[Read], meddle: &mut dyn FnMut(&mut [Read])) {
    let directory = tempfile::tempdir().expect("a place for a file");
    let path = directory.path().join("again.pcapng");
    let mut written = frames.to_vec();
    meddle(&mut written);
    match write(&path, &written) {
        Ok(()) => {}
        Err(error) => {
            is_helpful(&error);
            // The format has 64 bits for nanoseconds: 584 years.
            let late = |frame: &Read| frame.time.as_nanos() > u64::MAX.into();
            assert!(frames.iter().any(late), "{error:?}");
            return;
        }
    }
    let length = std::fs::metadata(&path).expect("it was written").len() as usize;
    let mut reader = Reader::open(&path).expect("it was written");
    let (again, error) = read(&mut reader, length);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(again.len(), frames.len(), "frames");
    for (again, frame) in again.iter().zip(frames) {
        assert!(again == frame, "{again:?} was {frame:?}");
    }
}

fn write(path: &Path, frames: &[Read]) -> Result<(), Error> {
    let mut writer = Writer::create(path)?;
    for frame in frames {
        writer.frame(frame.time, &frame.bytes, "")?;
    }
    writer.finish()
}

/// It names the file, and the next step.
fn is_helpful(error: &Error) {
    assert!(!error.to_string().is_empty() && !error.help().is_empty(), "{error:?}");
}
