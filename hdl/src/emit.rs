//! Emission: the thin, replaceable layer between RustHDL's code generator and everything else.
//!
//!   block ─► generate_verilog ─► split into modules ─► one per distinct body ─► names, text, ports
//!
//! RustHDL names every top `top` and every child by its path, so that each instance becomes a
//! module of its own. Here equal bodies become one module. A module is called after the `block:
//! NAME` comment of its body (`comment!` in a kernel), else after the instance; equal names of
//! different bodies get a number. Signals lose their `$`.
//!
//! Invariants: the text declares each module once and every instance names one of them
//! (`equal_bodies_become_one_module`); renaming never joins two names of one module
//! (`refuses_a_collision`). Not here: any knowledge of the pipeline.

use rust_hdl::prelude::*;
use std::collections::HashMap;
use std::fmt::Write;

/// A comment in a kernel's Verilog; nothing in Rust. `#[hdl_gen]` knows the name.
#[macro_export]
macro_rules! comment {
    ($text:literal) => {};
}

/// Direction of a port of the top module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortDirection {
    /// Driven from outside.
    Input,
    /// Driven by the module.
    Output,
}

/// A port of the top module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Name in the Verilog.
    pub name: String,
    /// Who drives it.
    pub direction: PortDirection,
    /// Width in bits.
    pub width: usize,
}

/// An emitted design.
#[derive(Clone, Debug)]
pub struct Design {
    /// Name of the top module.
    pub top: String,
    /// Ports of the top module, in order.
    pub ports: Vec<Port>,
    /// All modules, children first, the top last.
    pub verilog: String,
}

/// Connects, checks and emits `block` as module `name`.
///
/// # Panics
/// If RustHDL's checks fail or a renaming is ambiguous: both are faults of the source.
pub fn emit<B: Block>(name: &str, mut block: B) -> Design {
    block.connect_all();
    let ports = ports(&block);
    let verilog = rename_modules(name, &generate_verilog(&block));
    Design { top: name.to_string(), ports, verilog }
}

/// Collects the ports of the outermost block.
#[derive(Default)]
struct Ports {
    depth: usize,
    path: Vec<String>,
    found: Vec<Port>,
}

impl Probe for Ports {
    fn visit_start_scope(&mut self, _name: &str, _node: &dyn Block) {
        self.depth += 1;
    }
    fn visit_end_scope(&mut self, _name: &str, _node: &dyn Block) {
        self.depth -= 1;
    }
    fn visit_start_namespace(&mut self, name: &str, _node: &dyn Block) {
        self.path.push(name.to_string());
    }
    fn visit_end_namespace(&mut self, _name: &str, _node: &dyn Block) {
        self.path.pop();
    }
    fn visit_atom(&mut self, name: &str, signal: &dyn Atom) {
        let direction = match signal.kind() {
            AtomKind::InputParameter => PortDirection::Input,
            AtomKind::OutputParameter | AtomKind::OutputPassthrough => PortDirection::Output,
            _ => return,
        };
        if self.depth == 1 {
            let mut path = self.path.clone();
            path.push(name.to_string());
            self.found.push(Port { name: path.join("_"), direction, width: signal.bits() });
        }
    }
}

/// Ports of a block, with the names that they have in its Verilog.
pub fn ports<B: Block>(block: &B) -> Vec<Port> {
    let mut probe = Ports::default();
    block.accept("top", &mut probe);
    probe.found
}

/// One module of the generator's output.
struct Module<'a> {
    name: &'a str,
    /// Text from the port list to `endmodule`.
    body: &'a str,
}

fn split(raw: &str) -> Vec<Module<'_>> {
    let mut modules = vec![];
    let mut rest = raw;
    while let Some(at) = rest.find("module ") {
        let text = &rest[at + "module ".len()..];
        let end = text.find("endmodule").expect("the generator closes its modules");
        let open = text.find(['(', ';']).expect("a module has a header");
        modules.push(Module { name: text[..open].trim(), body: &text[open..end] });
        rest = &text[end + "endmodule".len()..];
    }
    modules
}

/// Distinct modules by body, with their final names.
#[derive(Default)]
struct Library {
    /// Path of an instance to the final name of its module.
    names: HashMap<String, String>,
    /// Body to final name.
    bodies: HashMap<String, String>,
    taken: HashMap<String, usize>,
    text: String,
}

impl Library {
    /// Adds a module whose children are in already.
    fn add(&mut self, prefix: &str, module: &Module) {
        let body = rename_signals(module.body, &self.names);
        if let Some(name) = self.bodies.get(&body) {
            self.names.insert(module.name.to_string(), name.clone());
            return;
        }
        let name = if module.name == "top" {
            prefix.to_string()
        } else {
            self.unused(format!("{prefix}_{}", base_name(module)))
        };
        write!(self.text, "module {name}{}endmodule\n\n", tidy(&body)).expect("writes to a string");
        self.names.insert(module.name.to_string(), name.clone());
        self.bodies.insert(body, name);
    }

    fn unused(&mut self, name: String) -> String {
        let count = self.taken.entry(name.clone()).or_insert(0);
        *count += 1;
        if *count == 1 { name } else { format!("{name}_v{count}") }
    }
}

