//! Runs every row once, and checks every result of every implementation. Without an adapter the test is ignored.

use fencepost_benches::{Options, has_adapter, row_names, run};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let ignored = !has_adapter();
    if ignored {
        eprintln!("no adapter on this machine: the rows are ignored");
    }
    let trial = Trial::test("every_row_has_right_results_and_times", rows).with_ignored_flag(ignored);
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit();
}

/// Checks that each row has its lines, and that the expert and another implementation have times above zero. All rows
/// run in one call, because the call opens every implementation.
fn rows() -> Result<(), Failed> {
    let options = Options { quick: true, json: true, ..Options::default() };
    let mut out = Vec::new();
    run(&options, &mut out)?;
    let lines: Vec<serde_json::Value> =
        String::from_utf8(out)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    for row in row_names(&options) {
        let own: Vec<_> = lines.iter().filter(|line| line["row"] == *row).collect();
        let live = row.ends_with("live arrays");
        for name in [if live { "fencepost" } else { "naive" }, "expert"] {
            let found = own.iter().find(|line| line["implementation"] == name);
            let time = found.and_then(|line| line["total"]["median_us"].as_f64());
            if !time.is_some_and(|time| time > 0.0) {
                return Err(format!("row {row}: {name} has no time in {own:?}").into());
            }
        }
    }
    Ok(())
}
