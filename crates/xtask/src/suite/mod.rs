//! The test programs of the workspace: built once, cut into shards, and run side by side.

mod modes;
mod pool;
mod programs;
mod shards;
mod slowest;
mod watched;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use self::pool::Summary;
pub(crate) use self::programs::Program;
use crate::environment::Vars;
use crate::workspace::Workspace;

/// How the suite is run.
pub(crate) struct Plan<'a> {
    pub(crate) vars: &'a Vars,
    /// Every case in every mode, every pair of recorders, every refused call.
    pub(crate) full: bool,
    /// Arguments for each test program; with any, only the default mode runs.
    pub(crate) filter: &'a [String],
}

/// Builds every test program.
///
/// # Errors
/// A program does not compile.
pub(crate) fn build(workspace: &Workspace) -> Result<Vec<Program>> {
    programs::build(workspace)
}

/// Runs every shard, however many fail.
///
/// # Errors
/// A program cannot list its tests, or a shard failed: all that failed are named.
pub(crate) fn run(workspace: &Workspace, programs: &[Program], plan: &Plan<'_>) -> Result<()> {
    let results = results(workspace)?;
    // What an earlier run has noted is not this run's.
    let _ = fs::remove_file(&results);
    let shards = shards::plan(programs, plan, &results).context("the tests cannot be listed")?;
    let Summary { failed, tests } = pool::run(&shards);
    if !failed.is_empty() {
        bail!("{} of {} shards: {}", failed.len(), shards.len(), failed.join(", "));
    }
    if tests == 0 && !plan.filter.is_empty() {
        bail!("no test has `{}` in its name", plan.filter.join(" "));
    }
    Ok(())
}

/// Builds and runs the examples of the documentation.
///
/// # Errors
/// An example does not compile, fails or hangs.
pub(crate) fn doc_tests(workspace: &Workspace, filter: &[String]) -> Result<()> {
    let tests = programs::tests().args(["--doc", "--no-fail-fast", "--"]).args(filter).dir(workspace.root());
    let tests = tests.var(shards::WATCHDOG.0, shards::WATCHDOG.1);
    eprintln!("+ {tests}");
    let ended = watched::run(&tests);
    if ended.passed {
        return Ok(());
    }
    eprintln!("{}", ended.said);
    bail!("`{}` failed", tests.brief())
}

/// One line for each of the slowest tests of the last run, the slowest last.
pub(crate) fn slowest(workspace: &Workspace, count: usize) -> String {
    results(workspace).map_or_else(|_| String::new(), |results| slowest::slowest(&results, count))
}

/// The file in which the tests note their results.
fn results(workspace: &Workspace) -> Result<PathBuf> {
    Ok(workspace.made("results")?.join("last.jsonl"))
}
