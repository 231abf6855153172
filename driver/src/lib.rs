//! The userspace driver: what it asks of a device, and how it makes sure that it is one of ours.
//!
//!   driver ──► trait Device ──► model · Verilated hardware · vfio-user socket · kernel VFIO
//!
//! Invariants: hardware built from another table is refused before anything else is read
//! (`refuses_another_table`); nothing that a device answers is trusted
//! (`refuses_impossible_sizes`); a register access outside its region is an error, never a panic
//! (`out_of_range_is_an_error`).
//! Not here: rings and buffer pools, and devices themselves.

pub mod device;
pub mod dma;
pub mod identify;
pub mod interrupt;

pub use device::{Device, Error, Region};
pub use dma::DmaMemory;
pub use identify::{Identity, IdentityError, identify};
pub use interrupt::Interrupt;
