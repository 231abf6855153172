//! Recorded kernel results: the model against every delivery that real Linux kernels made.
//!
//!   as the kernel    recorded metadata given, headers of any length, tunnels on: all cases
//!   as hardware      everything computed: the cases that hardware can be given
//!
//! The cases that we made ourselves are carried in `golden`; captures of others stay outside.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use groove::engine::{Config, EngineError, Event, ModelEngine};
use groove::golden::{
    self, Case, EngineRunner, KernelModel, LeftOut, Outcome, Plan, ReadError, Runner, Step,
    configuration,
};
use groove_model::stages::admit;
use groove_model::{Frame, look};
use groove_spec::Profile;

const KERNELS: [&str; 4] = ["6.12.117", "6.18.44", "7.3.4", "7.3.4+pppoe"];
/// Cases that hardware can be given at least, of 7.3.4, captures of others included.
const HARDWARE_CASES_MIN: usize = 780;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn own() -> Vec<Case> {
    golden::cases(&root().join("tests/golden")).expect("our own cases are readable")
}

/// The whole given set; `None` says that the test is skipped.
fn given(test: &str) -> Option<Vec<Case>> {
    let directory = root().join("../shared/golden");
    if !directory.is_dir() {
        println!("skipped: {test}: no ../shared");
        return None;
    }
    Some(golden::cases(&directory).expect("the given cases are readable"))
}

/// Runs all cases on one kernel's rules; gives how many were equal, and the reasons of the others.
fn run_all(
    runner: &mut dyn Runner,
    cases: &[Case],
    kernel: &str,
) -> (usize, BTreeMap<LeftOut, usize>) {
    let (equal, left_out, differing) = outcomes(runner, cases, kernel);
    let some = differing.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(differing.is_empty(), "{kernel}: {} cases differ\n{some}", differing.len());
    (equal, left_out)
}

fn outcomes(
    runner: &mut dyn Runner,
    cases: &[Case],
    kernel: &str,
) -> (usize, BTreeMap<LeftOut, usize>, Vec<String>) {
    let config = configuration(kernel).expect("a known kernel");
    let (mut equal, mut left_out, mut differing) = (0, BTreeMap::new(), Vec::new());
    for case in cases {
        match golden::run(runner, case, kernel, &config).expect("the model runs") {
            None => panic!("{}: no record of {kernel}", case.name),
            Some(Outcome::Equal) => equal += 1,
            Some(Outcome::LeftOut(reason)) => *left_out.entry(reason).or_default() += 1,
            Some(Outcome::Differs(list)) => {
                let (delivery, first) = &list[0];
                differing.push(format!("{} delivery {delivery}: {first}", case.name));
            }
        }
    }
    (equal, left_out, differing)
}

fn as_hardware() -> EngineRunner<impl FnMut(&Config) -> Result<ModelEngine, EngineError>> {
    EngineRunner(|config: &Config| ModelEngine::new(config.clone()))
}

#[test]
fn model_equals_our_kernel_deliveries() {
    let cases = own();
    assert_eq!(cases.len(), 1053);
    for kernel in KERNELS {
        assert_eq!(run_all(&mut KernelModel, &cases, kernel), (cases.len(), BTreeMap::new()));
    }
}

#[test]
fn model_as_hardware_equals_our_kernel_deliveries() {
    let cases = own();
    for kernel in KERNELS {
        let (equal, left_out) = run_all(&mut as_hardware(), &cases, kernel);
        assert_eq!(equal + left_out.values().sum::<usize>(), cases.len());
        assert!(equal >= 760, "{kernel}: only {equal} cases remain");
    }
}

#[test]
fn model_equals_every_given_kernel_delivery() {
    let Some(cases) = given("model_equals_every_given_kernel_delivery") else { return };
    assert_eq!(cases.len(), 1126);
    for kernel in KERNELS {
        assert_eq!(run_all(&mut KernelModel, &cases, kernel), (cases.len(), BTreeMap::new()));
    }
}

#[test]
fn model_as_hardware_equals_the_given_kernel_deliveries() {
    let Some(cases) = given("model_as_hardware_equals_the_given_kernel_deliveries") else {
        return;
    };
    for kernel in KERNELS {
        let (equal, left_out) = run_all(&mut as_hardware(), &cases, kernel);
        println!("{kernel}: {equal} equal, left out {left_out:?}");
        assert_eq!(equal + left_out.values().sum::<usize>(), cases.len());
        assert!(equal >= HARDWARE_CASES_MIN, "{kernel}: only {equal} cases remain");
    }
}

#[test]
fn packed_cases_equal_the_given_ones() {
    let Some(mut cases) = given("packed_cases_equal_the_given_ones") else { return };
    // The packed form goes without `head`: the hash covers it.
    for recorded in cases.iter_mut().flat_map(|c| c.golden.values_mut().flatten()) {
        recorded.head = None;
    }
    let of_name = |list: Vec<Case>| -> BTreeMap<String, Case> {
        list.into_iter().map(|case| (case.name.clone(), case)).collect()
    };
    let given = of_name(cases);
    for (name, case) in of_name(own()) {
        assert_eq!(Some(&case), given.get(&name), "{name}");
        assert_ne!(case.group, "real", "{name}: captures of others stay outside");
    }
}

