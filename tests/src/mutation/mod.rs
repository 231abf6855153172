//! Breaks of emitted Verilog, all in one build, each switched on by its number.
//!
//!   emitted text ─► statements ─► candidates ─► some, by seed ─► one text with all of them, off
//!
//! A break is `(number == N) ? broken : right` around an expression; the number is a register that
//! is written over the register bus, at an address that nothing else has. With number 0 the
//! hardware is as emitted.
//!
//! Invariants: every break is in the text and can be switched on alone (`breaks_are_put_in_place`);
//! a seed gives the same breaks for the same text (`a_seed_gives_the_same_plan`).
//! Not here: running them (`tests/tests/mutants.rs`, `xtask`).

mod candidates;
mod plan;
mod statements;

pub use candidates::{Candidate, Class, candidates};
pub use plan::plan;
pub use statements::{Statement, statements};

use std::ops::Range;

/// Address of the number on the register bus, in no stage's window.
pub const NUMBER_ADDRESS: u32 = 0xfffc;

/// A place in the text and what stands there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    /// Line, from 0.
    pub line: usize,
    /// Bytes of the line: a whole expression.
    pub at: Range<usize>,
    /// Another expression.
    pub to: String,
}

/// Puts every break into the text, each behind its number, from 1. The last module is `top`, with
/// the register bus among its ports.
///
/// # Panics
/// If two breaks overlap, or one is outside the text: both are faults of the caller.
pub fn instrument(verilog: &str, top: &str, breaks: &[Break]) -> String {
    let mut lines: Vec<String> = verilog.lines().map(str::to_owned).collect();
    let mut order: Vec<usize> = (0..breaks.len()).collect();
    // From the back, so that what is in front keeps its place.
    order.sort_by_key(|&i| std::cmp::Reverse((breaks[i].line, breaks[i].at.start)));
    for pair in order.windows(2) {
        let (later, earlier) = (&breaks[pair[0]], &breaks[pair[1]]);
        let apart = later.line != earlier.line || later.at.start >= earlier.at.end;
        assert!(apart, "two breaks in one place: {later:?}, {earlier:?}");
    }
    for index in order {
        let Break { line, at, to } = &breaks[index];
        let right = lines[*line][at.clone()].to_owned();
        let either = format!("(({top}.mutant == 16'd{}) ? ({to}) : ({right}))", index + 1);
        lines[*line].replace_range(at.clone(), &either);
    }
    let text = lines.join("\n");
    let end = text.rfind("endmodule").expect("the text has modules");
    let number = format!(
        "    reg [15:0] mutant;\n    initial mutant = 16'd0;\n    always @(posedge sys_clk)\n\
         \x20       if (reg_write & (reg_addr == 16'h{NUMBER_ADDRESS:x})) mutant <= \
         reg_wdata[15:0];\n"
    );
    format!("{}{number}{}", &text[..end], &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "module t(sys_clk);\n    a = b & c;\n    d = e;\nendmodule\n";

    #[test]
    fn breaks_are_put_in_place() {
        let breaks = [
            Break { line: 1, at: 12..13, to: "~c".into() },
            Break { line: 2, at: 8..9, to: "1'b0".into() },
            Break { line: 1, at: 8..9, to: "b".into() },
        ];
        let text = instrument(TEXT, "t", &breaks);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines[1],
            "    a = ((t.mutant == 16'd3) ? (b) : (b)) & ((t.mutant == 16'd1) ? (~c) : (c));"
        );
        assert_eq!(lines[2], "    d = ((t.mutant == 16'd2) ? (1'b0) : (e));");
        assert_eq!(text.matches("reg [15:0] mutant;").count(), 1);
        assert!(text.trim_end().ends_with("endmodule"));
    }

    #[test]
    #[should_panic(expected = "two breaks in one place")]
    fn breaks_do_not_overlap() {
        let one = Break { line: 1, at: 8..13, to: "b".into() };
        let other = Break { line: 1, at: 12..13, to: "~c".into() };
        instrument(TEXT, "t", &[one, other]);
    }
}
