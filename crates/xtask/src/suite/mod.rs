//! The test programs of the workspace: they are built once, cut into shards, and run side by side.

mod modes;
#[path = "../../../../tests/common/patience.rs"]
#[allow(unreachable_pub, reason = "the device tests share the file")]
mod patience;
mod pool;
mod programs;
mod shards;
mod slowest;
mod watched;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

pub(crate) use self::modes::{MODES, Mode, modes_named};
pub(crate) use self::pool::{Ran, peak, too_much};
pub(crate) use self::programs::{
    DeviceTests, Program, TestBuild, build_for_devices, built, executable, listed, messages, messages_of,
    tests,
};
pub(crate) use self::shards::{MEMORY, Shard, results};
use crate::environment::Vars;
use crate::workspace::Workspace;

/// Plan of a run of the suite.
pub(crate) struct Plan<'a> {
    pub(crate) vars: &'a Vars,
    pub(crate) modes: &'a [&'a Mode],
    pub(crate) extent: Extent,
    /// Arguments for each test program.
    pub(crate) filter: &'a [String],
    /// Folder with a file of results for each mode.
    pub(crate) results: &'a Path,
}

/// Amount of work of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Each case at a place in the default mode, and at a place in another mode.
    Plain,
    /// Each case at every place in each mode of the plan, as long as in a plain run.
    Everywhere,
    /// The same with more seeds, every pair of recorders, and every refused call.
    Full,
}

/// Builds every test program.
///
/// # Errors
/// A program does not compile.
pub(crate) fn build(workspace: &Workspace) -> Result<TestBuild> {
    programs::build(workspace)
}

/// Returns the folder for the results of `command`, created if missing, with empty files.
///
/// # Errors
/// The folder cannot be made or emptied.
pub(crate) fn no_results(workspace: &Workspace, command: &str) -> Result<PathBuf> {
    let folder = workspace.made(&format!("results/{command}"))?;
    for mode in &MODES {
        let file = results(&folder, mode);
        fs::write(&file, "").with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(folder)
}

/// Returns the shards of a plan.
///
/// # Errors
/// A program cannot list its tests.
pub(crate) fn cut(programs: &[Program], plan: &Plan<'_>) -> Result<Vec<Shard>> {
    shards::cut(programs, plan).context("the tests cannot be listed")
}

/// Runs every shard, even after failures; returns the number of tests.
///
/// # Errors
/// No shard was given, or shards failed: the error names all of them.
pub(crate) fn run(shards: &[Shard]) -> Result<usize> {
    let all = run_each(shards)?;
    let failed = all.iter().filter(|ran| ran.wrong.is_some()).map(|ran| ran.name.as_str());
    let failed: Vec<&str> = failed.collect();
    if !failed.is_empty() {
        bail!("{} of {} shards: {}", failed.len(), shards.len(), failed.join(", "));
    }
    Ok(all.iter().map(|ran| ran.counts.iter().sum::<usize>()).sum())
}

/// Runs every shard, even after failures; returns their results in the same order.
///
/// # Errors
/// No shard was given.
pub(crate) fn run_each(shards: &[Shard]) -> Result<Vec<Ran>> {
    if shards.is_empty() {
        bail!("there is no test program");
    }
    Ok(pool::run(shards))
}

/// Builds and runs the examples of the documentation; returns their number.
///
/// # Errors
/// An example does not compile, fails or hangs.
pub(crate) fn doc_tests(workspace: &Workspace, filter: &[String]) -> Result<usize> {
    let tests = programs::tests().args(["--doc", "--no-fail-fast", "--"]).args(filter).dir(workspace.root());
    let tests = tests.var(shards::WATCHDOG.0, shards::WATCHDOG.1);
    eprintln!("+ {tests}");
    let ended = watched::run(&tests, 1);
    if !ended.passed {
        eprintln!("{}", ended.said);
        bail!("`{}` failed", tests.brief());
    }
    let counts = ended.said.lines().filter_map(pool::counts);
    Ok(counts.map(|counts| counts.iter().sum::<usize>()).sum())
}

/// Writes one line for each of the slowest tests in a folder of results, the slowest last.
pub(crate) fn slowest(folder: &Path, count: usize) -> String {
    let noted = |mode: &Mode| (mode.name, fs::read_to_string(results(folder, mode)).unwrap_or_default());
    slowest::table(MODES.iter().map(noted), count)
}
