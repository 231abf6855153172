//! Judging made-up guests: one in which all is well, and each way in which it is not.

use std::path::PathBuf;

use groove_vm::Program;
use serde_json::json;

use super::*;
use crate::digest::Digest;

/// What a guest with two captures brings back.
struct Made {
    outcome: Outcome,
    served: Value,
}

impl Made {
    fn new() -> Self {
        let digest = Digest::default().text();
        let run = json!({
            "total": {"deliveries": 3},
            "digest": digest,
            "memory": [
                {"bytes": 6_291_456, "page_bytes": 2_097_152},
                {"bytes": 8192, "page_bytes": 4096},
            ],
        });
        let mut made = Self {
            outcome: Outcome::default(),
            served: json!({"device": "rtl", "drivers": [{"memory": [
                {"maps": 18, "bytes_most": 9, "bytes_left": 0},
                {"maps": 5, "bytes_most": 6_299_648, "bytes_left": 0},
                {"maps": 2, "bytes_most": 8192, "bytes_left": 0},
                {"maps": 5, "bytes_most": 6_299_648, "bytes_left": 0},
            ]}]}),
        };
        let steps = "unbound 3\nbind 0\npass-0 0\npass-1 0\nstray 0\nunbind 0\n";
        made.set(script::STEPS, steps);
        for number in 0..2 {
            made.set(&script::said(&script::pass(number), "out"), &run.to_string());
        }
        made
    }
    fn set(&mut self, path: &str, text: &str) {
        self.outcome.outputs.insert(path.into(), text.into());
    }
    fn run(&mut self, number: usize, change: impl FnOnce(&mut Value)) {
        let path = script::said(&script::pass(number), "out");
        let mut run = parse(&self.outcome, &path).unwrap();
        change(&mut run);
        self.set(&path, &run.to_string());
    }
    fn report(&self) -> Report {
        let program = Program { file: PathBuf::from("groove"), libraries: Vec::new() };
        let expected = ["a", "b"].map(|name| Expected {
            capture: name.into(),
            frames: 4,
            deliveries: 3,
            digest: Digest::default(),
        });
        Report::new(Found {
            qemu: "11".into(),
            kernel: "6.12".into(),
            driver: &Driver { program, kind: "static", note: None },
            expected: &expected,
            outcome: &self.outcome,
            served: &self.served,
            seconds: Seconds::default(),
        })
    }
}

#[test]
fn a_guest_in_which_all_is_well_passes() {
    let report = Made::new().report();
    assert_eq!((report.result, &report.faults[..]), ("passed", &[][..]));
    assert_eq!(report.captures[1].maps, Some(5));
    let table = table(&report);
    assert!(table.contains("4 frames, 3 deliveries: the model's here; 5 mappings"), "{table}");
}

#[test]
fn each_fault_is_told() {
    let fault = |change: &dyn Fn(&mut Made)| {
        let mut made = Made::new();
        change(&mut made);
        let report = made.report();
        assert_eq!(report.result, "failed");
        report.faults.join("; ")
    };
    let steps = "unbound 0\nbind 0\npass-0 0\npass-1 0\nstray 0\n";
    let found = fault(&|made| {
        made.set(script::STEPS, steps);
        made.set("/tmp/r/unbound.err", "talk\nerror: no such thing\nhelp: x\n");
    });
    assert_eq!(
        found,
        "step unbound ended with 0, not 3: error: no such thing; \
         the guest did not come to step unbind"
    );
    let found = fault(&|made| made.run(1, |run| run["digest"] = json!("00")));
    assert!(found.starts_with("b: digest of the deliveries: 00, not e3b0c442"), "{found}");
    let found = fault(&|made| made.run(0, |run| run["total"]["deliveries"] = json!(4)));
    assert_eq!(found, "a: deliveries: 4, not 3");
    let maps = |made: &mut Made, at: usize, name: &str, value: u64| {
        made.served["drivers"][0]["memory"][at][name] = json!(value);
    };
    let found = fault(&|made| maps(made, 1, "maps", 6));
    assert_eq!(found, "a: mappings: 6, more than 5");
    let found = fault(&|made| maps(made, 3, "bytes_left", 4096));
    assert_eq!(found, "b: bytes still mapped at the end: 4096, not 0");
    // Two runs in one stay: the memory of the first was not taken away.
    let found = fault(&|made| maps(made, 1, "bytes_most", 12_599_296));
    assert!(found.contains("b: mappings: nothing, more than 5"), "{found}");
    let found = fault(&|made| made.outcome.refused.push("vfio.ko".into()));
    assert_eq!(found, "the guest's kernel refused the module vfio.ko");
    let found = fault(&|made| made.outcome.outputs.clear());
    assert!(found.contains("did not come to step bind"), "{found}");
    assert!(found.contains("a: digest of the deliveries: nothing"), "{found}");
}
