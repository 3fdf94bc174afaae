//! `cargo xtask fuzz`: runs the coverage-guided fuzzer of graph files for some seconds.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::packages::Manager;
use crate::shell::{Line, cargo, line, which};
use crate::steps::Done;
use crate::workspace::Workspace;

/// Flags that make the compiler count covered code for libFuzzer. They are stable; the crate libfuzzer-sys contains the
/// fuzzer.
const FLAGS: &str = "--cfg fuzzing -Cdebug-assertions -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares";
/// Maximum bytes of an input, seconds of one run, and MiB of the process.
const LIMITS: [&str; 3] = ["-max_len=16384", "-timeout=60", "-rss_limit_mb=2048"];

/// Builds the fuzzer, lets it write its seeds, and runs it. Failing inputs are stored below target/fuzz/found. Skipped
/// if no C++ compiler is found and none may be installed.
///
/// # Errors
/// An input fails, or the fuzzer cannot be built.
pub(crate) fn fuzz(workspace: &Workspace, seconds: u64, may_install: bool) -> Result<Done> {
    if cfg!(not(target_os = "linux")) {
        return Ok(Done::Skipped("the fuzzer is built on Linux only".into()));
    }
    if !has_compiler(may_install)? {
        return Ok(Done::Skipped("no C++ compiler: install g++".into()));
    }
    let made = workspace.path("target/fuzz");
    let folder = |name: &str| -> Result<PathBuf> {
        let folder = made.join(name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    };
    let corpus = folder("corpus")?;
    let seeds = folder("seeds")?;
    let found = folder("found")?;
    let fuzzer = line(build(workspace, &made)?.join("graph_file"));
    // Without inputs, the fuzzer writes its seeds.
    fuzzer.clone().var("FENCEPOST_FUZZ_SEEDS", &seeds).arg("-runs=0").run()?;
    run(&fuzzer.args([&corpus, &seeds]).args(known(workspace)), seconds, &found).map(|()| Done::Yes)
}

/// Builds the program of `fuzz/` and returns its folder.
fn build(workspace: &Workspace, made: &Path) -> Result<PathBuf> {
    let host = host()?;
    let build =
        cargo().args(["build", "--release", "--manifest-path"]).arg(workspace.path("fuzz/Cargo.toml"));
    let build = build.args(["--target", &host, "--target-dir"]).arg(made);
    build.var("RUSTFLAGS", FLAGS).without("CARGO_ENCODED_RUSTFLAGS").dir(workspace.root()).run()?;
    Ok(made.join(&host).join("release"))
}

/// Returns `true` if there is a C++ compiler. libFuzzer is C++.
fn has_compiler(may_install: bool) -> Result<bool> {
    if which("c++").is_none()
        && may_install
        && let Some(manager @ Manager::Apt) = Manager::find()
    {
        eprintln!("xtask: there is no C++ compiler: installing g++");
        manager.install(&["g++"])?;
    }
    Ok(which("c++").is_some())
}

/// Runs the fuzzer.
fn run(fuzzer: &Line, seconds: u64, found: &Path) -> Result<()> {
    let prefix = format!("-artifact_prefix={}/", found.display());
    let total = format!("-max_total_time={seconds}");
    let fuzzer = fuzzer.clone().args(LIMITS).args([total, prefix, "-print_final_stats=1".into()]);
    if fuzzer.run().is_err() {
        bail!(
            "an input below {} fails: `graph_file <input>` runs it again. Copy it to tests/data/fuzz and correct the library",
            found.display()
        );
    }
    Ok(())
}

/// Returns the folders of inputs that failed in the past, and of files in old formats.
fn known(workspace: &Workspace) -> Vec<PathBuf> {
    let folders = [workspace.path("tests/data/fuzz"), workspace.path("tests/data")];
    folders.into_iter().filter(|folder| folder.is_dir()).collect()
}

/// Returns the target triple of the installed compiler. If it is passed to cargo, build scripts are compiled without
/// the flags.
fn host() -> Result<String> {
    let said = line("rustc").arg("-vV").read()?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not name its target")
}
