//! `groove sim`: arguments to engines, report to table and JSON, difference to a capture and a
//! command that repeats it.

use std::path::Path;

use groove_verilator::{BuildOptions, Wave};

use super::progress::Progress;
use super::{engine, measured, output};
use crate::capture::{self, Reader, Writer};
use crate::cli::{CutChoice, EngineChoice, SimArgs};
use crate::engine::{EngineError, ModelEngine, RtlEngine, RtlOptions};
use crate::sim::{self, Engines, MismatchReport, SimError, Skipped};
use crate::{Failure, exit};

/// Where the frames of a difference go.
const MISMATCH_FILE: &str = "groove-mismatch.pcapng";
/// Where the signals around a failure go.
const WAVE_FILE: &str = "groove-mismatch.fst";

/// Runs the command.
pub fn run(args: &SimArgs) -> Result<(), Failure> {
    check(args)?;
    let setup = args.input.setup();
    let mut reader = Reader::open(&args.capture).map_err(|e| capture_failure(&e))?;
    let engines = engines(args, &setup)?;
    let mut out = match &args.out {
        Some(path) => Some(Writer::create(path).map_err(|e| capture_failure(&e))?),
        None => None,
    };
    let mut progress = Progress::new(reader.total_bytes());
    let outcome = sim::run(&mut reader, engines, &setup, out.as_mut(), &mut |at| progress.at(at));
    progress.finish();
    let outcome = outcome.map_err(|error| {
        let failure = sim_failure(&error);
        let help = waves(args, error.cycle(), &setup);
        let help = failure.help.iter().cloned().chain(help).collect::<Vec<_>>().join("\nhelp: ");
        failure.help(help)
    })?;
    if let Some(out) = out {
        out.finish().map_err(|e| capture_failure(&e))?;
    }
    let report = &outcome.report;
    // What was refused before its first record has nothing to report.
    if report.records > 0 || outcome.damage.is_none() {
        measured::report(args.json.as_deref(), &sim::table(report), report)?;
    }
    if let Some(mismatch) = &outcome.mismatch {
        let records = outcome.report.records;
        let setup = sim::Setup { limit: Some(records), ..setup };
        // Before the frames are written: they may be the capture that was read.
        let waves = waves(args, mismatch.cycle, &setup);
        return Err(mismatch_failure(args, mismatch, records, waves, Path::new("")));
    }
    let limit = args.input.limit;
    read_failure(&outcome.damage, report.frames, &report.skipped, &args.capture, limit)
}

/// What is wrong with a capture that was run as far as it could be.
pub fn read_failure(
    damage: &Option<capture::Error>,
    frames: u64,
    skipped: &Skipped,
    capture: &Path,
    limit: Option<u64>,
) -> Result<(), Failure> {
    if let Some(damage) = damage {
        return Err(capture_failure(damage));
    }
    let capture = capture.display();
    if frames == 0 && skipped.cut > 0 {
        let message = format!("capture {capture}: every frame is cut by the snap length");
        return Err(Failure::usage(message)
            .help("record whole frames with `tcpdump --snapshot-length 0`, or run what is there with --cut run"));
    }
    if frames == 0 && limit != Some(0) {
        let message = format!("capture {capture} holds no frame");
        return Err(Failure::usage(message).help("record again while there is traffic"));
    }
    Ok(())
}

/// What clap cannot know.
fn check(args: &SimArgs) -> Result<(), Failure> {
    if args.wave.is_some() && args.engine == EngineChoice::Model {
        return Err(Failure::usage("--wave: the model has no signals to record")
            .help("use --engine rtl or --engine both"));
    }
    if args.engine == EngineChoice::Model {
        return Ok(());
    }
    engine::check_hardware(&args.input.setup().config, "use --engine model")
}

fn engines(args: &SimArgs, setup: &sim::Setup) -> Result<Engines, Failure> {
    let model = || ModelEngine::new(setup.config.clone()).map_err(|e| engine::failure(&e));
    let rtl =
        || rtl(args, setup, args.wave.as_ref().map(Wave::all)).map_err(|e| engine::failure(&e));
    Ok(match args.engine {
        EngineChoice::Model => Engines::One(Box::new(model()?)),
        EngineChoice::Rtl => Engines::One(Box::new(rtl()?)),
        EngineChoice::Both => Engines::both(Box::new(model()?), Box::new(rtl()?)),
    })
}

