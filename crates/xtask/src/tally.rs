//! The results of a run of the suite: counts by place and mode, and failures with their messages.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::environment::Vars;
use crate::semantics::Ended;
use crate::suite::{self, Extent, Mode, Plan, Program, Ran, Shard};
use crate::workspace::{Workspace, text_of};

/// Lines of a failure's message that are kept, at most.
const MOST_LINES: usize = 40;
/// Last lines of a program that are kept if it fails without a failed test.
const LAST_LINES: usize = 15;
/// Name of the place that needs no device.
const SIMULATOR: &str = "simulator";

/// Tests of each program.
type Ids = BTreeMap<String, Vec<String>>;

/// Results of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tally {
    /// The counts of the tests that name their place.
    pub(crate) places: Vec<Row>,
    /// Counts of the other programs.
    pub(crate) programs: Vec<Row>,
    pub(crate) failures: Vec<Failure>,
    /// Reasons of tests that were not possible.
    pub(crate) reasons: Vec<Reason>,
}

/// Reason why tests were not possible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reason {
    pub(crate) reason: String,
    /// Number of those tests.
    pub(crate) tests: usize,
}

/// Numbers of tests, of a place in a mode or of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// Name of the place or of the program.
    pub(crate) name: String,
    pub(crate) mode: String,
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) not_possible: usize,
}

/// A failed test, or a program that failed without one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) test: String,
    pub(crate) mode: String,
    pub(crate) message: String,
}

/// A line that a test writes: `tests/common/results.rs`.
#[derive(Deserialize)]
struct Noted {
    test: String,
    adapter: String,
    result: Ended,
    reason: Option<String>,
}

/// Results that the tests of a mode have written, by test and adapter.
type Written = BTreeMap<(String, String), Noted>;

impl Tally {
    /// Runs each test of some programs at every place, in each of the modes that differ there. `command` names the
    /// folder of the results. Tests with one of the names in `skipped` are left out, and not counted.
    ///
    /// # Errors
    /// A program does not list its tests, or results cannot be read.
    pub(crate) fn run(
        workspace: &Workspace,
        command: &str,
        programs: &[Program],
        (vars, modes, skipped): (&Vars, &[&Mode], &[&str]),
    ) -> Result<Self> {
        let results = suite::no_results(workspace, command)?;
        let filter: Vec<String> =
            skipped.iter().flat_map(|name| ["--skip", name].map(str::to_owned)).collect();
        let plan = Plan { vars, modes, extent: Extent::Everywhere, filter: &filter, results: &results };
        let mut ids = Ids::new();
        for program in programs {
            let mut of_program = program.ids(vars, false)?;
            of_program.retain(|id| skipped.iter().all(|name| !id.contains(name)));
            ids.insert(program.name.clone(), of_program);
        }
        let shards = suite::cut(programs, &plan)?;
        Self::of(&plan, &shards, &ids, &suite::run_each(&shards)?)
    }

    /// Counts the results of shards. A test that its program did not reach is a failure.
    ///
    /// # Errors
    /// The results of a mode cannot be read.
    fn of(plan: &Plan<'_>, shards: &[Shard], ids: &Ids, ran: &[Ran]) -> Result<Self> {
        let mut written = BTreeMap::new();
        for mode in plan.modes {
            written.insert(mode.name, parse(&text_of(&suite::results(plan.results, mode))?)?);
        }
        let mut tally = Self::default();
        for (shard, ran) in shards.iter().zip(ran) {
            let before = tally.failures.len();
            match written.get(shard.mode).filter(|_| shard.writes_results()) {
                Some(written) => tally.add_cases(shard, ran, ids, written),
                None => tally.add_program(shard, ran),
            }
            if let Some(wrong) = ran.wrong.as_ref().filter(|_| tally.failures.len() == before) {
                let message = format!("{wrong}\n{}", last_lines(&ran.said));
                tally.fail(&ran.name, shard.mode, message);
            }
        }
        Ok(tally)
    }

    /// Adds the tests of a shard that write their results.
    fn add_cases(&mut self, shard: &Shard, ran: &Ran, ids: &Ids, written: &Written) {
        for id in ids.get(&shard.program).into_iter().flatten().filter(|id| shard.has(id)) {
            let Some((test, adapter)) = id.rsplit_once("::") else { continue };
            let adapter = if adapter.starts_with("no_") { "none" } else { adapter };
            let row = row_of(&mut self.places, place_of(adapter), shard.mode);
            let noted = written.get(&(test.to_owned(), adapter.to_owned()));
            match noted.map(|noted| noted.result) {
                Some(Ended::Pass) => row.passed += 1,
                Some(Ended::NotPossible) => {
                    row.not_possible += 1;
                    let reason = noted.and_then(|noted| noted.reason.as_deref()).unwrap_or_default();
                    self.add_reason(reason);
                }
                Some(Ended::Fail) => {
                    row.failed += 1;
                    let message = message_of(&ran.said, id).unwrap_or_else(|| last_lines(&ran.said));
                    self.fail(id, shard.mode, message);
                }
                None => {
                    row.failed += 1;
                    let last = last_lines(&ran.said);
                    self.fail(id, shard.mode, format!("the program ended before this test\n{last}"));
                }
            }
        }
    }

