//! Runs every row of the algorithms' benchmark once, in which each contestant's results are checked.

use std::process::{Command, Output};

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_algorithms")).args(args).output().expect("it starts")
}

/// Runs the program, and returns its lines.
fn printed(args: &[&str]) -> Vec<String> {
    let ended = run(args);
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8(ended.stdout).expect("text").lines().map(str::to_owned).collect()
}

#[test]
fn each_row_has_a_time_of_the_cpu_device_and_of_plain_rust() {
    let lines: Vec<serde_json::Value> = printed(&["--quick", "--json"])
        .iter()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    for row in printed(&["--list"]) {
        for contestant in ["cpu device", "rust, rayon"] {
            let of_row = |line: &&serde_json::Value| line["row"] == row && line["contestant"] == contestant;
            let time = lines.iter().find(of_row).and_then(|line| line["median_us"].as_f64());
            assert!(time.is_some_and(|time| time > 0.0), "{contestant} has no time for {row}: {lines:?}");
        }
    }
}

#[test]
fn a_pattern_that_fits_no_row_is_an_error_that_names_the_list() {
    let ended = run(&["--rows", "nothing"]);
    assert!(!ended.status.success());
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert!(errors.contains("no row has `nothing` in its name; --list shows the rows"), "{errors}");
}
