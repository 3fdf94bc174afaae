//! Runs a short soak on the CPU recorder and on every adapter.

use fencepost_benches::soak::{Options, run};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    let options = |adapter: &str, cpu| Options {
        minutes: 0.03,
        adapter: adapter.to_owned(),
        cpu,
        seed: 3,
        json: false,
    };
    let mut trials = vec![Trial::test("a_short_soak::cpu", move || short(&options("", true)))];
    for at in 0..fencepost::adapters().len() {
        let options = options(&at.to_string(), false);
        trials.push(Trial::test(format!("a_short_soak::{at}"), move || short(&options)));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// Checks that each counted kind of work occurred.
fn short(options: &Options) -> Result<(), Failed> {
    let counts = run(options)?.counts();
    let all = [counts.blocks, counts.bytes, counts.arrays_dropped, counts.results_dropped];
    if all.contains(&0) {
        return Err(format!("a kind of work did not occur: {counts:?}").into());
    }
    Ok(())
}
