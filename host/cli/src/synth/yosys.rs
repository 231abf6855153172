//! Runs yosys on one module and collects the netlist and what became of the memories.
//!
//! Not here: the child process itself, which the toolbox of groove-verilator starts.

use super::{Memory, MemoryKind, Request, SynthError, Target};
use groove_verilator::{Tool, Toolbox};
use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

/// What a run leaves.
pub(super) struct Run {
    pub(super) netlist: String,
    pub(super) memories: Vec<Memory>,
    pub(super) seconds: f64,
}

/// Synthesises in a directory of its own, removed afterwards.
pub(super) fn run(request: &Request) -> Result<Run, SynthError> {
    let dir = tempfile::tempdir().map_err(|e| io(Path::new("temporary directory"), e))?;
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).map_err(|e| io(&path, e))
    };
    write("in.v", &request.verilog)?;
    write("run.ys", &script(request))?;
    let start = Instant::now();
    let args = ["-q", "-l", "log.txt", "-s", "run.ys"];
    Toolbox::from_env()
        .run(Tool::YOSYS, dir.path(), &args)
        .map_err(|source| SynthError::Tool { module: request.module.clone(), source })?;
    let seconds = start.elapsed().as_secs_f64();
    let read = |name: &str| {
        let path = dir.path().join(name);
        std::fs::read_to_string(&path).map_err(|e| io(&path, e))
    };
    Ok(Run {
        netlist: read("out.json")?,
        memories: memories(&read("memories.txt")?, &read("log.txt")?),
        seconds,
    })
}

/// Flattened always: every RustHDL register is a module, and without flattening no enable is found.
/// The run stops once before RAM mapping to list the memories of the design.
fn script(request: &Request) -> String {
    let module = &request.module;
    let (command, ram) = match request.target {
        Target::Ecp5 => (format!("synth_ecp5 -top {module}"), "map_ram"),
        Target::Xc7 | Target::Xcup => {
            let family = request.target.name();
            let command = format!("synth_xilinx -family {family} -flatten -noiopad -top {module}");
            (command, "map_memory")
        }
    };
    format!(
        "read_verilog in.v\n{command} -run begin:{ram}\n\
         tee -q -o memories.txt dump t:$mem_v2\n\
         {command} -run {ram}:\nwrite_json out.json\n"
    )
}

fn io(path: &Path, source: std::io::Error) -> SynthError {
    SynthError::Io { path: path.into(), source }
}

/// Joins the memory cells (RTLIL) with the mapper's decisions (log).
fn memories(rtlil: &str, log: &str) -> Vec<Memory> {
    let fate = fates(log);
    let mut found: Vec<Memory> = Vec::new();
    for line in rtlil.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["cell", "$mem_v2", name] => {
                let name = name.trim_start_matches('\\').to_string();
                let kind = fate.get(&name).copied().unwrap_or(MemoryKind::Registers);
                found.push(Memory { name, words: 0, width: 0, kind });
            }
            ["parameter", field @ ("\\SIZE" | "\\WIDTH"), value] => {
                let (Some(memory), Ok(value)) = (found.last_mut(), value.parse()) else { continue };
                *if field == "\\SIZE" { &mut memory.words } else { &mut memory.width } = value;
            }
            _ => {}
        }
    }
    found
}

/// By memory name: the last decision of yosys' memory mapper.
fn fates(log: &str) -> HashMap<String, MemoryKind> {
    let mut fate = HashMap::new();
    for line in log.lines() {
        let (rest, kind) = if let Some(rest) = line.strip_prefix("mapping memory ") {
            let Some((name, cell)) = rest.split_once(" via ") else { continue };
            let block = ["DP16KD", "PDPW16KD", "BLOCKRAM", "URAM", "_XILINX_RAMB"];
            let block = block.iter().any(|b| cell.contains(b));
            (name, if block { MemoryKind::Block } else { MemoryKind::Distributed })
        } else if let Some(name) = line.strip_prefix("using FF mapping for memory ") {
            (name, MemoryKind::Registers)
        } else {
            continue;
        };
        // "module.memory": the memory's own name may hold dots.
        let name = rest.trim().split_once('.').map_or(rest, |(_, name)| name);
        fate.insert(name.trim_start_matches('\\').to_string(), kind);
    }
    fate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_are_joined_with_their_fate() {
        let rtlil = "cell $mem_v2 \\a.mem\n parameter \\SIZE 256\n parameter \\WIDTH 72\n\
                     cell $mem_v2 \\b\n parameter \\SIZE 2\n parameter \\WIDTH 8\n";
        let log = "mapping memory t.a.mem via $__ECP5_PDPW16KD_\nusing FF mapping for memory t.b\n";
        let found = memories(rtlil, log);
        assert_eq!(
            found,
            [
                Memory { name: "a.mem".into(), words: 256, width: 72, kind: MemoryKind::Block },
                Memory { name: "b".into(), words: 2, width: 8, kind: MemoryKind::Registers },
            ]
        );
    }
}
