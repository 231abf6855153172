//! The table as JSON, for tools outside this workspace.

use groove_spec::stages::coalesce::GSO_NAMES;
use groove_spec::stages::device;
use groove_spec::{Access, Layout, Register, STAGES, inline, nic};
use serde_json::{Value, json};

use super::NAMES;
use crate::exit;

/// The whole table.
pub fn json() -> Value {
    let stages = STAGES.iter().map(|stage| {
        json!({
            "name": stage.name,
            "doc": stage.doc,
            "registers": registers(stage.registers),
            "layouts": stage.layouts.iter().map(layout).collect::<Vec<_>>(),
        })
    });
    let names = NAMES.iter().map(|names| {
        let rows = names.names.iter().zip(names.docs).enumerate();
        let rows = rows.map(|(code, (name, doc))| json!({"code": code, "name": name, "doc": doc}));
        json!({"name": names.table, "values": rows.collect::<Vec<_>>()})
    });
    let codes = exit::TABLE.iter().map(|(code, text)| json!({"code": code, "doc": text}));
    json!({
        "spec_id": groove_spec::SPEC_ID,
        "device_registers": registers(device::REGISTERS),
        "queues": {
            "base": nic::QUEUES_BASE,
            "stride": nic::QUEUE_STRIDE,
            "registers": registers(nic::REGISTERS),
            "layouts": nic::LAYOUTS.iter().map(layout).collect::<Vec<_>>(),
        },
        "inline": {
            "registers": registers(inline::REGISTERS),
            "layouts": inline::LAYOUTS.iter().map(layout).collect::<Vec<_>>(),
        },
        "stages": stages.collect::<Vec<_>>(),
        "names": names.collect::<Vec<_>>(),
        "gso_type_bits": GSO_NAMES,
        "exit_codes": codes.collect::<Vec<_>>(),
    })
}

fn registers(rows: &[Register]) -> Vec<Value> {
    let register = |register: &Register| {
        let fields = register.fields.iter().map(|field| {
            json!({"name": field.name, "lsb": field.lsb, "width": field.width, "doc": field.doc})
        });
        json!({
            "name": register.name,
            "offset": register.offset,
            "count": register.count,
            "access": match register.access {
                Access::ReadWrite => "read-write",
                Access::ReadOnly => "read-only",
            },
            "reset": register.reset,
            "doc": register.doc.trim(),
            "fields": fields.collect::<Vec<_>>(),
        })
    };
    rows.iter().map(register).collect()
}

fn layout(layout: &Layout) -> Value {
    let fields = layout.fields.iter().map(|field| {
        json!({"name": field.name, "lsb": field.lsb, "width": field.width, "doc": field.doc})
    });
    json!({"name": layout.name, "bits": layout.bits(), "fields": fields.collect::<Vec<_>>()})
}
