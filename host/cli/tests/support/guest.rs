//! QEMU and a kernel, for tests that run in a guest: skipped by name where they cannot be had.

use std::sync::OnceLock;

use groove_verilator::Toolbox;
use groove_vm::{Host, Kernel, KernelSpec, Machine, Store};

/// QEMU and a kernel; `None`, and why, where they cannot be had.
pub fn machine(test: &str) -> Option<&'static (Machine, Kernel)> {
    static ALL: OnceLock<Result<(Machine, Kernel), String>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let cache = Toolbox::from_env().cache.ok_or("there is no cache directory")?;
        let store = Store::new(&cache, Host::default());
        let talk = |line: &str| eprintln!("{line}");
        let both = || Ok((store.machine(&talk)?, store.kernel(&KernelSpec::default(), &talk)?));
        both().map_err(|error: groove_vm::Error| {
            let text = format!("{error}; {}", error.help());
            assert!(error.is_unavailable(), "{text}");
            text
        })
    });
    match all {
        Ok(both) => Some(both),
        Err(why) => {
            eprintln!("skipped: {test}: {why}");
            None
        }
    }
}
