//! Rates of the NIC through to memory, in clock cycles: what the issue of the NIC asks for.

use groove_device::verilated::rig::{Rig, Window};
use groove_tests::frames::{encode, tcp, udp, v4};
use groove_verilator::BuildOptions;
use groove_verilator::nic::NicConfig;

/// Frames of a measured run.
const FRAMES: usize = 3000;
const FLOWS: usize = 64;

fn open(latency_cycles: std::ops::RangeInclusive<u32>) -> Rig {
    let run = NicConfig { latency_cycles, ..NicConfig::default() };
    let build = BuildOptions::default();
    let config = groove_model::Config {
        rss: groove_model::RssConfig::spread(build.queues as u8),
        queues: build.queues as u8,
        ..groove_model::Config::default()
    };
    Rig::open(&build, &run, &groove::engine::registers::image(&config), true).unwrap()
}

/// 1,514 bytes, 64 flows in turn: almost every frame appends.
fn bulk() -> Vec<Vec<u8>> {
    let frame = |i: usize| {
        encode(v4(i / FLOWS, 1460), |packet| tcp(packet).source = 1500 + (i % FLOWS) as u16)
    };
    (0..FRAMES).map(frame).collect()
}

/// 64 bytes, never merged: one completion each.
fn small() -> Vec<Vec<u8>> {
    (0..FRAMES).map(|i| encode(udp(v4(i, 22)), |_| {})).collect()
}

fn run(rig: &mut Rig, frames: &[Vec<u8>]) -> Window {
    let window = rig.run(frames.iter().map(Vec::as_slice)).unwrap();
    assert_eq!(window.frames, frames.len() as u64);
    window
}

#[test]
fn bulk_goes_through_at_line_rate() {
    for latency_cycles in [0..=0, 200..=400] {
        let mut rig = open(latency_cycles.clone());
        let window = run(&mut rig, &bulk());
        let rate = window.beats as f64 / window.cycles as f64;
        eprintln!("bulk, latency {latency_cycles:?}: {rate:.3} beats per cycle, {window:?}");
        assert!(rate >= 0.95, "{rate:.3} beats per cycle at a latency of {latency_cycles:?}");
    }
}

#[test]
fn small_frames_take_four_cycles_at_most() {
    let frames = small();
    assert!(frames.iter().all(|frame| frame.len() == 64));
    // Both runs begin and end alike: what the longer one takes more is the rate.
    let [half, whole] = [FRAMES / 2, FRAMES].map(|count| {
        let window = run(&mut open(0..=0), &frames[..count]);
        assert_eq!(window.completions, window.frames);
        window.cycles
    });
    let cycles = (whole - half) as f64 / (FRAMES - FRAMES / 2) as f64;
    eprintln!("64 bytes: {cycles:.3} cycles per frame; {FRAMES} frames in {whole} cycles");
    assert!(cycles <= 4.0, "{cycles:.3} cycles per frame");
}