    /// Adds a program whose harness counts its tests.
    fn add_program(&mut self, shard: &Shard, ran: &Ran) {
        let row = row_of(&mut self.programs, &shard.program, shard.mode);
        let [passed, failed, not_possible] = ran.counts;
        row.passed += passed;
        row.failed += failed;
        row.not_possible += not_possible;
        for test in failed_tests(&ran.said) {
            let message = message_of(&ran.said, test).unwrap_or_default();
            self.fail(&format!("{} {test}", shard.program), shard.mode, message);
        }
    }

    fn add_reason(&mut self, reason: &str) {
        match self.reasons.iter_mut().find(|known| known.reason == reason) {
            Some(known) => known.tests += 1,
            None => self.reasons.push(Reason { reason: reason.to_owned(), tests: 1 }),
        }
    }

    fn fail(&mut self, test: &str, mode: &str, message: String) {
        self.failures.push(Failure { test: test.to_owned(), mode: mode.to_owned(), message });
    }

    /// Returns the numbers of tests that passed, failed, and were not possible.
    pub(crate) fn totals(&self) -> [usize; 3] {
        let rows = || self.places.iter().chain(&self.programs);
        [
            rows().map(|row| row.passed).sum(),
            rows().map(|row| row.failed).sum(),
            rows().map(|row| row.not_possible).sum(),
        ]
    }

    /// Prints the counts.
    ///
    /// # Errors
    /// A test or a program failed; the error names each of them.
    pub(crate) fn print(&self) -> Result<()> {
        println!("\n{}", self.table());
        let failed: Vec<&str> = self.failures.iter().map(|failure| failure.test.as_str()).collect();
        if !failed.is_empty() {
            bail!("{} failures: {}", failed.len(), failed.join(", "));
        }
        Ok(())
    }

    /// Writes a line for each row, and the totals.
    pub(crate) fn table(&self) -> String {
        let rows = || self.places.iter().chain(&self.programs);
        let width = rows().map(|row| row.name.len()).max().unwrap_or(0);
        let mut text = String::new();
        for Row { name, mode, passed, failed, not_possible } in rows() {
            let _ = writeln!(
                text,
                "{name:width$}  {mode:8}  {passed:6} passed  {failed:4} failed  {not_possible:6} not possible"
            );
        }
        let [passed, failed, not_possible] = self.totals();
        text + &format!("{passed} passed, {failed} failed, {not_possible} not possible\n")
    }
}

/// Returns the row of this name and mode, which is added if it is missing.
fn row_of<'r>(rows: &'r mut Vec<Row>, name: &str, mode: &str) -> &'r mut Row {
    let known = rows.iter().position(|row| row.name == name && row.mode == mode);
    let at = known.unwrap_or_else(|| {
        let [name, mode] = [name, mode].map(str::to_owned);
        rows.push(Row { name, mode, passed: 0, failed: 0, not_possible: 0 });
        rows.len() - 1
    });
    &mut rows[at]
}

/// Returns the place of an adapter in the results; the simulator is one place for all seeds.
fn place_of(adapter: &str) -> &str {
    if adapter.starts_with("cpu") { SIMULATOR } else { adapter }
}

fn parse(lines: &str) -> Result<Written> {
    let noted = |line: &str| -> Result<((String, String), Noted)> {
        let noted: Noted = serde_json::from_str(line).with_context(|| format!("a result is `{line}`"))?;
        Ok(((noted.test.clone(), noted.adapter.clone()), noted))
    };
    lines.lines().map(noted).collect()
}

/// Returns the message of a failed test from the output of a harness.
fn message_of(said: &str, test: &str) -> Option<String> {
    let heads = [format!("---- {test} ----"), format!("---- {test} stdout ----")];
    let mut lines = said.lines().skip_while(|line| heads.iter().all(|head| head.as_str() != *line));
    lines.next()?;
    let ends = |line: &str| line == "failures:" || (line.starts_with("---- ") && line.ends_with(" ----"));
    let message: Vec<&str> = lines.take_while(|line| !ends(line)).take(MOST_LINES).collect();
    Some(message.join("\n").trim().to_owned())
}

/// Returns the names of the failed tests, from the list at the end of the output of a harness.
fn failed_tests(said: &str) -> Vec<&str> {
    let lines: Vec<&str> = said.lines().collect();
    let list = lines.iter().rposition(|line| *line == "failures:").map(|at| &lines[at + 1..]);
    list.unwrap_or_default().iter().map_while(|line| line.strip_prefix("    ")).collect()
}

