//! Serves a device as a PCI function over vfio-user: to QEMU, which shows it to a guest, or to the
//! driver, without a guest and without root.
//!
//!   client ──► socket ──► session ──► function ──► trait Device ──► model · Verilated hardware
//!                                     │ configuration space, MSI-X, memory, vectors
//!                                     └ what the client mapped ◄── memory files
//!
//! Follows: the vfio-user protocol specification 0.1; PCI Local Bus 3.0 §6 (header type 0, MSI-X);
//! PCI Express Base 4.0 §6.6.2 (function-level reset), §7.5.3 (capability).
//! One client at a time; a second one is told so. When a client goes, in whatever way, the device
//! is reset and its memory let go.
//!
//! Invariants: no message makes the server panic or hang: a malformed one ends the connection, an
//! impossible one is answered with an error (`no_message_kills_the_server`); without bus mastering
//! the device reaches no memory and sends no interrupt (`without_bus_mastering_there_is_no_dma`);
//! nothing is left of a client that goes (`a_killed_client_leaves_nothing`).
//! Not here: what the device does, and when frames of a wire go to it; a wire from the kernel is in
//! `tap`.

mod config;
mod function;
mod memory;
mod server;
mod session;
mod tap;

pub use config::{DEVICE_ID, VENDOR_ID};
pub use function::Function;
pub use memory::Stay;
pub use server::{BindError, Event, Server};
pub use session::{Session, SessionError, Summary};
pub use tap::{NET_HEADER_BYTES, Tap, TapError, TapOutput};
