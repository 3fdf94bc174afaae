//! Checks the launches of the CPU as a device, and keeps what it finds.

use fencepost_cpu::{Bound, CheckOptions, CpuKernel, Fault, Finding, GridRun, Shadow};
use std::sync::{Mutex, PoisonError};

/// Limits the findings that a device keeps. Later ones are only logged.
const MOST_FINDINGS: usize = 1000;

/// Runs launches with checks.
#[derive(Default)]
pub(super) struct KernelChecks {
    findings: Mutex<Vec<Finding>>,
}

impl KernelChecks {
    /// Runs the workgroups of a launch, and keeps the mistakes that it finds. A mistake that is known is not kept again.
    ///
    /// All bytes of the bound arrays count as written: the device does not see what the host writes to its memory.
    ///
    /// # Errors
    /// Returns the fault that ended the run early.
    pub(super) fn run(&self, kernel: &CpuKernel, run: &GridRun<'_>, bound: &[Bound]) -> Result<(), Fault> {
        let mut shadow = Shadow::new();
        for (part, cells) in bound.iter().zip(run.buffers) {
            shadow.write(part.buffer, part.offset..part.offset + cells.len() as u64);
        }
        let found = kernel.run_checked(run, bound, &mut shadow, &CheckOptions::default())?;
        let mut findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
        for finding in found {
            if findings.iter().any(|known| known.kernel == finding.kernel && known.mistake == finding.mistake)
            {
                continue;
            }
            log::error!("{finding}");
            if findings.len() < MOST_FINDINGS {
                findings.push(finding);
            }
        }
        Ok(())
    }

    /// Returns the findings so far, and forgets them.
    pub(super) fn take(&self) -> Vec<Finding> {
        std::mem::take(&mut *self.findings.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
