//! What can go wrong, and what the kernel may lack.
//!
//! Invariant: every feature says what it is and what to do (`every_feature_has_a_next_step`).

use std::io;

use crate::btf::BtfError;

/// Something that the oracle needs of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// A network namespace of its own.
    Namespace,
    /// The namespace's own view of `/sys`.
    Sysfs,
    /// Pairs of virtual Ethernet devices.
    Veth,
    /// Offloads that can be switched.
    Offloads,
    /// A kernel thread that polls.
    ThreadedNapi,
    /// The kernel's description of its types.
    Btf,
    /// Maps and programs in the kernel.
    Bpf,
    /// Programs at the ends of a device.
    Tcx,
    /// Sockets that send and receive whole frames.
    PacketSocket,
    /// Real-time priorities.
    Fifo,
}

impl Feature {
    /// All of them, in the order in which they are asked for.
    pub const ALL: [Self; 10] = [
        Self::Btf,
        Self::Namespace,
        Self::Sysfs,
        Self::Veth,
        Self::Offloads,
        Self::ThreadedNapi,
        Self::Bpf,
        Self::Tcx,
        Self::PacketSocket,
        Self::Fifo,
    ];

    /// What it is, for a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Namespace => "an own network namespace",
            Self::Sysfs => "the namespace's own sysfs",
            Self::Veth => "a pair of veth devices",
            Self::Offloads => "veth with GRO, switched by ethtool",
            Self::ThreadedNapi => "threaded NAPI",
            Self::Btf => "the kernel's type information (/sys/kernel/btf/vmlinux)",
            Self::Bpf => "BPF maps and programs that read kernel memory",
            Self::Tcx => "BPF programs at a device's ingress and egress (TCX)",
            Self::PacketSocket => "packet sockets with large buffers",
            Self::Fifo => "the real-time priority SCHED_FIFO",
        }
    }

    /// What to do about it.
    pub fn help(self) -> &'static str {
        match self {
            Self::Namespace => "run as root; the kernel needs CONFIG_NET_NS",
            Self::Sysfs => "run as root of the machine, not of a container",
            Self::Veth => {
                "load the module veth (`modprobe veth`), or use a kernel with CONFIG_VETH"
            }
            Self::Offloads => "use a kernel of 5.13 or newer",
            Self::ThreadedNapi => {
                "run in the machine's own PID namespace, on a kernel of 5.13 or newer"
            }
            Self::Btf => "use a kernel with CONFIG_DEBUG_INFO_BTF, as distributions build them",
            Self::Bpf => {
                "run as root, on a kernel with CONFIG_BPF_SYSCALL that is not locked down to \
                 confidentiality"
            }
            Self::Tcx => "use a kernel of 6.6 or newer, with CONFIG_NET_XGRESS",
            Self::PacketSocket => "run as root, on a kernel with CONFIG_PACKET",
            Self::Fifo => {
                "run as root; with CONFIG_RT_GROUP_SCHED, outside a control group without \
                 real-time budget"
            }
        }
    }
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The machine does not give what is needed.
    #[error("this machine does not give {}", feature.name())]
    Missing {
        /// What.
        feature: Feature,
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel's types are not those that are known.
    #[error("this kernel's types are not the known ones")]
    Types(#[from] BtfError),
    /// A burst that the method does not carry.
    #[error("a burst of {0} frames: one poll of the kernel takes 1 to 64")]
    Burst(usize),
    /// A frame that the method does not carry.
    #[error(
        "frame {frame}: {bytes} bytes; carried are {} to {}, of frames with a tag in them {} on",
        crate::FRAME_BYTES_MIN,
        crate::FRAME_BYTES_MAX,
        crate::TAGGED_BYTES_MIN
    )]
    Length {
        /// Its number in the burst.
        frame: usize,
        /// Its bytes.
        bytes: usize,
    },
    /// The kernel did not take a frame.
    #[error("the kernel did not take frame {frame}")]
    Refused {
        /// Its number in the burst.
        frame: usize,
        /// What it said.
        source: io::Error,
    },
    /// Frames are not accounted for.
    #[error("of {sent} frames, the kernel delivered {delivered} within {seconds} seconds")]
    Lost {
        /// Frames that it took.
        sent: usize,
        /// Frames in its deliveries.
        delivered: usize,
        /// How long it had.
        seconds: u64,
    },
    /// Two views of one delivery differ, or its frames cannot be named.
    #[error("delivery {delivery} cannot be explained: {what}")]
    Delivery {
        /// Its number in the burst.
        delivery: usize,
        /// What is wrong.
        what: String,
    },
    /// Repeated runs gave different results.
    #[error("repeated runs differ in {count} of {total} bursts, first in burst {first}: {what}")]
    Unrepeatable {
        /// How many bursts.
        count: usize,
        /// Of how many.
        total: usize,
        /// The first one.
        first: usize,
        /// How it differs.
        what: String,
    },
    /// One burst of many failed.
    #[error("burst {burst} failed")]
    At {
        /// Its number.
        burst: usize,
        /// Why.
        source: Box<Error>,
    },
    /// Something else failed under way.
    #[error("{what} failed")]
    Io {
        /// What.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The thread that asks the kernel has ended.
    #[error("the oracle's thread has ended")]
    Ended,
}

/// Turns an error into that of a missing feature.
pub(crate) fn missing<E: Into<io::Error>>(feature: Feature) -> impl FnOnce(E) -> Error {
    move |error| Error::Missing { feature, source: error.into() }
}

/// Turns an error into that of a step.
pub(crate) fn failed<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> Error {
    move |error| Error::Io { what, source: error.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_has_a_next_step() {
        for feature in Feature::ALL {
            assert!(!feature.name().ends_with('.') && feature.help().contains(' '), "{feature:?}");
        }
    }
}