fn rtl(args: &SimArgs, setup: &sim::Setup, wave: Option<Wave>) -> Result<RtlEngine, EngineError> {
    let build = BuildOptions {
        width: args.width,
        queues: args.input.queue_count().into(),
        trace: wave.is_some(),
        ..BuildOptions::default()
    };
    let options = RtlOptions { stall_percent: args.stall, seed: args.seed, wave };
    RtlEngine::open(&build, &setup.config, &options)
}

/// Where the signals of a failure in `cycle` are: those of the run if it has them, otherwise those
/// of its repetition. Never a failure of its own: what happened first matters more.
fn waves(args: &SimArgs, cycle: Option<u64>, setup: &sim::Setup) -> Option<String> {
    let cycle = cycle?;
    if let Some(path) = &args.wave {
        return Some(format!("signals: cycle {cycle} of {}", path.display()));
    }
    if args.capture.is_file() {
        // The first build with waves takes minutes. If nobody hears it, go on.
        let talk = format!("repeating the run to record its signals around cycle {cycle}");
        let _ = output::talk(&talk);
    }
    let open = || rtl(args, setup, Some(Wave::around(WAVE_FILE, cycle)));
    Some(match sim::record_waves(&args.capture, setup, Path::new(WAVE_FILE), cycle, open) {
        Ok(time) => format!("signals around cycle {cycle}: {WAVE_FILE}, at time {time}"),
        Err(error) => format!(
            "signals around cycle {cycle} could not be recorded: {error}; repeat it with \
             --wave {WAVE_FILE}"
        ),
    })
}

/// A capture that cannot be read or written, as a failure.
pub fn capture_failure(error: &capture::Error) -> Failure {
    Failure::of(exit::USAGE, error).help(error.help())
}

fn sim_failure(error: &SimError) -> Failure {
    match error {
        SimError::Output(error) => capture_failure(error),
        SimError::Config(_) => Failure::of(exit::USAGE, error),
        SimError::Engine { source, .. } => {
            let mut failure = engine::failure(source);
            failure.causes.insert(0, failure.message);
            failure.message = error.to_string();
            failure
        }
        SimError::Conservation { .. } => {
            Failure::of(exit::FAULT, error).help("this is a fault of Groove: please report it")
        }
    }
}

/// The first difference as a failure; its frames go to a capture in `directory`.
fn mismatch_failure(
    args: &SimArgs,
    mismatch: &MismatchReport,
    records: u64,
    waves: Option<String>,
    directory: &Path,
) -> Failure {
    let mut lines = mismatch.lines.iter();
    let first = lines.next().map_or("", String::as_str);
    let mut failure = Failure::new(exit::MISMATCH, format!("the engines differ: {first}"));
    failure.causes = lines.cloned().collect();
    let mut help = format!("repeat it: {}", repeat(args, records));
    help.extend(waves.map(|waves| format!("\nhelp: {waves}")));
    // Without the capture the command above still repeats it.
    if write_kept(mismatch, &directory.join(MISMATCH_FILE)).is_ok() {
        help += &format!("\nhelp: frames of the queue up to there: {MISMATCH_FILE}");
    }
    failure.help(help)
}

fn write_kept(mismatch: &MismatchReport, path: &Path) -> Result<(), capture::Error> {
    let mut writer = Writer::create(path)?;
    for kept in &mismatch.kept {
        writer.frame(kept.time, &kept.bytes, &format!("frame {}", kept.frame))?;
    }
    writer.finish()
}

/// The command line that gives the same result with the fewest records.
fn repeat(args: &SimArgs, records: u64) -> String {
    let mut words = vec!["groove".to_owned(), "sim".to_owned(), quote(&args.capture)];
    let mut add = |flag: &str, value: String| words.push(format!("--{flag} {value}"));
    let engine = match args.engine {
        EngineChoice::Model => "model",
        EngineChoice::Rtl => "rtl",
        EngineChoice::Both => "both",
    };
    add("engine", engine.to_owned());
    add("profile", args.input.profile.name().to_owned());
    for setting in &args.input.settings {
        add("set", setting.to_string());
    }
    add("width", args.width.to_string());
    add("queues", args.input.queue_count().to_string());
    match args.input.ticks {
        Some(ticks) => add("ticks", ticks.to_string()),
        None => add("batch", args.input.batch.unwrap_or(64).to_string()),
    }
    add("stall", args.stall.to_string());
    add("seed", args.seed.to_string());
    if args.input.cut == CutChoice::Run {
        add("cut", "run".to_owned());
    }
    add("limit", records.to_string());
    words.join(" ")
}

