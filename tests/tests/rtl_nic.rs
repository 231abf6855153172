//! The NIC's top: what lies between its pins and the core, and what `verilator` thinks of all of
//! it.

mod rtl_support;

use groove_hdl::blocks::frame_gate::FrameGate;
use groove_hdl::emit::{Design, emit};
use groove_hdl::nic;
use groove_hdl::pipeline::Parameters;
use groove_verilator::Toolbox;
use rtl_support::{Rng, set, start};

/// A beat: frame, beat of it, last of it.
type Beat = (u64, u64, bool);

/// Frames of random lengths through a gate that opens and shuts; what passes, and what was offered
/// while the gate was open.
fn pass(design: &Design, lossless: bool, seed: u64) -> Vec<Beat> {
    let mut dut = start(design);
    let mut rng = Rng(seed);
    let port = |name: &str| dut.port(name).expect("a port");
    let [ready, valid, data, last] = ["s_tready", "m_tvalid", "m_tdata", "m_tlast"].map(port);
    let (mut frame, mut beat, mut beats) = (0u64, 0u64, 3u64);
    let (mut open, mut offered) = (false, false);
    let mut passed = Vec::new();
    for _ in 0..60_000 {
        if rng.chance(3) {
            open = !open;
        }
        offered |= rng.chance(70);
        // Without back-pressure the pipeline takes every beat.
        let takes = !lossless || rng.chance(60);
        for (name, value) in [
            ("open", u64::from(open)),
            ("s_tvalid", offered.into()),
            ("s_tdata", frame << 16 | beat),
            ("s_tkeep", 0xff),
            ("s_tlast", (beat + 1 == beats).into()),
            ("m_tready", takes.into()),
        ] {
            set(&mut dut, name, value);
        }
        dut.settle().expect("runs");
        assert!(open || dut.read(valid) == 0, "nothing passes a shut gate");
        if dut.read(valid) == 1 && takes {
            let word = dut.read(data);
            passed.push((word >> 16, word & 0xffff, dut.read(last) == 1));
        }
        if offered && (dut.read(ready) == 1 || !lossless) {
            offered = false;
            beat += 1;
            if beat == beats {
                (frame, beat, beats) = (frame + 1, 0, 1 + rng.below(6) as u64);
            }
        }
        dut.edge().expect("runs");
    }
    assert!(frame > 2_000, "{frame} frames were offered");
    passed
}

/// What passes of a frame is its beginning; all of it, unless the gate shut in its middle.
#[test]
fn gate_passes_whole_frames() {
    for lossless in [true, false] {
        let passed = pass(&emit("frame_gate", FrameGate::<64, 8>::new(lossless)), lossless, 91);
        let mut next = (0, 0);
        let (mut whole, mut cut) = (0, 0);
        for (frame, beat, last) in passed {
            if frame != next.0 {
                assert!(frame > next.0, "in order");
                assert_eq!(beat, 0, "frame {frame} starts with its first beat");
                cut += u64::from(next.1 > 0);
            } else {
                assert_eq!(beat, next.1, "frame {frame} goes on");
            }
            next = if last { (frame + 1, 0) } else { (frame, beat + 1) };
            whole += u64::from(last);
        }
        assert!(whole > 500 && cut > 50, "{whole} whole frames, {cut} cut ones");
    }
}

#[test]
fn nic_lint_is_clean() {
    let waived = ["DECLFILENAME", "WIDTH", "UNUSEDSIGNAL", "UNUSEDPARAM"];
    for width in [64, 512] {
        let parameters = Parameters { width, queues: 4, ..Parameters::default() };
        let design = nic::emit(&parameters).expect("parameters are possible");
        let lines = Toolbox::from_env().lint(&design.top, &design.verilog, &waived).expect("lints");
        assert!(lines.is_empty(), "W = {width}: {lines:#?}");
    }
}

#[test]
fn emission_is_deterministic() {
    let parameters = Parameters { width: 64, queues: 2, ..Parameters::default() };
    let [a, b] = [(); 2].map(|()| nic::emit(&parameters).expect("parameters are possible"));
    assert_eq!(a.verilog, b.verilog);
}
