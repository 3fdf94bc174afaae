//! The quick proofs: unit tests, random programs and the conformance suite, on the simulator and the CPU device.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

use super::faults::{Fault, Placed};
use super::scratch::Scratch;
use super::watch::{Seen, watch};
use super::weave::{VARIABLE, meet};
use crate::shell::cargo;
use crate::suite;

/// Environment variables that would change the tests.
const UNSET: [&str; 6] = [
    "FENCEPOST_RECORDER",
    "FENCEPOST_TEST_MEMORY",
    "FENCEPOST_TEST_PLACE",
    "FENCEPOST_TEST_RESULTS",
    "FENCEPOST_SEED",
    "FENCEPOST_SEEDS",
];
/// Time limit of a proof with a fault: this multiple of its time without the fault, and at least this duration.
const PATIENCE: (u32, Duration) = (8, Duration::from_secs(20));
/// Number of repetitions of a failed test, to make sure that the fault made it fail.
const AGAIN: usize = 3;

/// The test programs, with faults in them.
pub(super) struct Proofs {
    proofs: Vec<Proof>,
}

/// One test program.
struct Proof {
    plan: &'static Plan,
    program: PathBuf,
    dir: PathBuf,
    /// Longest run time; a longer run counts as a hang.
    limit: Duration,
}

/// End of a run of all proofs.
pub(super) enum Run {
    Passed,
    /// The named test detected the fault.
    Failed(String),
}

/// Errors of the compiler, from its JSON messages.
pub(super) struct RefusedBuild {
    /// The printed errors.
    pub(super) said: String,
    /// Files and lines of the errors.
    places: Vec<(String, std::ops::Range<usize>)>,
}

/// A proof before it is built.
struct Plan {
    what: &'static str,
    /// Name and kind of the target.
    target: (&'static str, &'static str),
    /// Folder in which the program runs.
    dir: &'static str,
    args: &'static [&'static str],
    /// Seeds of the random programs.
    seeds: Option<&'static str>,
    /// Place of the conformance suite.
    place: Option<&'static str>,
}

impl Plan {
    /// Unit tests of a crate.
    const fn units(what: &'static str, library: &'static str, dir: &'static str) -> Self {
        Self { what, target: (library, "lib"), dir, args: &[], seeds: None, place: None }
    }

    /// A test program of the library.
    const fn test(what: &'static str, args: &'static [&'static str]) -> Self {
        Self { what, target: (what, "test"), dir: "crates/fencepost", args, seeds: None, place: None }
    }

    /// The conformance suite on a place.
    const fn conformance(place: &'static str) -> Self {
        Self { place: Some(place), ..Self::test("conformance", &["--test-threads", "4"]) }
    }
}

/// The proofs, the fastest first.
static PLANS: [Plan; 8] = [
    Plan::units("graph-file", "fencepost_graph_file", "crates/graph-file"),
    Plan::units("core", "fencepost_core", "crates/core"),
    Plan::units("sync", "fencepost_sync", "crates/sync"),
    Plan::test(
        "programs",
        &["--skip", "match_the_oracle", "--skip", "r02_a_fault", "--skip", "r02_without_threads"],
    ),
    Plan { seeds: Some("0..150"), ..Plan::test("programs", &[]) },
    Plan::conformance("cpu_1"),
    Plan::conformance("cpu_4"),
    Plan::conformance("threads"), // the CPU device, which compiles kernels
];

impl Proofs {
    /// Builds the proofs, or returns the errors of the compiler.
    pub(super) fn build(scratch: &Scratch, limit: Duration) -> Result<Result<Self, RefusedBuild>> {
        let line = cargo().args(["test", "--quiet", "--workspace", "--features", "fencepost/validation"]);
        let line = line.args(["--no-run", "--lib", "--test", "conformance", "--test", "programs"]);
        let line = line.args(["--message-format", "json"]).dir(scratch.root());
        let line = line.var("CARGO_TARGET_DIR", scratch.target()).var("CARGO_PROFILE_DEV_DEBUG", "0");
        let (built, said) = line.run_quietly()?;
        let messages = suite::messages(&said);
        if !built {
            return Ok(Err(RefusedBuild::of(&messages, &said)));
        }
        let proof = |plan: &'static Plan| {
            let program = suite::executable(&messages, plan.target)
                .with_context(|| format!("cargo's messages do not name the test program of {}", plan.what))?;
            Ok(Proof { plan, program, dir: scratch.root().join(plan.dir), limit })
        };
        Ok(Ok(Self { proofs: PLANS.iter().map(proof).collect::<Result<_>>()? }))
    }

