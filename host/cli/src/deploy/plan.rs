//! What a deployment will do, made without changing anything: everything that can be known to fail
//! fails here.
//!
//!   board, file, function ──► file whole and for the board? card idle? programmer there? ──► Plan
//!
//! Invariants: what somebody is using, or what is no card of this kind, is left alone
//! (`what_is_in_use_is_left_alone`); the file that is checked is the one that is loaded: it is
//! copied (`what_was_checked_is_loaded`).
//! Not here: doing it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use groove_driver::pci_id::{DEVICE_ID, VENDOR_ID};
use groove_driver::vfio::sysfs::{Bdf, Sysfs, VFIO_DRIVER};

use super::{
    Before, Bitstream, BitstreamError, Journal, Port, Programmer, ProgrammerError, Saved, Step,
    bitstream,
};
use crate::boards::Board;
use crate::pci::{self, PciError};

/// Vendors of what a card may carry before: Groove, AMD, Lattice.
const VENDORS: [u16; 3] = [VENDOR_ID, 0x10ee, 0x1204];

/// What is wanted.
#[derive(Clone, Debug)]
pub struct Order {
    /// The board.
    pub board: &'static Board,
    /// The bitstream.
    pub file: PathBuf,
    /// Function of the card, where the host is to be looked after.
    pub bdf: Option<Bdf>,
    /// What programs it.
    pub programmer: Programmer,
    /// Also what is no card of a known vendor, or has an interface that is up.
    pub force: bool,
}

