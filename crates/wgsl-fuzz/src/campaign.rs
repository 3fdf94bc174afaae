//! Runs the programs of many seeds on all engines.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::case::Case;
use crate::compare::{Difference, compare};
use crate::engine::{Answer, Engine, run_caught};
use crate::generator::Options;
use crate::program::Program;
use crate::shrink::shrink;

/// Runs seeds one after the other.
pub struct Campaign {
    /// Holds the engines; the first one that runs a program has the expected results.
    pub engines: Vec<Box<dyn Engine>>,
    /// Chooses the programs.
    pub options: Options,
    /// Bounds the programs that the shrinker tries.
    pub tries: usize,
    /// Is the folder for programs on which engines differ.
    pub folder: PathBuf,
    /// Counts the refusals of engines, each with the first reason.
    pub refusals: Vec<(String, String, u64)>,
}

/// A program on which engines differ.
#[derive(Clone, Debug)]
pub struct Found {
    /// Chooses the program.
    pub seed: u64,
    /// Describes the difference of the smallest program.
    pub difference: Difference,
    /// Is the file with the smallest program.
    pub file: PathBuf,
}

impl Campaign {
    /// Makes a campaign of some engines.
    pub fn new(engines: Vec<Box<dyn Engine>>, options: Options, folder: &Path) -> Self {
        Self { engines, options, tries: 600, folder: folder.to_owned(), refusals: Vec::new() }
    }

    /// Runs seeds until their end or until the time is over, and calls `after` after each one; `after` returns `false` to end
    /// the run. Returns the number of programs.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn run_all(
        &mut self,
        mut seeds: impl Iterator<Item = u64>,
        limit: Option<Duration>,
        mut after: impl FnMut(Option<Found>) -> bool,
    ) -> Result<u64> {
        let begun = Instant::now();
        let mut count = 0;
        while limit.is_none_or(|limit| begun.elapsed() < limit) {
            let cases: Vec<Case> =
                seeds.by_ref().take(BATCH).map(|seed| Case::new(seed, self.options)).collect();
            if cases.is_empty() {
                break;
            }
            for (case, difference) in cases.iter().zip(self.differences(&cases)) {
                count += 1;
                let found = difference.map(|first| self.reduce(case, first)).transpose()?;
                if !after(found) {
                    return Ok(count);
                }
            }
        }
        Ok(count)
    }

    /// Finds a small program with the difference of a case, and stores it.
    fn reduce(&mut self, case: &Case, first: Difference) -> Result<Found> {
        let mut last = first;
        // Only the same engines count, and a failure is another difference than a wrong result.
        let engines = last.engines.clone();
        let failed = last.place == FAILED;
        let small = shrink(case, self.tries, &mut |case| match self
            .differences(std::slice::from_ref(case))
            .pop()
            .flatten()
        {
            Some(found) if found.engines == engines && (found.place == FAILED) == failed => {
                last = found;
                true
            }
            _ => false,
        });
        let program = small.program();
        let folder = &self.folder;
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let file = folder.join(format!("seed_{}.wgsl", program.seed));
        let text = described(&program, &last);
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(Found { seed: program.seed, difference: last, file })
    }

    /// Runs each case on each engine; the engines run side by side.
    fn differences(&mut self, cases: &[Case]) -> Vec<Option<Difference>> {
        let programs: Vec<Program> = cases.iter().map(Case::program).collect();
        let mut answers: Vec<Vec<(String, Answer)>> = programs.iter().map(|_| Vec::new()).collect();
        let names: Vec<String> = self.engines.iter().map(|engine| engine.name().to_owned()).collect();
        for (engine, of_engine) in names.iter().zip(answers_of(&mut self.engines, &programs)) {
            for (answers, answer) in answers.iter_mut().zip(of_engine) {
                if let Answer::Refused(reason) = &answer {
                    count_refusal(&mut self.refusals, engine, reason);
                }
                answers.push((engine.clone(), answer));
            }
        }
        programs.iter().zip(&answers).map(|(program, answers)| compare(program, answers)).collect()
    }
}

/// Runs all programs on each engine, one thread for an engine.
fn answers_of(engines: &mut [Box<dyn Engine>], programs: &[Program]) -> Vec<Vec<Answer>> {
    thread::scope(|scope| {
        let run = |engine: &mut Box<dyn Engine>| {
            programs.iter().map(|program| run_caught(&mut **engine, program)).collect::<Vec<_>>()
        };
        let threads: Vec<_> = engines.iter_mut().map(|engine| scope.spawn(move || run(engine))).collect();
        let joined = threads.into_iter().map(|thread| thread.join().expect("bug: panics are caught"));
        joined.collect()
    })
}

/// Counts the programs that the engines run between two comparisons.
const BATCH: usize = 16;
/// Is the place of a difference between a failure and results.
const FAILED: &str = "the program";

fn count_refusal(refusals: &mut Vec<(String, String, u64)>, engine: &str, reason: &str) {
    match refusals.iter_mut().find(|(known, first, _)| known == engine && first == reason) {
        Some((.., count)) => *count += 1,
        None => refusals.push((engine.to_owned(), reason.to_owned(), 1)),
    }
}

/// Writes a program with its difference and its data in comments.
fn described(program: &Program, difference: &Difference) -> String {
    let mut text = format!(
        "// seed {}, {} x {} x {} workgroups\n",
        program.seed, program.groups[0], program.groups[1], program.groups[2]
    );
    for line in difference.to_string().lines() {
        let _ = writeln!(text, "// {line}");
    }
    for (name, value) in &program.params {
        let _ = writeln!(text, "// params.{name} = {value:?}");
    }
    for buffer in &program.buffers {
        let words: Vec<String> = buffer.words.iter().map(|word| format!("{word:x}")).collect();
        let _ = writeln!(text, "// {} = {} (hexadecimal)", buffer.name, words.join(" "));
    }
    text + &program.text
}
