//! Why a build or a run failed, with what to do about it.

use std::path::PathBuf;

/// Error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A program is not installed.
    #[error("{program} is not installed; install it: {install}")]
    ToolMissing {
        /// Program name.
        program: &'static str,
        /// Command that installs it.
        install: &'static str,
    },
    /// A program is older than the oldest one that works.
    #[error("{program} {found} is too old, {needed} or newer is needed; install it: {install}")]
    ToolTooOld {
        /// Program name.
        program: &'static str,
        /// Version found.
        found: String,
        /// Oldest version that works.
        needed: &'static str,
        /// Command that installs it.
        install: &'static str,
    },
    /// A program could not be started.
    #[error("{program} could not be started: {source}")]
    Spawn {
        /// Program name.
        program: &'static str,
        /// Cause.
        source: std::io::Error,
    },
    /// A program ended with an error.
    #[error("{program} failed ({status}):\n{output}")]
    ToolFailed {
        /// Program name.
        program: &'static str,
        /// Exit status.
        status: String,
        /// Last lines of its output.
        output: String,
    },
    /// The zlib header that FST waves need is missing.
    #[error("waves need the zlib header; install it: apt-get install zlib1g-dev")]
    ZlibMissing,
    /// No place for the build cache.
    #[error("no cache directory: set GROOVE_CACHE, XDG_CACHE_HOME or HOME")]
    NoCacheDirectory,
    /// A file or directory of the cache could not be used.
    #[error("cache {}: {source}", path.display())]
    Cache {
        /// Which.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The shared object could not be loaded.
    #[error("simulation {} could not be loaded: {source}", path.display())]
    Load {
        /// Which.
        path: PathBuf,
        /// Cause.
        source: libloading::Error,
    },
    /// Verilator's output is not what this crate understands.
    #[error("unexpected output of verilator: {0}")]
    Generated(String),
    /// The design has no such port.
    #[error("{top} has no port {name}; it has {known}")]
    NoPort {
        /// Module.
        top: String,
        /// Port asked for.
        name: String,
        /// Ports there are.
        known: String,
    },
    /// The design has several ports that could be its clock.
    #[error("{top} has more than one clock: {clocks}")]
    Clocks {
        /// Module.
        top: String,
        /// Candidates.
        clocks: String,
    },
    /// Built without waves.
    #[error("the simulation was built without waves")]
    NoTrace,
    /// The wave file could not be opened.
    #[error("wave file {} could not be written", path.display())]
    Wave {
        /// Which.
        path: PathBuf,
    },
    /// The emission of the hardware failed: a fault of the source.
    #[error("the hardware could not be emitted: {0}")]
    Emission(String),
    /// A port has another width than the harness needs.
    #[error("port {port} is {found} bits wide, not {needed}")]
    PortWidth {
        /// Port.
        port: String,
        /// Bits it has.
        found: usize,
        /// Bits it should have.
        needed: usize,
    },
    /// A frame without bytes was pushed: a stream has no beat for it.
    #[error("frame {frame} has no bytes")]
    EmptyFrame {
        /// Its number.
        frame: u64,
    },
    /// The hardware broke the protocol of a port.
    #[error("{port}, cycle {cycle}: {what}")]
    Protocol {
        /// Port or stream.
        port: String,
        /// Clock cycle since reset.
        cycle: u64,
        /// What was wrong.
        what: String,
    },
    /// Nothing moved for a long time.
    #[error("no progress for {idle_cycles} cycles up to cycle {cycle}: {waiting}")]
    Stuck {
        /// Clock cycle since reset.
        cycle: u64,
        /// Cycles without progress.
        idle_cycles: u64,
        /// What was waited for.
        waiting: String,
    },
    /// Verilator's run time gave up, for instance because a combinational loop did not settle.
    #[error("simulation stopped in cycle {cycle}: {message}")]
    Simulation {
        /// Clock cycle.
        cycle: u64,
        /// Verilator's words.
        message: String,
    },
}

impl Error {
    /// Whether a program has to be installed first.
    pub fn is_missing_tool(&self) -> bool {
        matches!(self, Self::ToolMissing { .. } | Self::ToolTooOld { .. } | Self::ZlibMissing)
    }

    /// The cycle in which a simulation failed: the place to look at in waves. Where nothing moved,
    /// that is the last move.
    pub fn cycle(&self) -> Option<u64> {
        match self {
            Self::Protocol { cycle, .. } | Self::Simulation { cycle, .. } => Some(*cycle),
            Self::Stuck { cycle, idle_cycles, .. } => Some(cycle.saturating_sub(*idle_cycles)),
            _ => None,
        }
    }

    /// Makes the cycle of the clock one since reset, which was at `start`: as the waves count.
    pub(crate) fn since(mut self, start: u64) -> Self {
        if let Self::Protocol { cycle, .. } | Self::Simulation { cycle, .. } = &mut self {
            *cycle -= start;
        }
        self
    }
}
