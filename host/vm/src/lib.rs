//! A Linux guest under QEMU, for whatever has to be tried in a kernel that is not this machine's.
//!
//!   mirror of /etc/apt ──► QEMU, busybox, kernels ──► cache        (once; nothing is installed)
//!   kernel + modules + files + command ──► initramfs ──► QEMU ──► console, exit code, files
//!
//! No KVM, no root, no disk image: the guest lives in an initramfs and is gone with the process.
//!
//! ```no_run
//! use std::time::Duration;
//! use groove_vm::{File, Guest, Host, Store};
//!
//! let store = Store::new("/tmp/cache".as_ref(), Host::default());
//! let talk = |line: &str| eprintln!("{line}");
//! let machine = store.machine(&talk)?;
//! let kernel = store.kernel(&"6.12".parse()?, &talk)?;
//! let guest = Guest {
//!     modules: vec!["tun".into()],
//!     files: vec![File::text("/greeting", "hello")],
//!     command: "uname -r; cat /greeting > /out".into(),
//!     outputs: vec!["/out".into()],
//!     limit: Duration::from_secs(60),
//!     ..Guest::default()
//! };
//! let outcome = machine.run(&kernel, &guest, &mut |_| {})?;
//! assert_eq!(outcome.exit, 0);
//! assert_eq!(outcome.outputs["/out"], b"hello");
//! # Ok::<(), groove_vm::Error>(())
//! ```
//!
//! Invariants: a preparation that ends early leaves no half cache
//! (`a_failed_preparation_leaves_nothing`); two at once prepare once (`two_at_once_prepare_once`);
//! every wait has a bound and an error that says what was waited for
//! (`a_program_that_hangs_is_ended`, `a_guest_that_hangs_is_ended`).
//! Not here: Groove. This crate knows neither devices nor captures.

mod apt;
mod cpio;
mod elf;
mod error;
mod guest;
mod initramfs;
mod kernel;
mod machine;
mod mirror;
mod process;
mod results;
mod store;

pub use elf::Program;
pub use error::Error;
pub use guest::{Event, File, Guest, Outcome};
pub use kernel::{Flavour, Kernel, KernelSpec};
pub use machine::Machine;
pub use process::{Background, run_program};
pub use store::{Host, Store};
