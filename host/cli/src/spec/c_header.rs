//! The table as a C header: offsets, masks, codes and bit positions, for software that is not ours.
//!
//! Invariants: it compiles without warnings as C11 and C++17 (`the_c_header_compiles`); every
//! register, field and code is in it (`the_c_header_is_complete`).

use std::fmt::Write;

use groove_spec::stages::all_registers;
use groove_spec::stages::coalesce::GSO_NAMES;
use groove_spec::{Layout, Register, STAGES, inline, nic};

use super::{NAMES, Names};

const HEAD: &str = "\
/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Written by `groove emit` from the table in hdl/spec. Do not edit. */
#ifndef GROOVE_H
#define GROOVE_H

#include <stdint.h>
";

const EXTRACT: &str = "
/* Reads `width` (1 to 64) bits from bit `lsb` of a record held as little-endian 32-bit words. */
static inline uint64_t groove_field(const uint32_t *words, unsigned lsb, unsigned width)
{
	uint64_t value = 0;
	unsigned i;

	for (i = 0; i < width; i++)
		value |= (uint64_t)(words[(lsb + i) / 32] >> ((lsb + i) % 32) & 1) << i;
	return value;
}
";

/// The header of hardware of that bus width and queue count.
pub fn c_header(width: usize, queues: usize) -> String {
    let mut header = Header(HEAD.to_owned());
    header.title("What was built");
    header.define("SPEC_ID", format!("0x{:08x}u", groove_spec::SPEC_ID), "");
    header.define("WIDTH_BITS", width, "Bits of a beat.");
    header.define("QUEUES", queues, "Receive queues.");
    header.title("Limits");
    header.define("MAX_HEADER_BYTES", groove_spec::MAX_HEADER_BYTES, "Longest header.");
    header.define("MAX_FRAME_BYTES", groove_spec::MAX_FRAME_BYTES, "Longest frame.");
    header.define("MERGED_BYTES_MAX", groove_spec::MERGED_BYTES_MAX, "Behind the MAC header.");
    header.define("HEADER_SLOT_BYTES", nic::HEADER_SLOT_BYTES, "A header slot.");
    header.define("BUFFER_BYTES_MIN", nic::BUFFER_BYTES_MIN, "Smallest buffer.");
    header.define("BUFFER_BYTES_MAX", nic::BUFFER_BYTES_MAX, "Largest buffer.");
    header.define("TCP_CSUM_OFFSET", groove_spec::TCP_CSUM_OFFSET_BYTES, "csum_offset of partial.");
    header.title("Registers: byte offset, reset value, field shifts and masks");
    all_registers().for_each(|register| header.register(register));
    header.title("Registers of queue q: these offsets behind QUEUES_BASE + q * QUEUE_STRIDE");
    header.define("QUEUES_BASE", format!("0x{:x}u", nic::QUEUES_BASE), "");
    header.define("QUEUE_STRIDE", format!("0x{:x}u", nic::QUEUE_STRIDE), "");
    nic::REGISTERS.iter().for_each(|register| header.register(register));
    header.title("Registers of the inline form");
    inline::REGISTERS.iter().for_each(|register| header.register(register));
    let layouts = STAGES.iter().flat_map(|stage| stage.layouts).chain(nic::LAYOUTS);
    layouts.chain(inline::LAYOUTS).for_each(|layout| header.layout(layout));
    header.title("Bits of gso_type");
    for (bit, name) in GSO_NAMES.iter().enumerate() {
        header.define(&format!("GSO_{}", constant(name)), format!("(1u << {bit})"), "");
    }
    NAMES.iter().for_each(|names| header.names(names));
    header.0 + EXTRACT + "\n#endif /* GROOVE_H */\n"
}

struct Header(String);

impl Header {
    fn title(&mut self, title: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "\n/* {title} */");
    }

    fn define(&mut self, name: &str, value: impl std::fmt::Display, doc: &str) {
        let doc = if doc.is_empty() { String::new() } else { format!(" /* {} */", comment(doc)) };
        let _ = writeln!(self.0, "#define GROOVE_{name} {value}{doc}");
    }

    fn register(&mut self, register: &Register) {
        let name = register.name;
        self.define(&format!("REG_{name}"), format!("0x{:03x}u", register.offset), register.doc);
        if register.count > 1 {
            self.define(&format!("REG_{name}_COUNT"), register.count, "");
        }
        self.define(&format!("REG_{name}_RESET"), format!("0x{:08x}u", register.reset), "");
        for field in register.fields {
            let field_name = format!("{name}_{}", constant(field.name));
            self.define(&format!("{field_name}_SHIFT"), field.lsb, field.doc);
            self.define(&format!("{field_name}_MASK"), format!("0x{:08x}u", field.mask()), "");
        }
    }

    fn layout(&mut self, layout: &Layout) {
        self.title(&format!("Record {}: positions for groove_field()", layout.name));
        self.define(&format!("{}_BITS", layout.name), layout.bits(), "");
        for field in layout.fields {
            let name = format!("{}_{}", layout.name, constant(field.name));
            self.define(&format!("{name}_LSB"), field.lsb, field.doc);
            self.define(&format!("{name}_WIDTH"), field.width, "");
        }
    }

    fn names(&mut self, names: &Names) {
        self.title(&format!("Codes: {}", names.table));
        let prefix = snake(names.table);
        let _ = writeln!(self.0, "enum groove_{} {{", prefix.to_lowercase());
        for (code, (name, doc)) in names.names.iter().zip(names.docs).enumerate() {
            let name = format!("GROOVE_{prefix}_{}", constant(name));
            let _ = writeln!(self.0, "\t{name} = {code}, /* {} */", comment(doc));
        }
        self.0.push_str("};\n");
    }
}

/// A name as a C constant: `rx-csum` and `linux-6.12` to `RX_CSUM` and `LINUX_6_12`.
fn constant(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    name.chars().map(letter).collect()
}

/// `EndReason` to `END_REASON`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for (i, c) in name.chars().enumerate() {
        if i > 0 && c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_uppercase());
    }
    out
}

fn comment(doc: &str) -> String {
    doc.trim().replace("*/", "* /")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_header_is_complete() {
        let text = c_header(512, 32);
        for register in all_registers().chain(nic::REGISTERS).chain(inline::REGISTERS) {
            assert!(text.contains(&format!("#define GROOVE_REG_{} 0x", register.name)));
        }
        for names in NAMES {
            for name in names.names {
                let line = format!("\tGROOVE_{}_{} = ", snake(names.table), constant(name));
                assert!(text.contains(&line), "{line}");
            }
        }
    }

    #[test]
    fn no_name_is_defined_twice() {
        let text = c_header(64, 1);
        let mut names: Vec<&str> = text
            .lines()
            .filter_map(|line| {
                let define = line.strip_prefix("#define ").or(line.strip_prefix('\t'));
                define.and_then(|rest| rest.split_whitespace().next())
            })
            .filter(|name| name.starts_with("GROOVE_"))
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
