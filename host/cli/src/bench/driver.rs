//! What the driver costs on this machine, without a device: `groove_bench` measures, this tells.
//!
//! Not here: how it is measured, and that no buffer is lost meanwhile.

use std::fmt;

use groove_bench::{Error, Row, deliveries, returns};
use serde::Serialize;

/// A measured value.
#[derive(Clone, Debug, Serialize)]
pub struct DriverPoint {
    /// What was measured.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// Median of the runs.
    pub median: f64,
    /// Least.
    pub min: f64,
    /// Most.
    pub max: f64,
}

/// Values that belong together.
#[derive(Clone, Debug, Serialize)]
pub struct DriverTable {
    /// What they are of.
    pub title: &'static str,
    /// The values.
    pub points: Vec<DriverPoint>,
}

/// Everything that `groove bench driver` measures.
#[derive(Clone, Debug, Serialize)]
pub struct DriverReport {
    /// Whether this program was built with all optimisation: figures of another one mean little.
    pub optimised: bool,
    /// The tables.
    pub tables: Vec<DriverTable>,
}

/// Measures the driver.
pub fn driver(progress: &mut dyn FnMut(&str)) -> Result<DriverReport, Error> {
    type Measure = fn() -> Result<Vec<Row>, Error>;
    let measures: [(&'static str, Measure); 3] = [
        ("deliveries", deliveries),
        ("way home", || returns::returns(9, 500_000)),
        ("order of the free list", || deliveries::free_order(2_001, 500)),
    ];
    let mut tables = Vec::new();
    for (title, measure) in measures {
        progress(title);
        tables.push(DriverTable { title, points: measure()?.into_iter().map(point).collect() });
    }
    Ok(DriverReport { optimised: !cfg!(debug_assertions), tables })
}

fn deliveries() -> Result<Vec<Row>, Error> {
    Ok(vec![deliveries::dropped(15, 1_000_000)?, deliveries::header_copied(15, 1_000_000)?])
}

fn point(row: Row) -> DriverPoint {
    let Row { name, unit, figure } = row;
    DriverPoint { name, unit, median: figure.median, min: figure.min, max: figure.max }
}

impl fmt::Display for DriverReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.optimised {
            writeln!(f, "built for tests: `cargo run --release` gives the figures that count\n")?;
        }
        for table in &self.tables {
            writeln!(f, "{}", table.title)?;
            for DriverPoint { name, unit, median, min, max } in &table.points {
                writeln!(f, "  {name:70} {median:8.2} {unit:3} ({min:.2} to {max:.2})")?;
            }
        }
        Ok(())
    }
}
