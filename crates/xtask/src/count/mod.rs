//! `cargo xtask count`: counts the instructions that a launch costs its caller. It uses wgpu's noop back end, on which
//! every run costs the same.

mod callgrind;
mod compare;
mod counts;
mod table;

use std::path::PathBuf;
use std::thread;

use anyhow::{Context, Result, bail};

use crate::count::callgrind::Callgrind;
use crate::count::compare::Comparison;
use crate::count::counts::{Counts, Origin};
use crate::shell::cargo;
use crate::steps::Done;
use crate::workspace::Workspace;

/// File with the stored counts.
const KEPT: &str = "benches/instructions.json";
/// Cargo profile of the counted program, and the folder of its builds.
const PROFILE: &str = "count";

/// Arguments of the command `count`.
pub(crate) struct Options {
    pub(crate) json: bool,
    pub(crate) write: bool,
    pub(crate) check: bool,
    pub(crate) may_install: bool,
}

/// Counts and prints, and compares or stores the counts.
pub(crate) fn count(workspace: &Workspace, options: &Options) -> Result<()> {
    let counted = Counts::new(Origin::here(workspace)?, counts(workspace, options.may_install)?);
    let kept = Counts::kept(&workspace.path(KEPT))?;
    if options.write {
        counted.keep(&workspace.path(KEPT))?;
    }
    print!("{}", if options.json { counted.to_json() } else { table::of(&counted, kept.as_ref()) });
    if options.check { compared(&counted, kept.as_ref()) } else { Ok(()) }
}

/// Counts and compares, as a step of `test`; skipped if valgrind is not available.
pub(crate) fn check(workspace: &Workspace, may_install: bool) -> Result<Done> {
    if let Err(why) = callgrind::ensure(may_install) {
        return Ok(Done::Skipped(format!("{why:#}")));
    }
    let options = Options { json: false, write: false, check: true, may_install };
    count(workspace, &options).map(|()| Done::Yes)
}

fn compared(counted: &Counts, kept: Option<&Counts>) -> Result<()> {
    let kept = kept.with_context(|| format!("there is no {KEPT}: `cargo xtask count --write` makes it"))?;
    let comparison = Comparison::of(counted, kept);
    comparison.notes().iter().for_each(|note| eprintln!("count: {note}"));
    match comparison.failure() {
        Some(failure) => bail!("{failure}"),
        None => Ok(()),
    }
}

/// Counts all contestants at the same time, each in its own process; counts do not depend on time.
fn counts(workspace: &Workspace, may_install: bool) -> Result<counts::PerLaunch> {
    callgrind::ensure(may_install)?;
    let callgrind = Callgrind { program: program(workspace)?, dumps: workspace.made("instructions")? };
    let contestants = callgrind.contestants()?;
    thread::scope(|scope| {
        let count = |name: &String| callgrind.count(name).map(|rows| (name.clone(), rows));
        let counting: Vec<_> = contestants.iter().map(|name| scope.spawn(move || count(name))).collect();
        counting.into_iter().map(|thread| thread.join().expect("bug: a count panicked")).collect()
    })
}

/// Builds the counted program, and returns its path.
fn program(workspace: &Workspace) -> Result<PathBuf> {
    let build = ["build", "--profile", PROFILE, "-p", "fencepost-launches", "--bin", "instructions"];
    cargo().args(build).dir(workspace.root()).run_aside()?;
    let metadata = cargo().args(["metadata", "--format-version", "1", "--no-deps"]).dir(workspace.root());
    let metadata: serde_json::Value = serde_json::from_str(&metadata.read()?).context("cargo metadata")?;
    let target = metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
    Ok(PathBuf::from(target).join(PROFILE).join("instructions"))
}
