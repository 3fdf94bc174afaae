//! A run of named steps that goes on after a failure and ends in a table.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::shell::Line;

/// What became of a step.
enum Outcome {
    Passed,
    Partly(String),
    Failed(String),
    Skipped(String),
}

struct Step {
    name: String,
    outcome: Outcome,
    took: Duration,
}

/// What a step reports when nothing went wrong.
pub(crate) enum Done {
    /// The step did its work.
    Yes,
    /// The step did what could be done here and found nothing; the text says what was left out.
    Partly(String),
    /// The step could not be done here; the text says why.
    Skipped(String),
}

/// A step that was run while another was, whose output would else mix with that one's.
pub(crate) struct Beside {
    result: Result<()>,
    took: Duration,
}

impl Beside {
    /// Runs a command line, and prints what it wrote when it is over.
    pub(crate) fn run(name: &str, line: &Line) -> Self {
        let start = Instant::now();
        let result = line.said().and_then(|(good, said)| {
            eprintln!("\n== {name}, beside\n+ {line}\n{said}");
            if good { Ok(()) } else { bail!("`{}` failed", line.brief()) }
        });
        Self { result, took: start.elapsed() }
    }
}

/// The steps so far.
#[derive(Default)]
pub(crate) struct Steps {
    steps: Vec<Step>,
}

impl Steps {
    /// Runs one step and keeps its outcome.
    pub(crate) fn run(&mut self, name: &str, step: impl FnOnce() -> Result<()>) {
        self.try_run(name, || step().map(|()| Done::Yes));
    }

    /// Runs one step that may find that it cannot be done here.
    pub(crate) fn try_run(&mut self, name: &str, step: impl FnOnce() -> Result<Done>) {
        eprintln!("\n== {name}");
        let start = Instant::now();
        let done = step();
        self.push(name, done, start.elapsed());
    }

    /// Keeps the outcome of a step that was run beside another.
    pub(crate) fn add(&mut self, name: &str, beside: Beside) {
        self.push(name, beside.result.map(|()| Done::Yes), beside.took);
    }

    fn push(&mut self, name: &str, done: Result<Done>, took: Duration) {
        let outcome = match done {
            Ok(Done::Yes) => Outcome::Passed,
            Ok(Done::Partly(without)) => Outcome::Partly(without),
            Ok(Done::Skipped(why)) => Outcome::Skipped(why),
            Err(error) => Outcome::Failed(format!("{error:#}")),
        };
        if let Outcome::Failed(why) = &outcome {
            eprintln!("error: {name}: {why}");
        }
        self.steps.push(Step { name: name.to_owned(), outcome, took });
    }

    /// Prints the table, whose totals are the last line of the run; true if no step failed.
    pub(crate) fn finish(self) -> bool {
        println!("\n{}", self.table());
        self.failed() == 0
    }

    fn failed(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step.outcome, Outcome::Failed(_))).count()
    }

    /// One line a step, and the totals; a skipped step counts for neither.
    fn table(&self) -> String {
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
        lines.chain([totals]).collect::<Vec<_>>().join("\n")
    }
}

/// One line, however many the error has.
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
    #[cfg(unix)]
    use crate::shell::line;

    fn three() -> Steps {
        let mut steps = Steps::default();
        steps.run("good", || Ok(()));
        steps.run("bad", || Err(anyhow!("first line\nsecond line")));
        steps.try_run("not here", || Ok(Done::Skipped("no tool".to_owned())));
        steps
    }

    #[test]
    fn the_last_line_counts_what_passed_and_what_failed() {
        assert_eq!(three().table().lines().last(), Some("1 passed, 1 failed"));
    }

    #[test]
    fn a_failure_is_shown_on_one_line_and_fails_the_run() {
        let table = three().table();
        assert!(table.contains("FAIL  first line\n"), "{table}");
        assert!(!three().finish());
    }

    #[test]
    fn a_step_that_left_something_out_says_so_and_counts_as_passed() {
        let mut steps = Steps::default();
        steps.try_run("half", || Ok(Done::Partly("the network".to_owned())));
        assert!(steps.table().contains("pass, without: the network"));
        assert!(steps.table().ends_with("1 passed, 0 failed"));
    }

    #[cfg(unix)]
    #[test]
    fn a_step_beside_another_passes_or_fails_with_its_program() {
        let mut steps = Steps::default();
        for (name, status) in [("good", "0"), ("bad", "3")] {
            steps.add(name, Beside::run(name, &line("sh").args(["-c", &format!("exit {status}")])));
        }
        assert!(steps.table().ends_with("1 passed, 1 failed"), "{}", steps.table());
        assert!(steps.table().contains("exit 3"), "{}", steps.table());
    }

    #[test]
    fn a_skipped_step_fails_nothing() {
        let mut steps = Steps::default();
        steps.try_run("not here", || Ok(Done::Skipped("no tool".to_owned())));
        assert!(steps.table().contains("skipped: no tool"));
        assert!(steps.finish());
    }
}
