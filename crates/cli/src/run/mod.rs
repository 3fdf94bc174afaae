//! `fencepost run`: runs a kernel of a WGSL file, with arguments from the command line.

mod argument;
mod buffer;
mod csv_file;
mod failure;
mod grid;
mod host;
mod npy;
mod npz;
mod number;
mod report;
mod shader;
mod shape;
mod show;
mod signature;
mod times;
mod value;

use anyhow::{Result, bail};
use fencepost::interface::Value;
use fencepost::{CommandQueue, QueueOptions};

use crate::{Outcome, cli, opened};

pub(crate) use argument::{Argument, Saved, Setting};
pub(crate) use shape::Extent;

use argument::Given;
use buffer::Bound;
use host::Limit;
use report::Report;
use signature::Signature;
use times::Job;

/// Runs a kernel.
pub(crate) fn run(options: &cli::Run) -> Result<Outcome> {
    run_kernel(options).map_err(failure::without_line)
}

fn run_kernel(options: &cli::Run) -> Result<Outcome> {
    let ctx = opened::open(options.adapter.clone().unwrap_or_default())?;
    let kernel = shader::kernel(&ctx, &options.file, options.entry.as_deref(), &options.set)?;
    let signature = Signature::of(kernel.interface());
    check(&signature, options)?;
    let profiler = options.trace.as_ref().map(|file| (ctx.profile(), file));
    let queue = ctx.queue_with(QueueOptions::default().label("run").timing(options.time));

    let Arguments { values, mut buffers } = bind(&queue, &signature, &Limit::of(ctx.info()), options)?;
    let grid = grid::grid(options.grid, options.groups, &signature, &buffers)?;
    let job = Job { queue: &queue, kernel: &kernel, grid, values: &values };
    let times = if options.time {
        Some(job.measure(&mut buffers, options.repeat)?)
    } else {
        job.launch(&buffers)?;
        None
    };
    let report = Report::read(&queue, &signature, &buffers, options, times)?;
    if let Some((profiler, file)) = profiler {
        profiler.finish().wait()?.write(file)?;
    }
    report.print(&ctx, options)?;
    Ok(Outcome::Good)
}

/// Checks that the arguments are exactly the kernel's, each named once.
fn check(signature: &Signature, options: &cli::Run) -> Result<()> {
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
    wanted.try_for_each(|name| signature.buffer(name).map(drop))
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
