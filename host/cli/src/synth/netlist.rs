//! Reads the mapped netlist that yosys writes as JSON.
//!
//! Invariants: a bit has at most one driver, else it is refused (`two_drivers_are_refused`); a
//! netlist without the module asked for is refused (`a_missing_module_is_refused`).

use super::{SynthError, cells};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};

#[derive(Deserialize)]
struct File {
    modules: HashMap<String, RawModule>,
}

#[derive(Deserialize)]
struct RawModule {
    #[serde(default)]
    ports: BTreeMap<String, RawPort>,
    #[serde(default)]
    cells: BTreeMap<String, RawCell>,
    #[serde(default)]
    netnames: BTreeMap<String, RawNet>,
}

#[derive(Deserialize)]
struct RawPort {
    direction: String,
    bits: Vec<Bit>,
}

#[derive(Deserialize)]
struct RawCell {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    port_directions: HashMap<String, String>,
    connections: BTreeMap<String, Vec<Bit>>,
}

#[derive(Deserialize)]
struct RawNet {
    #[serde(default)]
    hide_name: u8,
    bits: Vec<Bit>,
}

/// A net, or a constant ("0", "1", "x", "z").
#[derive(Deserialize, Clone, Debug)]
#[serde(untagged)]
enum Bit {
    Net(u32),
    Constant(#[allow(dead_code)] String),
}

/// One port of a cell: its nets, constants left out.
pub(super) struct Port {
    pub(super) name: String,
    pub(super) nets: Vec<u32>,
}

/// One mapped cell.
pub(super) struct Cell {
    pub(super) kind_name: String,
    pub(super) kind: cells::Kind,
    pub(super) inputs: Vec<Port>,
    pub(super) outputs: Vec<Port>,
}

/// A flat, mapped module.
pub(super) struct Netlist {
    pub(super) cells: Vec<Cell>,
    pub(super) outputs: Vec<Port>,
    /// Cell and index of its output port that drives a net.
    pub(super) drivers: HashMap<u32, (usize, usize)>,
    names: HashMap<u32, String>,
}

impl Netlist {
    /// Parses the module of that name.
    pub(super) fn parse(text: &str, module: &str) -> Result<Self, SynthError> {
        let refuse = |message: String| SynthError::Netlist { module: module.into(), message };
        let mut file: File = serde_json::from_str(text).map_err(|e| refuse(e.to_string()))?;
        let raw = file.modules.remove(module).ok_or_else(|| refuse("no such module".into()))?;
        let mut netlist = Netlist {
            cells: Vec::with_capacity(raw.cells.len()),
            outputs: Vec::new(),
            drivers: HashMap::new(),
            names: names(&raw.netnames),
        };
        for (name, cell) in raw.cells {
            netlist.add(module, &name, cell)?;
        }
        for (name, port) in raw.ports {
            if port.direction != "input" {
                netlist.outputs.push(Port { name, nets: nets(&port.bits) });
            }
        }
        Ok(netlist)
    }

    fn add(&mut self, module: &str, name: &str, raw: RawCell) -> Result<(), SynthError> {
        if raw.kind == "$scopeinfo" {
            return Ok(());
        }
        let kind = cells::kind(&raw.kind).ok_or_else(|| SynthError::UnknownCell {
            module: module.into(),
            cell: raw.kind.clone(),
        })?;
        let mut cell = Cell { kind_name: raw.kind, kind, inputs: Vec::new(), outputs: Vec::new() };
        for (port, bits) in raw.connections {
            let nets = nets(&bits);
            if raw.port_directions.get(&port).is_some_and(|d| d == "input") {
                cell.inputs.push(Port { name: port, nets });
                continue;
            }
            for &net in &nets {
                let here = (self.cells.len(), cell.outputs.len());
                if self.drivers.insert(net, here).is_some() {
                    let message = format!("{} has two drivers, one is {name}", self.name(net));
                    return Err(SynthError::Netlist { module: module.into(), message });
                }
            }
            cell.outputs.push(Port { name: port, nets });
        }
        self.cells.push(cell);
        Ok(())
    }

    /// The most readable name of a net.
    pub(super) fn name(&self, net: u32) -> String {
        match self.names.get(&net) {
            // What yosys makes up and hides says nothing to a reader.
            Some(name) if name.starts_with('$') => "-".into(),
            Some(name) => name.clone(),
            None => format!("net {net}"),
        }
    }

    /// How many cells of each type, by name.
    pub(super) fn counts(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for cell in &self.cells {
            *counts.entry(cell.kind_name.clone()).or_insert(0) += 1;
        }
        counts
    }

    /// How many cells of one kind.
    pub(super) fn count(&self, kind: cells::Kind) -> u64 {
        self.cells.iter().filter(|c| c.kind == kind).count() as u64
    }
}

fn nets(bits: &[Bit]) -> Vec<u32> {
    bits.iter()
        .filter_map(|b| match b {
            Bit::Net(n) => Some(*n),
            Bit::Constant(_) => None,
        })
        .collect()
}

/// How little a name tells: hidden, made up by yosys, its length.
type Rank = (bool, bool, usize);

/// For each net the name that tells most: given by us rather than by yosys, then the shortest.
fn names(raw: &BTreeMap<String, RawNet>) -> HashMap<u32, String> {
    let mut best: HashMap<u32, (Rank, &str, usize)> = HashMap::new();
    for (name, net) in raw {
        let made_up = ["_LUT", "_TRELLIS_FF", "_CCU2C", "_PFUMX", "_L6MUX", "_FD", "_CARRY"]
            .iter()
            .any(|mark| name.contains(mark));
        let rank = (net.hide_name != 0, made_up, name.len());
        for (index, bit) in net.bits.iter().enumerate() {
            let Bit::Net(n) = bit else { continue };
            if best.get(n).is_none_or(|(other, ..)| rank < *other) {
                best.insert(*n, (rank, name, index));
            }
        }
    }
    best.into_iter()
        .map(|(net, (_, name, index))| {
            let wide = raw[name].bits.len() > 1;
            (net, if wide { format!("{name}[{index}]") } else { name.to_string() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(cells: &str) -> String {
        format!(r#"{{"modules":{{"t":{{"ports":{{}},"cells":{{{cells}}},"netnames":{{}}}}}}}}"#)
    }

    const LUT: &str = r#"{"type":"LUT4","port_directions":{"A":"input","Z":"output"},
        "connections":{"A":[2],"Z":[3]}}"#;

    #[test]
    fn two_drivers_are_refused() {
        let text = module(&format!(r#""a":{LUT},"b":{LUT}"#));
        assert!(matches!(Netlist::parse(&text, "t"), Err(SynthError::Netlist { .. })));
    }

    #[test]
    fn a_missing_module_is_refused() {
        assert!(matches!(Netlist::parse(&module(""), "u"), Err(SynthError::Netlist { .. })));
    }

    #[test]
    fn an_unknown_cell_is_refused() {
        let text = module(&format!(r#""a":{}"#, LUT.replace("LUT4", "MYSTERY")));
        let error = Netlist::parse(&text, "t").err();
        assert!(matches!(error, Some(SynthError::UnknownCell { cell, .. }) if cell == "MYSTERY"));
    }
}
