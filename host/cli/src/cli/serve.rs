//! Arguments of `groove serve`, and the device of `groove run` when it is elsewhere.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{ArgGroup, Args};
use groove_driver::vfio::sysfs::Bdf;
use groove_spec::QUEUES_MAX;

use super::{CutChoice, DeviceChoice, width_parser};

/// Where the driver finds its device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceAddress {
    /// In this process.
    Here(DeviceChoice),
    /// A PCI function behind the kernel's VFIO.
    Vfio(Bdf),
    /// Behind a socket.
    VfioUser(PathBuf),
}

impl FromStr for DeviceAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "model" => Ok(Self::Here(DeviceChoice::Model)),
            None if text == "rtl" => Ok(Self::Here(DeviceChoice::Rtl)),
            Some(("vfio", bdf)) => bdf.parse().map(Self::Vfio).map_err(|e| format!("{e}")),
            Some(("vfio-user", path)) if !path.is_empty() => Ok(Self::VfioUser(path.into())),
            _ => Err("not one of model, rtl, vfio:BDF, vfio-user:SOCKET".into()),
        }
    }
}

/// Arguments of `groove serve`.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("pace").args(["batch", "ticks"]))]
pub struct ServeArgs {
    /// Path of the socket; at most 107 bytes
    #[arg(long, value_name = "PATH")]
    pub socket: PathBuf,

    /// Device that is served
    #[arg(long, value_enum, default_value = "model")]
    pub device: DeviceChoice,

    /// Capture that every driver gets, once its queues run; of several the next one each
    #[arg(long, value_name = "FILE")]
    pub capture: Vec<PathBuf>,

    /// TAP interface of this network namespace whose frames every driver gets, as they come; it is
    /// made if there is none
    #[arg(long, value_name = "NAME", conflicts_with_all = ["capture", "ticks", "limit", "cut"])]
    pub tap: Option<String>,

    /// Receive queues of the device, 1 to 32
    #[arg(long, value_name = "N", default_value_t = QUEUES_MAX as u8)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=QUEUES_MAX as i64))]
    pub queues: u8,

    /// Frames of one queue that end that queue's poll, which flushes it [default: 64]; with --tap
    /// a poll ends before that when nothing more waits
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub batch: Option<u32>,

    /// Age sessions by the capture's own time, in intervals of so many microseconds, instead
    #[arg(long, value_name = "MICROSECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub ticks: Option<u64>,

    /// Read at most so many records
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,

    /// What to do with frames that the snap length cut
    #[arg(long, value_enum, default_value = "skip")]
    pub cut: CutChoice,

    /// Bus width of the hardware in bits
    #[arg(long, value_name = "N", default_value = "512", value_parser = width_parser())]
    pub width: usize,

    /// End when the first driver has gone
    #[arg(long)]
    pub once: bool,

    /// Report as JSON when it ends, to FILE or to standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_devices_are_read() {
        let parse = |text: &str| text.parse::<DeviceAddress>();
        assert_eq!(parse("rtl"), Ok(DeviceAddress::Here(DeviceChoice::Rtl)));
        assert_eq!(parse("vfio:3b:00.0"), Ok(DeviceAddress::Vfio("3b:00.0".parse().unwrap())));
        assert_eq!(parse("vfio-user:a:b"), Ok(DeviceAddress::VfioUser("a:b".into())));
        for text in ["", "vfio", "vfio:", "vfio:x", "vfio-user:", "tap:x", "model:1"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
