//! `cargo xtask web`: runs the conformance cases in a page of a browser.
//!
//! The page starts each case on a WebAssembly stack that it can suspend, so that a case may block. It posts an entry before
//! and after each case. After a failure, which leaves the WebAssembly in an unknown state, and after a group of cases, the
//! page loads itself again. If a page posts nothing for a while, it is frozen: the browser is ended, and started again with
//! the next case. So every run ends, and each of its cases has a result.

pub(crate) mod bindgen;
mod browser;
mod entries;
pub(crate) mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, bail, ensure};
use indicatif::ProgressBar;

pub(crate) use self::browser::Browser;
use self::browser::Running;
use self::entries::{BegunTrial, Entry, Posted, Trial, summary};
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
/// The limits of a run.
const PATIENCE: Patience =
    Patience { silence: Duration::from_secs(60), start: Duration::from_secs(300), vain: 3 };

/// The limits of time, and of pages that end no trial.
#[derive(Clone, Copy)]
struct Patience {
    /// Time without an entry after which a page is frozen. A page that handles its events posts one each second.
    silence: Duration,
    /// Longest time of a page before its first trial, and between two trials.
    start: Duration,
    /// Number of pages in a row that end no trial, after which the run ends.
    vain: u32,
}

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

/// Runs the cases, and writes their results into a file. Returns `None` if there is no browser.
///
/// # Errors
/// The tests do not build; the server does not start; the file cannot be written.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<Option<Ran>> {
    let Some(program) = options.browser.find(options.may_install)? else { return Ok(None) };
    let folder = build(workspace, options.may_install)?;
    let (post, entries) = channel();
    let server = Server::start(&folder, post)?;
    let profile = workspace.made("web-profile")?;
    let limit = options.limit.unwrap_or(0);
    let start = |page: u32, from: usize| {
        let query = format!("page={page}&from={from}&only={}&limit={limit}", options.filter);
        options.browser.start(&program, &profile, &format!("{}?{query}", server.address()))
    };
    let ran = collect(&entries, start, Running::said, PATIENCE);
    let file = workspace.made("results/web")?.join(format!("{}.jsonl", options.browser.name()));
    fs::write(&file, ran.lines(options.browser))
        .with_context(|| format!("cannot write {}", file.display()))?;
    Ok(Some(ran))
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

/// The way in which a page ends.
enum PageEnd {
    /// All trials have run.
    Done,
    /// The page is frozen, or does not go on, for this reason.
    Stuck(String),
}

/// The pages of a run.
struct Pages<'a> {
    entries: &'a Receiver<String>,
    patience: Patience,
    bar: ProgressBar,
    trials: Vec<Trial>,
    /// Number of the next trial.
    next: usize,
    /// Trial that runs.
    begun: Option<BegunTrial>,
}

/// Starts a page, and again after each page that is stuck, and returns the trials. `start` gets the numbers of the page and
/// of its first trial, and returns the browser, whose drop ends it; `said` returns the last messages of a browser.
fn collect<B>(
    entries: &Receiver<String>,
    start: impl Fn(u32, usize) -> Result<B>,
    said: impl Fn(&B) -> String,
    patience: Patience,
) -> Ran {
    let bar = progress::bar(0);
    let mut pages = Pages { entries, patience, bar, trials: Vec::new(), next: 0, begun: None };
    let error = pages.run(start, said).err();
    pages.bar.finish_and_clear();
    Ran { trials: pages.trials, error }
}

impl Pages<'_> {
    fn run<B>(&mut self, start: impl Fn(u32, usize) -> Result<B>, said: impl Fn(&B) -> String) -> Result<()> {
        let mut vain = 0;
        for page in 0.. {
            let before = self.next;
            let browser = start(page, before)?;
            let PageEnd::Stuck(reason) = self.follow(page)? else { break };
            if let Some(begun) = self.begun.take() {
                self.add(Trial::lost(begun, &reason));
            }
            vain = if self.next > before { 0 } else { vain + 1 };
            if vain == self.patience.vain {
                bail!("{reason}; the last messages of the browser:\n{}", said(&browser));
            }
        }
        Ok(())
    }

    /// Receives the entries of a page until it ends.
    fn follow(&mut self, page: u32) -> Result<PageEnd> {
        let mut changed = Instant::now();
        loop {
            let text = match self.entries.recv_timeout(self.patience.silence) {
                Ok(text) => text,
                Err(RecvTimeoutError::Timeout) => {
                    return Ok(PageEnd::Stuck("the page is frozen: it handles no events".into()));
                }
                Err(RecvTimeoutError::Disconnected) => bail!("bug: the server has ended"),
            };
            let posted: Posted =
                serde_json::from_str(&text).with_context(|| format!("the page posted `{text}`"))?;
            if posted.page != page {
                continue; // an entry of an earlier page that arrives late
            }
            match posted.entry {
                Entry::Beat if changed.elapsed() >= self.longest() => {
                    return Ok(PageEnd::Stuck("the page goes on to no other case".into()));
                }
                Entry::Beat => continue,
                Entry::Count { trials } => self.bar.set_length(trials as u64),
                Entry::Begin(begun) => self.begun = Some(begun),
                Entry::End(trial) => {
                    self.begun = None;
                    self.add(trial);
                }
                Entry::Broken { reason } => {
                    return Ok(PageEnd::Stuck(format!("the page does not start: {reason}")));
                }
                Entry::Done => return Ok(PageEnd::Done),
            }
            changed = Instant::now();
        }
    }

    /// Returns the longest time until the next entry other than a beat.
    fn longest(&self) -> Duration {
        let Patience { silence, start, .. } = self.patience;
        self.begun.as_ref().map_or(start, |begun| Duration::from_secs_f64(begun.limit) + silence)
    }

    fn add(&mut self, trial: Trial) {
        self.next = trial.at + 1;
        self.bar.set_position(self.next as u64);
        if trial.failed() {
            self.bar.suspend(|| eprintln!("FAIL  {}: {}", trial.name, trial.brief()));
        }
        self.trials.push(trial);
    }
}

