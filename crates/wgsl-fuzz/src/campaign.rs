//! Runs the programs of many seeds on all engines.

use std::fmt::Write as _;
use std::fs;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::case::Case;
use crate::compare::{Difference, compare};
use crate::engine::{Engine, Given};
use crate::generator::Options;
use crate::program::Program;
use crate::report::Report;
use crate::shrink::shrink;
use crate::workers;

/// A run over many seeds, one after the other.
pub struct Campaign {
    /// Engines. The first one that runs a program gives the expected results.
    pub engines: Vec<Box<dyn Engine>>,
    /// Options of the programs; the campaign itself decides which are portable.
    pub options: Options,
    /// Programs whose seed is a multiple of this number are portable and also run on engines with a device. `None`: no
    /// program is portable.
    pub portable_every: Option<NonZeroU64>,
    /// Number of threads that run programs.
    pub threads: usize,
    /// Maximum number of programs that the shrinker tries.
    pub tries: usize,
    /// Folder for programs on which engines differ.
    pub folder: PathBuf,
    /// Counts of the engines' answers.
    pub report: Report,
}

/// A program on which engines differ.
#[derive(Clone, Debug)]
pub struct Found {
    /// Seed of the program.
    pub seed: u64,
    /// Difference on the smallest program.
    pub difference: Difference,
    /// File with the smallest program.
    pub file: PathBuf,
}

impl Campaign {
    /// Makes a campaign with these engines, in which each program is portable.
    pub fn new(engines: Vec<Box<dyn Engine>>, options: Options, folder: &Path) -> Self {
        Self {
            engines,
            options,
            portable_every: Some(NonZeroU64::MIN),
            threads: thread::available_parallelism().map_or(1, usize::from),
            tries: 600,
            folder: folder.to_owned(),
            report: Report::default(),
        }
    }

    /// Makes the program of a seed.
    pub fn case(&self, seed: u64) -> Case {
        let is_portable = self.portable_every.is_some_and(|every| seed.is_multiple_of(every.get()));
        Case::new(seed, Options { is_portable, ..self.options })
    }

    /// Runs the seeds until there are no more or the time is over. Calls `after` at the end of each seed; `after` returns
    /// `false` to end the run. Returns the number of programs.
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
            let cases: Vec<Case> = seeds.by_ref().take(BATCH).map(|seed| self.case(seed)).collect();
            if cases.is_empty() {
                break;
            }
            let answers = self.answers(&cases, None);
            for (case, (program, answers)) in cases.iter().zip(answers) {
                answers.iter().for_each(|given| self.report.count(given));
                let difference = compare(&program, &answers);
                count += 1;
                let found = difference.map(|first| self.reduce(case, first)).transpose()?;
                if !after(found) {
                    return Ok(count);
                }
            }
        }
        Ok(count)
    }

    /// Finds a small program with the same difference as a case, and stores it.
    fn reduce(&mut self, case: &Case, first: Difference) -> Result<Found> {
        let mut last = first;
        // Only the same two engines count, and a failure differs from a wrong result.
        let engines = last.engines.clone();
        let failed = last.place == FAILED;
        let small = shrink(case, self.tries, &mut |case| {
            let (program, answers) =
                self.answers(std::slice::from_ref(case), Some(&engines)).pop().expect("bug: one case");
            match compare(&program, &answers) {
                Some(found) if found.engines == engines && (found.place == FAILED) == failed => {
                    last = found;
                    true
                }
                _ => false,
            }
        });
        let program = small.program();
        let folder = &self.folder;
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let file = folder.join(format!("seed_{}.wgsl", program.seed));
        let text = described(&program, &last);
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(Found { seed: program.seed, difference: last, file })
    }

    /// Runs each case on each engine, or on two of them.
    fn answers(&self, cases: &[Case], only: Option<&[String; 2]>) -> Vec<(Program, Vec<Given>)> {
        let programs: Vec<(Program, bool)> =
            cases.iter().map(|case| (case.program(), case.is_portable())).collect();
        let engines: Vec<&dyn Engine> = self.engines.iter().map(|engine| &**engine).collect();
        let engines: Vec<&dyn Engine> = engines
            .into_iter()
            .filter(|engine| only.is_none_or(|only| only.iter().any(|name| name == engine.name())))
            .collect();
        let answers = workers::answers(&engines, &programs, self.threads);
        programs.into_iter().map(|(program, _)| program).zip(answers).collect()
    }
}

/// Number of programs between two comparisons.
const BATCH: usize = 128;
/// Place of a difference between a failure and results.
const FAILED: &str = "the program";

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