/// Returns the last lines of an output.
pub(crate) fn last_lines(said: &str) -> String {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::suite::MODES;

    /// Output of a harness with two failed tests.
    const SAID: &str = "running 3 tests\ntest q01_a::gl ... FAILED\n\nfailures:\n\n---- q01_a::gl ----\nleft: 1\n\
        right: 2\n\n---- b stdout ----\nanother\n\n\nfailures:\n    q01_a::gl\n    b\n\n\
        test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured\n";

    const WRITTEN: &str = r#"{"test":"q01_a","adapter":"gl","backend":"gl","result":"fail","reason":null,"seconds":1.0}
{"test":"q02_b","adapter":"gl","backend":"gl","result":"pass","reason":null,"seconds":1.0}
{"test":"q03_c","adapter":"gl","backend":"gl","result":"not-possible","reason":"no clock","seconds":0.0}
{"test":"q01_a","adapter":"cpu_4","backend":"host","result":"pass","reason":null,"seconds":1.0}
"#;

    /// Returns the tally of two shards: one on GL, in which a test failed and one did not run, and one of a program whose
    /// tests write no results.
    pub(crate) fn crafted() -> Tally {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mode = &MODES[0];
        std::fs::write(suite::results(dir.path(), mode), WRITTEN).expect("written");
        let vars = crate::environment::Vars::default();
        let modes = [mode];
        let extent = Extent::Everywhere;
        let plan = Plan { vars: &vars, modes: &modes, extent, filter: &[], results: dir.path() };
        let shards = [
            Shard::at("conformance", "gl"),
            Shard::at("conformance", "cpu"),
            Shard::of_one_program("cli", crate::shell::line("p")),
        ];
        let owned = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        let conformance = ["q01_a::gl", "q02_b::gl", "q03_c::gl", "q04_d::gl", "q01_a::cpu_4"];
        let ids = BTreeMap::from([
            ("conformance".to_owned(), owned(&conformance)),
            ("cli".to_owned(), owned(&["b", "c"])),
        ]);
        let ran = |name: &str, counts, wrong: Option<&str>| {
            let said = if wrong.is_some() { SAID.to_owned() } else { String::new() };
            Ran { name: name.to_owned(), counts, wrong: wrong.map(str::to_owned), said }
        };
        let ran = [
            ran("conformance gl", [1, 1, 1], Some("a test failed, or the program did")),
            ran("conformance cpu", [1, 0, 0], None),
            ran("cli", [2, 0, 0], None),
        ];
        Tally::of(&plan, &shards, &ids, &ran).expect("the results are written")
    }

    fn row(name: &str, [passed, failed, not_possible]: [usize; 3]) -> Row {
        Row { name: name.to_owned(), mode: "default".to_owned(), passed, failed, not_possible }
    }

    #[test]
    fn the_rows_count_each_test_of_a_place_once_and_a_lost_one_as_failed() {
        let tally = crafted();
        assert_eq!(tally.places, [row("gl", [1, 2, 1]), row(SIMULATOR, [1, 0, 0])]);
        assert_eq!(tally.programs, [row("cli", [2, 0, 0])]);
        assert_eq!(tally.totals(), [4, 2, 1]);
        assert_eq!(tally.reasons, [Reason { reason: "no clock".to_owned(), tests: 1 }]);
    }

    #[test]
    fn a_failure_has_the_message_of_its_test() {
        let failures = crafted().failures;
        let tests: Vec<_> = failures.iter().map(|failure| failure.test.as_str()).collect();
        assert_eq!(tests, ["q01_a::gl", "q04_d::gl"]);
        assert_eq!(failures[0].message, "left: 1\nright: 2");
        assert!(failures[1].message.starts_with("the program ended before this test"), "{failures:?}");
    }

    #[test]
    fn the_failed_tests_of_a_harness_are_those_of_its_last_list() {
        assert_eq!(failed_tests(SAID), ["q01_a::gl", "b"]);
        assert_eq!(message_of(SAID, "b").as_deref(), Some("another"));
        assert_eq!(message_of(SAID, "c"), None);
        assert!(failed_tests("test result: ok").is_empty());
    }

    #[test]
    fn a_program_that_fails_without_a_test_is_a_failure() {
        let vars = crate::environment::Vars::default();
        let extent = Extent::Everywhere;
        let plan =
            Plan { vars: &vars, modes: &[], extent, filter: &[], results: std::path::Path::new("none") };
        let shards = [Shard::of_one_program("cli", crate::shell::line("p"))];
        let wrong = Some("its harness printed no result".to_owned());
        let said = "one\n\ncrashed\n".to_owned();
        let ran = [Ran { name: "cli".to_owned(), counts: [0; 3], wrong, said }];
        let tally = Tally::of(&plan, &shards, &Ids::new(), &ran).expect("there is nothing to read");
        let message = "its harness printed no result\none\ncrashed".to_owned();
        let failure = Failure { test: "cli".to_owned(), mode: MODES[0].name.to_owned(), message };
        assert_eq!(tally.failures, [failure]);
    }
}
