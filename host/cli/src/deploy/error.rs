//! Why a deployment ends early, and what to do then.

use std::io;
use std::time::Duration;

use groove_driver::IdentityError;
use groove_driver::pci_id::{DEVICE_ID, VENDOR_ID};
use groove_driver::vfio::sysfs::Bdf;

use super::{JournalError, ProgrammerError, Step, TestError};
use crate::pci::{self, PciError};

/// What failed.
#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    /// Ctrl-C.
    #[error("interrupted before step {}", .0.name())]
    Interrupted(Step),
    /// The port's configuration space.
    #[error("failed to {what} port {port}")]
    Port {
        /// What was being done.
        what: &'static str,
        /// Which.
        port: Bdf,
        /// Why.
        source: io::Error,
    },
    /// The kernel refused, or took too long.
    #[error("failed at: {step}")]
    Kernel {
        /// Which.
        step: pci::Step,
        /// Why.
        source: io::Error,
    },
    /// The kernel did not forget it.
    #[error("{0} is still there {wait} s after it was removed", wait = .1.as_secs())]
    Stays(Bdf, Duration),
    /// The chip was not configured.
    #[error("the card was not programmed")]
    Programmer(#[from] ProgrammerError),
    /// No link.
    #[error("the link below port {0} is not up after {wait} s", wait = .1.as_secs())]
    NoLink(Bdf, Duration),
    /// No function.
    #[error("there is no function {0} after {wait} s", wait = .1.as_secs())]
    NotFound(Bdf, Duration),
    /// Another function.
    #[error(
        "{bdf} is {vendor:04x}:{device:04x} now, no Groove device ({VENDOR_ID:04x}:{DEVICE_ID:04x})"
    )]
    Stranger {
        /// Which.
        bdf: Bdf,
        /// Its vendor.
        vendor: u16,
        /// Its device.
        device: u16,
    },
    /// Not of this table.
    #[error("the card is not driven")]
    Identity(#[from] IdentityError),
    /// User space does not get it.
    #[error("the function cannot be given to user space")]
    Bind(#[from] PciError),
    /// The driver found something.
    #[error("the self-test failed")]
    Test(#[from] TestError),
    /// It could not be written down.
    #[error("what is to be done cannot be written down")]
    Journal(#[from] JournalError),
}

impl DeployError {
    /// It was ended by a signal.
    pub fn is_interruption(&self) -> bool {
        matches!(self, Self::Interrupted(_) | Self::Programmer(ProgrammerError::Interrupted(_)))
    }

    /// A tool or a feature of the kernel is missing.
    pub fn is_missing(&self) -> bool {
        matches!(
            self,
            Self::Programmer(ProgrammerError::Missing(_)) | Self::Bind(PciError::NoDriver)
        )
    }

    /// What to do next, without what is said of the host.
    pub fn help(&self) -> String {
        match self {
            Self::Interrupted(_) => "run the same again".into(),
            Self::Port { source, .. } | Self::Kernel { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::UnexpectedEof => {
                    "run it as root".into()
                }
                io::ErrorKind::TimedOut => {
                    "the kernel has not come back from it: see its log, dmesg; a driver may wait \
                     for somebody who uses the card"
                        .into()
                }
                _ => "see the kernel's log: dmesg".into(),
            },
            Self::Stays(..) => "see the kernel's log: dmesg".into(),
            Self::Programmer(error) => error.help(),
            Self::NoLink(..) => {
                "the bitstream is on the chip, but its PCI Express core does not answer: check \
                 that it was built for this slot (lanes, generation), and that the card has a \
                 reference clock; a host may also have to be rebooted warm for a new core"
                    .into()
            }
            Self::NotFound(bdf, _) => format!(
                "the link is up, and nothing answers at {bdf}: see the kernel's log, dmesg; \
                 `groove devices --all` lists what there is"
            ),
            Self::Stranger { .. } => "the bitstream is none of Groove's: load another one".into(),
            Self::Identity(error) => error.help().into(),
            Self::Bind(error) => error.help(),
            Self::Test(error) => error.help(),
            Self::Journal(error) => error.help(),
        }
    }
}
