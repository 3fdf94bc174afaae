//! `cargo xtask web`: runs the conformance cases and the random programs in a page of a browser.
//!
//! The page starts each case on a WebAssembly stack that it can suspend, so that a case may block. It posts an entry before
//! and after each case. After a failure, which leaves the WebAssembly in an unknown state, and after a group of cases, the
//! page loads itself again. If a page posts nothing for a while, it is frozen: the browser is ended, and started again with
//! the next case. So every run ends, and each of its cases has a result, which is written when the case ends.

pub(crate) mod bindgen;
mod browser;
pub(crate) mod devtools;
mod entries;
mod pages;
pub(crate) mod server;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, ensure};

pub(crate) use self::browser::Browser;
use self::devtools::DevTools;
use self::entries::{Trial, summary};
use self::pages::{Pages, Patience};
use self::server::Server;
use crate::shell::{cargo, line};
use crate::steps::Done;
use crate::suite;
use crate::targets::{self, Target};
use crate::workspace::Workspace;

/// The document of the page.
const PAGE: &str = include_str!("page.html");
/// The names of the test programs, which the page loads as modules, one after the other.
const MODULES: [&str; 2] = ["conformance", "programs"];
/// The limits of a run.
const PATIENCE: Patience =
    Patience { silence: Duration::from_secs(60), start: Duration::from_secs(300), vain: 3 };

/// Arguments of the command `web`.
pub(crate) struct Options {
    pub(crate) browser: Browser,
    /// Part of the names of the cases to run; all cases if empty.
    pub(crate) filter: String,
    /// Time limit of a case in seconds; `None` for the limit of each case.
    pub(crate) limit: Option<u64>,
    pub(crate) may_install: bool,
}

/// The trials of a run, and the error that ended it before its last trial.
pub(crate) struct Ran {
    trials: Vec<Trial>,
    pub(crate) error: Option<Error>,
}

/// Runs the cases and prints the failures and the counts.
///
/// # Errors
/// The tests do not build; the browser does not start; a case fails, or none ran.
pub(crate) fn web(workspace: &Workspace, options: &Options) -> Result<Done> {
    let Some(Ran { trials, error }) = run(workspace, options)? else {
        return Ok(Done::Skipped(format!("no {}, which --no-install leaves out", options.browser.package())));
    };
    println!("{}", summary(&trials));
    if let Some(error) = error {
        return Err(error.context(format!("the run ended after {} trials", trials.len())));
    }
    let failed = trials.iter().filter(|trial| trial.failed()).count();
    ensure!(failed == 0, "{failed} of {} trials failed", trials.len());
    let ran = trials.iter().any(Trial::ran);
    ensure!(ran, "no case that is possible in a page has `{}` in its name", options.filter);
    Ok(Done::Yes)
}

/// Runs all cases in Chromium, and in Firefox if it is installed. A browser that is not there is left out; `may_fetch`
/// installs Chromium.
pub(crate) fn check(workspace: &Workspace, may_install: bool, may_fetch: bool) -> Result<Done> {
    let mut left_out = Vec::new();
    let all = [Browser::Chromium, Browser::Firefox];
    for browser in all {
        if browser.find(may_fetch && browser == Browser::Chromium)?.is_none() {
            left_out.push(format!("no {}", browser.package()));
            continue;
        }
        let options = Options { browser, filter: String::new(), limit: None, may_install };
        web(workspace, &options)?;
    }
    Ok(match left_out.len() {
        0 => Done::Yes,
        some if some < all.len() => Done::Partly(left_out.join(", ")),
        _ => Done::Skipped(left_out.join(", ")),
    })
}

/// Runs the cases, and writes each result into a file when its case ends. Returns `None` if there is no browser.
///
/// # Errors
/// The tests do not build; the server does not start; the file cannot be made.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<Option<Ran>> {
    let browser = options.browser;
    let Some(program) = browser.find(options.may_install)? else { return Ok(None) };
    let folder = build(workspace, options.may_install)?;
    let (post, entries) = channel();
    let server = Server::start(&folder, post)?;
    let profile = workspace.made("web-profile")?;
    let results = workspace.made("results/web")?;
    let file = results.join(format!("{}.jsonl", browser.name()));
    let mut lines = File::create(&file).with_context(|| format!("cannot write {}", file.display()))?;
    let mut pages = Pages::new(&entries, PATIENCE, browser.name(), &mut lines);
    let limit = options.limit.unwrap_or(0);
    let run_module = |module: &str| -> Result<()> {
        let start = |page: u32, from: usize| {
            let part = format!("module={module}&page={page}&from={from}");
            let query = format!("{part}&only={}&limit={limit}", options.filter);
            browser.start(&program, &profile, &format!("{}?{query}", server.address()))
        };
        let _last = pages.run(start)?;
        if browser == Browser::Chromium {
            keep_picture(&profile, &results.join(format!("{}.png", browser.name())));
        }
        Ok(())
    };
    let error = MODULES.into_iter().try_for_each(run_module).err();
    Ok(Some(Ran { trials: pages.finish(), error }))
}

/// Keeps a picture of the page that Chromium shows. A run goes on without one.
fn keep_picture(profile: &Path, file: &Path) {
    let taken = DevTools::connect(profile).and_then(|mut tools| tools.picture());
    let kept = taken
        .and_then(|png| fs::write(file, png).with_context(|| format!("cannot write {}", file.display())));
    if let Err(error) = kept {
        eprintln!("xtask: there is no picture of the page: {error:#}");
    }
}

impl Ran {
    /// Returns the results, a line of JSON for each trial.
    pub(crate) fn lines(&self, browser: Browser) -> String {
        self.trials.iter().map(|trial| trial.note(browser.name()) + "\n").collect()
    }
}

/// Builds the tests for the web. Returns the folder of the page.
fn build(workspace: &Workspace, may_install: bool) -> Result<PathBuf> {
    let triple = targets::ready(Target::Web, may_install)?;
    let build = cargo().args(["test", "--no-run", "--profile", "web", "--package", "fencepost"]);
    let build = MODULES.into_iter().fold(build, |build, module| build.args(["--test", module]));
    let build = build.args(["--target", triple, "--target-dir"]).arg(workspace.made("web-build")?);
    let messages = suite::messages_of(build.without("RUSTC_WORKSPACE_WRAPPER").dir(workspace.root()))?;
    let folder = workspace.made("web")?;
    let program = bindgen::bindgen(workspace)?;
    for module in MODULES {
        let built = suite::executable(&messages, (module, "test"))
            .with_context(|| format!("cargo names no test `{module}` for the web"))?;
        let bindgen = line(&program).args(["--target", "web", "--no-typescript"]);
        bindgen.args(["--out-name", module, "--out-dir"]).arg(&folder).arg(built).run_aside()?;
    }
    let page = folder.join("index.html");
    fs::write(&page, PAGE).with_context(|| format!("cannot write {}", page.display()))?;
    Ok(folder)
}

/// Makes the folder of a profile, without earlier files. The processes of a browser that has just ended may write for a
/// moment longer, so the removal is tried again for ten seconds.
fn emptied(profile: &Path) -> Result<()> {
    let until = Instant::now() + Duration::from_secs(10);
    while profile.exists() {
        match fs::remove_dir_all(profile) {
            Err(error) if Instant::now() > until => {
                return Err(error).with_context(|| format!("cannot remove {}", profile.display()));
            }
            Err(_) => thread::sleep(Duration::from_millis(50)),
            Ok(()) => {}
        }
    }
    fs::create_dir_all(profile).with_context(|| format!("cannot make {}", profile.display()))
}
