//! What is put through the kernel: a capture as bursts, or recorded cases, in pieces that fit into
//! memory.

use std::path::Path;

use groove_model::{Config, RssConfig};
use groove_spec::OptionBit;

use crate::cli::{CutChoice, SourceArgs};
use crate::golden::{self, Case};
use crate::oracle::bursts::{Bursts, Cut, Skipped};
use crate::settings::Setting;
use crate::sim::CutRule;
use crate::{Failure, exit};

/// Bursts that are put through before the next are read.
const PIECE: usize = 256;

/// Bursts, piece by piece.
pub enum Source {
    /// A capture.
    Capture(Box<Bursts>),
    /// Recorded cases that are left.
    Recorded(std::vec::IntoIter<Case>),
}

impl Source {
    /// Opens what was named.
    pub fn open(args: &SourceArgs) -> Result<Self, Failure> {
        let card = card(&args.settings)?;
        if is_recorded(&args.capture) {
            if !args.settings.is_empty() {
                return Err(Failure::usage("--set: recorded cases have their metadata with them")
                    .help("leave --set out, or name a capture"));
            }
            let cases = golden::cases(&args.capture).map_err(|e| {
                Failure::of(exit::USAGE, &e).help(
                    "name a capture, or recorded cases: NAME.json beside NAME.pcap, or \
                     GROUP.jsonl.gz",
                )
            })?;
            let count = args.limit.map_or(usize::MAX, |n| n.try_into().unwrap_or(usize::MAX));
            let cases: Vec<Case> = cases.into_iter().take(count).collect();
            return Ok(Self::Recorded(cases.into_iter()));
        }
        let rule = match args.cut {
            CutChoice::Skip => CutRule::Skip,
            CutChoice::Run => CutRule::Run,
        };
        let cut = Cut { card, frames: args.burst.into(), limit: args.limit, rule };
        let bursts = Bursts::open(&args.capture, cut)
            .map_err(|e| Failure::of(exit::USAGE, &e).help(e.help()))?;
        Ok(Self::Capture(Box::new(bursts)))
    }

    /// The next piece; empty at the end.
    pub fn next_piece(&mut self) -> Result<Vec<Case>, Failure> {
        match self {
            Self::Recorded(cases) => Ok(cases.take(PIECE).collect()),
            Self::Capture(bursts) => {
                let mut piece = Vec::new();
                while piece.len() < PIECE {
                    let next = bursts.next_burst();
                    let next = next.map_err(|e| Failure::of(exit::USAGE, &e).help(e.help()))?;
                    let Some(case) = next else { break };
                    piece.push(case);
                }
                Ok(piece)
            }
        }
    }

    /// Records that went into no burst so far.
    pub fn skipped(&self) -> Skipped {
        match self {
            Self::Capture(bursts) => bursts.skipped,
            Self::Recorded(_) => Skipped::default(),
        }
    }
}

/// A directory, or a file that is named like recorded cases.
fn is_recorded(path: &Path) -> bool {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    path.is_dir() || name.ends_with(".jsonl.gz") || name.ends_with(".json")
}

/// The network card before the kernel.
fn card(settings: &[Setting]) -> Result<Config, Failure> {
    let mut card = Config { rss: RssConfig::spread(1), ..Config::default() };
    for setting in settings {
        match setting {
            Setting::Option(OptionBit::RxCsum | OptionBit::VlanStrip, _) => {
                setting.apply(&mut card)
            }
            other => {
                return Err(Failure::usage(format!(
                    "--set {other}: not for the running kernel, which decides for itself"
                ))
                .help("only rxcsum and vlan_strip happen before the kernel sees a frame"));
            }
        }
    }
    Ok(card)
}
