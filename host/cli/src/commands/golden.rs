//! `groove golden`: every recorded case below a directory, on every kernel that recorded it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::rc::Rc;
use std::thread::available_parallelism;

use groove_verilator::{BuildOptions, Pipeline};
use serde_json::{Value, json};

use super::{device, engine, output};
use crate::cli::{GoldenArgs, GoldenEngine};
use crate::engine::{Config, EngineError, RtlEngine, RtlOptions};
use crate::golden::{
    self, Case, DeviceRunner, EngineRunner, KernelModel, Outcome, ReadError, Runner,
};
use crate::{Failure, exit};

/// What came of one kernel's cases.
#[derive(Default)]
struct Tally {
    equal: usize,
    /// Cases that differ: name, and each difference with the number of its delivery.
    differing: Vec<(String, Vec<String>)>,
    /// Names by the reason they were left out for.
    left_out: BTreeMap<&'static str, Vec<String>>,
}

impl Tally {
    fn add(&mut self, case: &Case, outcome: Outcome) {
        let name = format!("{}/{}", case.group, case.name);
        match outcome {
            Outcome::Equal => self.equal += 1,
            Outcome::LeftOut(reason) => self.left_out.entry(reason.text()).or_default().push(name),
            Outcome::Differs(list) => {
                let line = |(delivery, d): &(usize, _)| format!("delivery {delivery}: {d}");
                self.differing.push((name, list.iter().map(line).collect()));
            }
        }
    }

    fn left_out_count(&self) -> usize {
        self.left_out.values().map(Vec::len).sum()
    }
}

/// Runs the command.
pub fn run(args: &GoldenArgs) -> Result<(), Failure> {
    let cases = golden::cases(&args.dir).map_err(|e| read_failure(&e))?;
    let kernels = kernels(args, &cases)?;
    let mut runners = Runners::open(args)?;
    let mut tallies = BTreeMap::new();
    for (label, config) in &kernels {
        let tally: &mut Tally = tallies.entry(label.as_str()).or_default();
        let outcomes = runners.run(&cases, label, config).map_err(|e| engine::failure(&e))?;
        for (case, outcome) in cases.iter().zip(outcomes) {
            if let Some(outcome) = outcome {
                tally.add(case, outcome);
            }
        }
    }
    if args.json {
        output::data(&format!("{:#}", as_json(&tallies)))?;
    } else {
        output::data(&as_text(&tallies))?;
    }
    match tallies.values().map(|tally| tally.differing.len()).sum::<usize>() {
        0 => Ok(()),
        count => Err(Failure::new(exit::MISMATCH, format!("{count} recorded cases differ"))
            .help("the first difference of each is the one to look at")),
    }
}

/// The kernels to run: the one asked for, or all that any case recorded.
fn kernels(args: &GoldenArgs, cases: &[Case]) -> Result<Vec<(String, Config)>, Failure> {
    let recorded: BTreeSet<&str> =
        cases.iter().flat_map(|case| case.golden.keys().map(String::as_str)).collect();
    let names = || recorded.iter().copied().collect::<Vec<_>>().join(", ");
    let labels = match &args.kernel {
        Some(label) if !recorded.contains(label.as_str()) => {
            return Err(Failure::usage(format!("--kernel {label}: no case has a record of it"))
                .help(format!("recorded kernels: {}", names())));
        }
        Some(label) => vec![label.as_str()],
        None => recorded.iter().copied().collect(),
    };
    let config = |label: &str| {
        let config = golden::configuration(label).map_err(|e| Failure::of(exit::USAGE, &e))?;
        Ok((label.to_owned(), config))
    };
    labels.into_iter().map(config).collect()
}

/// Who runs the cases.
enum Runners {
    /// Devices, one for each core.
    Devices(Vec<DeviceRunner>),
    /// An engine.
    One(Box<dyn Runner>),
}

impl Runners {
    fn open(args: &GoldenArgs) -> Result<Self, Failure> {
        if let Some(choice) = args.device {
            let options = device::Options::of_golden(args);
            let cores = available_parallelism().map_or(1, |cores| cores.get());
            let open = || Ok(DeviceRunner::new(device::open(choice, &options)?));
            return (0..cores).map(|_| open()).collect::<Result<_, _>>().map(Self::Devices);
        }
        if args.engine == GoldenEngine::Model {
            return Ok(Self::One(Box::new(KernelModel)));
        }
        let build = BuildOptions { width: args.width, ..BuildOptions::default() };
        let pipeline = Pipeline::open(&build).map_err(|e| engine::failure(&e.into()))?;
        let shared = Rc::new(RefCell::new(pipeline));
        // A case's indirection table sends everything to queue 0, however many queues there are.
        let open = move |config: &Config| {
            RtlEngine::attach(Rc::clone(&shared), config, &RtlOptions::default())
        };
        Ok(Self::One(Box::new(EngineRunner(open))))
    }

    /// Outcomes in the order of the cases.
    fn run(
        &mut self,
        cases: &[Case],
        label: &str,
        config: &Config,
    ) -> Result<Vec<Option<Outcome>>, EngineError> {
        match self {
            Self::Devices(devices) => golden::run_all(devices, cases, label, config),
            Self::One(runner) => {
                cases.iter().map(|case| golden::run(runner.as_mut(), case, label, config)).collect()
            }
        }
    }
}

fn read_failure(error: &ReadError) -> Failure {
    Failure::of(exit::USAGE, error)
        .help("name a directory of recorded cases: NAME.json beside NAME.pcap, or GROUP.jsonl.gz")
}

fn as_text(tallies: &BTreeMap<&str, Tally>) -> String {
    let mut text =
        format!("{:14}{:>8}{:>8}{:>8}{:>10}\n", "kernel", "cases", "equal", "differ", "left out");
    // Writing to a String cannot fail.
    for (label, tally) in tallies {
        let (differ, left) = (tally.differing.len(), tally.left_out_count());
        let cases = tally.equal + differ + left;
        let _ = writeln!(text, "{label:14}{cases:>8}{:>8}{differ:>8}{left:>10}", tally.equal);
    }
    for (label, tally) in tallies {
        for (reason, names) in &tally.left_out {
            let names = names.join(" ");
            let _ = writeln!(text, "\nleft out on {label}, {reason}: {names}");
        }
        for (name, lines) in &tally.differing {
            let _ = writeln!(text, "\ndiffers on {label}: {name}");
            for line in lines {
                let _ = writeln!(text, "  {line}");
            }
        }
    }
    text
}

fn as_json(tallies: &BTreeMap<&str, Tally>) -> Value {
    let kernel = |(label, tally): (&&str, &Tally)| {
        let differing = tally.differing.iter();
        let differing = differing.map(|(name, lines)| json!({"case": name, "differences": lines}));
        json!({
            "kernel": label,
            "equal": tally.equal,
            "differ": differing.collect::<Vec<_>>(),
            "left_out": tally.left_out,
        })
    };
    Value::Array(tallies.iter().map(kernel).collect())
}
