//! Deployments in a kernel and on a card that are made up: each step fails, Ctrl-C and SIGKILL come
//! at every moment.

#[path = "../../tests/support/bitstream.rs"]
pub mod bitstream;
mod fake;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use super::*;
use crate::boards::Board;
use crate::pci::PciError;
use fake::{Card, Fake, Fault};

const BDF: &str = "0000:3b:00.0";

fn bdf() -> Bdf {
    BDF.parse().unwrap()
}

fn order(fake: &Fake) -> Order {
    Order {
        board: Board::named("ax7203").unwrap(),
        file: fake.file(),
        bdf: Some(bdf()),
        programmer: Programmer::command("/bin/true".into(), false, None),
        force: false,
    }
}

/// Takes a place that was let go. A process that another test starts has its lock until it becomes
/// its program.
pub fn free(directories: &[PathBuf]) -> Place {
    loop {
        match Place::take(directories) {
            Err(JournalError::Busy(_)) => std::thread::sleep(Duration::from_millis(5)),
            place => return place.unwrap(),
        }
    }
}

fn place(fake: &Fake) -> Place {
    free(&[fake.root().join("state")])
}

fn go(fake: &mut Fake, plan: &Plan, place: &Place, journal: Journal) -> Outcome {
    let (sysfs, stop) = (fake.sysfs(), fake.stop.clone());
    let deployment =
        Deployment { plan, sysfs: &sysfs, place, hardware: fake, stop: &stop, talk: &|_| {} };
    deployment.run(journal).unwrap()
}

fn deploy(fake: &mut Fake) -> Outcome {
    let place = place(fake);
    let (plan, journal) = Plan::make(&order(fake), &fake.sysfs(), Some(place.directory())).unwrap();
    go(fake, &plan, &place, journal)
}

fn journal(fake: &Fake) -> Option<Journal> {
    place(fake).journal().unwrap()
}

/// Text and help of a failure.
fn told(outcome: &Outcome) -> String {
    let (error, undone) = outcome.failed.as_ref().unwrap();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    format!("{text}; {}; {}", error.help(), undone.text())
}

#[test]
fn a_card_is_deployed() {
    for mut fake in [Fake::new(Card::factory(), Some("xdma")), Fake::new(Card::groove(), None)] {
        let before = fake.state();
        let outcome = deploy(&mut fake);
        assert!(outcome.failed.is_none(), "{}", told(&outcome));
        let report = outcome.report;
        assert_eq!(report.ended, "done");
        let steps: Vec<_> = report.steps.iter().map(|s| (s.step, s.done)).collect();
        assert_eq!(steps, Step::ALL.map(|step| (step, true)));
        assert_eq!(report.test.as_ref().map(|test| test.queues), Some(4));
        assert!(table(&report).ends_with("\ndone\n"), "{}", table(&report));
        let after = fake.state();
        assert_eq!(after.config, before.config, "the port is as before");
        assert_eq!(after.driver.as_deref(), Some("vfio-pci"));
        assert_eq!(after.id, Card::groove().id);
        assert_eq!(fake.alarms, Vec::<String>::new());
        assert_eq!(journal(&fake), None);
    }
}

/// What each failure is, what its error says, and whether the card is there at the end.
const FAULTS: [(Fault, &str, &str, bool); 15] = [
    (Fault::Poke(1), "failed to mask port 0000:3a:00.0", "see the kernel's log", true),
    (Fault::Refused("unbind"), "failed at: echo 0000:3b:00.0 > ", "run it as root", true),
    (Fault::Hangs("unbind"), "failed at: echo 0000:3b:00.0 > ", "has not come back", true),
    (Fault::Refused("remove"), "failed at: echo 1 > ", "run it as root", true),
    (Fault::Stays, "is still there 5 s after it was removed", "dmesg", true),
    (Fault::NoCable, "not programmed: it failed (exit status: 1): no cable", "cable", true),
    (Fault::Halfway, "not programmed: it failed (exit status: 1): cut", "power-cycle it", false),
    (Fault::Endless, "not programmed: it took longer than 120 s", "--limit", false),
    (Fault::NoLink, "the link below port 0000:3a:00.0 is not up after 10 s", "lanes", false),
    (Fault::NotFound, "there is no function 0000:3b:00.0 after 10 s", "--all", false),
    (Fault::Refused("rescan"), "failed at: echo 1 > ", "groove deploy --recover", false),
    (Fault::WrongId, "0000:3b:00.0 is 10ee:9038 now, no Groove device", "another one", true),
    (Fault::WrongTable, "was built from table 0x00000001", "a bitstream of this version", true),
    (Fault::NoBind, "vfio-pci did not take 0000:3b:00.0", "dmesg", true),
    (Fault::Untested, "the self-test failed: the device has fetched no", "IOMMU", true),
];

