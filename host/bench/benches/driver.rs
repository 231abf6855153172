//! Prints what the driver costs: `cargo bench -p groove-bench`, or with `-- dropped`, `header`,
//! `returns` or `order` a part of it. Figures: `docs/measurements.md`.

use groove_bench::{Error, Row, deliveries, returns};

fn print(title: &str, rows: &[Row]) {
    println!("{title}");
    for Row { name, unit, figure } in rows {
        let [median, min, max] = [figure.median, figure.min, figure.max];
        println!("  {name:70} {median:8.2} {unit:3} ({min:.2} to {max:.2})");
    }
}

fn main() -> Result<(), Error> {
    // Cargo adds options of its own.
    let names: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let wanted = |name: &str| names.is_empty() || names.iter().any(|n| n == name);
    if wanted("dropped") {
        print("deliveries", &[deliveries::dropped(101, 20_000)?]);
    }
    if wanted("header") {
        print("deliveries", &[deliveries::header_copied(101, 20_000)?]);
    }
    if wanted("returns") {
        print("way home", &returns::returns(501, 2_000)?);
    }
    if wanted("order") {
        print("order of the free list", &deliveries::free_order(2_001, 500)?);
    }
    Ok(())
}
