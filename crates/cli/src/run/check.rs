//! The check of a run: before the kernel runs on the adapter, it runs on the CPU, which finds accesses past the end of
//! an array, races, and barriers that only some invocations reach.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Error, Result, bail};
use fencepost::kernel_check::Finding;
use fencepost::print::{PrintTo, Printed};
use fencepost::{AdapterChoice, CheckOptions, Context, ContextOptions, ErrorDetail, PrintOptions};

use super::argument::{Argument, Given};
use super::buffer::Bound;
use super::grid::GridSize;
use super::host::Limit;
use super::remembered::Remembered;
use super::shader::Shader;
use super::signature::Signature;
use super::times::Job;
use super::{Arguments, bind, failure};
use crate::bytes::bytes;
use crate::cli::{self, When};
use crate::output;

/// Time limit of a check that the command line does not ask for.
const SHORT: Duration = Duration::from_secs(10);
/// Time limit of a check that the command line asks for.
const LONG: Duration = Duration::from_secs(600);
/// Largest size of all buffers together for a check that the command line does not ask for. A check takes several times
/// as much memory.
const MOST_BYTES: u64 = 256 << 20;

/// A launch to check. Its hash covers all that the findings usually depend on: the shader, the grid, the parameters and
/// the lengths of the buffers, but not their contents.
pub(super) struct CheckedRun<'a> {
    pub(super) shader: &'a Shader<'a>,
    pub(super) signature: &'a Signature,
    pub(super) size: GridSize,
    pub(super) buffers: &'a [Bound],
    pub(super) options: &'a cli::Run,
}

impl Hash for CheckedRun<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // A shader without a whole text does not compile.
        self.shader.source.whole_text().unwrap_or_default().hash(state);
        self.shader.entry.hash(state);
        for setting in self.shader.settings {
            setting.name.hash(state);
            setting.value.to_bits().hash(state);
        }
        self.size.hash(state);
        for Argument { name, given } in &self.options.arguments {
            name.hash(state);
            if let Given::Numbers(texts) = given {
                texts.hash(state);
            }
        }
        for buffer in self.buffers {
            buffer.name.hash(state);
            buffer.elements.hash(state);
        }
    }
}

