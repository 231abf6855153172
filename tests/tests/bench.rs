//! The rates that the hardware promises, measured as `groove bench rtl` does: W = 512, 32 queues.

use groove::bench::{Mix, Spread, merge, rate};
use groove_verilator::{BuildOptions, Pipeline};

fn open() -> Pipeline {
    Pipeline::open(&BuildOptions::default()).expect("the hardware builds")
}

/// Frames of 256 bytes and more: 0.99 beats per cycle. Shorter ones: 4 cycles each.
#[test]
fn rates_hold_in_every_mix() {
    let mut pipeline = open();
    for mix in Mix::ALL {
        for frame_bytes in [64, 65, 256, 257, 1514, 9018] {
            let point = rate(&mut pipeline, frame_bytes, mix).expect("the run ends");
            let text = format!("{point:?}");
            assert!(point.frames >= 400, "{text}");
            if frame_bytes >= 256 {
                assert!(point.beats_per_cycle >= 0.99, "{text}");
            } else {
                assert!(point.cycles_per_frame <= 4.02, "{text}");
            }
            let evicting = if mix == Mix::Flows10000 { 0.85..0.95 } else { 0.0..0.001 };
            assert!(evicting.contains(&point.evictions_per_frame), "{text}");
        }
    }
}

/// The bucket is in hash bits 2..0: a queue that fixes those bits has one bucket in use.
#[test]
fn an_indirection_table_in_blocks_holds_four_times_the_sessions() {
    let mut pipeline = open();
    let mut ratio = |flows, spread| {
        merge(&mut pipeline, flows, 32, spread).expect("the run ends").frames_per_delivery
    };
    assert!(ratio(64, Spread::InTurn) > 20.0);
    let (turn, blocks) = (ratio(512, Spread::InTurn), ratio(512, Spread::InBlocks));
    assert!(blocks > 2.0 * turn, "in turn {turn}, in blocks {blocks}");
}
