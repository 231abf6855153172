//! The report as a table for people: one row per count, one column in total and per queue.

use std::fmt::Write;

use groove_spec::{AloneReason, DropReason, EndReason};

use super::{Counters, Report};

/// Queue columns side by side.
const QUEUES_PER_BLOCK: usize = 8;
/// Width of the names.
const NAME: usize = 24;
/// Width of a column.
const COLUMN: usize = 9;

/// The whole table.
pub fn table(report: &Report) -> String {
    let mut text = head(report);
    let queues: Vec<(u8, &Counters)> = report.queues.iter().map(|(q, c)| (*q, c)).collect();
    // A single queue is the total.
    let queues = if queues.len() > 1 { &queues[..] } else { &[] };
    let (first, rest) = queues.split_at(queues.len().min(QUEUES_PER_BLOCK));
    block(&mut text, report, Some(&report.total), first);
    for queues in rest.chunks(QUEUES_PER_BLOCK) {
        block(&mut text, report, None, queues);
    }
    text
}

fn head(report: &Report) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:9} {value}");
    };
    let count = |n: u64, name: &str| format!("{n} {name}{}", if n == 1 { "" } else { "s" });
    line("capture", format!("{}: {}", report.capture, count(report.records, "record")));
    if report.skipped.cut > 0 {
        let rule = if report.cut_rule == "skip" { "skipped" } else { "run as it is" };
        line("", format!("{} cut by the snap length, {rule}", count(report.skipped.cut, "frame")));
    }
    if report.skipped.empty > 0 {
        line("", format!("{} without a byte, skipped", count(report.skipped.empty, "record")));
    }
    let verdict = if report.frames > 0 { format!(": {}", report.result) } else { String::new() };
    line("engine", format!("{}{verdict}", report.engine));
    let options = if report.options.is_empty() { "none".into() } else { report.options.join(" ") };
    line("profile", format!("{}, options {options}", report.profile));
    line("flush", format!("{}, {}", report.pace, count(report.queue_count.into(), "queue")));
    for difference in report.mismatch.iter().flatten() {
        line("differs", difference.clone());
    }
    text
}

type Row<'a> = (String, Box<dyn Fn(&Counters) -> u64 + 'a>);

/// Rows that are the same for the total and for queues.
fn rows(report: &Report) -> Vec<Row<'_>> {
    let mut rows: Vec<Row> = vec![
        ("rx-packets".into(), Box::new(|c| c.rx_packets)),
        ("rx-bytes".into(), Box::new(|c| c.rx_bytes)),
        ("rx-hw-gro-packets".into(), Box::new(|c| c.gro_packets)),
        ("rx-hw-gro-bytes".into(), Box::new(|c| c.gro_bytes)),
        ("rx-hw-gro-wire-packets".into(), Box::new(|c| c.gro_wire_packets)),
        ("rx-hw-gro-wire-bytes".into(), Box::new(|c| c.gro_wire_bytes)),
    ];
    for reason in &EndReason::ALL[1..] {
        let code = usize::from(reason.code());
        if report.total.end[code] > 0 {
            rows.push((format!("flush {}", reason.name()), Box::new(move |c| c.end[code])));
        }
    }
    for reason in &AloneReason::ALL[1..] {
        let code = usize::from(reason.code());
        if report.total.alone[code] > 0 {
            rows.push((format!("alone {}", reason.name()), Box::new(move |c| c.alone[code])));
        }
    }
    rows
}

fn block(text: &mut String, report: &Report, total: Option<&Counters>, queues: &[(u8, &Counters)]) {
    let columns: Vec<&Counters> = total.into_iter().chain(queues.iter().map(|(_, c)| *c)).collect();
    let mut line = |name: &str, cells: &mut dyn Iterator<Item = String>| {
        let cells: String = cells.map(|cell| format!(" {cell:>COLUMN$}")).collect();
        let _ = writeln!(text, "{}", format!("{name:NAME$}{cells}").trim_end());
    };
    line("", &mut std::iter::empty());
    let names = queues.iter().map(|(queue, _)| format!("q{queue}"));
    line("", &mut total.map(|_| "total".to_owned()).into_iter().chain(names));
    // Frames that were dropped belong to no queue: they are in the total alone.
    let dropped: u64 = report.drops.iter().sum();
    let frames = |c: &&Counters| c.frames;
    let mut counts: Vec<u64> = columns.iter().map(frames).collect();
    if total.is_some() {
        counts[0] += dropped;
    }
    line("frames", &mut counts.iter().map(u64::to_string));
    line("deliveries", &mut columns.iter().map(|c| c.deliveries.to_string()));
    let ratio = |c: &&Counters| c.ratio().map_or_else(|| "-".into(), |r| format!("{r:.2}"));
    line("coalesce ratio", &mut columns.iter().map(ratio));
    line("bytes", &mut columns.iter().map(|c| c.bytes.to_string()));
    for reason in DropReason::ALL {
        let count = report.drops[usize::from(reason.code())];
        if total.is_some() && count > 0 {
            line(&format!("drop {}", reason.name()), &mut std::iter::once(count.to_string()));
        }
    }
    for (name, value) in rows(report) {
        line(&name, &mut columns.iter().map(|c| value(c).to_string()));
    }
}
