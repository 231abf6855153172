//! Arguments of the commands that read a capture: what is read, how it is offloaded, where it is
//! flushed.

use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args, ValueEnum};
use groove_spec::{Profile, QUEUES_MAX};

use crate::engine;
use crate::settings::Setting;
use crate::sim::{CutRule, Pace, Setup};

/// What to do with frames that the snap length cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CutChoice {
    /// Skip and count them: they are not what was on the wire
    Skip,
    /// Run the bytes that are there, and count them
    Run,
}

/// What the receive pipeline is to do with what comes. The command that takes this has an argument
/// `capture`.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("pace").args(["batch", "ticks"]))]
pub struct InputArgs {
    /// Merge rules of which kernel
    #[arg(long, value_name = "P", default_value = Profile::Linux73.name())]
    #[arg(value_parser = profile_parser())]
    pub profile: Profile,

    /// Set an option of the hardware; may be repeated (options below)
    #[arg(long = "set", value_name = "OPTION=VALUE", value_parser = Setting::parse)]
    pub settings: Vec<Setting>,

    /// Receive queues, 1 to 32; the indirection table is spread over them [default: 32, or as many
    /// as a device elsewhere has]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=QUEUES_MAX as i64))]
    pub queues: Option<u8>,

    /// Frames of one queue that end that queue's poll, which flushes it [default: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(requires = "capture")]
    pub batch: Option<u32>,

    /// Age sessions by the capture's own time, in intervals of so many microseconds, instead
    #[arg(long, value_name = "MICROSECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(requires = "capture")]
    pub ticks: Option<u64>,

    /// Read at most so many records
    #[arg(long, value_name = "N", requires = "capture")]
    pub limit: Option<u64>,

    /// What to do with frames that the snap length cut
    #[arg(long, value_enum, default_value = "skip")]
    pub cut: CutChoice,
}

impl InputArgs {
    /// Queues, if they were given, or those of Groove's own devices.
    pub fn queue_count(&self) -> u8 {
        self.queues.unwrap_or(QUEUES_MAX as u8)
    }

    /// What the run is to do.
    pub fn setup(&self) -> Setup {
        let queues = self.queue_count();
        let mut config = engine::Config {
            profile: self.profile,
            rss: groove_model::RssConfig::spread(queues),
            queues,
            ..engine::Config::default()
        };
        for setting in &self.settings {
            setting.apply(&mut config);
        }
        let pace = match self.ticks {
            Some(microseconds) => Pace::Ticks(Duration::from_micros(microseconds)),
            None => Pace::Batch(self.batch.unwrap_or(64)),
        };
        let cut = match self.cut {
            CutChoice::Skip => CutRule::Skip,
            CutChoice::Run => CutRule::Run,
        };
        Setup { config, pace, cut, limit: self.limit }
    }
}

fn profile_parser() -> impl TypedValueParser<Value = Profile> {
    PossibleValuesParser::new(Profile::NAMES)
        .map(|name| Profile::from_name(&name).unwrap_or(Profile::Linux73))
}
