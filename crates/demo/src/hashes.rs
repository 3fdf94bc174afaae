//! Hashes files on the device with code of the example `b3sum`, and with the crate `blake3`.

#[path = "../../../examples/b3sum/gpu.rs"]
#[allow(dead_code, reason = "the example uses more of it")]
mod gpu;
#[path = "../../../examples/b3sum/hasher.rs"]
mod hasher;
#[path = "../../../examples/b3sum/input.rs"]
#[allow(dead_code, reason = "the example uses more of it")]
mod input;
#[path = "../../../examples/b3sum/tree.rs"]
mod tree;

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use fencepost::Context;

use gpu::Gpu;
use input::Input;

/// Number of chunks that go to the device at once: 16 MiB.
const PIECE: usize = (16 << 20) / tree::CHUNK;
/// Maximum number of bytes to hash for the timeline: four pieces.
const PART: u64 = 64 << 20;

/// Hashes files on the device, then with the crate `blake3`. Prints each hash, and both rates.
///
/// # Errors
/// Fails if a file cannot be read, if the device fails, or if the two hashes of a file differ; the error names the file.
pub(crate) fn run(ctx: &Context, files: &[PathBuf], out: &mut impl Write) -> Result<()> {
    let mut bytes = 0;
    for file in files {
        bytes += read_once(file).with_context(|| named(file))?;
    }
    let gigabytes = bytes as f64 / 1e9;
    writeln!(out, "hashes     {} files, {gigabytes:.3} GB", files.len())?;

    let mut gpu = Gpu::new(ctx.clone(), PIECE)?;
    let mut hashes = Vec::new();
    let begin = Instant::now();
    for file in files {
        let hash = on_device(&mut gpu, file).with_context(|| named(file))?;
        let name = file.file_name().unwrap_or(file.as_os_str());
        writeln!(out, "  {hash}  {}", name.to_string_lossy())?;
        hashes.push(hash);
    }
    let device_rate = gigabytes / begin.elapsed().as_secs_f64();

    let begin = Instant::now();
    for (file, found) in files.iter().zip(&hashes) {
        let expected = by_crate(file).with_context(|| named(file))?;
        ensure!(*found == expected, "{}: the device computed {found}, the CPU {expected}", named(file));
    }
    let crate_rate = gigabytes / begin.elapsed().as_secs_f64();
    writeln!(out, "           each verified on the CPU")?;
    writeln!(out, "           device      {device_rate:.2} GB/s")?;
    writeln!(out, "           one thread  {crate_rate:.2} GB/s, the crate `blake3`")?;
    Ok(())
}

/// Hashes the first bytes of a file on the device.
///
/// # Errors
/// Fails if the file cannot be read, or the device fails; the error names the file.
pub(crate) fn run_part(ctx: &Context, file: &Path) -> Result<()> {
    let mut gpu = Gpu::new(ctx.clone(), PIECE)?;
    let part = File::open(file).with_context(|| named(file))?.take(PART);
    gpu.hash(&mut Input::of(part), |_| {}).with_context(|| named(file))?;
    Ok(())
}

/// Reads a file and returns its length. Later both hashes read it from the system's cache, so their rates compare.
fn read_once(file: &Path) -> io::Result<u64> {
    io::copy(&mut File::open(file)?, &mut io::sink())
}

fn on_device(gpu: &mut Gpu, file: &Path) -> Result<String> {
    Ok(tree::hex(gpu.hash(&mut Input::open(file)?, |_| {})?))
}

fn by_crate(file: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(file)?)?;
    Ok(hasher.finalize().to_string())
}

fn named(file: &Path) -> String {
    format!("file `{}`", file.display())
}
