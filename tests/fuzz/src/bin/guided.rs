//! A target under libFuzzer: `GROOVE_FUZZ_TARGET` says which. `setup/fuzz` builds and runs it.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
mod guided {
    use std::sync::LazyLock;

    static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
        let name = std::env::var("GROOVE_FUZZ_TARGET").unwrap_or_default();
        groove_fuzz::target(&name).expect("GROOVE_FUZZ_TARGET names a target")
    });

    libfuzzer_sys::fuzz_target!(|data: &[u8]| TARGET(data));
}

#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    eprintln!("error: this was built without coverage\nhelp: run setup/fuzz TARGET SECONDS");
    std::process::ExitCode::from(2)
}
