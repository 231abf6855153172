//! Measures the driver: `groove bench driver` and `cargo bench -p groove-bench` print what this
//! gives.
//!
//!   deliveries: software ring ──► poll ──► drop
//!   returns: allocate ──► (other thread) ──► give back
//!
//! What is compared is measured in one run, in turn, and given as ratios of that run; of several
//! runs the median counts. Nothing is printed here, and nothing is a pass or a fail.
//! Invariant: a measurement loses no buffer (`the_ring_delivers_what_it_was_given`,
//! `every_scheme_brings_all_buffers_back`).
//! Not here: the cost of a device; the cost of a bus.

pub mod deliveries;
pub mod returns;
pub mod ring;

/// A measured value: the median of several runs, and their range.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figure {
    /// Median.
    pub median: f64,
    /// Least.
    pub min: f64,
    /// Most.
    pub max: f64,
}

impl Figure {
    /// Of the values of several runs; all 0 without any.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let at = |i: usize| values.get(i).copied().unwrap_or_default();
        let last = values.len().saturating_sub(1);
        Self { median: at(last / 2), min: at(0), max: at(last) }
    }
}

/// A figure and what it is of.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What was measured.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// The figure.
    pub figure: Figure,
}

impl Row {
    fn new(name: impl Into<String>, unit: &'static str, values: Vec<f64>) -> Self {
        Self { name: name.into(), unit, figure: Figure::of(values) }
    }
}

/// Why nothing was measured.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_a_measured_value() {
        let figure = Figure::of(vec![3.0, 1.0, 2.0, 9.0]);
        assert_eq!(figure, Figure { median: 2.0, min: 1.0, max: 9.0 });
        assert_eq!(Figure::of(vec![]), Figure::default());
    }
}