#[test]
fn every_failure_is_undone() {
    let befores = [
        (Card::groove(), Some("vfio-pci")),
        (Card::factory(), Some("xdma")),
        (Card::groove(), None),
    ];
    for (card, driver) in befores {
        for (fault, error, help, there) in FAULTS {
            if fault == Fault::Refused("unbind") && driver.is_none()
                || fault == Fault::Hangs("unbind") && driver.is_none()
            {
                continue;
            }
            let mut fake = Fake::new(card, driver);
            let before = fake.state();
            fake.fault = Some(fault);
            let outcome = deploy(&mut fake);
            let text = told(&outcome);
            assert!(text.contains(error) && text.contains(help), "{fault:?}: {text}");
            assert_eq!(outcome.report.ended, "failed");
            let after = fake.state();
            assert_eq!(after.config, before.config, "{fault:?}: {text}");
            assert_eq!(fake.alarms, Vec::<String>::new(), "{fault:?}");
            assert_eq!(after.id != (0, 0), there, "{fault:?}: {text}");
            let told_so = text.contains(&format!("{BDF} is not there"));
            if fault == Fault::Refused("rescan") {
                assert!(journal(&fake).is_some(), "there is something to recover");
                continue;
            }
            assert_eq!(told_so, !there, "{fault:?}: {text}");
            assert_eq!(journal(&fake), None, "{fault:?}");
            let untouched = !matches!(fault, Fault::WrongId | Fault::NoBind | Fault::Untested);
            if there && (after.id == before.id) && untouched {
                assert_eq!((after.driver, after.only), (before.driver, before.only), "{fault:?}");
            }
        }
    }
}

/// The host after an interruption: never with masks, alarms, or a card that is lost.
fn check_host(fake: &Fake, before: &fake::State, what: &str) {
    let after = fake.state();
    assert_eq!(after.config, before.config, "{what}");
    assert_eq!(fake.alarms, Vec::<String>::new(), "{what}");
    assert_ne!(after.id, (0, 0), "{what}");
    if !fake.programmed {
        assert_eq!(after, *before, "{what}");
    }
}

#[test]
fn ctrl_c_is_undone_at_every_moment() {
    let mut interrupted = 0;
    for at in 1.. {
        let mut fake = Fake::new(Card::factory(), Some("xdma"));
        let before = fake.state();
        fake.stop_at = Some(at);
        let outcome = deploy(&mut fake);
        let Some((error, _)) = &outcome.failed else { break };
        assert!(error.is_interruption(), "{at}: {}", told(&outcome));
        assert_eq!(outcome.report.ended, "interrupted");
        assert!(told(&outcome).contains("run the same again; the host is as it was"));
        assert_eq!(journal(&fake), None);
        check_host(&fake, &before, &format!("Ctrl-C at {at}"));
        interrupted += 1;
    }
    assert!(interrupted > 20, "{interrupted}");
}

/// Deploys until the process is killed in the middle; whether it was.
fn cut_off(fake: &mut Fake, at: usize) -> bool {
    fake.cut_at = Some(at);
    let outcome = catch_unwind(AssertUnwindSafe(|| deploy(fake)));
    fake.cut_at = None;
    outcome.is_err()
}

