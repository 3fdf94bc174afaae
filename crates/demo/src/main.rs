//! The program of `cargo xtask demo`. It hashes files and simulates waves on the default adapter, checks both on the CPU, shows
//! the waves, and stores a timeline of a part of the work.

mod arguments;
mod device;
mod hashes;
mod simulation;
mod terminal;

use std::ffi::OsString;
use std::fs::File;
use std::io::{IsTerminal, Write, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use anyhow::{Context as _, Result};

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
    let picture_file = folder.join("waves.png");
    let timeline_file = folder.join("timeline.html");
    check_writable(&picture_file)?;
    check_writable(&timeline_file)?;

    let ctx = device::open(out)?;
    hashes::run(&ctx, &files, out)?;
    let picture = encoded(&simulation::run(&ctx, quick, out)?)?;
    writeln!(
        out,
        "speeds     of a quick build: the library is little optimised, the code on one thread is fully optimised"
    )?;
    store(&picture_file, &picture)?;

    // With a profiler, launches take longer, so the timeline shows a part of the work that is done again.
    let profiler = ctx.profile();
    hashes::run_part(&ctx, &files[0])?;
    simulation::run_frame(&ctx, quick)?;
    let profile = profiler.finish().wait()?;

    let protocol = Protocol::find(headless, stdout().is_terminal(), |name| env::var(name).ok());
    if let Some(protocol) = protocol {
        writeln!(out, "{}", protocol.sequences(&picture))?;
    }
    writeln!(out, "picture    {}", picture_file.display())?;
    device::store_timeline(&profile, &timeline_file, out)
}

/// Creates a file and removes it, so that a place that cannot be written is an error before the work.
fn check_writable(file: &Path) -> Result<()> {
    let created = File::create(file).map(drop).and_then(|()| fs::remove_file(file));
    created.with_context(|| cannot_write(file))
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
    fs::write(file, bytes).with_context(|| cannot_write(file))
}

fn cannot_write(file: &Path) -> String {
    format!("cannot write `{}`", file.display())
}
