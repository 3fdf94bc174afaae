//! The pages of a run: a browser shows one after the other, and each posts its trials.

use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;

use super::entries::{BegunTrial, Entry, Posted, Trial};
use crate::progress;

/// The limits of time, and of pages that end no trial.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    /// Time without an entry after which a page is frozen. A page that handles its events posts one each second.
    pub(super) silence: Duration,
    /// Longest time of a page before its first trial, and between two trials.
    pub(super) start: Duration,
    /// Number of pages in a row that end no trial, after which the run ends.
    pub(super) vain: u32,
}

/// Reason why a trial that ends the GPU process is not possible.
const NO_GPU_PROCESS: &str = "the browser was found to have no process of its own for GPU work";

/// A browser that shows a page. Its drop ends it.
pub(super) trait PageHost {
    /// Returns the last messages of the browser.
    fn said(&self) -> String;

    /// Ends the process in which the browser's GPU work runs. Returns `false` if none is found.
    ///
    /// # Errors
    /// The process cannot be ended, or the browser should have one.
    fn end_gpu_process(&self) -> Result<bool>;
}

/// The way in which a page ends.
enum PageEnd {
    /// All trials have run.
    Done,
    /// A trial has asked for the end of the browser's GPU process, so the next trial gets a new browser.
    Worn,
    /// The page is frozen, or does not go on, for this reason.
    Stuck(String),
}

/// The pages of a run.
pub(super) struct Pages<'a> {
    entries: &'a Receiver<String>,
    patience: Patience,
    /// Name of the browser in the results.
    browser: &'a str,
    /// Receiver of a line for each trial that ends.
    results: &'a mut dyn Write,
    bar: ProgressBar,
    trials: Vec<Trial>,
    /// Number of the next page.
    page: u32,
    /// Number of the next trial.
    next: usize,
    /// Trial that runs.
    begun: Option<BegunTrial>,
}

impl<'a> Pages<'a> {
    pub(super) fn new(
        entries: &'a Receiver<String>,
        patience: Patience,
        browser: &'a str,
        results: &'a mut dyn Write,
    ) -> Self {
        let bar = progress::bar(0);
        Self { entries, patience, browser, results, bar, trials: Vec::new(), page: 0, next: 0, begun: None }
    }

    /// Runs all trials of a module, and returns the browser with the last page. Starts a browser for the first page, and
    /// again after each page that is stuck or worn. `start` gets the numbers of the page and of its first trial.
    ///
    /// # Errors
    /// A browser does not start; no page goes on; a result cannot be written.
    pub(super) fn run<H: PageHost>(&mut self, start: impl Fn(u32, usize) -> Result<H>) -> Result<H> {
        self.next = 0;
        let mut vain = 0;
        loop {
            let page = self.page;
            let before = self.next;
            self.page += 1;
            let host = start(page, before)?;
            let reason = match self.follow(page, &host)? {
                PageEnd::Done => return Ok(host),
                PageEnd::Worn => {
                    vain = 0;
                    continue;
                }
                PageEnd::Stuck(reason) => reason,
            };
            if let Some(begun) = self.begun.take() {
                self.add(Trial::lost(begun, &reason))?;
            }
            vain = if self.next > before { 0 } else { vain + 1 };
            if vain == self.patience.vain {
                bail!("{reason}; the last messages of the browser:\n{}", host.said());
            }
        }
    }

    /// Returns the trials that have ended.
    pub(super) fn finish(self) -> Vec<Trial> {
        self.bar.finish_and_clear();
        self.trials
    }

    /// Receives the entries of a page until it ends.
    fn follow(&mut self, page: u32, host: &impl PageHost) -> Result<PageEnd> {
        let mut changed = Instant::now();
        let mut is_worn = false;
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
                Entry::Kill if host.end_gpu_process()? => is_worn = true,
                Entry::Kill => {
                    if let Some(begun) = self.begun.take() {
                        self.add(Trial::impossible(begun, NO_GPU_PROCESS))?;
                    }
                    return Ok(PageEnd::Worn);
                }
                Entry::End(trial) => {
                    self.begun = None;
                    self.add(trial)?;
                    if is_worn {
                        return Ok(PageEnd::Worn);
                    }
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

    /// Adds a trial that has ended, and writes its result.
    fn add(&mut self, trial: Trial) -> Result<()> {
        self.next = trial.at + 1;
        self.bar.set_position(self.next as u64);
        if trial.failed() {
            self.bar.suspend(|| eprintln!("FAIL  {}: {}", trial.name, trial.brief()));
        }
        let line = trial.note(self.browser) + "\n";
        self.results.write_all(line.as_bytes()).context("cannot write a result")?;
        self.trials.push(trial);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::sync::mpsc::channel;

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

    /// A browser that counts the ends of its GPU processes, of which it has only one.
    struct Counting<'a>(&'a Cell<u32>);

    impl PageHost for Counting<'_> {
        fn said(&self) -> String {
            "its words".into()
        }

        fn end_gpu_process(&self) -> Result<bool> {
            Ok(self.0.replace(1) == 0)
        }
    }

    /// A file that a test can read while it is written.
    struct Shared<'a>(&'a RefCell<Vec<u8>>);

    impl Write for Shared<'_> {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// The trials of a run, with their outcomes.
    #[derive(Debug, Default, PartialEq)]
    struct Found {
        /// The number of each trial, with `true` if it failed.
        trials: Vec<(usize, bool)>,
        /// Number of the first trial of each page.
        starts: Vec<usize>,
        error: Option<String>,
        /// Number of GPU processes that were ended.
        ended: u32,
    }

