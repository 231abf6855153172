//! The figures as bars: one group per figure, one bar per block and family, as SVG.
//!
//!   reports ──► LUTs, registers, block RAM, levels ──► bars, the longest across the page
//!
//! Invariants: every report has a bar in every group (`every_report_has_its_bars`); names are
//! escaped (`names_are_escaped`).
//! Not here: files.

use std::fmt::Write as _;

use super::BlockReport;

const WIDTH: u64 = 960;
const LABEL: u64 = 190;
const BAR: u64 = 14;
const GAP: u64 = 4;
const TITLE: u64 = 40;
/// Room behind the longest bar for its number.
const NUMBER: u64 = 80;

/// A colour for each family.
const COLOURS: [(&str, &str); 3] = [("ecp5", "#4477aa"), ("xc7", "#ddaa33"), ("xcup", "#bb5566")];

type Figure = (&'static str, fn(&BlockReport) -> u64);

const FIGURES: [Figure; 4] = [
    ("LUTs", |r| r.luts),
    ("Registers", |r| r.registers),
    ("Block RAM", |r| r.ram_blocks),
    ("Logic levels of the longest path", |r| r.longest.levels as u64),
];

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The chart of all reports.
pub fn chart(reports: &[BlockReport]) -> String {
    let group = TITLE + reports.len() as u64 * (BAR + GAP) + GAP;
    let height = FIGURES.len() as u64 * group + TITLE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for (at, (title, figure)) in FIGURES.iter().enumerate() {
        let top = at as u64 * group;
        let _ = writeln!(
            svg,
            "<text x=\"8\" y=\"{}\" font-size=\"15\" font-weight=\"bold\">{title}</text>",
            top + TITLE - 14
        );
        bars(&mut svg, reports, *figure, top + TITLE);
    }
    legend(&mut svg, height - TITLE / 2);
    svg + "</svg>\n"
}

fn bars(svg: &mut String, reports: &[BlockReport], figure: fn(&BlockReport) -> u64, top: u64) {
    let most = reports.iter().map(figure).max().unwrap_or(0).max(1);
    for (row, report) in reports.iter().enumerate() {
        let (y, value) = (top + row as u64 * (BAR + GAP), figure(report));
        let length = value * (WIDTH - LABEL - NUMBER) / most;
        let colour = COLOURS.iter().find(|(name, _)| *name == report.target);
        let (name, base) = (escape(&report.block), y + BAR - 3);
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{base}\" text-anchor=\"end\">{name} {}</text>\
             <rect x=\"{LABEL}\" y=\"{y}\" width=\"{length}\" height=\"{BAR}\" fill=\"{}\"/>\
             <text x=\"{}\" y=\"{base}\">{value}</text>",
            LABEL - 8,
            report.target,
            colour.map_or("#777777", |(_, colour)| colour),
            LABEL + length + 6,
        );
    }
}

fn legend(svg: &mut String, y: u64) {
    for (at, (name, colour)) in COLOURS.iter().enumerate() {
        let x = LABEL + at as u64 * 90;
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{}\" width=\"{BAR}\" height=\"{BAR}\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"{}\">{name}</text>",
            y - BAR / 2,
            x + BAR + 6,
            y + BAR / 2 - 3
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::Levels;

    fn report(block: &str, target: &'static str, luts: u64) -> BlockReport {
        BlockReport {
            block: block.into(),
            target,
            luts,
            carries: 0,
            muxes: 0,
            registers: luts / 2,
            ram_blocks: 0,
            lut_rams: 0,
            longest: Levels { levels: 3, path: Vec::new() },
            memories: Vec::new(),
            cells: Default::default(),
            seconds: 0.0,
        }
    }

    #[test]
    fn every_report_has_its_bars() {
        let reports = [report("parse", "ecp5", 1000), report("parse", "xcup", 500)];
        let svg = chart(&reports);
        // A bar for each figure, the page and the legend.
        assert_eq!(svg.matches("<rect").count(), 2 * FIGURES.len() + 1 + COLOURS.len());
        assert!(svg.contains(&format!("width=\"{}\" height=\"14\"", WIDTH - LABEL - NUMBER)));
        assert!(svg.contains(">parse xcup</text>") && svg.ends_with("</svg>\n"));
        assert!(chart(&[]).contains("Logic levels"));
    }

    #[test]
    fn names_are_escaped() {
        assert!(chart(&[report("a<b&c", "xc7", 1)]).contains("a&lt;b&amp;c xc7"));
    }
}
