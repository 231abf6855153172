//! Exit codes: what a script may rely on. The same table is in `groove --help` and in the docs.

/// Everything asked for was done.
pub const OK: u8 = 0;
/// A fault of Groove itself: please report it.
pub const FAULT: u8 = 1;
/// Wrong usage, or input that cannot be used.
pub const USAGE: u8 = 2;
/// A device is absent or refused.
pub const DEVICE: u8 = 3;
/// Two things that must be equal differ, a proof fails, or a generated file is stale.
pub const MISMATCH: u8 = 4;
/// A tool, or a feature of the kernel, that is needed is missing or too old.
pub const TOOL: u8 = 5;
/// Ended by Ctrl-C or SIGTERM, drained and reported: as shells say it, 128 and the signal's number.
pub const INTERRUPTED: u8 = 130;

/// Codes with their meaning, in order.
pub const TABLE: [(u8, &str); 7] = [
    (OK, "everything asked for was done"),
    (FAULT, "internal fault of Groove: please report it"),
    (USAGE, "wrong usage, or input that cannot be used"),
    (DEVICE, "device absent or refused"),
    (
        MISMATCH,
        "mismatch between engines or with a kernel, a failed proof, or a stale generated file",
    ),
    (TOOL, "a needed tool or feature of the kernel is missing or too old"),
    (INTERRUPTED, "ended by Ctrl-C; what was run until then is drained, checked and reported"),
];

/// The table as text, as shown below `--help`.
pub fn table() -> String {
    let rows = TABLE.iter().map(|(code, text)| format!("\n  {code:<3}  {text}"));
    format!("Exit codes:{}", rows.collect::<String>())
}

#[cfg(test)]
mod tests {
    #[test]
    fn codes_ascend() {
        assert!(super::TABLE.is_sorted_by(|(a, _), (b, _)| a < b));
    }
}
