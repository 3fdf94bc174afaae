//! `fencepost run`: runs a kernel of a WGSL file, with arguments from the command line.

mod argument;
mod buffer;
mod check;
mod csv_file;
mod failure;
mod grid;
mod host;
mod npy;
mod npz;
mod number;
mod remembered;
mod report;
mod shader;
mod shape;
mod show;
mod signature;
mod times;
mod value;

use std::path::{self, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use fencepost::interface::Value;
use fencepost::print::{PrintTo, Printed};
use fencepost::{CommandQueue, Context, PrintOptions, Profiler, QueueOptions};

use crate::{Outcome, cli, opened, output};

pub(crate) use argument::{Argument, Saved, Setting};
pub(crate) use shape::Extent;

use argument::Given;
use buffer::Bound;
use check::CheckedRun;
use grid::GridSize;
use host::Limit;
use report::Report;
use shader::Shader;
use signature::Signature;
use times::Job;

/// Runs a kernel.
pub(crate) fn run(options: &cli::Run) -> Result<Outcome> {
    run_kernel(options).map_err(failure::without_line)
}

fn run_kernel(options: &cli::Run) -> Result<Outcome> {
    let ctx = opened::open(options.adapter.clone().unwrap_or_default())?;
    if options.json {
        print_to_standard_error(&ctx);
    }
    let shader = Shader::read(&options.file, options.entry.as_deref(), &options.set)?;
    let kernel = shader.kernel(&ctx)?;
    let signature = Signature::of(kernel.interface());
    check_arguments(&signature, options)?;
    let profiler = options.trace.as_ref().map(|file| (ctx.profile(), file));
    let queue = ctx.queue_with(QueueOptions::default().label("run").timing(options.time));
    let Arguments { values, mut buffers } = bind(&queue, &signature, &Limit::of(ctx.info()), options)?;
    let size = GridSize::new(options.grid, options.groups, &signature, &buffers)?;
    if let Some(shorter) = size.shorter(&signature, &buffers) {
        output::complain(&format!("note: {shorter}"));
    }

    let run = CheckedRun { shader: &shader, signature: &signature, size, buffers: &buffers, options };
    let checked = run.check()?;
    if let Some(note) = &checked.note {
        output::complain(note);
    }
    if !checked.findings.is_empty() {
        let adapter = &ctx.info().name;
        let remedy = "correct the kernel, or give --check=never";
        check::print(&checked.findings, &format!(", so the kernel did not run on `{adapter}`: {remedy}"));
        Report::of_findings(&signature, checked.findings).print(&ctx, options)?;
        return Ok(Outcome::Mistakes);
    }

    let job = Job { queue: &queue, kernel: &kernel, grid: size.grid(), values: &values };
    let report = launch(&job, &signature, &mut buffers, options, profiler);
    let findings = ctx.diagnostics().take_findings(); // with FENCEPOST_CHECK=1 on the CPU
    let mut report = report.inspect_err(|_| check::print(&findings, " in this run"))?;
    report.findings = findings;
    report.print(&ctx, options)?;
    check::print(&report.findings, " in this run");
    Ok(if report.findings.is_empty() { Outcome::Good } else { Outcome::Mistakes })
}

/// Makes kernels print to standard error, so that JSON is alone on standard output.
fn print_to_standard_error(ctx: &Context) {
    let complain = |printed: &Printed<'_>| output::complain(printed.to_string().trim_end_matches('\n'));
    ctx.set_print(PrintOptions::default().to(PrintTo::Function(Arc::new(complain))));
}

/// Launches the kernel, reads the results, and writes the profile.
fn launch(
    job: &Job<'_>,
    signature: &Signature,
    buffers: &mut [Bound],
    options: &cli::Run,
    profiler: Option<(Profiler, &PathBuf)>,
) -> Result<Report> {
    let times = if options.time {
        Some(job.measure(buffers, options.repeat)?)
    } else {
        job.launch(buffers)?;
        None
    };
    let report = Report::read(job.queue, signature, buffers, options, times)?;
    if let Some((profiler, file)) = profiler {
        profiler.finish().wait()?.write(file)?;
    }
    Ok(report)
}

/// Checks that the arguments are exactly the kernel's, each named once, and that results have files of their own.
fn check_arguments(signature: &Signature, options: &cli::Run) -> Result<()> {
    let Signature { kernel, buffers, params, .. } = signature;
    let names = || buffers.iter().map(|buffer| &buffer.name).chain(params.iter().map(|param| &param.name));
    for (at, Argument { name, .. }) in options.arguments.iter().enumerate() {
        if !names().any(|known| known == name) {
            bail!("kernel `{kernel}` has no argument `{name}`\n{}", signature.list());
        }
        if options.arguments[..at].iter().any(|before| before.name == *name) {
            bail!("argument `{name}` is given twice");
        }
    }
    let is_missing = |name: &&String| options.arguments.iter().all(|argument| argument.name != **name);
    let missing: Vec<String> = names().filter(is_missing).map(|name| format!("`{name}`")).collect();
    if !missing.is_empty() {
        bail!("kernel `{kernel}` needs {}\n{}", missing.join(", "), signature.list());
    }
    let mut wanted = options.print.iter().chain(options.save.iter().map(|saved| &saved.name));
    wanted.try_for_each(|name| signature.buffer(name).map(drop))?;
    check_saved(&options.save)
}

/// Fails if two results are saved to the same file.
fn check_saved(saved: &[Saved]) -> Result<()> {
    let absolute = |saved: &Saved| path::absolute(&saved.file).unwrap_or_else(|_| saved.file.clone());
    let files: Vec<PathBuf> = saved.iter().map(absolute).collect();
    for (at, file) in files.iter().enumerate() {
        if let Some(before) = files[..at].iter().position(|known| known == file) {
            bail!(
                "`{}` and `{}` are both saved to `{}`: give each a file of its own",
                saved[before].name,
                saved[at].name,
                saved[at].file.display()
            );
        }
    }
    Ok(())
}

/// Arguments of the launches.
struct Arguments {
    values: Vec<(String, Value)>,
    buffers: Vec<Bound>,
}

/// Makes the values of the parameters, and uploads the arrays of the buffers.
fn bind(queue: &CommandQueue, signature: &Signature, limit: &Limit, options: &cli::Run) -> Result<Arguments> {
    let mut arguments = Arguments { values: Vec::new(), buffers: Vec::new() };
    for Argument { name, given } in &options.arguments {
        if let Some(param) = signature.params.iter().find(|param| param.name == *name) {
            let Given::Numbers(texts) = given else {
                bail!(
                    "argument `{name}` is a parameter, `{}`: give a number or a list of numbers",
                    param.text
                );
            };
            arguments.values.push((name.clone(), value::value(param, texts)?));
        } else {
            let buffer = signature.buffer(name)?;
            arguments.buffers.push(Bound::new(queue, buffer, given, limit, options.repeat > 1)?);
        }
    }
    Ok(arguments)
}