    /// Runs a module for each list of pages. The entries of a page arrive when it starts. Also returns the written results.
    fn collected(modules: &[&[Vec<String>]]) -> (Found, String) {
        let (post, entries) = channel();
        let starts = RefCell::new(Vec::new());
        let ended = Cell::new(0);
        let all: Vec<&Vec<String>> = modules.iter().copied().flatten().collect();
        let start = |page: u32, from: usize| {
            starts.borrow_mut().push(from);
            let posted = all.get(page as usize).into_iter().copied().flatten().cloned();
            posted.for_each(|entry| post.send(entry).expect("it is received"));
            Ok(Counting(&ended))
        };
        let mut written = Vec::<u8>::new();
        let mut pages = Pages::new(&entries, QUICK, "chromium", &mut written);
        let error = modules.iter().try_for_each(|_| pages.run(start).map(drop)).err();
        let trials = pages.finish().iter().map(|trial| (trial.at, trial.failed())).collect();
        let error = error.map(|error| format!("{error:#}"));
        let found = Found { trials, starts: starts.take(), error, ended: ended.get() };
        (found, String::from_utf8(written).expect("JSON is text"))
    }

    fn of_one_module(pages: &[Vec<String>]) -> Found {
        collected(&[pages]).0
    }

    #[test]
    fn a_frozen_page_fails_its_trial_and_the_next_page_goes_on() {
        let first = vec![begin(0, 0), end(0, 0), begin(0, 1)];
        let second = vec![begin(1, 2), end(1, 2), other(1, "done")];
        let trials = vec![(0, false), (1, true), (2, false)];
        assert_eq!(of_one_module(&[first, second]), Found { trials, starts: vec![0, 2], ..Found::default() });
    }

    #[test]
    fn entries_of_an_earlier_page_are_ignored() {
        let first = vec![begin(0, 0)];
        let second = vec![end(0, 0), other(0, "done"), end(1, 1), other(1, "done")];
        let trials = vec![(0, true), (1, false)];
        assert_eq!(of_one_module(&[first, second]), Found { trials, starts: vec![0, 1], ..Found::default() });
    }

    #[test]
    fn a_page_that_does_not_start_is_started_again() {
        let found = of_one_module(&[vec![broken(0)], vec![end(1, 0), other(1, "done")]]);
        assert_eq!(found, Found { trials: vec![(0, false)], starts: vec![0, 0], ..Found::default() });
    }

    #[test]
    fn a_run_ends_and_keeps_its_trials_if_no_page_goes_on() {
        let (found, written) = collected(&[&[vec![end(0, 0)], vec![broken(1)], vec![other(2, "beat")]]]);
        assert_eq!((found.trials, found.starts), (vec![(0, false)], vec![0, 1, 1]));
        let error = found.error.expect("two pages in a row end no trial");
        assert!(error.contains("goes on to no other case") && error.contains("its words"), "{error}");
        assert!(written.starts_with('{') && written.ends_with("}\n"), "{written}");
    }

    #[test]
    fn the_result_of_a_trial_is_written_when_it_ends() {
        let (post, entries) = channel();
        let ended = Cell::new(0);
        let written = RefCell::new(Vec::<u8>::new());
        let lines_at_start = RefCell::new(Vec::new());
        let start = |page: u32, _| {
            lines_at_start.borrow_mut().push(written.borrow().iter().filter(|&&byte| byte == b'\n').count());
            let entries = if page == 0 { vec![end(0, 0), end(0, 1)] } else { vec![other(1, "done")] };
            entries.into_iter().for_each(|entry| post.send(entry).expect("it is received"));
            Ok(Counting(&ended))
        };
        let mut file = Shared(&written);
        Pages::new(&entries, QUICK, "chromium", &mut file).run(start).expect("the second page is done");
        assert_eq!(lines_at_start.take(), [0, 2]);
    }

    #[test]
    fn a_browser_whose_gpu_process_was_ended_runs_no_other_trial() {
        let first = vec![begin(0, 0), other(0, "kill"), end(0, 0), begin(0, 1)];
        let second = vec![begin(1, 1), end(1, 1), other(1, "done")];
        let trials = vec![(0, false), (1, false)];
        assert_eq!(
            of_one_module(&[first, second]),
            Found { trials, starts: vec![0, 1], ended: 1, ..Found::default() }
        );
    }

    #[test]
    fn a_trial_that_needs_a_gpu_process_is_not_possible_without_one() {
        let first = vec![begin(0, 0), other(0, "kill"), end(0, 0)];
        let second = vec![begin(1, 1), other(1, "kill"), begin(1, 2)];
        let third = vec![end(2, 2), other(2, "done")];
        let (found, written) = collected(&[&[first, second, third]]);
        assert_eq!((found.starts, found.ended, found.error), (vec![0, 1, 2], 1, None));
        let lines: Vec<&str> = written.lines().collect();
        assert!(lines[1].contains("\"not-possible\"") && lines[1].contains(NO_GPU_PROCESS), "{written}");
        assert!(lines[0].contains("\"pass\"") && lines[2].contains("\"pass\""), "{written}");
    }

    #[test]
    fn each_module_begins_with_its_first_trial_on_a_page_of_its_own() {
        let first = vec![end(0, 0), end(0, 1), other(0, "done")];
        let second = vec![end(0, 2), other(0, "done"), end(1, 0), other(1, "done")];
        let (found, written) = collected(&[&[first], &[second]]);
        let trials = vec![(0, false), (1, false), (0, false)];
        assert_eq!(found, Found { trials, starts: vec![0, 0], ..Found::default() });
        assert_eq!(written.lines().count(), 3);
    }
}
