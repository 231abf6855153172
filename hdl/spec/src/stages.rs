//! Stages in pipeline order, each with its registers.

pub mod admit;
pub mod checksum;
pub mod classify;
pub mod coalesce;
pub mod device;
pub mod ingress;
pub mod parse;
pub mod rss;

use crate::layout::Layout;
use crate::register::Register;
pub use crate::register::check_registers;
use crate::{inline, nic};

/// Byte offset behind the last register window.
pub const REGISTERS_END: usize = 0x1000;

/// A stage of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Marks runts, oversize and bad FCS; takes tokens between frames.
    Ingress,
    /// Finds the headers and extracts their fields.
    Parse,
    /// Verifies IPv4, TCP and UDP checksums.
    Checksum,
    /// Packet type, protocol, VLAN strip.
    Classify,
    /// Hash and queue.
    Rss,
    /// Lets a whole frame in, or drops it.
    Admit,
    /// Sessions: merge, hold, flush.
    Coalesce,
}

/// One row of [`STAGES`].
#[derive(Clone, Copy, Debug)]
pub struct StageSpec {
    /// Which.
    pub stage: Stage,
    /// Basename in spec, model, hdl, vectors and docs.
    pub name: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// Registers.
    pub registers: &'static [Register],
    /// Records that the stage defines.
    pub layouts: &'static [Layout],
}

macro_rules! stage {
    ($variant:ident, $module:ident, $doc:literal) => {
        StageSpec {
            stage: Stage::$variant,
            name: stringify!($module),
            doc: $doc,
            registers: $module::REGISTERS,
            layouts: $module::LAYOUTS,
        }
    };
}

/// The pipeline, in order. The only list of stages.
pub const STAGES: &[StageSpec] = &[
    stage!(Ingress, ingress, "Marks runts, oversize and bad FCS; takes tokens between frames."),
    stage!(Parse, parse, "Finds the headers and extracts their fields."),
    stage!(Checksum, checksum, "Verifies IPv4, TCP and UDP checksums."),
    stage!(Classify, classify, "Packet type, protocol, VLAN strip."),
    stage!(Rss, rss, "Hash and queue."),
    stage!(Admit, admit, "Lets a whole frame in, or drops it and counts it."),
    stage!(Coalesce, coalesce, "Sessions: merge, hold, flush."),
];

/// Every register: the device's own, then each stage's.
pub fn all_registers() -> impl Iterator<Item = &'static Register> {
    device::REGISTERS.iter().chain(STAGES.iter().flat_map(|s| s.registers))
}

/// The register of that name.
pub fn register(name: &str) -> Option<&'static Register> {
    all_registers().find(|r| r.name == name)
}

const fn fnv(mut hash: u32, bytes: &[u8]) -> u32 {
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    hash
}

const fn fnv_number(hash: u32, value: usize) -> u32 {
    fnv(hash, &(value as u64).to_le_bytes())
}

const fn fnv_registers(mut hash: u32, rows: &[Register]) -> u32 {
    let mut i = 0;
    while i < rows.len() {
        let row = &rows[i];
        hash = fnv(hash, row.name.as_bytes());
        hash = fnv_number(hash, row.offset);
        hash = fnv_number(hash, row.count);
        hash = fnv_number(hash, row.access as usize);
        hash = fnv_number(hash, row.reset as usize);
        let mut f = 0;
        while f < row.fields.len() {
            hash = fnv(hash, row.fields[f].name.as_bytes());
            hash = fnv_number(hash, row.fields[f].lsb);
            hash = fnv_number(hash, row.fields[f].width);
            f += 1;
        }
        i += 1;
    }
    hash
}

const fn fnv_layouts(mut hash: u32, rows: &[Layout]) -> u32 {
    let mut i = 0;
    while i < rows.len() {
        hash = fnv(hash, rows[i].name.as_bytes());
        let mut f = 0;
        while f < rows[i].fields.len() {
            hash = fnv(hash, rows[i].fields[f].name.as_bytes());
            hash = fnv_number(hash, rows[i].fields[f].lsb);
            hash = fnv_number(hash, rows[i].fields[f].width);
            f += 1;
        }
        i += 1;
    }
    hash
}

