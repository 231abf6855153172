//! Waves of a failure: the run once more, with hardware that writes them.
//!
//! Waves cost time in every cycle, so no run has them unless it is asked for. A run that failed is
//! repeated instead: the seed makes it the same cycle by cycle, also without the model beside it.
//! Only a capture that can be read again can be repeated: a file, not a pipe.

use std::path::{Path, PathBuf};

use super::{Engines, Setup};
use crate::capture::{self, Reader};
use crate::engine::{EngineError, RtlEngine};

/// Why there are no waves.
#[derive(Debug, thiserror::Error)]
pub enum WaveError {
    /// The capture cannot be read again.
    #[error("{} is not a file that can be read again", .0.display())]
    NotAFile(PathBuf),
    /// The same.
    #[error(transparent)]
    Capture(#[from] capture::Error),
    /// Hardware that writes waves cannot be built or started.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// An earlier file is in the way.
    #[error("failed to replace {}: {source}", path.display())]
    Replace {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The repeated run did not come to the cycles that were wanted.
    #[error("the repeated run ended before those cycles")]
    Short,
}

/// Repeats a run that failed in `cycle` on the engine that `open` gives, which writes its waves to
/// `file`. Gives the time that the cycle has there.
pub fn record_waves(
    capture: &Path,
    setup: &Setup,
    file: &Path,
    cycle: u64,
    open: impl FnOnce() -> Result<RtlEngine, EngineError>,
) -> Result<u64, WaveError> {
    if !capture.is_file() {
        return Err(WaveError::NotAFile(capture.to_owned()));
    }
    let mut reader = Reader::open(capture)?;
    // What an earlier failure left must not pass for the waves of this one.
    match std::fs::remove_file(file) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            return Err(WaveError::Replace { path: file.to_owned(), source });
        }
        _ => {}
    }
    let engine = open()?;
    let time = engine.wave_time(cycle);
    // It fails as it did before, or ends where it did: both are known already. The engine is gone
    // then, and the file complete.
    let _ = super::run(&mut reader, Engines::One(Box::new(engine)), setup, None, &mut |_| {});
    if file.metadata().is_ok_and(|file| file.len() > 0) { Ok(time) } else { Err(WaveError::Short) }
}
