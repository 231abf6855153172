//! Arguments of `groove run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use groove_spec::nic::{BUFFER_ALIGN_BYTES, BUFFER_BYTES_MAX, BUFFER_BYTES_MIN};

use super::{DeviceAddress, InputArgs, width_parser};
use crate::run::{Release, Shortage};
use crate::settings;

/// Which device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceChoice {
    /// The software model with rings, memory and interrupts
    Model,
    /// The hardware under Verilator, with a memory behind its AXI port
    Rtl,
}

/// Headers apart from payload, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SplitChoice {
    /// Headers to header slots, payload alone to buffers
    On,
    /// Header and payload to the same buffer
    Off,
}

/// Arguments of `groove run`.
#[derive(Clone, Debug, Args)]
#[command(after_help = settings::help())]
pub struct RunArgs {
    /// Capture to read: pcap or pcapng, Ethernet; - is standard input. Without one, a device
    /// elsewhere is received from until Ctrl-C, and nothing is compared
    #[arg(value_name = "CAPTURE")]
    pub capture: Option<PathBuf>,

    /// What is done with it.
    #[command(flatten)]
    pub input: InputArgs,

    /// Device that the driver runs on: model, rtl, vfio:BDF or vfio-user:SOCKET; the last two have
    /// a wire of their own, so that the capture must come from there too, as with `groove serve`
    #[arg(long, value_name = "DEVICE", default_value = "model")]
    pub device: DeviceAddress,

    /// Receiving threads; the queues are dealt out to them, and each owns its queues
    #[arg(long, value_name = "N", default_value_t = 1, requires = "capture")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=32))]
    pub threads: u8,

    /// Where deliveries are released: on the receiving thread, on another one, or in turn
    #[arg(long, value_enum, default_value = "mixed", requires = "capture")]
    pub release: Release,

    /// Bytes of a buffer: 2,048 to 65,536, a multiple of 64
    #[arg(long, value_name = "BYTES", default_value_t = 4096, value_parser = buffer_bytes)]
    pub buffer: usize,

    /// Buffers of each queue, 16 to 32,768
    #[arg(long, value_name = "N", default_value_t = 1024)]
    #[arg(value_parser = clap::value_parser!(u32).range(16..=32768))]
    pub pool: u32,

    /// Headers apart from payload
    #[arg(long, value_enum, default_value = "on")]
    pub split: SplitChoice,

    /// Frames that find no free buffer: wait for the driver, or drop as on a wire
    #[arg(long, value_enum, default_value = "wait", requires = "capture")]
    pub shortage: Shortage,

    /// Bus width of the hardware in bits
    #[arg(long, value_name = "N", default_value = "512", value_parser = width_parser())]
    pub width: usize,

    /// Clock cycles that the hardware's memory takes to answer
    #[arg(long, value_name = "CYCLES", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub latency: u32,

    /// Share of cycles, in percent, in which a port of the hardware is made to wait
    #[arg(long, value_name = "PERCENT", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=90))]
    pub stall: u8,

    /// Seed of the stalls
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Without a capture: end behind so many frames
    #[arg(long, value_name = "N", conflicts_with = "capture")]
    pub frames: Option<u64>,

    /// Without a capture: end after so many seconds
    #[arg(long, value_name = "N", conflicts_with = "capture")]
    pub seconds: Option<u32>,

    /// Without a capture: write the deliveries as one
    #[arg(long, value_name = "FILE.pcapng", conflicts_with = "capture")]
    pub out: Option<PathBuf>,

    /// Without a capture: hand the deliveries to the kernel, through the TAP interface NAME of this
    /// network namespace, as a card hands over what it merged
    #[arg(long, value_name = "NAME", conflicts_with = "capture")]
    pub tap: Option<String>,

    /// Report as JSON, to FILE, or to standard output with the table on standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

/// Held to what the table allows.
fn buffer_bytes(text: &str) -> Result<usize, String> {
    let allowed = BUFFER_BYTES_MIN..=BUFFER_BYTES_MAX;
    let fits = |n: &usize| allowed.contains(n) && n.is_multiple_of(BUFFER_ALIGN_BYTES);
    text.parse().ok().filter(fits).ok_or_else(|| {
        format!(
            "not a multiple of {BUFFER_ALIGN_BYTES} from {BUFFER_BYTES_MIN} to {BUFFER_BYTES_MAX}"
        )
    })
}