/// The name that the body asks for, else the last step of the instance path.
fn base_name(module: &Module) -> String {
    const MARK: &str = "block: ";
    match module.body.split_once(MARK) {
        Some((_, rest)) => {
            rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
        }
        None => {
            let path: Vec<&str> = module.name.split('$').collect();
            // The index of an instance in an array says nothing about its kind.
            let last = path.iter().rposition(|p| p.parse::<usize>().is_err()).unwrap_or(0);
            path[last].to_string()
        }
    }
}

/// Without the generator's empty lines and trailing blanks.
fn tidy(body: &str) -> String {
    let lines = body.lines().map(str::trim_end).filter(|l| !l.is_empty());
    let mut text = lines.collect::<Vec<_>>().join("\n");
    text.push('\n');
    text
}

fn rename_modules(prefix: &str, raw: &str) -> String {
    let mut modules = split(raw);
    // A child's path is longer than its parent's: deepest first, the top last.
    modules.sort_by_key(|m| std::cmp::Reverse(m.name.split('$').count()));
    let mut library = Library::default();
    for module in &modules {
        library.add(prefix, module);
    }
    library.text
}

/// Renames one module's text: instances by `modules`, and `$` to `_`.
fn rename_signals(raw: &str, modules: &HashMap<String, String>) -> String {
    let bytes = raw.as_bytes();
    let is_id = |c: u8| c.is_ascii_alphanumeric() || c == b'_' || c == b'$';
    let mut out = String::with_capacity(raw.len());
    let mut seen: HashMap<String, &str> = HashMap::new();
    let mut i = 0;
    while i < bytes.len() {
        let start = i;
        i += 1;
        let word = bytes[start].is_ascii_alphabetic() || bytes[start] == b'_';
        // A number or a system function is copied whole: `8'hff` holds no identifier.
        if word || matches!(bytes[start], b'$' | b'\'' | b'0'..=b'9') {
            while i < bytes.len() && is_id(bytes[i]) {
                i += 1;
            }
        }
        let old = &raw[start..i];
        if !word {
            out.push_str(old);
            continue;
        }
        if let Some(module) = modules.get(old) {
            out.push_str(module);
            continue;
        }
        let new = old.replace('$', "_");
        // A child's port (`.name(..)`) lives in the child's scope.
        if start == 0 || bytes[start - 1] != b'.' {
            let first = *seen.entry(new.clone()).or_insert(old);
            assert_eq!(first, old, "renaming makes `{new}` ambiguous");
        }
        out.push_str(&new);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::fifo::Fifo;
    use crate::blocks::reg::{ClkRst, RegE, RegR};

    #[derive(LogicBlock, Default)]
    struct Two {
        cr: ClkRst,
        pub d: Signal<In, Bits<8>>,
        pub q: Signal<Out, Bits<8>>,
        first: RegR<Bits<8>>,
        second: RegR<Bits<8>>,
        third: RegE<Bits<8>>,
    }

    impl Logic for Two {
        #[hdl_gen]
        fn update(&mut self) {
            ClkRst::link(&mut self.cr, &mut self.first.cr);
            ClkRst::link(&mut self.cr, &mut self.second.cr);
            ClkRst::link(&mut self.cr, &mut self.third.cr);
            self.first.d.next = self.d.val();
            self.second.d.next = self.first.q.val();
            self.third.d.next = self.second.q.val();
            self.third.en.next = true;
            self.q.next = self.third.q.val();
        }
    }

    #[test]
    fn equal_bodies_become_one_module() {
        let design = emit("two", Two::default());
        let declared: Vec<&str> =
            design.verilog.lines().filter_map(|l| l.strip_prefix("module ")).collect();
        assert_eq!(declared.len(), 3, "{declared:?}");
        assert!(declared[2].starts_with("two("));
        assert_eq!(design.verilog.matches("two_reg_r_8 ").count(), 2, "{}", design.verilog);
        assert!(design.verilog.contains("two_reg_e_8 third("));
    }

    #[test]
    fn a_comment_names_the_module() {
        let design = emit("top_fifo", crate::blocks::meta_fifo::MetaFifo::<2>::default());
        let fifos: Vec<&str> =
            design.verilog.lines().filter(|l| l.starts_with("module top_fifo_fifo")).collect();
        assert_eq!(fifos.len(), 2, "{fifos:?}");
        assert!(fifos[1].starts_with("module top_fifo_fifo_v2("));
    }

    #[test]
    fn ports_are_those_of_the_top() {
        let names: Vec<String> =
            ports(&Fifo::<Bits<9>, 2>::default()).into_iter().map(|p| p.name).collect();
        assert_eq!(
            names,
            ["cr_clk", "cr_rst", "s_data", "s_valid", "s_ready", "m_data", "m_valid", "m_ready"]
                .into_iter()
                .chain(["almost", "half"])
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn system_functions_and_numbers_stay() {
        let names = HashMap::from([("top$x".to_string(), "t_x".to_string())]);
        assert_eq!(
            rename_signals("(a$b); top$x y(.a$b(a$b)); assign q = 8'hff + $signed(z);", &names),
            "(a_b); t_x y(.a_b(a_b)); assign q = 8'hff + $signed(z);"
        );
    }

    #[test]
    #[should_panic(expected = "ambiguous")]
    fn refuses_a_collision() {
        rename_signals("(a$b, a_b);", &HashMap::new());
    }
}
