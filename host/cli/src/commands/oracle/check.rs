//! `groove oracle record` and `groove oracle check`: captures and recorded cases.

use std::collections::BTreeMap;
use std::path::Path;

use super::source::Source;
use super::{Against, failure_among, finish, keep, open, write_failure};
use crate::Failure;
use crate::cli::{CheckArgs, RecordArgs};
use crate::commands::measured;
use crate::golden::{Case, Packed, Recorded};
use crate::oracle::{Live, Report, Tally, Target, against_record};

/// Seed of the order of bursts in repeated runs; any will do.
const ORDER_SEED: u64 = 1;

/// Runs `groove oracle record`.
pub fn record(args: &RecordArgs) -> Result<(), Failure> {
    let mut source = Source::open(&args.source)?;
    let live = open()?;
    let path = args.out.join(format!("{}.jsonl.gz", stem(&args.source.capture)));
    let name = args.source.capture.display().to_string();
    let mut report = Report::new(&live.kernel, name.clone(), args.runs.runs);
    let mut packed: Option<Packed> = None;
    loop {
        let mut piece = source.next_piece()?;
        if piece.is_empty() {
            break;
        }
        put_through(&live, &mut piece, args.runs.runs)?;
        // Nothing is written before the kernel has answered.
        let packed = match &mut packed {
            Some(packed) => packed,
            None => packed.insert(Packed::create(&path).map_err(|e| write_failure(&e))?),
        };
        for case in &piece {
            report.add(case);
            packed.add(case, &format!("from {name}")).map_err(|e| write_failure(&e))?;
        }
    }
    report.skipped = source.skipped();
    let Some(packed) = packed else { return Err(nothing(&name)) };
    packed.finish().map_err(|e| write_failure(&e))?;
    measured::report(
        args.json.as_deref(),
        &format!("{}recorded in {}\n", report.text(), path.display()),
        &report,
    )
}

/// Runs `groove oracle check`.
pub fn check(args: &CheckArgs) -> Result<(), Failure> {
    let mut source = Source::open(&args.source)?;
    let live = open()?;
    let mut against = Against::open(&args.against, &live)?;
    let name = args.source.capture.display().to_string();
    let mut report = Report::new(&live.kernel, name.clone(), args.runs.runs);
    loop {
        let mut piece = source.next_piece()?;
        if piece.is_empty() {
            break;
        }
        let old = put_through(&live, &mut piece, args.runs.runs)?;
        for (case, old) in piece.iter().zip(&old) {
            report.add(case);
            let mut differs = against.add(&live, case)?;
            if let Some(list) = old.get(&live.kernel.label) {
                let tally = against.record.get_or_insert_with(|| Tally::new(Target::Record));
                differs |= tally.add(case, &against_record(list, &case.golden[&live.kernel.label]));
            }
            if let (true, Some(directory)) = (differs, &args.against.out) {
                keep(directory, case, &format!("from {name}; differs"))?;
            }
        }
    }
    report.skipped = source.skipped();
    if report.bursts == 0 {
        return Err(nothing(&name));
    }
    against.report(&mut report);
    let help = match &args.against.out {
        Some(directory) => format!("the bursts that differ are in {}", directory.display()),
        None => "--out DIR keeps the bursts that differ, as captures".to_owned(),
    };
    finish(args.against.json.as_deref(), &[report], &help)
}

type Golden = BTreeMap<String, Vec<Recorded>>;

/// Puts cases through the kernel; gives the records that they came with.
fn put_through(live: &Live, cases: &mut [Case], runs: u8) -> Result<Vec<Golden>, Failure> {
    let old = cases.iter().map(|case| case.golden.clone()).collect();
    live.record(cases, runs.into(), ORDER_SEED).map_err(|e| failure_among(&e, cases))?;
    Ok(old)
}

fn stem(path: &Path) -> String {
    let name = path.file_name().map_or("capture".into(), |n| n.to_string_lossy().into_owned());
    let end = [".jsonl.gz", ".json", ".pcapng", ".pcap"].iter().find_map(|e| name.strip_suffix(e));
    match end.unwrap_or(&name) {
        "-" | "" => "capture".to_owned(),
        stem => stem.to_owned(),
    }
}

fn nothing(name: &str) -> Failure {
    Failure::usage(format!("{name}: no frame that could be put through the kernel"))
        .help("record with `--snapshot-length 0`; --cut run takes frames that were cut")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_are_named_after_their_source() {
        for (path, name) in [
            ("a/b.pcap", "b"),
            ("b.pcapng", "b"),
            ("random.jsonl.gz", "random"),
            ("tests/golden", "golden"),
            ("-", "capture"),
            ("v1.2", "v1.2"),
        ] {
            assert_eq!(stem(Path::new(path)), name);
        }
    }
}
