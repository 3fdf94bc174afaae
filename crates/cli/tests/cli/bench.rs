//! `fencepost bench`.

use anyhow::{Context, Result, ensure};

use crate::Each;
use crate::program::{fencepost, on};

pub(crate) const EACH: [Each; 2] = [
    ("bench_has_every_measurement_of_the_adapter", json),
    ("bench_refuses_an_adapter_that_does_not_exist", nonsense),
];

const MEASUREMENTS: [(&str, &str); 6] = [
    ("launch, host", "us"),
    ("launch, done", "us"),
    ("round trip", "us"),
    ("upload", "GB/s"),
    ("download", "GB/s"),
    ("saxpy", "GB/s"),
];

fn json(adapter: usize) -> Result<()> {
    let json = on(adapter, ["bench", "--quick", "--json"])?.json()?;
    let [found] = &json["adapters"].as_array().context("no adapters")?[..] else { anyhow::bail!("{json}") };
    ensure!(
        found["adapter"] == fencepost::adapters()[adapter].to_string() && json["quick"] == true,
        "{json}"
    );
    let results = found["results"].as_array().context("no results")?;
    let names: Vec<_> =
        results.iter().map(|result| (result["name"].as_str(), result["unit"].as_str())).collect();
    ensure!(names == MEASUREMENTS.map(|(name, unit)| (Some(name), Some(unit))), "{json}");
    ensure!(results.iter().all(|result| result["median"].as_f64() > Some(0.0)), "{json}");
    Ok(())
}

fn nonsense(_: usize) -> Result<()> {
    fencepost(["bench", "--quick", "--adapter", "nonsense"])?.refused(1, &["no adapter fits `nonsense`"])
}
