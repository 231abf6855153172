//! Markdown tables of the spec, padded so that they read well in a terminal too.

use std::fmt::Write;

use groove_spec::stages::coalesce::GSO_NAMES;
use groove_spec::stages::{all_registers, device};
use groove_spec::{Access, Layout, Register, STAGES, inline, nic};

use super::{NAMES, Names};
use crate::exit;

/// Sections that are not an enumeration or a layout by name.
pub const SECTIONS: [&str; 7] = [
    "stages",
    "registers",
    "queue-registers",
    "inline-registers",
    "names",
    "gso_type",
    "exit-codes",
];

/// The generated text of a section, without its fence; `None` if there is no such section.
pub fn section(name: &str) -> Option<String> {
    if let Some(layout) = layouts().find(|layout| layout.name == name) {
        return Some(layout_table(&layout));
    }
    if let Some(names) = NAMES.iter().find(|names| names.table == name) {
        return Some(names_table(names));
    }
    match name {
        "stages" => Some(stages()),
        "registers" => Some(registers()),
        "queue-registers" => Some(queue_registers()),
        "inline-registers" => Some(plain_registers(inline::REGISTERS)),
        "names" => Some(NAMES.iter().map(titled).collect::<Vec<_>>().join("\n")),
        "gso_type" => Some(gso_type()),
        "exit-codes" => Some(exit_codes()),
        _ => None,
    }
}

/// Everything, for `groove spec show`.
pub fn show() -> String {
    let mut text = format!("# Table 0x{:08x}\n", groove_spec::SPEC_ID);
    let mut add = |title: &str, body: String| {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n## {title}\n\n{body}");
    };
    add("Stages", stages());
    add("Registers", registers());
    add("Registers of each queue", queue_registers());
    add("Registers of the inline form", plain_registers(inline::REGISTERS));
    for layout in layouts() {
        add(layout.name, layout_table(&layout));
    }
    add("gso_type", gso_type());
    for names in NAMES {
        add(names.table, names_table(names));
    }
    add("Exit codes", exit_codes());
    text
}

fn layouts() -> impl Iterator<Item = Layout> {
    STAGES
        .iter()
        .flat_map(|stage| stage.layouts)
        .chain(nic::LAYOUTS)
        .chain(inline::LAYOUTS)
        .copied()
}

fn stages() -> String {
    let rows = STAGES.iter().map(|stage| {
        let registers: Vec<&str> = stage.registers.iter().map(|r| r.name).collect();
        vec![stage.name.into(), stage.doc.into(), registers.join(", ")]
    });
    table(&["Stage", "Job", "Registers"], rows)
}

fn registers() -> String {
    let device = [("device", device::REGISTERS)];
    let groups = device.into_iter().chain(STAGES.iter().map(|s| (s.name, s.registers)));
    let rows = groups.flat_map(|(stage, registers)| {
        registers.iter().map(move |register| {
            vec![
                span(register),
                code(register.name),
                stage.into(),
                access(register).into(),
                format!("0x{:08x}", register.reset),
                register.doc.trim().into(),
            ]
        })
    });
    let text = table(&["Offset", "Register", "Stage", "Access", "Reset", "Meaning"], rows);
    text + "\n" + &fields(all_registers())
}

fn plain_registers(registers: &[Register]) -> String {
    let rows = registers.iter().map(|register| {
        vec![
            span(register),
            code(register.name),
            access(register).into(),
            format!("0x{:08x}", register.reset),
            register.doc.trim().into(),
        ]
    });
    let text = table(&["Offset", "Register", "Access", "Reset", "Meaning"], rows);
    text + "\n" + &fields(registers.iter())
}

fn queue_registers() -> String {
    let (base, stride) = (nic::QUEUES_BASE, nic::QUEUE_STRIDE);
    let text = plain_registers(nic::REGISTERS);
    format!("Queue q has these at 0x{base:x} + 0x{stride:x} * q.\n\n{text}")
}

fn fields<'a>(registers: impl Iterator<Item = &'a Register>) -> String {
    let rows = registers.flat_map(|register| {
        register.fields.iter().map(|field| {
            let name = format!("{}.{}", register.name, field.name);
            vec![code(&name), bits(field.lsb, field.width), field.doc.into()]
        })
    });
    table(&["Field", "Bits", "Meaning"], rows)
}

fn span(register: &Register) -> String {
    match register.count {
        1 => format!("0x{:03x}", register.offset),
        _ => format!("0x{:03x} to 0x{:03x}", register.offset, register.end() - 4),
    }
}

fn access(register: &Register) -> &'static str {
    match register.access {
        Access::ReadWrite => "read-write",
        Access::ReadOnly => "read-only",
    }
}

fn layout_table(layout: &Layout) -> String {
    let rows = layout
        .fields
        .iter()
        .map(|field| vec![code(field.name), bits(field.lsb, field.width), field.doc.into()]);
    let table = table(&["Field", "Bits", "Meaning"], rows);
    format!("{} bits, first field lowest.\n\n{table}", layout.bits())
}

fn names_table(names: &Names) -> String {
    let rows = names
        .names
        .iter()
        .zip(names.docs)
        .enumerate()
        .map(|(i, (name, doc))| vec![i.to_string(), code(name), (*doc).into()]);
    table(&["Code", "Name", "Meaning"], rows)
}

fn titled(names: &Names) -> String {
    format!("### {}\n\n{}", names.table, names_table(names))
}

fn gso_type() -> String {
    let rows = GSO_NAMES
        .iter()
        .enumerate()
        .map(|(i, name)| vec![i.to_string(), format!("`SKB_GSO_{name}`")]);
    table(&["Bit", "Kernel name"], rows)
}

fn exit_codes() -> String {
    let rows = exit::TABLE.iter().map(|(number, text)| vec![number.to_string(), (*text).into()]);
    table(&["Code", "Meaning"], rows)
}

fn code(name: &str) -> String {
    format!("`{name}`")
}

fn bits(lsb: usize, width: usize) -> String {
    match width {
        1 => lsb.to_string(),
        _ => format!("{}:{lsb}", lsb + width - 1),
    }
}

/// A padded Markdown table.
fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let rows: Vec<Vec<String>> = rows.collect();
    let width = |column: usize| {
        let cells = rows.iter().chain([&head]).map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| format!(" {cell:width$} |"));
        format!("|{}\n", cells.collect::<String>())
    };
    let rule = widths.iter().map(|width| format!("-{}-|", "-".repeat(*width)));
    let mut text = line(&head) + "|" + &rule.collect::<String>() + "\n";
    for row in &rows {
        text += &line(row);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_exists() {
        for name in SECTIONS {
            assert!(section(name).is_some(), "{name}");
        }
        assert_eq!(section("nothing"), None);
    }

    #[test]
    fn every_register_and_field_is_shown() {
        let text = show();
        for register in all_registers().chain(nic::REGISTERS).chain(inline::REGISTERS) {
            assert!(text.contains(&format!("`{}`", register.name)), "{}", register.name);
            for field in register.fields {
                let name = format!("`{}.{}`", register.name, field.name);
                assert!(text.contains(&name), "{name}");
            }
        }
    }
}
