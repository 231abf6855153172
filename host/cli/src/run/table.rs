//! The report as a table for people: what ran, then one row per count, one column in total and per
//! queue.

use std::fmt::Write;

use groove_spec::DropReason;

use super::{QueueReport, Report};

/// Queue columns side by side.
const QUEUES_PER_BLOCK: usize = 8;
/// Width of the names.
const NAME: usize = 24;
/// Width of a column.
const COLUMN: usize = 9;

/// The whole table.
pub fn table(report: &Report) -> String {
    let mut text = head(report);
    let queues: Vec<_> = report.queues.iter().map(|(q, r)| (format!("q{q}"), r)).collect();
    // A single queue is the total.
    let queues = if queues.len() > 1 { queues } else { Vec::new() };
    let (first, rest) = queues.split_at(queues.len().min(QUEUES_PER_BLOCK));
    let mut columns = vec![("total".to_owned(), &report.total)];
    columns.extend(first.iter().cloned());
    block(&mut text, report, &columns, true);
    rest.chunks(QUEUES_PER_BLOCK).for_each(|queues| block(&mut text, report, queues, false));
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
    if report.interrupted {
        line("", format!("interrupted behind frame {}", report.frames));
    }
    let skipped = report.skipped.cut + report.skipped.empty;
    if skipped > 0 {
        line("", format!("{} cut by the snap length or without a byte", count(skipped, "record")));
    }
    let verdict = match report.result {
        "equal" => ": every delivery of the driver is the model's",
        "different" => ": the driver's deliveries are not the model's",
        _ => "",
    };
    line("device", format!("{}{verdict}", report.device));
    let options = if report.options.is_empty() { "none".into() } else { report.options.join(" ") };
    line("profile", format!("{}, options {options}", report.profile));
    line("flush", format!("{}, {}", report.pace, count(report.queue_count.into(), "queue")));
    let split = if report.split { "headers apart" } else { "headers in the buffer" };
    let (pool, bytes) = (report.pool, report.buffer_bytes);
    let home = if report.result == "equal" { ", all home at the end" } else { "" };
    line("buffers", format!("{pool} of {bytes} bytes for each queue, {split}{home}"));
    let threads = count(report.threads.len() as u64, "receiving thread");
    line("threads", format!("{threads}, release {}", report.release));
    let times = &report.times;
    line(
        "time",
        format!(
            "{:.3} s: {:.0} frames/s, {:.0} deliveries/s, {:.1} Mb/s",
            times.seconds,
            times.frames_per_second,
            times.deliveries_per_second,
            times.bits_per_second / 1e6
        ),
    );
    if let Some(cycles) = times.cycles {
        line(
            "",
            format!("{cycles} clock cycles, {:.0}/s", cycles as f64 / times.seconds.max(1e-9)),
        );
    }
    for difference in report.mismatch.iter().flatten() {
        line("differs", difference.clone());
    }
    text
}

type Cell = fn(&QueueReport) -> u64;

const ROWS: [(&str, Cell); 10] = [
    ("bytes", |q| q.gro.bytes),
    ("rx-hw-gro-packets", |q| q.gro.gro_packets),
    ("rx-hw-gro-wire-packets", |q| q.gro.gro_wire_packets),
    ("buffers posted", |q| q.posted),
    ("buffers delivered", |q| q.delivered),
    ("  released at home", |q| q.home),
    ("  released away", |q| q.away),
    ("  away, slot full", |q| q.overflow),
    ("kicks of the owner", |q| q.kicks),
    ("buffers given back", |q| q.returned),
];

fn block(text: &mut String, report: &Report, columns: &[(String, &QueueReport)], total: bool) {
    let mut line = |name: &str, cells: &[String]| {
        let cells: String = cells.iter().map(|cell| format!(" {cell:>COLUMN$}")).collect();
        let _ = writeln!(text, "{}", format!("{name:NAME$}{cells}").trim_end());
    };
    let each = |cell: &dyn Fn(&QueueReport) -> String| -> Vec<String> {
        columns.iter().map(|(_, queue)| cell(queue)).collect()
    };
    line("", &[]);
    line("", &columns.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>());
    // Frames that were dropped are in the total alone.
    let dropped: u64 = report.drops.iter().sum();
    let mut frames: Vec<u64> = columns.iter().map(|(_, queue)| queue.gro.frames).collect();
    if total {
        frames[0] += dropped;
    }
    line("frames", &frames.iter().map(u64::to_string).collect::<Vec<_>>());
    line("deliveries", &each(&|q| q.gro.deliveries.to_string()));
    let ratio = |r: Option<f64>| r.map_or_else(|| "-".into(), |r| format!("{r:.2}"));
    line("coalesce ratio", &each(&|q| ratio(q.gro.ratio())));
    for reason in DropReason::ALL {
        let count = report.drops[usize::from(reason.code())];
        if total && count > 0 {
            line(&format!("drop {}", reason.name()), &[count.to_string()]);
        }
    }
    for (name, cell) in ROWS {
        line(name, &each(&|q| cell(q).to_string()));
    }
}
