//! Runs the programs of many seeds on all engines.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
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

    /// Runs the program of a seed. If engines differ, it stores the smallest program that it finds.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn run(&mut self, seed: u64) -> Result<Option<Found>> {
        let case = Case::new(seed, self.options);
        let Some(first) = self.difference(&case) else { return Ok(None) };
        let tries = self.tries;
        let mut last = first;
        // Only the same engines count: another difference could hide this one.
        let engines = last.engines.clone();
        let failed = last.place == FAILED;
        let small = shrink(&case, tries, &mut |case| match self.difference(case) {
            Some(found) if found.engines == engines && (found.place == FAILED) == failed => {
                last = found;
                true
            }
            _ => false,
        });
        let program = small.program();
        fs::create_dir_all(&self.folder).with_context(|| format!("cannot make {}", self.folder.display()))?;
        let file = self.folder.join(format!("seed_{seed}.wgsl"));
        fs::write(&file, described(&program, &last))
            .with_context(|| format!("cannot write {}", file.display()))?;
        Ok(Some(Found { seed, difference: last, file }))
    }

    fn difference(&mut self, case: &Case) -> Option<Difference> {
        let program = case.program();
        let mut answers = Vec::new();
        for engine in &mut self.engines {
            let answer = run_caught(&mut **engine, &program);
            if let Answer::Refused(reason) = &answer {
                count_refusal(&mut self.refusals, engine.name(), reason);
            }
            answers.push((engine.name().to_owned(), answer));
        }
        compare(&program, &answers)
    }

    /// Runs seeds until their end or until the time is over, and calls `after` after each one. Returns the number of
    /// programs.
    ///
    /// # Errors
    /// A file cannot be written, or `after` fails.
    pub fn run_all(
        &mut self,
        seeds: impl Iterator<Item = u64>,
        limit: Option<Duration>,
        mut after: impl FnMut(Option<Found>) -> Result<bool>,
    ) -> Result<u64> {
        let begun = Instant::now();
        let mut count = 0;
        for seed in seeds {
            if limit.is_some_and(|limit| begun.elapsed() >= limit) {
                break;
            }
            count += 1;
            let found = self.run(seed)?;
            if !after(found)? {
                break;
            }
        }
        Ok(count)
    }
}

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
