//! Quick rounds of the benchmarks on the adapters of the machine.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::adapters::Adapter;
use crate::environment::Vars;
use crate::shell::{Line, cargo};
use crate::tally::{Failure, last_lines};
use crate::workspace::Workspace;

/// Programs: launches and transfers of one adapter, and the verbs on the devices of the machine.
const LAUNCHES: &str = "fencepost-benches";
const VERBS: &str = "algorithms";
/// Start of the error of a benchmark that cannot use an adapter.
const NO_ADAPTER: &str = "no adapter with `";

/// A measured implementation of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Measured {
    pub(super) row: String,
    /// The implementation, or the device on which a verb ran.
    pub(super) by: String,
    /// Number of queues, in the rows of launches.
    pub(super) queues: Option<u64>,
    /// Microseconds until the call returned.
    pub(super) host: Option<f64>,
    /// Ratio to the host time of the yardstick.
    pub(super) host_ratio: Option<f64>,
    /// Microseconds until the work was done.
    pub(super) done: Option<f64>,
    /// Ratio to the yardstick's time until done.
    pub(super) done_ratio: Option<f64>,
}

/// Rows of one program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Round {
    pub(super) title: String,
    pub(super) rows: Vec<Measured>,
}

/// Results of the benchmarks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Rounds {
    pub(super) rounds: Vec<Round>,
    pub(super) failures: Vec<Failure>,
    /// Rounds that were not possible, with the reason.
    pub(super) left_out: Vec<String>,
}

impl Rounds {
    /// Measures the launches of each adapter with a driver, and the verbs.
    pub(super) fn measure(workspace: &Workspace, adapters: &[Adapter], vars: &Vars) -> Self {
        let mut rounds = Self::default();
        let bench = |subcommand: &str| {
            let line = cargo().args([subcommand, "--release", "-p", "fencepost-benches"]);
            line.vars(vars).without("FENCEPOST_VALIDATION").dir(workspace.root())
        };
        if let Err(error) = bench("build").args(["--bin", LAUNCHES, "--bin", VERBS]).run_aside() {
            rounds.fail("the benchmarks", format!("{error:#}"));
            return rounds;
        }
        let run = |program: &str| bench("run").args(["--quiet", "--bin", program, "--", "--quick", "--json"]);
        for adapter in adapters.iter().filter(|adapter| adapter.has_driver()) {
            let title = format!("Launches and transfers, {} ({})", adapter.name, adapter.backend);
            rounds.add(title, &run(LAUNCHES).args(["--adapter", &adapter.pattern()]));
        }
        rounds.add("Verbs".to_owned(), &run(VERBS));
        rounds
    }

    fn add(&mut self, title: String, line: &Line) {
        match line.run_quietly() {
            Ok((passed, said)) => self.add_output(title, passed, &said),
            Err(error) => self.fail(&title, format!("{error:#}")),
        }
    }

    fn add_output(&mut self, title: String, passed: bool, said: &str) {
        let reason = said.lines().find(|line| line.contains(NO_ADAPTER));
        match reason {
            _ if passed => {
                let values = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
                let rows = values.filter_map(|value| Measured::of(&value)).collect();
                self.rounds.push(Round { title, rows });
            }
            Some(_) => {
                self.left_out
                    .push(format!("{title}: the benchmark needs immediates, which the adapter lacks"));
            }
            None => self.fail(&title, last_lines(said)),
        }
    }

    fn fail(&mut self, test: &str, message: String) {
        self.failures.push(Failure { test: test.to_owned(), mode: "default".to_owned(), message });
    }
}

impl Measured {
    /// Returns the row in a line of a benchmark.
    fn of(line: &Value) -> Option<Self> {
        let text = |key: &str| line[key].as_str().map(str::to_owned);
        let number = |keys: [&str; 2]| keys.iter().find_map(|key| line[*key].as_f64());
        let median = |key: &str| line[key]["median_us"].as_f64();
        Some(Self {
            row: text("row")?,
            by: text("implementation").or_else(|| text("contestant"))?,
            queues: line["queues"].as_u64(),
            host: median("host"),
            host_ratio: line["host_ratio"].as_f64(),
            done: median("total").or_else(|| line["median_us"].as_f64()),
            done_ratio: number(["total_ratio", "ratio"]),
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const LAUNCH: &str = r#"{"row":"launch chain 1","implementation":"fencepost","queues":2,"rounds":3,
        "host":{"median_us":1.5,"quarter_us":1.0,"three_quarters_us":2.0},"host_ratio":0.5,"total":null,
        "total_ratio":null,"memcpy_share":null,"adapter":"A","backend":"vulkan"}"#;
    const VERB: &str =
        r#"{"row":"sum","contestant":"cpu device","samples":5,"launches":1,"median_us":20.0,"ratio":1.25}"#;

    /// Returns the rounds of two programs.
    pub(in crate::prove) fn crafted() -> Rounds {
        let mut rounds = Rounds::default();
        let launch = LAUNCH.replace('\n', "");
        rounds.add_output("Launches".to_owned(), true, &format!("{launch}\nCompiling a\n"));
        rounds.add_output("Verbs".to_owned(), true, VERB);
        rounds
    }

    #[test]
    fn a_row_has_the_times_and_the_ratios_of_either_program() {
        let Rounds { rounds, failures, left_out } = crafted();
        assert!(failures.is_empty() && left_out.is_empty());
        let launch = &rounds[0].rows[0];
        assert_eq!((launch.by.as_str(), launch.queues), ("fencepost", Some(2)));
        assert_eq!([launch.host, launch.host_ratio, launch.done], [Some(1.5), Some(0.5), None]);
        let verb = &rounds[1].rows[0];
        assert_eq!((verb.by.as_str(), verb.queues), ("cpu device", None));
        assert_eq!([verb.host, verb.done, verb.done_ratio], [None, Some(20.0), Some(1.25)]);
    }

    #[test]
    fn a_benchmark_that_lacks_its_adapter_is_left_out_and_any_other_failure_is_one() {
        let mut rounds = Rounds::default();
        let error = "Error: no adapter with `a (Metal, ` in its name; this machine has: []";
        rounds.add_output("A".to_owned(), false, error);
        rounds.add_output("B".to_owned(), false, "row `launch`: wrong bytes");
        assert_eq!(rounds.left_out.len(), 1);
        assert_eq!(rounds.failures.len(), 1);
        assert_eq!(rounds.failures[0].test, "B");
        assert!(rounds.rounds.is_empty());
    }
}
