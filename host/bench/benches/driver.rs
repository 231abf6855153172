//! Prints what the driver costs: `cargo bench -p groove-bench`. Figures: `docs/measurements.md`.

use groove_bench::{Error, Row, deliveries, returns};

fn print(title: &str, rows: &[Row]) {
    println!("{title}");
    for Row { name, unit, figure } in rows {
        let [median, min, max] = [figure.median, figure.min, figure.max];
        println!("  {name:70} {median:8.2} {unit:3} ({min:.2} to {max:.2})");
    }
}

fn main() -> Result<(), Error> {
    print("deliveries", &deliveries::per_delivery(101, 20_000)?);
    print("way home", &returns::returns(51, 20_000)?);
    print("order of the free list", &deliveries::free_order(15, 50_000)?);
    Ok(())
}
