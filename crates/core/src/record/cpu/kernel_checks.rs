//! Checks of the launches on the CPU, and their findings.

use crate::device::checks::CheckOptions;
use crate::error::{Error, ErrorDetail, Result};
use crate::memory::block::Block;
use crate::record::cpu::cpu_work::ended_early;
use crate::work::kernel_launch::Launch;
use fencepost_cpu::{Bound, CpuKernel, Finding, GridRun, Shadow};
use fencepost_kernels::report;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Maximum number of findings that a device keeps.
const MOST_FINDINGS: usize = 1000;

/// The checks of a device's launches.
pub(super) struct KernelChecks {
    options: fencepost_cpu::CheckOptions,
    /// `true` if a mistake makes the queue of its launch fail.
    fail_queue: bool,
    found: Mutex<Found>,
    /// Shadow memory: which bytes of each block were written since its array was made. A running launch takes its
    /// blocks out, so the lock is never held for long.
    shadow: Mutex<Shadow>,
}

/// Findings that the program has not yet taken.
#[derive(Default)]
struct Found {
    findings: Vec<Finding>,
    /// `true` if findings were left out because of the limit.
    is_full: bool,
}

impl KernelChecks {
    pub(super) fn new(options: CheckOptions) -> Self {
        let CheckOptions { operands, nan, unwritten_workgroup, whole_vectors, fail_queue } = options;
        let most = MOST_FINDINGS;
        let options = fencepost_cpu::CheckOptions { operands, nan, unwritten_workgroup, whole_vectors, most };
        Self { options, fail_queue, found: Mutex::default(), shadow: Mutex::default() }
    }

    /// Runs a launch for at most `limit`, and keeps the mistakes found.
    ///
    /// # Errors
    /// Returns the error of a launch that [ended early](ended_early), and `KernelMistakes` if a mistake makes the queue
    /// fail.
    pub(super) fn run(
        &self,
        kernel: &CpuKernel,
        run: &GridRun<'_>,
        launch: &Launch,
        limit: Duration,
    ) -> Result<()> {
        let bindings = launch.bindings.iter();
        let bound: Vec<Bound> =
            bindings.map(|bound| Bound { buffer: bound.block.id.0, offset: bound.offset }).collect();
        let mut own = self.shadow().split(bound.iter().map(|bound| bound.buffer));
        let checked = kernel.run_checked(run, &bound, &mut own, &self.options);
        self.shadow().join(own);
        let named = |found| Finding { kernel: launch.kernel().label.to_string(), launch: launch.at, ..found };
        let found: Vec<Finding> = checked.findings.into_iter().map(named).collect();
        let mistakes =
            found.first().filter(|_| self.fail_queue).map(|first| has_mistakes(first, found.len()));
        self.found().add(found);
        let fault = checked.fault.map(|fault| ended_early(launch, &fault, limit));
        fault.or(mistakes).map_or(Ok(()), Err)
    }

    /// Records that a command or the host wrote bytes.
    pub(super) fn wrote(&self, block: &Block, range: Range<u64>) {
        self.shadow().write(block.id.0, range);
    }

    /// Records a copy: bytes of the destination count as written if their source bytes were.
    pub(super) fn copied(&self, src: &Block, range: Range<u64>, dst: &Block, offset: u64) {
        self.shadow().copy(src.id.0, range, dst.id.0, offset);
    }

    /// Records that no byte of a block has been written.
    pub(super) fn forget(&self, block: &Block) {
        self.shadow().forget(block.id.0);
    }

    /// Returns the findings so far, and clears them.
    pub(super) fn take(&self) -> Vec<Finding> {
        std::mem::take(&mut *self.found()).findings
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shadow(&self) -> MutexGuard<'_, Shadow> {
        self.shadow.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the error of a launch with mistakes.
fn has_mistakes(first: &Finding, mistakes: usize) -> Error {
    let launch = first.launch.map_or_else(|| "an unknown line".into(), ToString::to_string);
    let text = first.mistake.to_string();
    let first_line = text.lines().next().unwrap_or_default();
    let place = first.place().map_or_else(String::new, |place| format!(" at {place}"));
    let kernel = first.kernel.clone();
    let first = format!("{first_line}{place}");
    ErrorDetail::KernelMistakes { kernel, launch, mistakes, first }.into()
}

impl Found {
    /// Adds and logs the findings of a launch. A mistake that an earlier launch also made is only counted.
    fn add(&mut self, of_launch: Vec<Finding>) {
        let mut counted = vec![false; self.findings.len()];
        for finding in of_launch {
            // The mistakes of one launch are all different, so each matches a different earlier one.
            let known =
                (0..counted.len()).find(|&at| !counted[at] && self.findings[at].is_same_mistake(&finding));
            if let Some(at) = known {
                counted[at] = true;
                self.findings[at].count += finding.count;
            } else if self.findings.len() < MOST_FINDINGS {
                report!(Error, "{finding}");
                self.findings.push(finding);
            } else if !std::mem::replace(&mut self.is_full, true) {
                report!(
                    Error,
                    "{MOST_FINDINGS} mistakes of kernels are kept, and no more until `Diagnostics::take_findings` is called"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_cpu::{InvocationId, Mistake, Place, Step};

    /// Returns a finding at a line of a kernel.
    fn finding(line: usize, operation: &str) -> Finding {
        let place = Some(Place { label: "k.wgsl".into(), line, column: 1, text: String::new() });
        let step = Step { invocation: InvocationId { global: [0; 3], workgroup: [0; 3] }, place };
        let mistake = Mistake::DivisionByZero { step, operation: operation.into() };
        Finding { kernel: "k".into(), mistake, count: 2, launch: None }
    }

    #[test]
    fn a_mistake_of_several_launches_is_kept_once_with_its_count() {
        let mut found = Found::default();
        found.add(vec![finding(3, "1 / 0"), finding(3, "2 / 0"), finding(4, "1 / 0")]);
        found.add(vec![finding(3, "5 / 0"), finding(5, "1 / 0")]);
        let counts: Vec<u64> = found.findings.iter().map(|finding| finding.count).collect();
        assert_eq!(counts, [4, 2, 2, 2]);
    }

    #[test]
    fn an_error_of_one_mistake_has_the_singular_and_one_of_several_the_plural() {
        let [one, three] = [1, 3].map(|count| has_mistakes(&finding(3, "1 / 0"), count).to_string());
        let verb = "which `Diagnostics::take_findings` lists";
        assert!(one.contains(&format!("has 1 mistake, {verb}; it is: ")), "{one}");
        assert!(three.contains(&format!("has 3 mistakes, {verb}; one is: ")), "{three}");
    }

    #[test]
    fn the_list_has_a_limit_and_counts_known_mistakes_beyond_it() {
        let mut found = Found::default();
        found.add((0..MOST_FINDINGS + 5).map(|line| finding(line, "1 / 0")).collect());
        assert!(found.findings.len() == MOST_FINDINGS && found.is_full);
        found.add(vec![finding(MOST_FINDINGS - 1, "1 / 0"), finding(MOST_FINDINGS + 1, "1 / 0")]);
        assert_eq!(found.findings.len(), MOST_FINDINGS);
        assert_eq!(found.findings[MOST_FINDINGS - 1].count, 4);
    }
}
