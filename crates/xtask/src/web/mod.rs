//! `cargo xtask web`: runs the conformance cases in a page of a browser.
//!
//! The page starts each case on a WebAssembly stack that it can suspend, so that a case may block. It posts an entry before
//! and after each case. After a failure, which leaves the WebAssembly in an unknown state, the page loads itself again. If a
//! page posts nothing for a while, it is frozen: the browser is ended and started again with the next case.

pub(crate) mod bindgen;
mod browser;
mod entries;
pub(crate) mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

pub(crate) use self::browser::Browser;
use self::browser::Running;
use self::entries::{Entry, Trial, summary};
use self::server::Server;
use crate::progress;
use crate::shell::{cargo, line};
use crate::steps::Done;
use crate::suite;
use crate::targets::{self, Target};
use crate::workspace::Workspace;

/// The document of the page.
const PAGE: &str = include_str!("page.html");
/// Name of the module that the page loads.
const MODULE: &str = "conformance";
/// Time without an entry after which a page counts as frozen, besides the limit of a case.
const SILENCE: Duration = Duration::from_secs(20);

/// Arguments of the command `web`.
pub(crate) struct Options {
    pub(crate) browser: Browser,
    /// Part of the names of the cases to run; all cases if empty.
    pub(crate) filter: String,
    /// Time limit of a case in seconds.
    pub(crate) limit: u64,
    pub(crate) may_install: bool,
}

/// Runs the cases and prints the failures and the counts.
///
/// # Errors
/// The tests do not build; the browser does not start; a case fails, or none ran.
pub(crate) fn web(workspace: &Workspace, options: &Options) -> Result<Done> {
    let Some(program) = options.browser.find(options.may_install)? else {
        return Ok(Done::Skipped(format!("no {}, which --no-install leaves out", options.browser.package())));
    };
    let folder = build(workspace, options.may_install)?;
    let (post, entries) = channel();
    let server = Server::start(&folder, post)?;
    let profile = workspace.made("web-profile")?;
    let start = |from: usize| {
        let query = format!("from={from}&only={}&limit={}", options.filter, options.limit);
        options.browser.start(&program, &profile, &format!("{}?{query}", server.address()))
    };
    let trials = collect(&entries, start, Duration::from_secs(options.limit) + SILENCE)?;
    let file = workspace.made("results/web")?.join(format!("{}.jsonl", options.browser.name()));
    let lines: String = trials.iter().map(|trial| trial.note() + "\n").collect();
    fs::write(&file, lines).with_context(|| format!("cannot write {}", file.display()))?;
    println!("{}", summary(&trials));
    let failed = trials.iter().filter(|trial| trial.failed()).count();
    ensure!(failed == 0, "{failed} of {} trials failed", trials.len());
    let ran = trials.iter().any(Trial::ran);
    ensure!(ran, "no case that is possible in a page has `{}` in its name", options.filter);
    Ok(Done::Yes)
}

/// Builds the tests for the web. Returns the folder of the page.
fn build(workspace: &Workspace, may_install: bool) -> Result<PathBuf> {
    let triple = targets::ready(Target::Web, may_install)?;
    let build = cargo().args(["test", "--no-run", "--package", "fencepost", "--test", MODULE]);
    let build = build.args(["--target", triple, "--target-dir"]).arg(workspace.made("web-build")?);
    // A browser compiles the whole module before it runs, and most of a module with names is names.
    let build = build.var("CARGO_PROFILE_DEV_DEBUG", "0").without("RUSTC_WORKSPACE_WRAPPER");
    let messages = suite::messages_of(build.dir(workspace.root()))?;
    let module = suite::executable(&messages, (MODULE, "test")).context("cargo names no test for the web")?;
    let folder = workspace.made("web")?;
    let bindgen = line(bindgen::bindgen(workspace)?).args(["--target", "web", "--no-typescript"]);
    bindgen.args(["--out-name", MODULE, "--out-dir"]).arg(&folder).arg(module).run_aside()?;
    let page = folder.join("index.html");
    fs::write(&page, PAGE).with_context(|| format!("cannot write {}", page.display()))?;
    Ok(folder)
}

/// Starts the page, and again after each freeze, and returns the trials.
fn collect(
    entries: &Receiver<String>,
    start: impl Fn(usize) -> Result<Running>,
    silence: Duration,
) -> Result<Vec<Trial>> {
    let mut trials = Vec::new();
    let mut begun: Option<(usize, String)> = None;
    let mut browser = start(0)?;
    let bar = progress::bar(0);
    loop {
        let text = match entries.recv_timeout(silence) {
            Ok(text) => text,
            Err(RecvTimeoutError::Timeout) => {
                let Some((at, name)) = begun.take() else {
                    bail!("the page posts nothing:\n{}", browser.said())
                };
                trials.push(Trial::frozen(name));
                drop(browser); // it writes to its profile
                browser = start(at + 1)?;
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => bail!("bug: the server has ended"),
        };
        match serde_json::from_str(&text).with_context(|| format!("the page posted `{text}`"))? {
            Entry::Count { trials } => bar.set_length(trials as u64),
            Entry::Begin { at, name } => begun = Some((at, name)),
            Entry::End(trial) => {
                begun = None;
                bar.set_position(trial.at as u64 + 1);
                if trial.failed() {
                    bar.suspend(|| eprintln!("FAIL  {}", trial.name));
                }
                trials.push(trial);
            }
            Entry::Broken { reason } => bail!("the page does not start: {reason}"),
            Entry::Done => break,
        }
    }
    bar.finish_and_clear();
    Ok(trials)
}

/// Returns the folder of a profile without earlier files.
fn emptied(profile: &Path) -> Result<()> {
    if profile.exists() {
        fs::remove_dir_all(profile).with_context(|| format!("cannot remove {}", profile.display()))?;
    }
    fs::create_dir_all(profile).with_context(|| format!("cannot make {}", profile.display()))
}
