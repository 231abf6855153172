//! Counts logic levels on a mapped netlist.
//!
//! Invariants: paths stop at registers and block RAM (`a_register_ends_a_path`); a chain costs 1
//! however long it is (`a_carry_chain_counts_once`); a loop is an error, not a hang
//! (`a_loop_is_refused`).

use super::netlist::Netlist;
use super::{SynthError, cells};
use std::collections::HashMap;

/// The longest path.
pub(super) struct Longest {
    pub(super) levels: u32,
    /// From the start to the end: cell type and the net that it drives.
    pub(super) path: Vec<String>,
}

/// A point of the search: levels up to a net, and the net before it.
#[derive(Clone, Copy)]
enum Mark {
    Open,
    Done { levels: u32, from: Option<u32> },
}

struct Search<'a> {
    netlist: &'a Netlist,
    module: &'a str,
    marks: HashMap<u32, Mark>,
}

/// Finds the longest path from any start to any end.
pub(super) fn longest(netlist: &Netlist, module: &str) -> Result<Longest, SynthError> {
    let mut search = Search { netlist, module, marks: HashMap::new() };
    let mut best: Option<(u32, u32, String)> = None;
    for (net, end) in ends(netlist) {
        let levels = search.levels(net)?;
        if best.as_ref().is_none_or(|(most, ..)| levels > *most) {
            best = Some((levels, net, end));
        }
    }
    Ok(match best {
        None => Longest { levels: 0, path: Vec::new() },
        Some((levels, net, end)) => Longest { levels, path: search.path(net, end) },
    })
}

/// Every net on which a path ends, with a description of the end.
fn ends(netlist: &Netlist) -> Vec<(u32, String)> {
    let mut ends = Vec::new();
    for cell in &netlist.cells {
        for input in &cell.inputs {
            // An input that some output depends on belongs to the path through the cell.
            if cell.outputs.iter().any(|o| cells::passes(cell.kind, &input.name, &o.name)) {
                continue;
            }
            let owner = cell.outputs.iter().flat_map(|o| &o.nets).next();
            let owner = owner.map_or_else(String::new, |n| format!(" of {}", netlist.name(*n)));
            for net in &input.nets {
                ends.push((*net, format!("{}.{}{owner}", cell.kind_name, input.name)));
            }
        }
    }
    for port in &netlist.outputs {
        ends.extend(port.nets.iter().map(|n| (*n, format!("output {}", port.name))));
    }
    ends
}