#[test]
fn a_deployment_that_was_cut_off_is_put_back() {
    let mut cuts = 0;
    for at in 1.. {
        let mut fake = Fake::new(Card::groove(), Some("vfio-pci"));
        let before = fake.state();
        if !cut_off(&mut fake, at) {
            break;
        }
        let journal = journal(&fake).expect("it was written down before it began");
        let sysfs = fake.sysfs();
        let undone = recover(&sysfs, &mut fake, &journal);
        assert_eq!(undone.left, Vec::<String>::new(), "{at}");
        check_host(&fake, &before, &format!("cut off at {at}"));
        // And again: nothing changes.
        let once = fake.state();
        recover(&sysfs, &mut fake, &journal);
        assert_eq!(fake.state(), once, "{at}");
        cuts += 1;
    }
    assert!(cuts > 20, "{cuts}");
}

#[test]
fn a_deployment_that_was_cut_off_goes_on() {
    for at in 1.. {
        let mut fake = Fake::new(Card::factory(), Some("xdma"));
        let before = fake.state();
        if !cut_off(&mut fake, at) {
            break;
        }
        let place = place(&fake);
        let journal = place.journal().unwrap().unwrap();
        let plan = Plan::resume(&journal, &fake.sysfs(), place.directory()).unwrap();
        let outcome = go(&mut fake, &plan, &place, journal);
        assert!(outcome.failed.is_none(), "{at}: {}", told(&outcome));
        check_host(&fake, &before, &format!("cut off at {at}"));
        assert_eq!(fake.state().driver.as_deref(), Some("vfio-pci"), "{at}");
        assert_eq!(place.journal().unwrap(), None);
    }
    // Another file is not gone on with.
    let mut fake = Fake::new(Card::factory(), Some("xdma"));
    assert!(cut_off(&mut fake, 12));
    let journal = journal(&fake).unwrap();
    std::fs::write(fake.file(), bitstream::xilinx(0x0363_6093, "7a200tfbg484", 64)).unwrap();
    let error = Plan::resume(&journal, &fake.sysfs(), fake.root()).unwrap_err();
    assert!(matches!(error, PlanError::Changed(_)) && error.help().contains("--recover"));
}

#[test]
fn what_cannot_be_put_back_is_named() {
    let mut fake = Fake::new(Card::groove(), Some("vfio-pci"));
    let before = fake.state();
    fake.fault = Some(Fault::NoCable);
    fake.locked = true;
    let outcome = deploy(&mut fake);
    let text = told(&outcome);
    assert!(text.contains("not put back: masks of port 0000:3a:00.0: "), "{text}");
    assert!(text.ends_with("try again: groove deploy --recover"), "{text}");
    assert_eq!(outcome.report.left.len(), 1);
    let journal = journal(&fake).expect("for another try");
    (fake.locked, fake.fault) = (false, None);
    let sysfs = fake.sysfs();
    assert_eq!(recover(&sysfs, &mut fake, &journal).left, Vec::<String>::new());
    assert_eq!(fake.state(), before);
}

#[test]
fn what_is_in_use_is_left_alone() {
    let make = |fake: &Fake, force| {
        Plan::make(&Order { force, ..order(fake) }, &fake.sysfs(), None).map(drop)
    };
    let fake = Fake::new(Card::factory(), Some("xdma"));
    fake.function_file("net/eth7/flags", "0x1003\n");
    let error = make(&fake, false).unwrap_err();
    assert!(error.to_string().ends_with("network interface eth7, which is up"), "{error}");
    make(&fake, true).unwrap();

    let fake = Fake::new(Card { id: (0x144d, 0xa80a), ..Card::factory() }, None);
    let error = make(&fake, false).unwrap_err();
    assert!(error.to_string().contains("0000:3b:00.0 is 144d:a80a"), "a disk: {error}");
    make(&fake, true).unwrap();

    let fake = Fake::new(Card::groove(), None);
    std::fs::remove_file(fake.function().join("iommu_group")).unwrap();
    assert!(matches!(make(&fake, true), Err(PlanError::Pci(PciError::NoIommu(_)))));
    std::fs::remove_dir(fake.sysfs().pci().join("drivers/vfio-pci")).unwrap();
    assert!(matches!(make(&fake, true), Err(PlanError::Pci(PciError::NoDriver))));
    let nowhere = Order { bdf: Some("0000:77:00.0".parse().unwrap()), ..order(&fake) };
    let error = Plan::make(&nowhere, &fake.sysfs(), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no PCI function 0000:77:00.0, and no port above bus 77"
    );
    assert_eq!(fake.log, Vec::<String>::new());
}

