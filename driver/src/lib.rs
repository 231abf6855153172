//! The userspace driver: one for every device that is built from the table.
//!
//!   application ──► Nic ──► RxQueue ──► Receiver::poll ──► Delivery ──► (any thread) ──► home
//!                    └──► trait Device ──► model · Verilated hardware · vfio-user · kernel VFIO
//!
//! Invariants: hardware built from another table is refused before anything else is read
//! (`refuses_another_table`); nothing that a device answers is trusted
//! (`refuses_impossible_sizes`, `each_lie_is_named`); a register access outside its region is an
//! error, never a panic (`out_of_range_is_an_error`); a buffer belongs to one queue for life
//! (`every_buffer_comes_home_from_many_threads`).
//! Not here: devices themselves.

pub mod abi;
mod area;
mod completion;
mod delivery;
pub mod device;
pub mod dma;
mod home;
#[cfg(test)]
mod home_tests;
pub mod identify;
pub mod interrupt;
mod ledger;
mod metadata;
mod nic;
pub mod pci_id;
mod queue;
pub mod ring;
mod slots;
mod sync;
mod thread;
pub mod vfio;
pub mod vfio_user;
mod virtio;

pub use delivery::{Bytes, Delivery};
pub use device::{Alarm, Device, Error, Region, check_alarms};
pub use dma::DmaMemory;
pub use home::ReturnStats;
pub use identify::{Identity, IdentityError, identify, identify_by};
pub use interrupt::Interrupt;
pub use ledger::Violation;
pub use metadata::{Lie, Metadata};
pub use nic::{FreeOrder, Nic, Rss, Settings, SetupError};
pub use queue::{
    Census, Napi, POLLS_PER_ALARM_CHECK, QueueError, QueueStats, Receiver, RxQueue, STOP_TIMEOUT,
    Turn, wait_any,
};
pub use thread::set_domain;
pub use vfio::KernelVfio;
pub use vfio_user::SocketVfio;
pub use virtio::{VirtioNetHdr, virtio_net_hdr};
