//! Runs every row once, and checks every result of every implementation. Without an adapter the rows are ignored.

use fencepost_benches::{Options, has_adapter, row_names, run};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    let ignored = !has_adapter();
    if ignored {
        eprintln!("no adapter on this machine: every row is ignored");
    }
    let trial = |row: String| {
        let name = row.replace(',', "").replace(' ', "_");
        Trial::test(name, move || one_row(&row)).with_ignored_flag(ignored)
    };
    let names = row_names(&Options { quick: true, ..Options::default() });
    libtest_mimic::run(&arguments, names.into_iter().map(trial).collect()).exit();
}

/// Checks that the row's lines parse and name the row, and that the expert and another implementation have
/// times above zero.
fn one_row(row: &str) -> Result<(), Failed> {
    let options = Options { quick: true, json: true, rows: row.to_owned(), ..Options::default() };
    let mut out = Vec::new();
    run(&options, &mut out)?;
    let lines: Vec<serde_json::Value> =
        String::from_utf8(out)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let own: Vec<_> = lines.iter().filter(|line| line["row"] == row).collect();
    let live = row.ends_with("live arrays");
    for name in [if live { "fencepost" } else { "naive" }, "expert"] {
        let found = own.iter().find(|line| line["implementation"] == name);
        let time = found.and_then(|line| line["total"]["median_us"].as_f64());
        if !time.is_some_and(|time| time > 0.0) {
            return Err(format!("{name} has no time in {lines:?}").into());
        }
    }
    Ok(())
}
