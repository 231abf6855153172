//! The pipeline's ready inputs reach no ready output within a cycle.
//!
//! Method: traffic with stalls; in every cycle, after the outputs have settled, both ready inputs
//! take all four values in turn, and every output that belongs to an input stream stays as it is.

mod rtl_support;

use groove_hdl::pipeline::{Parameters, emit};
use groove_verilator::{Dut, Port, Source};
use rtl_support::{Rng, frames, set, words};

const WIDTH: usize = 64;
const CYCLES: usize = 20_000;

fn open() -> Dut {
    let parameters = Parameters { width: WIDTH, queues: 1, ..Parameters::default() };
    let design = emit(&parameters).expect("parameters are possible");
    let source = Source { top: &design.top, verilog: &design.verilog, trace: false };
    let mut dut = Dut::build(&source).expect("the pipeline builds");
    set(&mut dut, "admit", 1);
    set(&mut dut, "admit_answer", 1);
    set(&mut dut, "sys_rst", 1);
    (0..4).for_each(|_| dut.clock().expect("runs"));
    set(&mut dut, "sys_rst", 0);
    dut
}

/// A beat of the frame at `at`, and whether it is the last.
fn drive(dut: &mut Dut, frame: &[u8], at: usize) -> bool {
    let beat = &frame[at..frame.len().min(at + WIDTH / 8)];
    let port = dut.port("s_axis_tdata").expect("an input");
    dut.set_words(port, &words(beat, WIDTH / 8));
    set(dut, "s_axis_tkeep", (1 << beat.len()) - 1);
    let last = at + beat.len() == frame.len();
    set(dut, "s_axis_tlast", last.into());
    last
}

/// Flips the ready inputs through all values; panics if a ready output follows.
fn probe(dut: &mut Dut, inputs: [Port; 2], outputs: [Port; 2], before: [u64; 2]) {
    for value in 0..4 {
        dut.set(inputs[0], value & 1);
        dut.set(inputs[1], value >> 1);
        dut.settle().expect("runs");
        let now = outputs.map(|port| dut.read(port));
        assert_eq!(now, before, "cycle {}: ready follows ready {value:02b}", dut.cycle());
    }
}

#[test]
fn no_ready_output_follows_a_ready_input() {
    let mut dut = open();
    let port = |name: &str| dut.port(name).expect("a port");
    let inputs = [port("m_op_ready"), port("m_axis_tready")];
    let outputs = [port("s_axis_tready"), port("s_token_ready")];
    let rng = &mut Rng(77);
    let (mut frame, mut at) = (frames::random(rng, &[2, 0, 0, 0, 0, 1]), 0);
    let (mut valid, mut accepted, mut refused) = (false, 0, 0);
    for _ in 0..CYCLES {
        valid |= rng.chance(90);
        set(&mut dut, "s_axis_tvalid", valid.into());
        let last = drive(&mut dut, &frame, at);
        let stalled = rng.chance(60);
        inputs.iter().for_each(|input| dut.set(*input, (!stalled).into()));
        dut.settle().expect("runs");
        let before = outputs.map(|output| dut.read(output));
        probe(&mut dut, inputs, outputs, before);
        inputs.iter().for_each(|input| dut.set(*input, (!stalled).into()));
        dut.clock().expect("runs");
        refused += usize::from(valid && before[0] == 0);
        if valid && before[0] == 1 {
            (at, valid, accepted) = (at + WIDTH / 8, false, accepted + 1);
            if last {
                (frame, at) = (frames::random(rng, &[2, 0, 0, 0, 0, 1]), 0);
            }
        }
    }
    // Both answers were seen, so the probe had something to change.
    assert!(accepted > 1_000 && refused > 1_000, "{accepted} accepted, {refused} refused");
}
