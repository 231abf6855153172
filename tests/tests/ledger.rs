//! The ledger of faults that others shipped is complete: `docs/trust.md` against `bugs.rs`.
//!
//! Invariants: every test of a published fault is in the row of its id, every row has such a test
//! (`every_bug_is_in_the_ledger`), and no case of the given list is without a row
//! (`no_given_case_is_missing`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const BUGS: &str = include_str!("bugs.rs");
const LEDGER: &str = include_str!("../../docs/trust.md");

/// Names of tests by the id that they begin with, as `B01`.
fn tests_by_id(source: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for line in source.lines() {
        let Some(name) = line.strip_prefix("fn b").and_then(|rest| rest.split('(').next()) else {
            continue;
        };
        let Some((number, _)) = name.split_once('_') else { continue };
        if number.len() == 2 && number.bytes().all(|b| b.is_ascii_digit()) {
            found.entry(format!("B{number}")).or_default().insert(format!("b{name}"));
        }
    }
    found
}

/// Rows of the ledger: what the third and the fourth column name, by id.
fn rows(ledger: &str) -> BTreeMap<String, [BTreeSet<String>; 2]> {
    let names = |cell: &str| {
        let quoted = cell.split('`').skip(1).step_by(2);
        quoted.map(str::to_owned).collect::<BTreeSet<_>>()
    };
    ledger
        .lines()
        .filter(|line| line.starts_with("| B"))
        .map(|line| {
            let cells: Vec<_> = line.split('|').map(str::trim).collect();
            (cells[1].to_owned(), [names(cells[3]), names(cells[4])])
        })
        .collect()
}

/// What is wrong with a ledger, a line each.
fn findings(bugs: &str, ledger: &str) -> Vec<String> {
    let (tests, rows) = (tests_by_id(bugs), rows(ledger));
    let mut found = vec![];
    for id in tests.keys().chain(rows.keys()).collect::<BTreeSet<_>>() {
        match (tests.get(id), rows.get(id)) {
            (Some(_), None) => found.push(format!("{id} has no row")),
            (None, Some(_)) => found.push(format!("{id} has no test")),
            (Some(tests), Some([named, _])) if tests != named => {
                found.push(format!("{id}: its tests are {tests:?}, its row names {named:?}"));
            }
            (_, Some([_, kind])) if kind.is_empty() => {
                found.push(format!("{id}: nothing holds the whole kind"));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn every_bug_is_in_the_ledger() {
    let found = findings(BUGS, LEDGER);
    assert!(found.is_empty(), "docs/trust.md:\n{}", found.join("\n"));
    assert!(tests_by_id(BUGS).len() >= 41, "the list had 41");
}

#[test]
fn a_gap_in_the_ledger_is_found() {
    let bugs = "fn b01_a() {\nfn b02_b() {\nfn b04_d() {\nfn bytes() {";
    let ledger = "| Id |\n| B01 | x | test `b01_a` | |\n| B03 | x | test `b03_c` | test `y` |
| B04 | x | test `b04_e` | test `y` |";
    assert_eq!(
        findings(bugs, ledger),
        [
            "B01: nothing holds the whole kind",
            "B02 has no row",
            "B03 has no test",
            "B04: its tests are {\"b04_d\"}, its row names {\"b04_e\"}"
        ]
    );
}

#[test]
fn no_given_case_is_missing() {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/cases/bugs.md");
    let Ok(text) = std::fs::read_to_string(&list) else {
        println!("skipped: no_given_case_is_missing: there is no {}", list.display());
        return;
    };
    let given: BTreeSet<_> = text
        .lines()
        .filter_map(|line| line.split_once(" | "))
        .map(|(id, _)| id.to_owned())
        .filter(|id| id.len() == 3 && id.starts_with('B'))
        .collect();
    assert!(given.len() >= 41, "{} cases", given.len());
    let rows = rows(LEDGER).into_keys().collect::<BTreeSet<_>>();
    let missing: Vec<_> = given.difference(&rows).collect();
    assert!(missing.is_empty(), "no row for {missing:?}");
}