const fn fnv_names(mut hash: u32, names: &[&str]) -> u32 {
    let mut i = 0;
    while i < names.len() {
        hash = fnv(hash, names[i].as_bytes());
        hash = fnv(hash, b",");
        i += 1;
    }
    hash
}

/// Names of every coded enumeration.
const CODED: &[&[&str]] = {
    use crate::names::*;
    &[
        Profile::NAMES,
        OptionBit::NAMES,
        OpKind::NAMES,
        TokenKind::NAMES,
        EndReason::NAMES,
        AloneReason::NAMES,
        DropReason::NAMES,
        HashType::NAMES,
        SymmetricMode::NAMES,
        PacketType::NAMES,
        Verdict::NAMES,
    ]
};

const fn table_id(device: &[Register], stages: &[StageSpec], coded: &[&[&str]]) -> u32 {
    let mut hash = fnv_registers(0x811c_9dc5, device);
    let mut i = 0;
    while i < stages.len() {
        hash = fnv(hash, stages[i].name.as_bytes());
        hash = fnv_registers(hash, stages[i].registers);
        hash = fnv_layouts(hash, stages[i].layouts);
        i += 1;
    }
    i = 0;
    while i < coded.len() {
        hash = fnv_names(hash, coded[i]);
        i += 1;
    }
    hash
}

/// Goes on from the stages' hash over what stands around them.
const fn nic_id(mut hash: u32, queue: &[Register], layouts: &[Layout]) -> u32 {
    hash = fnv_number(hash, nic::QUEUES_BASE);
    hash = fnv_number(hash, nic::QUEUE_STRIDE);
    fnv_layouts(fnv_registers(hash, queue), layouts)
}

/// The same over the rows of the inline form.
const fn inline_id(hash: u32, rows: &[Register], layouts: &[Layout]) -> u32 {
    fnv_layouts(fnv_registers(hash, rows), layouts)
}

