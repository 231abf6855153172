//! The driver in a guest: on a real kernel's vfio-pci and IOMMU, with the device as its PCI
//! function.
//!
//!   capture ─► groove serve ◄─ vfio-user ─► QEMU: groove bind, groove run ─► digests ─┐
//!      └─────► model ─► digests ─────────────────────────────────────────────────────┴─► equal?
//!
//! What the guest's driver delivered comes out as a digest over a serial line, and is compared here
//! with the model's: the guest's own verdict is not relied upon.
//! Not here: fetching and booting (`groove_vm`), printing.

mod program;
mod report;
pub mod script;
mod session;
pub mod stray;

pub use program::{Driver, ProgramError};
pub use report::{CaptureReport, Found, Report, StepReport, table};
pub use session::{Seconds, Session, SessionError};

use std::path::{Path, PathBuf};

use groove_model::RssConfig;

use crate::capture::{self, Reader};
use crate::digest::Digest;
use crate::engine::{Config, ModelEngine};
use crate::sim::{self, CutRule, Engines, Pace, SimError};

/// Captures of the project that are run if none is named: request and response, congestion marks,
/// short connections.
const OWN: [&str; 3] = ["rr_v6.pcap", "ce_marks_v6.pcap", "short_flows_v6.pcap"];

/// The project's own captures, if its sources are there.
pub fn own_captures() -> Vec<PathBuf> {
    let all = OWN.map(|name| sources().join("tests/captures").join(name));
    all.into_iter().filter(|path| path.is_file()).collect()
}

/// Where the project's sources were when this was built.
fn sources() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own)
}

/// What the model makes of a capture.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The capture.
    pub capture: PathBuf,
    /// Frames that go in.
    pub frames: u64,
    /// Deliveries that come out.
    pub deliveries: u64,
    /// Their digest.
    pub digest: Digest,
}

/// Why a capture cannot be expected to give anything.
#[derive(Debug, thiserror::Error)]
pub enum ExpectError {
    /// It cannot be read.
    #[error(transparent)]
    Capture(#[from] capture::Error),
    /// The model does not take it.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// It has no frame.
    #[error("capture {} holds no frame", .0.display())]
    Empty(PathBuf),
}

/// Runs a capture through the model, as `groove run` and `groove serve` cut it by default.
pub fn expect(capture: &Path, queues: u8, limit: Option<u64>) -> Result<Expected, ExpectError> {
    let config = Config { rss: RssConfig::spread(queues), queues, ..Config::default() };
    let model = ModelEngine::new(config.clone());
    let model = model.map_err(|source| SimError::Engine { engine: "model", frame: 0, source })?;
    let setup = sim::Setup { config, pace: Pace::Batch(64), cut: CutRule::Skip, limit };
    let mut reader = Reader::open(capture)?;
    let engines = Engines::One(Box::new(model));
    let outcome = sim::run(&mut reader, engines, &setup, None, &mut |_| {})?;
    if let Some(damage) = outcome.damage {
        return Err(damage.into());
    }
    let sim::Report { frames, total, digest, .. } = outcome.report;
    if frames == 0 {
        return Err(ExpectError::Empty(capture.into()));
    }
    Ok(Expected { capture: capture.into(), frames, deliveries: total.deliveries, digest })
}
