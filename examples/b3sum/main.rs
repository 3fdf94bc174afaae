//! b3sum computes BLAKE3 of files of any size, streamed through the GPU.
//!
//! A *piece* of a file is read into pinned memory. The copy queue uploads it while the compute queue hashes
//! the previous piece, with one launch for all its chunks, then one for each level of the tree above them. Only
//! events order the two queues. Each piece is reduced to one value of 32 bytes, and the host joins those
//! values. Two pieces are in memory at a time for a file of any length.
//!
//! Run `cargo run --release --example b3sum -- FILE...`. The output has the format of the b3sum tool.

mod args;
mod gpu;
mod hasher;
mod input;
mod progress;
mod report;
#[path = "../common/trace.rs"]
mod trace;
mod tree;

use std::io::{stderr, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::Parser;
use fencepost::{Context, ContextOptions, Policy};

use args::Args;
use gpu::Gpu;
use input::Input;
use report::{FileReport, Hashed, Report};

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("b3sum: {error:#}");
            ExitCode::FAILURE
        }
    }
}

// Hashes every file. Returns `false` if a file failed, which does not stop the others.
fn run(args: &Args) -> Result<bool> {
    let mut gpu = open(args)?;
    let mut report = Report::new(gpu.adapter());
    let profiler = args.profiles().then(|| gpu.profile());
    for path in args.files() {
        let file = FileReport::new(path, hash(&mut gpu, path, args.verify));
        if !args.json {
            file.write_line(&mut stdout(), &mut stderr())?;
        }
        report.push(file);
    }
    if let Some(profiler) = profiler {
        let profile = profiler.finish().wait()?;
        report.set_queues(&profile.overlap());
        if let Some(file) = &args.trace {
            profile.write(file)?;
        }
    }
    if args.json {
        report.write_json(&mut stdout())?;
    }
    if args.summary() {
        report.write_summary(&mut stderr())?;
    }
    Ok(report.is_good())
}

// Opens the device. Under `Checked` a missing event between the two queues is an error.
fn open(args: &Args) -> Result<Gpu> {
    let options = ContextOptions::default().policy(Policy::Checked);
    Gpu::new(Context::with_options(options).wait()?, args.piece_chunks())
}

// Hashes one file. With `verify` it also hashes on the CPU the bytes that go to the GPU.
fn hash(gpu: &mut Gpu, path: &Path, verify: bool) -> Result<Hashed> {
    let start = Instant::now();
    let mut input = Input::open(path)?;
    let bar = progress::start(path, input.length());
    let mut check = verify.then(blake3::Hasher::new);
    let mut bytes = 0;
    let hash = gpu.hash(&mut input, |piece| {
        if let Some(check) = &mut check {
            check.update(piece);
        }
        bytes += piece.len() as u64;
        bar.inc(piece.len() as u64);
    });
    bar.finish_and_clear();
    let hash = tree::hex(hash?);
    if let Some(check) = check.map(|check| check.finalize().to_string()).filter(|check| *check != hash) {
        bail!("the GPU computed {hash}, the CPU {check}");
    }
    Ok(Hashed { hash, bytes, seconds: start.elapsed().as_secs_f64(), verified: verify })
}
