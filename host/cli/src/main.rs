//! The `groove` command.
fn main() {}