/// FNV-1a over registers, layouts and coded names; descriptions do not count.
pub(crate) const fn spec_id() -> u32 {
    let stages = table_id(device::REGISTERS, STAGES, CODED);
    let nic = nic_id(stages, nic::REGISTERS, nic::LAYOUTS);
    inline_id(nic, inline::REGISTERS, inline::LAYOUTS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, Field, RegisterField};

    fn leak<T: Clone>(rows: &[T], change: impl FnOnce(&mut [T])) -> &'static [T] {
        let mut rows = rows.to_vec();
        change(&mut rows);
        Box::leak(rows.into_boxed_slice())
    }

    /// Every way to change one number or name of a register.
    fn bent(rows: &'static [Register]) -> Vec<&'static [Register]> {
        let mut all = vec![];
        for i in 0..rows.len() {
            all.push(leak(rows, |r| r[i].name = "OTHER"));
            all.push(leak(rows, |r| r[i].offset += 4));
            all.push(leak(rows, |r| r[i].count += 1));
            all.push(leak(rows, |r| r[i].reset ^= 1));
            all.push(leak(rows, |r| {
                let read_only = r[i].access == Access::ReadOnly;
                r[i].access = if read_only { Access::ReadWrite } else { Access::ReadOnly };
            }));
            let fields = rows[i].fields;
            for f in 0..fields.len() {
                let changes: [fn(&mut RegisterField); 3] =
                    [|f| f.name = "other", |f| f.lsb += 1, |f| f.width += 1];
                for change in changes {
                    let fields = leak(fields, |rows| change(&mut rows[f]));
                    all.push(leak(rows, |r| r[i].fields = fields));
                }
            }
        }
        all
    }

    /// Every way to change one number or name of a record.
    fn bent_fields(fields: &'static [Field]) -> Vec<&'static [Field]> {
        let changes: [fn(&mut Field); 3] = [|f| f.name = "other", |f| f.lsb += 1, |f| f.width += 1];
        let all = (0..fields.len()).flat_map(|f| changes.map(|change| (f, change)));
        all.map(|(f, change)| leak(fields, |rows| change(&mut rows[f]))).collect()
    }

    #[test]
    fn spec_id_covers_every_row() {
        let mut seen = std::collections::BTreeMap::from([(spec_id(), "the table".to_owned())]);
        let mut differs = |id, what: String| {
            if let Some(other) = seen.insert(id, what.clone()) {
                panic!("{what} and {other} have the same id");
            }
        };
        for rows in bent(device::REGISTERS) {
            differs(table_id(rows, STAGES, CODED), "a device register".into());
        }
        for (s, stage) in STAGES.iter().enumerate() {
            let with = |change: &dyn Fn(&mut StageSpec)| {
                table_id(device::REGISTERS, leak(STAGES, |rows| change(&mut rows[s])), CODED)
            };
            differs(with(&|row| row.name = "other"), format!("name of {}", stage.name));
            for rows in bent(stage.registers) {
                differs(with(&|row| row.registers = rows), format!("register of {}", stage.name));
            }
            for (l, layout) in stage.layouts.iter().enumerate() {
                for fields in bent_fields(layout.fields) {
                    let layouts = leak(stage.layouts, |rows| rows[l].fields = fields);
                    differs(with(&|row| row.layouts = layouts), layout.name.into());
                }
            }
        }
        let stages = table_id(device::REGISTERS, STAGES, CODED);
        for rows in bent(nic::REGISTERS) {
            differs(nic_id(stages, rows, nic::LAYOUTS), "a queue register".into());
        }
        for (l, layout) in nic::LAYOUTS.iter().enumerate() {
            for fields in bent_fields(layout.fields) {
                let layouts = leak(nic::LAYOUTS, |rows| rows[l].fields = fields);
                differs(nic_id(stages, nic::REGISTERS, layouts), layout.name.into());
            }
        }
        let nic = nic_id(stages, nic::REGISTERS, nic::LAYOUTS);
        for rows in bent(inline::REGISTERS) {
            differs(inline_id(nic, rows, inline::LAYOUTS), "an inline register".into());
        }
        for (l, layout) in inline::LAYOUTS.iter().enumerate() {
            for fields in bent_fields(layout.fields) {
                let layouts = leak(inline::LAYOUTS, |rows| rows[l].fields = fields);
                differs(inline_id(nic, inline::REGISTERS, layouts), layout.name.into());
            }
        }
        for (e, names) in CODED.iter().enumerate() {
            for n in 0..names.len() {
                let coded = leak(CODED, |all| all[e] = leak(names, |names| names[n] = "other"));
                differs(table_id(device::REGISTERS, STAGES, coded), format!("name {n} of {e}"));
            }
        }
    }

    const ROW: Register = Register {
        name: "ROW",
        offset: 0,
        count: 1,
        access: Access::ReadWrite,
        reset: 0,
        fields: &[
            RegisterField { name: "low", lsb: 0, width: 4, doc: "" },
            RegisterField { name: "high", lsb: 4, width: 28, doc: "" },
        ],
        doc: "",
    };
    const NEXT: Register = Register { name: "NEXT", offset: 4, ..ROW };

    #[test]
    fn layouts_do_not_overlap() {
        check_registers(0, 8, &[ROW, NEXT]);
        Layout { name: "record", fields: RECORD }.check();
    }

    #[test]
    fn refuses_what_does_overlap() {
        let refused: [(&str, &[Register]); 6] = [
            ("overlap", &[Register { count: 2, ..ROW }, NEXT]),
            ("disorder", &[NEXT, ROW]),
            ("misaligned", &[Register { offset: 2, ..ROW }]),
            ("window full", &[ROW, Register { count: 2, ..NEXT }]),
            ("field overlap", &[Register { fields: leak(ROW.fields, |f| f[1].lsb = 3), ..ROW }]),
            ("field outside", &[Register { fields: leak(ROW.fields, |f| f[1].width = 29), ..ROW }]),
        ];
        for (what, rows) in refused {
            assert!(std::panic::catch_unwind(|| check_registers(0, 8, rows)).is_err(), "{what}");
        }
        for (what, lsb) in [("overlap", 2), ("gap", 4)] {
            let fields = leak(RECORD, |f| f[1].lsb = lsb);
            let layout = Layout { name: "record", fields };
            assert!(std::panic::catch_unwind(|| layout.check()).is_err(), "{what}");
        }
    }

    const RECORD: &[Field] = &[
        Field { name: "first", lsb: 0, width: 3, doc: "" },
        Field { name: "second", lsb: 3, width: 64, doc: "" },
    ];
}