    /// Runs the proofs without a fault, and measures the time of each; returns the test that fails, if one does.
    pub(super) fn try_out(&mut self) -> Result<Run> {
        for proof in &mut self.proofs {
            let begun = Instant::now();
            if let Some(by) = proof.run(None, &[])? {
                return Ok(Run::Failed(by));
            }
            let (times, least) = PATIENCE;
            proof.limit = proof.limit.min((begun.elapsed() * times).max(least));
        }
        Ok(Run::Passed)
    }

    /// Runs the proofs with a fault until the first failure: first the conformance tests of the broken rule, then all
    /// tests.
    pub(super) fn run(&self, fault: &Fault) -> Result<Run> {
        let name = Some(&*fault.name);
        if let Some(rule) = fault.rule() {
            let tests = format!("{}_", rule.to_lowercase());
            for proof in self.proofs.iter().filter(|proof| proof.plan.place.is_some()) {
                if let Some(by) = proof.run(name, &[&tests])? {
                    return Ok(Run::Failed(by));
                }
            }
        }
        for proof in &self.proofs {
            if let Some(by) = proof.run(name, &[])? {
                return Ok(Run::Failed(by));
            }
        }
        Ok(Run::Passed)
    }
}

impl Proof {
    /// Runs the tests with this filter, and returns the one that failed, if one did. A failed test is repeated; if it
    /// then passes, it is skipped, and the other tests continue.
    fn run(&self, fault: Option<&str>, filter: &[&str]) -> Result<Option<String>> {
        let what = self.plan.what;
        let mut skipped: Vec<String> = Vec::new();
        loop {
            let skip = skipped.iter().flat_map(|name| ["--skip", name]);
            match watch(self.command(fault).args(self.plan.args).args(filter).args(skip), self.limit)? {
                Seen::Passed => return Ok(None),
                Seen::Seed(seed) => return Ok(Some(format!("{what}: seed {seed}"))),
                Seen::Late => return Ok(Some(format!("{what}: the time limit"))),
                Seen::Ended(how) => return Ok(Some(format!("{what}: it ended with {how}"))),
                Seen::Test(name) if self.fails_again(fault, &name)? => {
                    return Ok(Some(format!("{what}: {name}")));
                }
                Seen::Test(name) => skipped.push(name),
            }
        }
    }

    fn fails_again(&self, fault: Option<&str>, name: &str) -> Result<bool> {
        for _ in 0..AGAIN {
            if watch(self.command(fault).args([name, "--exact"]), self.limit)? != Seen::Passed {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn command(&self, fault: Option<&str>) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.dir);
        for name in UNSET {
            command.env_remove(name);
        }
        // The conformance suite runs on the CPU device too.
        let adapters = if self.plan.place.is_some() { "cpu" } else { "none" };
        command.env("FENCEPOST_TEST_ADAPTERS", adapters).env("RUST_BACKTRACE", "0").env("RUST_LOG", "off");
        command.env(VARIABLE, fault.unwrap_or_default());
        command.envs(self.plan.seeds.map(|seeds| ("FENCEPOST_SEEDS", seeds)));
        command.envs(self.plan.place.map(|place| ("FENCEPOST_TEST_PLACE", place)));
        command
    }
}

impl RefusedBuild {
    fn of(messages: &[Value], said: &str) -> Self {
        let errors = messages.iter().map(|message| &message["message"]).filter(|m| m["level"] == "error");
        let mut text = String::new();
        let mut places = Vec::new();
        for error in errors {
            text.push_str(error["rendered"].as_str().unwrap_or_default());
            let spans = error["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
            places.extend(spans.iter().filter_map(|span| {
                let lines = span["line_start"].as_u64()? as usize..span["line_end"].as_u64()? as usize + 1;
                Some((span["file_name"].as_str()?.to_owned(), lines))
            }));
        }
        if places.is_empty() {
            text.push_str(said);
        }
        Self { said: text, places }
    }

    /// Returns `true` if a compiler error is in a line of this fault.
    pub(super) fn has(&self, placed: &Placed) -> bool {
        let here = |file: &str| Path::new(file).ends_with(&placed.fault.file);
        self.places.iter().any(|(file, lines)| here(file) && meet(lines, &placed.lines))
    }
}

#[cfg(test)]
mod tests {
    use super::super::faults::tests::fault;
    use super::*;
    use serde_json::json;

    #[test]
    fn the_compiler_points_at_the_fault_that_does_not_build() {
        let span = json!({"file_name": "a.rs", "line_start": 4, "line_end": 5});
        let error = json!({"message": {"level": "error", "rendered": "no such type", "spans": [span]}});
        let refused = RefusedBuild::of(&[error], "");
        let at = |lines| Placed { fault: fault("f", "a", "b"), range: 0..1, lines };
        assert!(refused.has(&at(5..6)) && !refused.has(&at(6..7)));
        assert_eq!(refused.said, "no such type");
    }
}