#[test]
fn each_wrong_profile_or_option_is_caught() {
    let cases = own();
    let differs = |label: &str, change: fn(&mut Config)| {
        let mut config = configuration(label).expect("a known kernel");
        change(&mut config);
        cases.iter().any(|case| {
            let outcome = golden::run(&mut KernelModel, case, label, &config).expect("runs");
            matches!(outcome, Some(Outcome::Differs(_)))
        })
    };
    assert!(differs("6.12.117", |c| c.profile = Profile::Linux618));
    assert!(differs("6.18.44", |c| c.profile = Profile::Linux73));
    assert!(differs("7.3.4", |c| c.profile = Profile::Linux612));
    assert!(differs("6.18.44", |c| c.options.vlan_gro = true));
    assert!(differs("7.3.4", |c| c.options.vlan_gro = false));
    assert!(differs("7.3.4", |c| c.options.tunnels = false));
    assert!(differs("7.3.4", |c| c.options.pppoe = true));
    assert!(differs("7.3.4", |c| c.options.trim_pad = true));
    assert!(differs("7.3.4", |c| c.options.strict_order = true));
    assert!(differs("7.3.4", |c| c.depth = 7));
    assert!(differs("7.3.4", |c| c.depth = 9));
}

/// An engine that loses the last delivery.
struct Lossy;

impl Runner for Lossy {
    fn plan<'a>(&self, case: &'a Case, kernel: Config) -> Result<Plan<'a>, LeftOut> {
        KernelModel.plan(case, kernel)
    }

    fn run(&mut self, plan: &Plan) -> Result<Vec<Event>, EngineError> {
        let mut events = KernelModel.run(plan)?;
        events.pop();
        Ok(events)
    }
}

#[test]
fn a_lost_delivery_is_a_difference() {
    let cases = own();
    let (equal, _, differing) = outcomes(&mut Lossy, &cases, "7.3.4");
    assert_eq!((equal, differing.len()), (0, cases.len()));
    assert!(differing[0].contains("deliveries: expected"), "{}", differing[0]);
}

#[test]
fn planned_cases_enter_as_recorded() {
    let kernel = configuration("7.3.4").expect("a known kernel");
    let (mut planned, mut verified) = (0, 0);
    for case in &own() {
        let Ok(plan) = golden::plan::as_hardware(case, kernel.clone()) else { continue };
        planned += 1;
        let bytes = plan.steps.iter().filter_map(|step| match step {
            Step::Frame { bytes, given } => {
                assert_eq!(*given, None);
                Some(bytes)
            }
            Step::Flush => None,
        });
        for (bytes, input) in bytes.zip(&case.frames) {
            let seen = look(&plan.config, &Frame::new(bytes));
            assert_eq!(Some(seen.steering.hash), input.given.hash, "{}", case.name);
            assert_eq!((&*seen.bytes, seen.vlan), (&*input.bytes, input.given.vlan));
            let entry = admit::entry_csum(plan.config.options.rxcsum, &seen.verdicts, None);
            // One case alternates the states: the kernel then verifies what was not given.
            if case.name != "v4_mixed_state" && case.name != "v6_mixed_state" {
                assert_eq!(entry.state, input.given.csum, "{}", case.name);
            }
            verified += usize::from(entry.state != Default::default());
        }
    }
    assert!(planned >= 760 && verified > 1000, "{planned} cases, {verified} frames verified");
}

#[test]
fn damage_is_an_error() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    assert!(matches!(golden::cases(&at("absent")), Err(ReadError::Io { .. })));
    assert!(matches!(golden::cases(directory.path()), Err(ReadError::Empty { .. })));
    let json = r#"{"name":"x","group":"bugs","about":"","frames":[{"hash":0}],"golden":{}}"#;
    let pcap = pcap_of(&[0; 60]);
    let read = |json: &str, pcap: &[u8]| {
        fs::write(at("x.json"), json).expect("writable");
        fs::write(at("x.pcap"), pcap).expect("writable");
        golden::cases(directory.path())
    };
    assert_eq!(read(json, &pcap).expect("a case").len(), 1);
    assert!(matches!(read("{", &pcap), Err(ReadError::Json { line: 1, .. })));
    assert!(matches!(read(json, &pcap[..pcap.len() - 1]), Err(ReadError::Capture { .. })));
    assert!(matches!(read(json, &pcap[..24]), Err(ReadError::Content { .. })));
    let partial = json.replace("\"hash\":0", "\"hash\":0,\"csum\":\"partial\"");
    assert!(matches!(read(&partial, &pcap), Err(ReadError::Content { .. })));
    let alias = json.replace("\"golden\":{}", "\"golden\":{\"7.3.4\":\"6.18.44\"}");
    assert!(matches!(read(&alias, &pcap), Err(ReadError::Content { .. })));
    fs::write(at("x.jsonl.gz"), "no gzip").expect("writable");
    fs::remove_file(at("x.json")).expect("removable");
    assert!(matches!(golden::cases(directory.path()), Err(ReadError::Io { .. })));
}

/// A capture of one frame.
fn pcap_of(frame: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1, 0, 0] {
        out.extend(word.to_le_bytes());
    }
    out.extend((frame.len() as u32).to_le_bytes());
    out.extend((frame.len() as u32).to_le_bytes());
    out.extend(frame);
    out
}
