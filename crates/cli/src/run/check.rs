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
use super::remembered::{Earlier, Remembered};
use super::shader::Shader;
use super::signature::Signature;
use super::times::Job;
use super::{Arguments, bind, failure};
use crate::bytes::bytes;
use crate::cli::{self, When};
use crate::output;

/// Largest extent of a check that the command line does not ask for.
#[derive(Clone, Copy, Debug)]
struct Limits {
    time: Duration,
    /// Size of all buffers together. A check takes several times as much memory.
    bytes: u64,
}

/// The usual limits.
const SHORT: Limits = Limits { time: Duration::from_secs(10), bytes: MOST_BYTES };
/// Time limit of a check that the command line asks for.
const LONG: Duration = Duration::from_secs(600);
/// Largest size of all buffers together for a check that the command line does not ask for.
pub(super) const MOST_BYTES: u64 = 256 << 20;

/// A launch to check. Its hash covers all that the findings usually depend on: the shader, the grid, the parameters, the
/// lengths of the buffers, and the contents of those with integers, which may be indices.
pub(super) struct CheckedRun<'a> {
    pub(super) shader: &'a Shader<'a>,
    pub(super) signature: &'a Signature,
    pub(super) size: GridSize,
    pub(super) buffers: &'a [Bound],
    pub(super) options: &'a cli::Run,
}

/// Result of a check.
#[derive(Debug, Default)]
pub(super) struct Checked {
    pub(super) findings: Vec<Finding>,
    /// Reason why the launch is not checked, or not to its end.
    pub(super) note: Option<String>,
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
            buffer.contents.hash(state);
        }
    }
}

