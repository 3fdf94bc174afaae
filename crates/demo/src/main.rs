//! The program of `cargo xtask demo`. It hashes files and simulates waves on the default adapter, checks both on the CPU, shows
//! the waves, and stores a timeline of the device's work.

mod arguments;
mod hashes;
mod simulation;
mod terminal;

use std::ffi::OsString;
use std::io::{IsTerminal, Write, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use anyhow::{Context as _, Result};
use fencepost::{AdapterKind, Context, ContextOptions, Policy};

use arguments::{Arguments, USAGE};
use simulation::Picture;
use terminal::Protocol;

fn main() -> ExitCode {
    let args: Vec<OsString> = env::args_os().skip(1).collect();
    match run(args, &mut stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("demo: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Vec<OsString>, out: &mut impl Write) -> Result<()> {
    if args.iter().any(|arg| arg == "--help") {
        writeln!(out, "{USAGE}\n\n`cargo xtask demo --help` has examples.")?;
        return Ok(());
    }
    let Arguments { quick, headless, folder, files } = Arguments::parse(args)?;
    fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
    let ctx = open(out)?;
    let profiler = ctx.profile();
    hashes::run(&ctx, &files, out)?;
    let picture = encoded(&simulation::run(&ctx, quick, out)?)?;

    let picture_file = folder.join("waves.png");
    store(&picture_file, &picture)?;
    let timeline_file = folder.join("timeline.html");
    profiler.finish().wait()?.write(&timeline_file)?;
    let protocol = Protocol::find(headless, stdout().is_terminal(), |name| env::var(name).ok());
    if let Some(protocol) = protocol {
        writeln!(out, "{}", protocol.sequences(&picture))?;
    }
    writeln!(out, "picture    {}", picture_file.display())?;
    writeln!(out, "timeline   {}, a page for a browser", timeline_file.display())?;
    Ok(())
}

/// Opens the default adapter and prints its name. Under `Checked`, a missing wait between two queues is an error.
fn open(out: &mut impl Write) -> Result<Context> {
    let ctx = Context::with_options(ContextOptions::default().policy(Policy::Checked)).wait()?;
    writeln!(out, "device     {}", ctx.info())?;
    if ctx.info().kind == AdapterKind::Software {
        writeln!(
            out,
            "           Kernels run on the CPU: there is no GPU, or FENCEPOST_ADAPTER names this adapter."
        )?;
    }
    Ok(ctx)
}

/// Returns the picture as a PNG file.
fn encoded(picture: &Picture) -> Result<Vec<u8>> {
    let [width, height] = picture.size;
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&picture.bytes)?;
    writer.finish()?;
    Ok(file)
}

fn store(file: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(file, bytes).with_context(|| format!("cannot write `{}`", file.display()))
}