/// A path as a shell takes it.
fn quote(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@".contains(c);
    match text.chars().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command, InputArgs};
    use crate::compare::Mismatch;
    use clap::Parser;
    use groove_spec::DropReason;
    use std::time::Duration;

    #[test]
    fn the_repeating_command_means_the_same() {
        let line = "groove sim it's.pcap --engine both --set rxcsum=off --set max_frame_bytes=1518 \
                    --ticks 50 --stall 30 --seed 7 --width 64 --queues 3 --cut run";
        let parse = |words: &[String]| match Cli::parse_from(words).command {
            Command::Sim(args) => args,
            _ => panic!("not sim"),
        };
        let words: Vec<String> = line.split_whitespace().map(String::from).collect();
        let args = parse(&words);
        let text = repeat(&args, 9).replace("'it'\\''s.pcap'", "it's.pcap");
        let again: Vec<String> = text.split_whitespace().map(String::from).collect();
        let again = parse(&again);
        assert_eq!(again.input.limit, Some(9));
        let same = |args: &SimArgs| {
            let input = InputArgs { limit: None, ..args.input.clone() };
            SimArgs { input, ..args.clone() }
        };
        assert_eq!(format!("{:?}", same(&again)), format!("{:?}", same(&args)));
        assert_eq!(Path::new("it's.pcap"), again.capture);
    }

    #[test]
    fn signals_are_pointed_to_or_missed_with_a_reason() {
        let shown = |line: &str, cycle| {
            let Command::Sim(args) = Cli::parse_from(line.split(' ')).command else {
                panic!("not sim")
            };
            waves(&args, cycle, &args.input.setup())
        };
        // A failure without a cycle is none of the hardware's.
        assert_eq!(shown("groove sim x.pcap", None), None);
        assert_eq!(
            shown("groove sim x.pcap --wave w.fst", Some(9)).unwrap(),
            "signals: cycle 9 of w.fst"
        );
        assert_eq!(
            shown("groove sim -", Some(9)).unwrap(),
            "signals around cycle 9 could not be recorded: - is not a file that can be read again; \
             repeat it with --wave groove-mismatch.fst"
        );
    }

    #[test]
    fn a_mismatch_tells_how_to_repeat_it_and_keeps_the_frames() {
        let Command::Sim(args) = Cli::parse_from(["groove", "sim", "x.pcap"]).command else {
            panic!("not sim")
        };
        let mut ledger = sim::Ledger::new(true);
        for record in 1..=3 {
            let bytes = &[record as u8; 60];
            let time = Duration::from_secs(record);
            let frame = capture::Frame { record, offset: 76 * record, time, wire_bytes: 60, bytes };
            ledger.enter(&frame, Some((record % 2) as u8));
        }
        let (expected, found) = (Some((2, DropReason::Runt)), None);
        let mismatch =
            MismatchReport::new(Mismatch::Drop { expected, found }, Some(9), &mut ledger);
        let dir = tempfile::tempdir().unwrap();
        let failure =
            mismatch_failure(&args, &mismatch, 3, Some("signals: there".into()), dir.path());
        assert_eq!(failure.code, exit::MISMATCH);
        assert_eq!(
            failure.to_string(),
            "error: the engines differ: drop: expected frame 2 dropped as runt, found no further \
             drop\n\
             caused by: frame 2 is record 3 of the capture, at byte 228\n\
             help: repeat it: groove sim x.pcap --engine both --profile linux-7.3 --width 512 \
             --queues 32 --batch 64 --stall 0 --seed 1 --limit 3\n\
             help: signals: there\n\
             help: frames of the queue up to there: groove-mismatch.pcapng"
        );
        let mut reader = Reader::open(&dir.path().join(MISMATCH_FILE)).unwrap();
        let mut kept = Vec::new();
        while let Some(frame) = reader.next_frame().unwrap() {
            kept.push(frame.bytes[0]);
        }
        assert_eq!(kept, [1, 3]);
    }
}
