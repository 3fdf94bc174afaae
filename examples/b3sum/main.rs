//! b3sum: BLAKE3 of files of any size, streamed through the GPU.
//!
//! A *piece* of a file is read into pinned memory. The copy queue uploads it while the compute queue still
//! hashes the piece before: one launch for all its chunks, then one for each level of the tree above them.
//! Events alone order the two queues; each piece comes back as one value of 32 bytes, and the host joins
//! those. Two pieces are in memory at a time, however long the file.
//!
//! `cargo run --release --example b3sum -- FILE...` prints what the b3sum tool prints.

mod args;
mod gpu;
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

// Hashes every file; `false` if one of them failed, which does not stop the others.
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

// Opens the device. `Checked` makes an error of every event that the two queues would lack.
fn open(args: &Args) -> Result<Gpu> {
    let options = ContextOptions { policy: Policy::Checked, ..ContextOptions::default() };
    Gpu::new(Context::with_options(options).wait()?, args.piece_chunks())
}

// Hashes one file; `verify` does it once more on the CPU, from the bytes that the GPU is given.
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