#[test]
fn a_card_without_a_bitstream_is_found_by_its_bus() {
    let mut fake = Fake::new(Card::blank(), None);
    let outcome = deploy(&mut fake);
    assert!(outcome.failed.is_none(), "{}", told(&outcome));
    assert_eq!(outcome.report.port.as_deref(), Some("0000:3a:00.0"));
    assert_eq!(fake.state().driver.as_deref(), Some("vfio-pci"));
}

#[test]
fn a_card_below_no_port_is_deployed() {
    let mut fake = Fake::new(Card::groove(), None);
    fake.leave_port();
    let outcome = deploy(&mut fake);
    assert!(outcome.failed.is_none(), "{}", told(&outcome));
    assert_eq!(outcome.report.port, None);
    assert_eq!(outcome.report.steps.len(), 7);
}

#[test]
fn without_a_function_the_host_is_not_touched() {
    let mut fake = Fake::new(Card::groove(), Some("vfio-pci"));
    let before = fake.state();
    let place = place(&fake);
    let order = Order { bdf: None, ..order(&fake) };
    let (plan, journal) = Plan::make(&order, &fake.sysfs(), Some(place.directory())).unwrap();
    let outcome = go(&mut fake, &plan, &place, journal);
    assert!(outcome.failed.is_none());
    let after = fake.state();
    assert_eq!((after.driver, after.only), (before.driver, before.only));
    assert_eq!(fake.log, ["program"]);
    assert!(table(&outcome.report).contains("the host was not touched, nothing was tested"));
}

#[test]
fn what_was_checked_is_loaded() {
    let mut fake = Fake::new(Card::groove(), None);
    let place = place(&fake);
    let (plan, journal) =
        Plan::make(&order(&fake), &fake.sysfs(), Some(place.directory())).unwrap();
    let whole = std::fs::read(fake.file()).unwrap();
    std::fs::write(fake.file(), "something else").unwrap();
    assert!(go(&mut fake, &plan, &place, journal).failed.is_none());
    assert_eq!(fake.loaded, whole);
    let copy = plan.copy.clone();
    assert!(copy.extension().is_some_and(|bit| bit == "bit") && copy.exists());
    drop(plan);
    assert!(!copy.exists());
}

#[test]
fn a_dry_run_changes_nothing() {
    let fake = Fake::new(Card::factory(), Some("xdma"));
    let before = fake.state();
    let sysfs = fake.sysfs();
    let (plan, journal) = Plan::make(&order(&fake), &sysfs, None).unwrap();
    let lines: Vec<_> = plan
        .steps()
        .into_iter()
        .flat_map(|step| plan.lines(step, &journal, &sysfs))
        .map(|line| line.replace(&fake.root().display().to_string(), ""))
        .map(|line| line.replace(&format!("{:#010x}", groove_spec::SPEC_ID), "TABLE"))
        .collect();
    assert_eq!(fake.state(), before);
    assert!(!fake.root().join("state").exists());
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_second_ctrl_c_is_not_waited_for() {
    // Set before it begins: nothing is done at all.
    let mut fake = Fake::new(Card::groove(), Some("vfio-pci"));
    let before = fake.state();
    fake.stop.store(true, Ordering::Relaxed);
    let outcome = deploy(&mut fake);
    assert!(told(&outcome).starts_with("interrupted before step mask; "));
    assert_eq!(fake.state(), before);
}
