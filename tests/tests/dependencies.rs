//! Who may depend on whom: `docs/architecture.md`, "Invariants", checked from `cargo metadata`.
//!
//! Each rule has a case that it must catch: a copy of the real workspace, bent.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// A workspace member, as far as the rules go.
#[derive(Clone, Debug, Default)]
struct Member {
    /// Names of all its dependencies, development and build ones included.
    dependencies: BTreeSet<String>,
    /// Version requirement of each.
    requirements: BTreeMap<String, String>,
    build_script: bool,
    published: bool,
    rust_version: Option<String>,
}

type Workspace = BTreeMap<String, Member>;

fn workspace() -> Workspace {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs: it runs this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    packages.iter().map(|p| (p["name"].as_str().unwrap().to_owned(), member(p))).collect()
}

fn member(package: &Value) -> Member {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let dependencies = package["dependencies"].as_array().unwrap();
    let kinds = |target: &Value| target["kind"].as_array().unwrap().clone();
    Member {
        dependencies: dependencies.iter().map(|d| text(&d["name"])).collect(),
        requirements: dependencies.iter().map(|d| (text(&d["name"]), text(&d["req"]))).collect(),
        build_script: package["targets"]
            .as_array()
            .unwrap()
            .iter()
            .any(|t| kinds(t).iter().any(|kind| kind == "custom-build")),
        published: package["publish"].as_array().is_none_or(|allowed| !allowed.is_empty()),
        rust_version: package["rust_version"].as_str().map(str::to_owned),
    }
}

/// Members that `from` depends on, directly or through others.
fn reach(workspace: &Workspace, from: &str) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut todo = vec![from];
    while let Some(name) = todo.pop() {
        for next in workspace[name].dependencies.iter().filter(|d| workspace.contains_key(*d)) {
            if seen.insert(next.clone()) {
                todo.push(next);
            }
        }
    }
    seen
}

const EXPECTED: [&str; 15] = [
    "groove",
    "groove-bench",
    "groove-device",
    "groove-driver",
    "groove-fuzz",
    "groove-hdl",
    "groove-model",
    "groove-oracle",
    "groove-serve",
    "groove-spec",
    "groove-tests",
    "groove-traffic",
    "groove-verilator",
    "groove-vm",
    "xtask",
];
/// Runs long checks; nothing uses it.
const TASKS: &str = "xtask";
/// Each is proved equal to the others in `tests`: shared code would make that proof empty.
const INDEPENDENT: [&str; 3] = ["groove-model", "groove-hdl", "groove-driver"];

fn violations(workspace: &Workspace) -> Vec<String> {
    let mut found = vec![];
    let members: Vec<_> = workspace.keys().map(String::as_str).collect();
    if members != EXPECTED {
        found.push(format!("members are {members:?}: say here and in docs what a new one may use"));
        return found;
    }
    let spec = &workspace["groove-spec"].dependencies;
    if !spec.is_empty() {
        found.push(format!("groove-spec depends on {spec:?}: it has no dependencies"));
    }
    for from in INDEPENDENT {
        let reached = reach(workspace, from);
        if reached.iter().any(|name| name != "groove-spec") {
            found.push(format!("{from} reaches {reached:?}: of the project only groove-spec"));
        }
    }
    if workspace["groove-model"].dependencies.len() != 1 {
        found.push("groove-model has a dependency beside groove-spec: it is plain Rust".into());
    }
    let oracle = reach(workspace, "groove-oracle");
    if !oracle.is_empty() {
        found.push(format!("groove-oracle reaches {oracle:?}: the kernel alone is to answer"));
    }
    if reach(workspace, "groove-verilator").contains("groove-model") {
        found.push("groove-verilator reaches groove-model: the hardware would check itself".into());
    }
    if workspace["groove-device"].dependencies.contains("groove-hdl") {
        found.push("groove-device uses groove-hdl: it knows hardware by its pins alone".into());
    }
    for (name, member) in workspace.iter().filter(|(name, _)| *name != TASKS) {
        let uses_rust_hdl = member.dependencies.iter().any(|d| d.starts_with("rust-hdl"));
        if uses_rust_hdl && name != "groove-hdl" {
            found.push(format!(
                "{name} uses RustHDL: only groove-hdl does, so that it is replaceable"
            ));
        }
        let used_by_product =
            member.dependencies.iter().any(|d| d == "groove-tests" || d == "groove-fuzz");
        if used_by_product || name != "groove-tests" && member.dependencies.contains("groove") {
            found.push(format!("{name} depends on the command line or on the tests"));
        }
        if member.build_script {
            found.push(format!("{name} has a build script: tables are Rust, nothing is generated"));
        }
        if member.published || member.rust_version.as_deref() != Some("1.95") {
            found.push(format!("{name}: publish and rust-version come from the workspace"));
        }
    }
    let rust_hdl = workspace["groove-hdl"].requirements.get("rust-hdl").map(String::as_str);
    if rust_hdl != Some("=0.46.0") {
        found.push(format!("rust-hdl is {rust_hdl:?}: frozen upstream, pinned to =0.46.0"));
    }
    found
}

