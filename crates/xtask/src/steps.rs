//! A run of named steps that goes on after a failure and prints a table at the end.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Result of a step.
enum Outcome {
    Passed,
    Partly(String),
    Failed(String),
    Skipped(String),
}

/// A step that was run.
pub(crate) struct Step {
    name: String,
    outcome: Outcome,
    took: Duration,
}

/// Runs one step, which may report that it cannot be done here, and prints its result immediately.
pub(crate) fn timed(name: &str, step: impl FnOnce() -> Result<Done>) -> Step {
    let start = Instant::now();
    let done = step();
    ended(name, done, start.elapsed())
}

fn ended(name: &str, done: Result<Done>, took: Duration) -> Step {
    let outcome = match done {
        Ok(Done::Yes) => Outcome::Passed,
        Ok(Done::Partly(without)) => Outcome::Partly(without),
        Ok(Done::Skipped(why)) => Outcome::Skipped(why),
        Err(error) => Outcome::Failed(format!("{error:#}")),
    };
    match &outcome {
        Outcome::Failed(why) => eprintln!("error: {name}: {why}"),
        other => eprintln!("{}  {name}  {:.1} s", shown(other), took.as_secs_f64()),
    }
    Step { name: name.to_owned(), outcome, took }
}

/// Result of a step that did not fail.
pub(crate) enum Done {
    /// The step did its work.
    Yes,
    /// The step did the part that is possible here and found no mistake; the text names the part that was left out.
    Partly(String),
    /// The step could not be done here; the text gives the reason.
    Skipped(String),
}

impl Done {
    /// Returns an error if the step was skipped, for commands that consist of only this step. Prints the part that was
    /// left out.
    pub(crate) fn required(self) -> Result<()> {
        match self {
            Self::Skipped(why) => bail!("{why}"),
            Self::Partly(without) => eprintln!("xtask: without {without}"),
            Self::Yes => {}
        }
        Ok(())
    }
}

/// The steps so far.
#[derive(Default)]
pub(crate) struct Steps {
    steps: Vec<Step>,
}

impl Steps {
    /// Runs one step and records its result.
    pub(crate) fn run(&mut self, name: &str, step: impl FnOnce() -> Result<()>) {
        self.try_run(name, || step().map(|()| Done::Yes));
    }

    /// Runs one step that may report that it cannot be done here.
    pub(crate) fn try_run(&mut self, name: &str, step: impl FnOnce() -> Result<Done>) {
        eprintln!("\n== {name}");
        self.steps.push(timed(name, step));
    }

    /// Adds steps that were run elsewhere.
    pub(crate) fn extend(&mut self, steps: Vec<Step>) {
        self.steps.extend(steps);
    }

    /// Prints the table, with `slowest` before its totals, which are the last line of the run; returns `true` if no
    /// step failed.
    pub(crate) fn finish(self, slowest: &str) -> bool {
        println!("\n{}", self.table(slowest));
        self.failed() == 0
    }

    fn failed(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step.outcome, Outcome::Failed(_))).count()
    }

    /// Writes one line for each step, the slowest tests, and the totals, which do not count skipped steps.
    fn table(&self, slowest: &str) -> String {
        let width = self.steps.iter().map(|step| step.name.len()).max().unwrap_or(0);
        let lines = self.steps.iter().map(|step| {
            let seconds = step.took.as_secs_f64();
            format!("{:width$}  {seconds:8.1} s  {}", step.name, shown(&step.outcome))
        });
        let passed = self
            .steps
            .iter()
            .filter(|step| matches!(step.outcome, Outcome::Passed | Outcome::Partly(_)))
            .count();
        let totals = format!("{passed} passed, {} failed", self.failed());
        let slowest = (!slowest.is_empty()).then(|| format!("\nslowest tests:\n{slowest}"));
        lines.chain(slowest).chain([totals]).collect::<Vec<_>>().join("\n")
    }
}

/// Writes the result in one line; a longer error is cut to its first line.
fn shown(outcome: &Outcome) -> String {
    let first = |why: &str| why.lines().next().unwrap_or_default().to_owned();
    match outcome {
        Outcome::Passed => "pass".to_owned(),
        Outcome::Partly(without) => format!("pass, without: {}", first(without)),
        Outcome::Failed(why) => format!("FAIL  {}", first(why)),
        Outcome::Skipped(why) => format!("skipped: {}", first(why)),
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    fn three() -> Steps {
        let mut steps = Steps::default();
        steps.run("good", || Ok(()));
        steps.run("bad", || Err(anyhow!("first line\nsecond line")));
        steps.try_run("not here", || Ok(Done::Skipped("no tool".to_owned())));
        steps
    }

    #[test]
    fn the_last_line_counts_what_passed_and_what_failed() {
        assert_eq!(three().table("").lines().last(), Some("1 passed, 1 failed"));
    }

    #[test]
    fn a_failure_is_shown_on_one_line_and_fails_the_run() {
        let table = three().table("");
        assert!(table.contains("FAIL  first line\n"), "{table}");
        assert!(!three().finish(""));
    }

    #[test]
    fn a_partial_step_names_the_left_out_part_and_counts_as_passed() {
        let mut steps = Steps::default();
        steps.try_run("half", || Ok(Done::Partly("the network".to_owned())));
        assert!(steps.table("").contains("pass, without: the network"));
        assert!(steps.table("").ends_with("1 passed, 0 failed"));
    }

    #[test]
    fn a_step_that_was_run_elsewhere_passes_or_fails_with_its_outcome() {
        let mut steps = Steps::default();
        steps.extend(vec![
            timed("good", || Ok(Done::Yes)),
            timed("bad", || Err(anyhow!("the program ended with 3"))),
        ]);
        let table = steps.table("");
        assert!(table.contains("FAIL  the program ended with 3\n"), "{table}");
        assert!(table.ends_with("1 passed, 1 failed"), "{table}");
    }

    #[test]
    fn the_slowest_tests_stand_between_the_steps_and_the_totals() {
        let table = three().table("     9.2 s  slow::gl\n");
        let slow = table.find("slow::gl").expect("it is there");
        let totals = table.rfind("1 passed");
        assert!(table.find("not here").expect("a step") < slow && Some(slow) < totals, "{table}");
        assert!(table.ends_with("1 passed, 1 failed"), "{table}");
    }

    #[test]
    fn a_skipped_step_fails_nothing() {
        let mut steps = Steps::default();
        steps.try_run("not here", || Ok(Done::Skipped("no tool".to_owned())));
        assert!(steps.table("").contains("skipped: no tool"));
        assert!(steps.finish(""));
    }
}