impl CheckedRun<'_> {
    /// Checks the launch if the command line asks for it, or if no such launch was checked before.
    ///
    /// # Errors
    /// The command line asks for a check, and the CPU cannot complete it.
    pub(super) fn check(&self) -> Result<Checked> {
        self.check_within(SHORT, &Remembered::new(self))
    }

    fn check_within(&self, short: Limits, remembered: &Remembered) -> Result<Checked> {
        let kernel = &self.signature.kernel;
        let is_wanted = match (self.options.check, remembered.earlier()) {
            (When::Never, _) | (When::First, Some(Earlier::Complete)) => return Ok(Checked::default()),
            (When::First, Some(Earlier::Stopped)) => return Ok(Checked::noted(stopped(kernel, short.time))),
            (When::First, None) => false,
            (When::Always, _) => true,
        };
        let size: u64 = self.buffers.iter().map(Bound::bytes).sum();
        if size > short.bytes && !is_wanted {
            return Ok(Checked::noted(too_large(kernel, short.bytes)));
        }
        let (findings, ended) = match self.look(if is_wanted { LONG } else { short.time }, is_wanted) {
            Ok(looked) => looked,
            Err(error) => (Vec::new(), Some(error)),
        };
        match ended.filter(|_| findings.is_empty()) {
            None => {
                if findings.is_empty() {
                    remembered.add(Earlier::Complete);
                }
                Ok(Checked { findings, note: None })
            }
            Some(error) => {
                let is_too_long = matches!(failure::detail(&error), Some(ErrorDetail::LaunchTooLong { .. }));
                let note = incomplete(kernel, error, is_wanted)?;
                if is_too_long {
                    remembered.add(Earlier::Stopped); // the next run would take as long
                }
                Ok(Checked { findings, note })
            }
        }
    }

    /// Runs the launch on the CPU with checks. Returns the findings, and the error that ended the launch early.
    fn look(&self, limit: Duration, is_wanted: bool) -> Result<(Vec<Finding>, Option<Error>)> {
        // WGSL defines a result of these operations, so a run that is checked by default does not stop for them.
        let check = CheckOptions::default().operands(is_wanted);
        let options = ContextOptions::default().adapter(AdapterChoice::Cpu).check(check).launch_limit(limit);
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

impl Checked {
    fn noted(note: String) -> Self {
        Self { findings: Vec::new(), note: Some(note) }
    }
}

/// Returns a note about buffers that are too large for a check that the command line does not ask for.
fn too_large(kernel: &str, most: u64) -> String {
    let most = bytes(most);
    format!(
        "note: kernel `{kernel}` is not checked, because its buffers have more than {most}: --check checks it"
    )
}

/// Returns a note about a check that reached its time limit.
fn stopped(kernel: &str, limit: Duration) -> String {
    format!(
        "note: kernel `{kernel}` is not checked to its end: the check found no mistake in {} s, and was stopped; --check gives \
         it {} s",
        limit.as_secs(),
        LONG.as_secs()
    )
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
        Some(ErrorDetail::LaunchTooLong { limit, .. }) => Ok(Some(stopped(kernel, *limit))),
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
    use std::fs;

    use clap::Parser as _;

    use super::*;
    use crate::opened;

    /// A kernel with an index past the end of `x`, after a loop that takes longer than every limit if `n` is large.
    const PAST_THE_END: &str = "
        struct Params { n: u32 }
        @group(0) @binding(0) var<uniform> params: Params;
        @group(0) @binding(1) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(1) fn k() {
            for (var i = 0u; i < params.n; i++) { x[0] = x[0] * 3u + i; }
            x[arrayLength(&x)] = 1u;
        }";

    const NO_LIMITS: Limits = Limits { time: LONG, bytes: u64::MAX };

    /// Checks [`PAST_THE_END`] with four elements. Returns the result, and what is remembered of it.
    fn result(args: &[&str], limits: Limits) -> (Checked, Option<Earlier>) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("k.wgsl");
        fs::write(&file, PAST_THE_END).expect("written");
        let line = ["fencepost", "run", file.to_str().expect("UTF-8"), "x=zeros:4"];
        let line = line.into_iter().chain(args.iter().copied());
        let parsed = cli::Cli::try_parse_from(line).expect("it is a command line");
        let cli::Command::Run(options) = parsed.command else { panic!("it is another command") };
        let ctx = opened::open(AdapterChoice::Cpu).expect("it needs no driver");
        let shader = Shader::read(&options.file, None, &options.set).expect("it is a shader");
        let kernel = shader.kernel(&ctx).expect("it compiles");
        let signature = Signature::of(kernel.interface());
        let queue = ctx.queue("test");
        let bound = bind(&queue, &signature, &Limit::of(ctx.info()), &options).expect("the arguments fit");
        let size = GridSize::Groups([1; 3]);
        let buffers = &bound.buffers;
        let run = CheckedRun { shader: &shader, signature: &signature, size, buffers, options: &options };
        let remembered = Remembered::below(Some(folder.path().into()), &run);
        let checked = run.check_within(limits, &remembered).expect("it is not an error");
        let earlier = remembered.earlier();
        if earlier.is_some() {
            // A second check would be refused because of its size.
            let again =
                run.check_within(Limits { bytes: 0, ..limits }, &remembered).expect("it is not an error");
            assert_eq!((again.note, again.findings), (checked.note.clone(), Vec::new()));
        }
        (checked, earlier)
    }

    fn too_long(limit: Duration) -> Error {
        fencepost::Error::from(ErrorDetail::LaunchTooLong { kernel: "k".into(), launch: None, limit }).into()
    }

    #[test]
    fn mistakes_are_found_and_not_remembered() {
        for args in [&["n=1"][..], &["n=1", "--check"]] {
            let (checked, earlier) = result(args, NO_LIMITS);
            assert_eq!((checked.findings.len(), checked.note, earlier), (1, None, None), "{args:?}");
        }
        let (left_out, earlier) = result(&["n=1", "--check=never"], NO_LIMITS);
        assert_eq!((left_out.findings.len(), left_out.note, earlier), (0, None, None));
    }

    #[test]
    fn a_stopped_check_is_remembered_and_noted_each_time() {
        let limits = Limits { time: Duration::from_millis(1), ..NO_LIMITS };
        let (checked, earlier) = result(&["n=4294967295"], limits);
        let note = checked.note.expect("it is noted");
        assert!(note.starts_with("note: kernel `k` is not checked to its end: "), "{note}");
        assert_eq!((checked.findings.len(), earlier), (0, Some(Earlier::Stopped)));
    }

    #[test]
    fn a_check_without_findings_that_takes_too_long_is_a_note_or_an_error_if_it_was_wanted() {
        let note = incomplete("k", too_long(SHORT.time), false).expect("it is a note").expect("it is said");
        assert!(note.contains("no mistake in 10 s") && note.contains("--check gives it 600 s"), "{note}");
        let error = incomplete("k", too_long(LONG), true).unwrap_err().to_string();
        assert!(error.contains("no mistake in 600 s") && error.contains("--check=never"), "{error}");
    }

    #[test]
    fn a_launch_that_the_cpu_refuses_is_a_note_or_an_error_with_the_reason() {
        let refused = || -> Error {
            let detail = ErrorDetail::OutOfMemory { object: "array `x`".into(), bytes: 1, limit: None };
            fencepost::Error::from(detail).into()
        };
        let note = incomplete("k", refused(), false).expect("it is a note").expect("it is said");
        assert!(
            note.starts_with("note: kernel `k` is not checked: ") && note.contains("array `x`"),
            "{note}"
        );
        let error = format!("{:#}", incomplete("k", refused(), true).unwrap_err());
        assert!(error.starts_with("kernel `k` cannot be checked on the CPU: "), "{error}");
        assert!(error.contains("array `x`"), "{error}");
    }

    #[test]
    fn buffers_over_the_limit_are_checked_only_if_the_command_line_asks_for_it() {
        let limits = |bytes| Limits { bytes, ..NO_LIMITS };
        let note =
            "note: kernel `k` is not checked, because its buffers have more than 15 B: --check checks it";
        let (small, _) = result(&["n=1"], limits(16));
        assert_eq!((small.findings.len(), small.note), (1, None), "four words have 16 bytes");
        let (large, earlier) = result(&["n=1"], limits(15));
        assert_eq!((large.findings.len(), large.note.as_deref(), earlier), (0, Some(note), None));
        let (wanted, _) = result(&["n=1", "--check"], limits(15));
        assert_eq!((wanted.findings.len(), wanted.note), (1, None));
        assert_eq!(bytes(SHORT.bytes), "256 MiB");
    }
}