#[test]
fn dependencies_point_one_way() {
    assert_eq!(violations(&workspace()), Vec::<String>::new());
}

/// The rule finds exactly this in a workspace bent by `bend`.
#[track_caller]
fn catches(what: &str, bend: impl Fn(&mut Workspace)) {
    let mut bent = workspace();
    bend(&mut bent);
    let found = violations(&bent);
    assert!(found.iter().any(|line| line.contains(what)), "{what:?} not in {found:?}");
}

fn add(workspace: &mut Workspace, from: &str, to: &str) {
    workspace.get_mut(from).unwrap().dependencies.insert(to.into());
}

#[test]
fn model_hdl_and_driver_never_depend_on_each_other() {
    for from in INDEPENDENT {
        for to in INDEPENDENT.iter().filter(|to| **to != from) {
            catches(&format!("{from} reaches"), |w| add(w, from, to));
        }
    }
    catches("groove-driver reaches", |w| add(w, "groove-driver", "groove-verilator"));
}

#[test]
fn spec_has_no_dependencies() {
    catches("groove-spec depends on", |w| add(w, "groove-spec", "serde"));
}

#[test]
fn the_model_is_plain_rust() {
    catches("groove-model has a dependency", |w| add(w, "groove-model", "etherparse"));
}

#[test]
fn the_oracle_knows_nothing_of_the_project() {
    catches("groove-oracle reaches", |w| add(w, "groove-oracle", "groove-spec"));
}

#[test]
fn the_harness_knows_no_model() {
    catches("groove-verilator reaches groove-model", |w| {
        add(w, "groove-verilator", "groove-model")
    });
}

#[test]
fn devices_know_hardware_by_its_pins() {
    catches("groove-device uses groove-hdl", |w| add(w, "groove-device", "groove-hdl"));
}

#[test]
fn rust_hdl_is_pinned_and_used_in_one_crate() {
    catches("groove-verilator uses RustHDL", |w| add(w, "groove-verilator", "rust-hdl-core"));
    catches("pinned to =0.46.0", |w| {
        let hdl = w.get_mut("groove-hdl").unwrap();
        hdl.requirements.insert("rust-hdl".into(), "^0.46".into());
    });
}

#[test]
fn nothing_depends_on_command_line_or_tests() {
    catches("groove-hdl depends on the command line", |w| add(w, "groove-hdl", "groove"));
    catches("groove depends on the command line", |w| add(w, "groove", "groove-tests"));
    catches("groove depends on the command line", |w| add(w, "groove", "groove-fuzz"));
}

#[test]
fn no_build_scripts_and_one_rust_version() {
    catches("groove has a build script", |w| w.get_mut("groove").unwrap().build_script = true);
    catches("groove: publish and", |w| w.get_mut("groove").unwrap().rust_version = None);
    catches("groove: publish and", |w| w.get_mut("groove").unwrap().published = true);
}

#[test]
fn a_new_member_must_be_named_here() {
    catches("members are", |w| {
        w.insert("groove-stranger".into(), Member::default());
    });
}

/// Each package of a build, with its features.
fn features(arguments: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--prefix", "none", "--format", "{p} {f}"])
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs: it runs this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

#[test]
fn one_set_of_features() {
    let command = features(&["--package", "groove", "--edges", "normal,build"]);
    let all = features(&["--workspace", "--edges", "normal,build,dev"]);
    let other: Vec<_> = command.difference(&all).collect();
    assert!(
        other.is_empty(),
        "built for `--package groove` otherwise than for `--workspace`, so `groove vm test` compiles \
         them again: name their features in host/cli/Cargo.toml: {other:#?}"
    );
}