impl Search<'_> {
    /// Levels up to a net; depth first without recursion, as chains may be thousands of cells long.
    fn levels(&mut self, net: u32) -> Result<u32, SynthError> {
        let mut stack = vec![net];
        while let Some(&top) = stack.last() {
            if let Some(Mark::Done { .. }) = self.marks.get(&top) {
                stack.pop();
                continue;
            }
            let before = self.before(top);
            let open =
                before.iter().find(|(n, _)| !matches!(self.marks.get(n), Some(Mark::Done { .. })));
            if let Some(&(next, _)) = open {
                self.marks.insert(top, Mark::Open);
                if matches!(self.marks.get(&next), Some(Mark::Open)) {
                    let net = self.netlist.name(next);
                    return Err(SynthError::Loop { module: self.module.into(), net });
                }
                stack.push(next);
                continue;
            }
            let from = before.iter().max_by_key(|(n, cost)| self.done(*n) + cost);
            let levels = from.map_or(0, |(n, cost)| self.done(*n) + cost);
            self.marks.insert(top, Mark::Done { levels, from: from.map(|(n, _)| *n) });
            stack.pop();
        }
        Ok(self.done(net))
    }

    fn done(&self, net: u32) -> u32 {
        match self.marks.get(&net) {
            Some(Mark::Done { levels, .. }) => *levels,
            _ => 0,
        }
    }

    /// Nets that a net depends on without a clock, each with the levels in between.
    fn before(&self, net: u32) -> Vec<(u32, u32)> {
        let Some(&(cell, output)) = self.netlist.drivers.get(&net) else { return Vec::new() };
        let cell = &self.netlist.cells[cell];
        let output = &cell.outputs[output];
        let mut before = Vec::new();
        for input in &cell.inputs {
            if cells::passes(cell.kind, &input.name, &output.name) {
                before
                    .extend(input.nets.iter().map(|n| (*n, self.cost(cell.kind, &input.name, *n))));
            }
        }
        before
    }

    fn cost(&self, kind: cells::Kind, input: &str, net: u32) -> u32 {
        match kind {
            cells::Kind::WideMux | cells::Kind::Buffer => 0,
            cells::Kind::Carry if cells::is_chain_input(input) && self.is_chain(net) => 0,
            _ => 1,
        }
    }

    fn is_chain(&self, net: u32) -> bool {
        self.netlist.drivers.get(&net).is_some_and(|&(cell, output)| {
            let cell = &self.netlist.cells[cell];
            cell.kind == cells::Kind::Carry && cells::is_chain_output(&cell.outputs[output].name)
        })
    }

    fn path(&self, net: u32, end: String) -> Vec<String> {
        let mut path = vec![end];
        let mut at = Some(net);
        while let Some(net) = at {
            let name = self.netlist.name(net);
            path.push(match self.netlist.drivers.get(&net) {
                Some(&(cell, _)) => format!("{} {name}", self.netlist.cells[cell].kind_name),
                None => format!("input {name}"),
            });
            at = match self.marks.get(&net) {
                Some(Mark::Done { from, .. }) => *from,
                _ => None,
            };
        }
        path.reverse();
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(name: &str, kind: &str, inputs: &[(&str, u32)], outputs: &[(&str, u32)]) -> String {
        let list = |ports: &[(&str, u32)], direction: &str| -> (Vec<String>, Vec<String>) {
            ports
                .iter()
                .map(|(p, n)| (format!(r#""{p}":"{direction}""#), format!(r#""{p}":[{n}]"#)))
                .unzip()
        };
        let (mut directions, mut connections) = list(inputs, "input");
        let (d, c) = list(outputs, "output");
        directions.extend(d);
        connections.extend(c);
        format!(
            r#""{name}":{{"type":"{kind}","port_directions":{{{}}},"connections":{{{}}}}}"#,
            directions.join(","),
            connections.join(",")
        )
    }

    fn levels(cells: &[String], output: u32) -> Result<Longest, SynthError> {
        let text = format!(
            r#"{{"modules":{{"t":{{"ports":{{"o":{{"direction":"output","bits":[{output}]}}}},
            "cells":{{{}}},"netnames":{{}}}}}}}}"#,
            cells.join(",")
        );
        longest(&Netlist::parse(&text, "t").unwrap(), "t")
    }

    #[test]
    fn a_register_ends_a_path() {
        let cells = [
            cell("a", "LUT4", &[("A", 1)], &[("Z", 2)]),
            cell("b", "LUT4", &[("A", 2)], &[("Z", 3)]),
            cell("r", "TRELLIS_FF", &[("DI", 3)], &[("Q", 4)]),
            cell("c", "LUT4", &[("A", 4)], &[("Z", 5)]),
        ];
        let found = levels(&cells, 5).unwrap();
        assert_eq!(found.levels, 2);
        assert_eq!(found.path.first().unwrap(), "input net 1");
        assert_eq!(found.path.last().unwrap(), "TRELLIS_FF.DI of net 4");
    }

    #[test]
    fn a_carry_chain_counts_once() {
        let mut cells = vec![cell("c0", "CCU2C", &[("A0", 1)], &[("COUT", 100), ("S0", 200)])];
        for i in 1..40 {
            let out = [("COUT", 100 + i), ("S0", 200 + i)];
            cells.push(cell(&format!("c{i}"), "CCU2C", &[("CIN", 99 + i)], &out));
        }
        assert_eq!(levels(&cells, 239).unwrap().levels, 1);
        // Entering a second chain, even through its carry input, costs again.
        cells.push(cell("d", "CCU2C", &[("CIN", 239)], &[("S0", 300)]));
        assert_eq!(levels(&cells, 300).unwrap().levels, 2);
    }

    #[test]
    fn wide_multiplexers_are_free_and_distributed_ram_counts() {
        let cells = [
            cell("a", "LUT4", &[("A", 1)], &[("Z", 2)]),
            cell("m", "PFUMX", &[("ALUT", 2), ("BLUT", 1)], &[("Z", 3)]),
            cell("n", "L6MUX21", &[("D0", 3)], &[("Z", 4)]),
            cell("r", "TRELLIS_DPR16X4", &[("RAD", 4), ("DI", 1)], &[("DO", 5)]),
        ];
        assert_eq!(levels(&cells, 5).unwrap().levels, 2);
    }

    #[test]
    fn a_loop_is_refused() {
        let cells = [
            cell("a", "LUT4", &[("A", 3)], &[("Z", 2)]),
            cell("b", "LUT4", &[("A", 2)], &[("Z", 3)]),
        ];
        assert!(matches!(levels(&cells, 3), Err(SynthError::Loop { .. })));
    }
}