impl CheckedRun<'_> {
    /// Checks the launch if the command line asks for it, or if no such launch was checked before. Returns the
    /// findings.
    ///
    /// # Errors
    /// The command line asks for a check, and the CPU cannot complete it.
    pub(super) fn findings(&self) -> Result<Vec<Finding>> {
        let remembered = Remembered::new(self);
        let is_wanted = match self.options.check {
            When::Never => return Ok(Vec::new()),
            When::First if remembered.is_there() => return Ok(Vec::new()),
            When::First => false,
            When::Always => true,
        };
        let size: u64 = self.buffers.iter().map(Bound::bytes).sum();
        if let Some(note) = too_large(&self.signature.kernel, size).filter(|_| !is_wanted) {
            output::complain(&note);
            return Ok(Vec::new());
        }
        let (findings, ended) = match self.look(is_wanted) {
            Ok(looked) => looked,
            Err(error) => (Vec::new(), Some(error)),
        };
        match ended.filter(|_| findings.is_empty()) {
            None if findings.is_empty() => remembered.add(),
            None => {}
            Some(error) => {
                let is_too_long = matches!(failure::detail(&error), Some(ErrorDetail::LaunchTooLong { .. }));
                if let Some(note) = incomplete(&self.signature.kernel, error, is_wanted)? {
                    output::complain(&note);
                }
                if is_too_long {
                    remembered.add(); // the next run would take as long
                }
            }
        }
        Ok(findings)
    }

    /// Runs the launch on the CPU with checks. Returns the findings, and the error that ended the launch early.
    fn look(&self, is_wanted: bool) -> Result<(Vec<Finding>, Option<Error>)> {
        // WGSL defines a result of these operations, so a run that is checked by default does not stop for them.
        let check = CheckOptions::default().operands(is_wanted);
        let options = ContextOptions::default().adapter(AdapterChoice::Cpu).check(check);
        let options = options.launch_limit(if is_wanted { LONG } else { SHORT });
        let ctx = Context::with_options(options).wait()?;
        let silent = PrintTo::Function(Arc::new(|_: &Printed<'_>| ()));
        ctx.set_print(PrintOptions::default().to(silent)); // the run itself prints the lines
        let launched = self.launch(&ctx);
        Ok((ctx.diagnostics().take_findings(), launched.err()))
    }

    fn launch(&self, ctx: &Context) -> Result<()> {
        let kernel = self.shader.kernel(ctx)?;
        let queue = ctx.queue("check");
        let limit = Limit::of(ctx.info());
        let Arguments { values, buffers } = bind(&queue, self.signature, &limit, self.options)?;
        let job = Job { queue: &queue, kernel: &kernel, grid: self.size.grid(), values: &values };
        job.launch(&buffers)?;
        Ok(queue.finish().wait()?)
    }
}

/// Returns a note about buffers that are too large for a check that the command line does not ask for.
fn too_large(kernel: &str, size: u64) -> Option<String> {
    let limit = bytes(MOST_BYTES);
    (size > MOST_BYTES).then(|| {
        format!("note: kernel `{kernel}` is not checked, because its buffers have more than {limit}: --check checks it")
    })
}

/// Returns a note about a check that ended early without findings; `None` if the run itself will report the reason.
///
/// # Errors
/// Returns the reason if the command line asks for the check.
fn incomplete(kernel: &str, error: Error, is_wanted: bool) -> Result<Option<String>> {
    match failure::detail(&error) {
        Some(ErrorDetail::AssertionFailed { .. }) => Ok(None),
        Some(ErrorDetail::LaunchTooLong { limit, .. }) if is_wanted => bail!(
            "the check of kernel `{kernel}` found no mistake in {} s, and was stopped: give a smaller grid, or --check=never to \
             run it without a check",
            limit.as_secs()
        ),
        Some(ErrorDetail::LaunchTooLong { limit, .. }) => Ok(Some(format!(
            "note: the check of kernel `{kernel}` found no mistake in {} s, and was stopped: --check gives it {} s",
            limit.as_secs(),
            LONG.as_secs()
        ))),
        _ => {
            let error = failure::without_line(error);
            if is_wanted {
                return Err(error.context(format!("kernel `{kernel}` cannot be checked on the CPU")));
            }
            Ok(Some(format!("note: kernel `{kernel}` is not checked: {error:#}")))
        }
    }
}

/// Prints findings to standard error, if there are any. `after` says what they mean for the run.
pub(super) fn print(findings: &[Finding], after: &str) {
    if findings.is_empty() {
        return;
    }
    for finding in findings {
        output::complain(&text(finding));
    }
    let mistakes =
        if findings.len() == 1 { "1 mistake".into() } else { format!("{} mistakes", findings.len()) };
    output::complain(&format!("error: the check on the CPU found {mistakes}{after}"));
}

/// Returns a finding without the line of this program that launched the kernel.
pub(super) fn text(finding: &Finding) -> String {
    Finding { launch: None, ..finding.clone() }.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn too_long(limit: Duration) -> Error {
        fencepost::Error::from(ErrorDetail::LaunchTooLong { kernel: "k".into(), launch: None, limit }).into()
    }

    #[test]
    fn a_check_without_findings_that_takes_too_long_is_a_note_or_an_error_if_it_was_wanted() {
        let note = incomplete("k", too_long(SHORT), false).expect("it is a note").expect("it is said");
        assert!(note.contains("no mistake in 10 s") && note.contains("--check gives it 600 s"), "{note}");
        let error = incomplete("k", too_long(LONG), true).unwrap_err().to_string();
        assert!(error.contains("no mistake in 600 s") && error.contains("--check=never"), "{error}");
    }

    #[test]
    fn a_launch_that_the_cpu_refuses_is_a_note_with_the_reason() {
        let detail = ErrorDetail::OutOfMemory { object: "array `x`".into(), bytes: 1, limit: None };
        let note = incomplete("k", fencepost::Error::from(detail).into(), false).expect("it is a note");
        assert!(note.is_some_and(|note| note.starts_with("note: kernel `k` is not checked: ")));
    }

    #[test]
    fn only_buffers_over_the_limit_are_too_large() {
        assert_eq!(too_large("k", MOST_BYTES), None);
        let note = too_large("k", MOST_BYTES + 1).expect("it is over the limit");
        assert!(note.contains("256 MiB") && note.contains("--check"), "{note}");
    }
}
