//! Statements of emitted Verilog: what is assigned, and what is asked.
//!
//! RustHDL writes one statement a line, in a handful of shapes, which is all that is read here.
//! Invariant: every shape that the emission has is found (`shapes_are_found`).
//! Not here: wires between modules, which are `always @(*) name = name;` lines, are statements too.

use std::collections::HashMap;
use std::ops::Range;

/// What a statement does with its expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Its value goes somewhere, of this width in bits.
    Value(usize),
    /// It decides.
    Condition,
}

/// A line with an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Line, from 0.
    pub line: usize,
    /// Module that it is in.
    pub module: String,
    /// Bytes of the line that are the expression.
    pub at: Range<usize>,
    /// What becomes of it.
    pub role: Role,
}

/// Width of a declared name, in bits: `output reg [7:0] a` is 8.
fn declared(line: &str) -> Option<(&str, usize)> {
    let line = line.strip_suffix(';')?;
    let line = line.strip_prefix("output ").unwrap_or(line);
    let line = line.strip_prefix("reg ")?.trim_start();
    match line.strip_prefix('[') {
        Some(rest) => {
            let (range, name) = rest.split_once(']')?;
            let (high, low) = range.split_once(':')?;
            let width = high.trim().parse::<usize>().ok()? + 1;
            Some((name.trim(), width - low.trim().parse::<usize>().ok()?))
        }
        None => Some((line.trim(), 1)),
    }
}

/// Width of what is assigned: a name, or a part of one.
fn assigned(target: &str, widths: &HashMap<String, usize>) -> Option<usize> {
    let Some((name, part)) = target.split_once('[') else { return widths.get(target).copied() };
    widths.get(name)?;
    match part.strip_suffix(']')?.split_once("+:") {
        Some((_, width)) => width.trim_matches(['(', ')']).parse().ok(),
        None => Some(1),
    }
}

/// Where in `text` a value is assigned and to what: the target, and the bytes of the expression.
fn assignment(text: &str) -> Option<(&str, Range<usize>)> {
    let end = text.strip_suffix(';')?.len();
    let (at, sign) = match (text.find(" <= "), text.find(" = ")) {
        (Some(later), Some(now)) if now < later => (now, 3),
        (Some(later), _) => (later, 4),
        (None, Some(now)) => (now, 3),
        (None, None) => return None,
    };
    let target = &text[..at];
    let plain = target.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && !target.contains([' ', '{', '.']);
    plain.then_some((target, at + sign..end))
}

/// All statements of a text, in its order.
pub fn statements(verilog: &str) -> Vec<Statement> {
    let mut found = vec![];
    let (mut module, mut widths) = (String::new(), HashMap::new());
    for (line, whole) in verilog.lines().enumerate() {
        let text = whole.trim_start();
        let indent = whole.len() - text.len();
        if let Some(rest) = text.strip_prefix("module ") {
            module = rest.split('(').next().unwrap_or_default().to_owned();
            widths.clear();
            continue;
        }
        if let Some((name, width)) = declared(text) {
            widths.insert(name.to_owned(), width);
            continue;
        }
        let mut add = |at: Range<usize>, role| {
            let at = at.start + indent..at.end + indent;
            found.push(Statement { line, module: module.clone(), at, role });
        };
        // A clocked or wired one-liner: what is behind its event.
        let event = ["always @(*) ", "always @(posedge cr_clk) "];
        let behind = event
            .iter()
            .find_map(|e| text.strip_prefix(e))
            .map_or(0, |rest| text.len() - rest.len());
        let inner = &text[behind..];
        let condition = inner.strip_prefix("if (").or_else(|| inner.strip_prefix("else if ("));
        if let Some(rest) = condition {
            let start = text.len() - rest.len();
            if let Some(rest) = rest.strip_suffix(") begin") {
                add(start..start + rest.len(), Role::Condition);
            } else if let Some(close) = rest.find(") ") {
                // `if (en) q <= d;`: the enable alone.
                add(start..start + close, Role::Condition);
            }
        } else if let Some((target, at)) = assignment(inner)
            && let Some(width) = assigned(target, &widths)
        {
            add(at.start + behind..at.end + behind, Role::Value(width));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "module m(cr_clk,a);
    input wire  cr_clk;
    output reg  [11:4] a;
    reg one;
    reg [53:0] words [0:7];
    always @(posedge cr_clk) if (en) q <= d;
    always @(*) one = other;
    always @(*) begin
        a = b + 8'h1;
        a[(64'h2)+:(3)] = c;
        a[32'h7] = d <= e;
        if (b == c) begin
        else if (|d) begin
        words[raddr] <= wdata;
    end
    m n(
        .a(b),
    );
endmodule";

    #[test]
    fn shapes_are_found() {
        let lines: Vec<&str> = TEXT.lines().collect();
        let found: Vec<_> = statements(TEXT)
            .into_iter()
            .map(|s| (s.line, lines[s.line][s.at.clone()].to_owned(), s.role))
            .collect();
        let expected = [
            (5, "en", Role::Condition),
            (6, "other", Role::Value(1)),
            (8, "b + 8'h1", Role::Value(8)),
            (9, "c", Role::Value(3)),
            (10, "d <= e", Role::Value(1)),
            (11, "b == c", Role::Condition),
            (12, "|d", Role::Condition),
        ];
        assert_eq!(found, expected.map(|(line, text, role)| (line, text.to_owned(), role)));
    }
}
