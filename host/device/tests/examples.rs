//! The examples of the driver run, on the software device.

// Each example is a program of its own, and has the same wire in front of it.
#![allow(clippy::duplicate_mod)]

#[path = "../../../driver/examples/receive.rs"]
mod receive;
#[path = "../../../driver/examples/two_threads.rs"]
mod two_threads;

#[test]
fn the_minimal_receive_loop_runs() {
    receive::main().unwrap();
}

#[test]
fn the_two_threads_bring_every_buffer_home() {
    two_threads::main().unwrap();
}
