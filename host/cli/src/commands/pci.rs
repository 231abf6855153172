//! `groove devices`, `groove stats`, `groove bind`, `groove unbind`: functions, who has them, and
//! what they count.

use groove_driver::vfio::Peek;

use super::{measured, output};
use crate::cli::{BindArgs, DevicesArgs, StatsArgs, UnbindArgs};
use crate::pci::{self, Files, PciError, Step};
use crate::{Failure, exit, stats};

/// Runs `groove devices`.
pub fn devices(args: &DevicesArgs) -> Result<(), Failure> {
    let entries = pci::list(&args.kernel.sysfs(), args.all);
    // For a machine an empty list is an answer.
    if !entries.is_empty() || args.json.is_some() {
        let list = serde_json::json!({ "devices": entries });
        return measured::report(args.json.as_deref(), &pci::table(&entries), &list);
    }
    let (what, help) = match args.all {
        true => ("no network controller on the PCI bus", "`groove serve` gives a simulated one"),
        false => (
            "no Groove device on the PCI bus",
            "--all lists every network controller; `groove \
             serve` gives a simulated device",
        ),
    };
    Err(Failure::new(exit::DEVICE, what).help(help))
}

/// Runs `groove stats`.
pub fn stats(args: &StatsArgs) -> Result<(), Failure> {
    let peek = Peek::open(&args.kernel.sysfs(), args.bdf)
        .map_err(|e| Failure::of(exit::DEVICE, &e).help(e.help()))?;
    let stats = stats::read(&args.bdf.to_string(), |offset| peek.read32(offset))
        .map_err(|e| Failure::of(exit::DEVICE, &e).help(e.help()))?;
    measured::report(args.json.as_deref(), &stats::table(&stats), &stats)
}

/// Runs `groove bind`.
pub fn bind(args: &BindArgs) -> Result<(), Failure> {
    let sysfs = args.kernel.sysfs();
    let steps = pci::bind_steps(&sysfs, args.bdf, args.force).map_err(|e| failure(&e))?;
    if steps.is_empty() {
        return output::talk(&format!("{} is bound to vfio-pci", args.bdf));
    }
    if args.dry_run {
        return show(&steps);
    }
    pci::bind(&sysfs, &mut Files, args.bdf, &steps).map_err(|e| failure(&e))?;
    output::talk(&format!("{} is bound to vfio-pci now; back: groove unbind {0}", args.bdf))
}

/// Runs `groove unbind`.
pub fn unbind(args: &UnbindArgs) -> Result<(), Failure> {
    let sysfs = args.kernel.sysfs();
    let steps = pci::unbind_steps(&sysfs, args.bdf).map_err(|e| failure(&e))?;
    if args.dry_run {
        return show(&steps);
    }
    pci::run(&mut Files, &steps).map_err(|e| failure(&e))?;
    let driver = sysfs.function(args.bdf).and_then(|function| function.driver);
    let driver = driver.unwrap_or_else(|| "no driver".into());
    output::talk(&format!("{} is with {driver} now", args.bdf))
}

fn show(steps: &[Step]) -> Result<(), Failure> {
    output::data(&steps.iter().map(|step| format!("{step}\n")).collect::<String>())
}

fn failure(error: &PciError) -> Failure {
    Failure::of(exit::DEVICE, error).help(error.help())
}