/// Why nothing is begun.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The file.
    #[error("{} cannot be deployed", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: BitstreamError,
    },
    /// The programmer.
    #[error(transparent)]
    Programmer(#[from] ProgrammerError),
    /// The function.
    #[error(transparent)]
    Pci(#[from] PciError),
    /// Neither a function nor a port to whose bus it would belong.
    #[error("there is no PCI function {0}, and no port above bus {bus:02x}", bus = .0.bus())]
    Nowhere(Bdf),
    /// The port cannot be read.
    #[error("failed to read the configuration space of port {port}")]
    Port {
        /// Which.
        port: Bdf,
        /// Why.
        source: io::Error,
    },
    /// The copy cannot be written.
    #[error("failed to copy the bitstream to {}", path.display())]
    Copy {
        /// Where to.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file of an interrupted deployment is another one now.
    #[error("{} is not what it was when the deployment began", .0.display())]
    Changed(PathBuf),
    /// The journal is of another version.
    #[error("the journal names {0}, which is not known")]
    Unknown(String),
}

impl PlanError {
    /// What to do next.
    pub fn help(&self) -> String {
        match self {
            Self::File { source, .. } => source.help().into(),
            Self::Programmer(error) => error.help(),
            Self::Pci(error) => error.help(),
            Self::Nowhere(_) => "`groove devices --all` lists what there is; a card without a \
                                 bitstream has the address that it will have: the bus of its port"
                .into(),
            Self::Port { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::UnexpectedEof => {
                    "run it as root".into()
                }
                _ => "see the kernel's log: dmesg".into(),
            },
            Self::Copy { .. } => "check that the directory has room".into(),
            Self::Changed(_) | Self::Unknown(_) => {
                "put the host back, then deploy anew: groove deploy --recover".into()
            }
        }
    }
}

/// What will be done.
#[derive(Debug)]
pub struct Plan {
    /// The board.
    pub board: &'static Board,
    /// The file as it was named.
    pub file: PathBuf,
    /// What it is.
    pub bitstream: Bitstream,
    /// The file that is loaded.
    pub copy: PathBuf,
    /// Removes it.
    _copy: Option<tempfile::TempPath>,
    /// What programs the card.
    pub programmer: Programmer,
    /// Its function.
    pub bdf: Option<Bdf>,
    /// The port above.
    pub port: Option<Port>,
}

impl Plan {
    /// A plan, and the journal that it begins with. Without a directory for the copy, for a dry
    /// run, nothing is written at all.
    ///
    /// # Errors
    /// If it is known to fail.
    pub fn make(
        order: &Order,
        sysfs: &Sysfs,
        directory: Option<&Path>,
    ) -> Result<(Self, Journal), PlanError> {
        let plan = Self::of(order, sysfs, directory)?;
        let functions = match plan.bdf {
            Some(bdf) => idle(&functions(sysfs, bdf, plan.port.as_ref())?, sysfs, order.force)?,
            None => Vec::new(),
        };
        let saved = match &plan.port {
            Some(port) => saved(port)?,
            None => Vec::new(),
        };
        let whole = std::path::absolute(&order.file).unwrap_or_else(|_| order.file.clone());
        let journal = Journal {
            board: plan.board.name.into(),
            file: whole,
            sha256: plan.bitstream.sha256.clone(),
            programmer: plan.programmer.clone(),
            bdf: plan.bdf.map(|bdf| bdf.to_string()),
            port: plan.port.as_ref().map(|port| port.bdf.to_string()),
            step: Step::Mask,
            saved,
            functions,
            came_up: false,
        };
        Ok((plan, journal))
    }

    /// The plan of a deployment that was cut off.
    ///
    /// # Errors
    /// If its file is another one now, or what it names is not known.
    pub fn resume(journal: &Journal, sysfs: &Sysfs, directory: &Path) -> Result<Self, PlanError> {
        let unknown = |name: &str| PlanError::Unknown(name.into());
        let address = |text: &Option<String>| match text {
            None => Ok(None),
            Some(text) => text.parse().map(Some).map_err(|_| unknown(text)),
        };
        let board = Board::named(&journal.board).ok_or_else(|| unknown(&journal.board))?;
        let order = Order {
            board,
            file: journal.file.clone(),
            bdf: address(&journal.bdf)?,
            programmer: journal.programmer.clone(),
            force: false,
        };
        let mut plan = Self::of(&order, sysfs, Some(directory))?;
        if plan.bitstream.sha256 != journal.sha256 {
            return Err(PlanError::Changed(journal.file.clone()));
        }
        plan.port = address(&journal.port)?.map(|port| Port::at(sysfs, port));
        Ok(plan)
    }

    fn of(order: &Order, sysfs: &Sysfs, directory: Option<&Path>) -> Result<Self, PlanError> {
        let Order { board, file, bdf, programmer, .. } = order.clone();
        let failed = |source| PlanError::File { path: order.file.clone(), source };
        let bytes = bitstream::read(&file).map_err(failed)?;
        let bitstream = Bitstream::of(&bytes).map_err(failed)?;
        bitstream.check(board).map_err(failed)?;
        programmer.find(&std::env::var_os("PATH").unwrap_or_default())?;
        let kept = directory.map(|directory| copy(&bytes, directory)).transpose()?;
        Ok(Self {
            board,
            copy: kept.as_ref().map_or(file.clone(), |kept| kept.to_path_buf()),
            file,
            bitstream,
            _copy: kept,
            programmer,
            bdf,
            port: bdf.and_then(|bdf| Port::above(sysfs, bdf)),
        })
    }

    /// The steps that there are for it: without a function the host is not touched.
    pub fn steps(&self) -> Vec<Step> {
        let all = Step::ALL.into_iter();
        let of_port = |step: &Step| matches!(step, Step::Mask | Step::Link | Step::Unmask);
        match (self.bdf, &self.port) {
            (None, _) => vec![Step::Program],
            (Some(_), None) => all.filter(|step| !of_port(step)).collect(),
            (Some(_), Some(_)) => all.collect(),
        }
    }

    /// What a step is about.
    pub fn describe(&self, step: Step, journal: &Journal) -> String {
        let port = self.port.as_ref().map(|port| port.bdf.to_string()).unwrap_or_default();
        let bdf = self.bdf.map(|bdf| bdf.to_string()).unwrap_or_default();
        let join = |names: Vec<String>| match names.is_empty() {
            true => "nothing".to_owned(),
            false => names.join(", "),
        };
        let functions = journal.functions.iter();
        match step {
            Step::Mask => {
                let names = journal.saved.iter().map(|saved| saved.name.clone()).collect();
                format!("port {port}: {}", join(names))
            }
            Step::Unbind => join(
                functions
                    .filter_map(|f| Some(format!("{} from {}", f.bdf, f.driver.as_ref()?)))
                    .collect(),
            ),
            Step::Remove => join(functions.map(|f| f.bdf.clone()).collect()),
            Step::Program => self.programmer.line(&self.file),
            Step::Link => format!("below port {port}, at most {} s", super::LINK_LIMIT.as_secs()),
            Step::Rescan => format!("for {bdf}, at most {} s", super::LINK_LIMIT.as_secs()),
            Step::Identify => {
                format!("{VENDOR_ID:04x}:{DEVICE_ID:04x}, table {:#010x}", groove_spec::SPEC_ID)
            }
            Step::Unmask => format!("port {port}"),
            Step::Bind => format!("{bdf} to {VFIO_DRIVER}"),
            Step::Test => "identity, registers, a queue and its buffers".into(),
        }
    }

    /// A step as lines for a shell, for a dry run.
    pub fn lines(&self, step: Step, journal: &Journal, sysfs: &Sysfs) -> Vec<String> {
        let at = |bdf: &str| sysfs.pci().join("devices").join(bdf).display().to_string();
        let bdf = self.bdf.map(|bdf| bdf.to_string()).unwrap_or_default();
        let set = |s: &Saved, value: u32| {
            let (port, width) = (journal.port.as_deref().unwrap_or_default(), 2 * s.bytes as usize);
            let letter = if s.bytes == 2 { 'w' } else { 'l' };
            format!("setpci -s {port} {:#x}.{letter}={value:0width$x}  # {}", s.offset, s.name)
        };
        let functions = journal.functions.iter();
        match step {
            Step::Mask => journal.saved.iter().map(|s| set(s, s.masked)).collect(),
            Step::Unbind => functions
                .filter(|f| f.driver.is_some())
                .map(|f| format!("echo {} > {}/driver/unbind", f.bdf, at(&f.bdf)))
                .collect(),
            Step::Remove => functions.map(|f| format!("echo 1 > {}/remove", at(&f.bdf))).collect(),
            Step::Program => vec![self.programmer.line(&self.file)],
            Step::Rescan => {
                let at = self.port.as_ref().map_or(sysfs.pci().join("rescan"), Port::rescan);
                vec![format!("echo 1 > {}", at.display())]
            }
            Step::Unmask => journal.saved.iter().rev().map(|s| set(s, s.before)).collect(),
            Step::Bind => vec![format!("groove bind {bdf}")],
            Step::Link | Step::Identify | Step::Test => {
                vec![format!("# {}: {}", step.name(), self.describe(step, journal))]
            }
        }
    }
}

fn saved(port: &Port) -> Result<Vec<Saved>, PlanError> {
    port.saved().map_err(|source| PlanError::Port { port: port.bdf, source })
}

/// Functions of the card, as they are. None, if it has no bitstream yet and its port is there.
fn functions(sysfs: &Sysfs, bdf: Bdf, port: Option<&Port>) -> Result<Vec<Bdf>, PlanError> {
    match port {
        Some(port) => Ok(port.functions(sysfs)),
        None if sysfs.function(bdf).is_some() => Ok(vec![bdf]),
        None => Err(PlanError::Nowhere(bdf)),
    }
}

/// Functions that nobody uses.
fn idle(functions: &[Bdf], sysfs: &Sysfs, force: bool) -> Result<Vec<Before>, PlanError> {
    if !sysfs.pci().join("drivers").join(VFIO_DRIVER).exists() {
        return Err(PciError::NoDriver.into());
    }
    let mut idle = Vec::new();
    for &bdf in functions {
        let Some(function) = sysfs.function(bdf) else { continue };
        let id = (function.vendor, function.device);
        if !VENDORS.contains(&id.0) && !force {
            return Err(PciError::Stranger { bdf, vendor: id.0, device: id.1 }.into());
        }
        if let Some(up) = function.interfaces.iter().find(|interface| interface.up)
            && !force
        {
            return Err(PciError::Live { bdf, interface: up.name.clone() }.into());
        }
        if function.group.is_none() {
            return Err(PciError::NoIommu(bdf).into());
        }
        if let Err(error @ PciError::InUse(_)) = pci::unbind_steps(sysfs, bdf) {
            return Err(error.into());
        }
        let (driver, driver_override) = (function.driver, function.driver_override);
        idle.push(Before { bdf: bdf.to_string(), id, driver, driver_override });
    }
    Ok(idle)
}

/// A copy that nobody changes, with the ending by which programmers tell its form.
fn copy(bytes: &[u8], directory: &Path) -> Result<tempfile::TempPath, PlanError> {
    let failed = |source| PlanError::Copy { path: directory.into(), source };
    let mut file =
        tempfile::Builder::new().suffix(".bit").tempfile_in(directory).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    Ok(file.into_temp_path())
}
