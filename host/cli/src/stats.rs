//! The device's own counters, by the names of the one table: every register that it alone writes.
//!
//!   table: read-only rows ──► one read each ──► counters of the device, counters of each queue
//!                                    └── SPEC_ID before and after: the same device all the time
//!
//! Invariants: no counter of the table is left out (`every_read_only_row_is_read`); a device of
//! another table is refused, and one that goes away meanwhile (`strangers_are_refused`,
//! `a_device_that_goes_meanwhile_is_told`).
//! Not here: what the driver counts (`groove run`), printing.

use std::fmt::Write as _;

use groove_driver::{Error, Identity, IdentityError, identify_by};
use groove_spec::nic::{self, queue_offset};
use groove_spec::{Access, Register, STAGES};
use serde::{Serialize, Serializer};

/// Queue columns side by side.
const QUEUES_PER_BLOCK: usize = 8;

/// Values by name, in the table's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values(pub Vec<(String, u32)>);

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl Values {
    /// A counter of that name.
    pub fn value(&self, name: &str) -> Option<u32> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, value)| *value)
    }
}

/// All counters. Serialised as it stands by `--json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Which device.
    pub device: String,
    /// The table that it was built from.
    pub spec_id: String,
    /// Bits of a beat.
    pub width: usize,
    /// Counters of the whole device; each wraps at 32 bits.
    pub counters: Values,
    /// What each queue says.
    pub queues: Vec<Values>,
}

/// Reads them all, by registers' byte offsets.
pub fn read(
    device: &str,
    read32: impl Fn(u64) -> Result<u32, Error>,
) -> Result<Stats, IdentityError> {
    let Identity { queues, width_bytes, .. } = identify_by(&read32)?;
    let counters = STAGES.iter().flat_map(|stage| stage.registers);
    let stats = Stats {
        device: device.into(),
        spec_id: format!("{:#010x}", groove_spec::SPEC_ID),
        width: 8 * width_bytes,
        counters: values(counters, |register| register.offset, &read32)?,
        queues: (0..queues)
            .map(|q| values(nic::REGISTERS.iter(), |r| queue_offset(q, r), &read32))
            .collect::<Result<_, _>>()?,
    };
    // What was read from nobody is no count.
    identify_by(&read32)?;
    Ok(stats)
}

/// What only the device writes: a row with several fields gives one value for each.
fn values<'a>(
    registers: impl Iterator<Item = &'a Register>,
    offset: impl Fn(&Register) -> usize,
    read32: &impl Fn(u64) -> Result<u32, Error>,
) -> Result<Values, Error> {
    let mut values = Vec::new();
    for register in registers.filter(|register| register.access == Access::ReadOnly) {
        let word = read32(offset(register) as u64)?;
        for field in register.fields {
            let name = match register.fields {
                [_] => register.name.to_owned(),
                _ => format!("{}.{}", register.name, field.name),
            };
            values.push((name, (word & field.mask()) >> field.lsb));
        }
    }
    Ok(Values(values))
}

/// For people: the counters of the whole device.
pub fn device_table(stats: &Stats) -> String {
    let Stats { device, spec_id, width, counters, queues } = stats;
    let queues = queues.len();
    let mut text =
        format!("device {device}: table {spec_id}, {queues} queues, {width} bits a beat\n\n");
    rows(&mut text, &[("device".into(), counters)]);
    text
}

/// For people: those, then a column for each queue that has done anything.
pub fn table(stats: &Stats) -> String {
    let mut text = device_table(stats);
    let busy = |values: &Values| values.0.iter().any(|(_, value)| *value != 0);
    let columns: Vec<_> = stats.queues.iter().enumerate().filter(|(_, q)| busy(q)).collect();
    for columns in columns.chunks(QUEUES_PER_BLOCK) {
        text.push('\n');
        let columns: Vec<_> =
            columns.iter().map(|(q, values)| (format!("q{q}"), *values)).collect();
        rows(&mut text, &columns);
    }
    if columns.is_empty() {
        text += "\nno queue has run since the device was reset\n";
    }
    text
}

fn rows(text: &mut String, columns: &[(String, &Values)]) {
    let head: String = columns.iter().map(|(name, _)| format!(" {name:>10}")).collect();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{:24}{head}", "");
    let Some((_, first)) = columns.first() else { return };
    for (row, (name, _)) in first.0.iter().enumerate() {
        let cells: String = columns.iter().map(|(_, v)| format!(" {:>10}", v.0[row].1)).collect();
        let _ = writeln!(text, "{name:24}{cells}");
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use groove_device::{ModelDevice, Parameters};
    use groove_driver::Device;
    use groove_driver::identify::REGISTERS;

    fn device() -> ModelDevice {
        ModelDevice::new(Parameters { queues: 3, ..Parameters::default() })
    }

    #[test]
    fn every_read_only_row_is_read() {
        let device = device();
        device.inject(&[0; 60], false).unwrap();
        device.inject(&[0; 9300], false).unwrap();
        let stats = read("it", |offset| device.read32(REGISTERS, offset)).unwrap();
        let rows = STAGES.iter().flat_map(|stage| stage.registers);
        for row in rows.filter(|row| row.access == Access::ReadOnly) {
            assert!(stats.counters.value(row.name).is_some(), "{}", row.name);
        }
        assert_eq!(stats.counters.value("FRAMES"), Some(2));
        assert_eq!(stats.counters.value("DROP_OVERSIZE"), Some(1));
        assert_eq!(stats.counters.value("MAX_FRAME"), None, "the driver writes it");
        assert_eq!((stats.queues.len(), stats.width), (3, 512));
        let names: Vec<_> = stats.queues[0].0.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "QUEUE_STATUS.running",
            "QUEUE_STATUS.fault",
            "FREE_CONSUMER",
            "COMPLETION_PRODUCER",
            "QUEUE_NO_BUFFER",
            "QUEUE_DMA_ERRORS",
        ];
        assert_eq!(names, expected);
        assert!(table(&stats).contains("QUEUE_NO_BUFFER"), "the frame found nobody");
        device.reset().unwrap();
        let fresh = read("it", |offset| device.read32(REGISTERS, offset)).unwrap();
        assert!(table(&fresh).contains("no queue has run"), "{}", table(&fresh));
    }

    #[test]
    fn strangers_are_refused() {
        let of = |id| read("it", move |_| Ok(id)).unwrap_err();
        assert!(matches!(of(u32::MAX), IdentityError::Gone));
        assert!(matches!(of(1), IdentityError::OtherTable { device: 1, .. }));
    }

    #[test]
    fn a_device_that_goes_meanwhile_is_told() {
        let (device, left) = (device(), Cell::new(10));
        let result = read("it", |offset| {
            left.set(left.get() - 1);
            if left.get() < 0 { Ok(u32::MAX) } else { device.read32(REGISTERS, offset) }
        });
        assert!(matches!(result, Err(IdentityError::Gone)));
    }
}