/// Returns the folder of a profile without earlier files.
fn emptied(profile: &Path) -> Result<()> {
    if profile.exists() {
        fs::remove_dir_all(profile).with_context(|| format!("cannot remove {}", profile.display()))?;
    }
    fs::create_dir_all(profile).with_context(|| format!("cannot make {}", profile.display()))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const QUICK: Patience = Patience { silence: Duration::from_millis(50), start: Duration::ZERO, vain: 2 };

    fn begin(page: u32, at: usize) -> String {
        let limit = "\"limit\":60";
        format!(r#"{{"page":{page},"kind":"begin","at":{at},"name":"q01_{at}::page",{limit}}}"#)
    }

    fn end(page: u32, at: usize) -> String {
        format!(r#"{{"page":{page},"kind":"end","at":{at},"name":"q01_{at}::page","result":"pass"}}"#)
    }

    fn broken(page: u32) -> String {
        format!(r#"{{"page":{page},"kind":"broken","reason":"no adapter"}}"#)
    }

    fn other(page: u32, kind: &str) -> String {
        format!(r#"{{"page":{page},"kind":"{kind}"}}"#)
    }

    /// Collects the trials of pages, for each of which these entries arrive when it starts. Returns the numbers of the
    /// trials, with `true` for those that failed; the first trial of each page; and the error.
    fn collected(pages: &[Vec<String>]) -> (Vec<(usize, bool)>, Vec<usize>, Option<String>) {
        let (post, entries) = channel();
        let starts = RefCell::new(Vec::new());
        let start = |page: u32, from: usize| {
            starts.borrow_mut().push(from);
            let posted = pages.get(page as usize).into_iter().flatten().cloned();
            posted.for_each(|entry| post.send(entry).expect("it is received"));
            Ok(())
        };
        let Ran { trials, error } = collect(&entries, start, |()| "its words".into(), QUICK);
        let trials = trials.iter().map(|trial| (trial.at, trial.failed())).collect();
        (trials, starts.take(), error.map(|error| format!("{error:#}")))
    }

    #[test]
    fn a_frozen_page_fails_its_trial_and_the_next_page_goes_on() {
        let first = vec![begin(0, 0), end(0, 0), begin(0, 1)];
        let second = vec![begin(1, 2), end(1, 2), other(1, "done")];
        let found = collected(&[first, second]);
        assert_eq!(found, (vec![(0, false), (1, true), (2, false)], vec![0, 2], None));
    }

    #[test]
    fn entries_of_an_earlier_page_are_ignored() {
        let first = vec![begin(0, 0)];
        let second = vec![end(0, 0), other(0, "done"), end(1, 1), other(1, "done")];
        assert_eq!(collected(&[first, second]), (vec![(0, true), (1, false)], vec![0, 1], None));
    }

    #[test]
    fn a_page_that_does_not_start_is_started_again() {
        let found = collected(&[vec![broken(0)], vec![end(1, 0), other(1, "done")]]);
        assert_eq!(found, (vec![(0, false)], vec![0, 0], None));
    }

    #[test]
    fn a_run_ends_and_keeps_its_trials_if_no_page_goes_on() {
        let (trials, starts, error) = collected(&[vec![end(0, 0)], vec![broken(1)], vec![other(2, "beat")]]);
        assert_eq!((trials, starts), (vec![(0, false)], vec![0, 1, 1]));
        let error = error.expect("two pages in a row end no trial");
        assert!(error.contains("goes on to no other case") && error.contains("its words"), "{error}");
    }
}
