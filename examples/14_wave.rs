//! 14. Simulates waves: the 200 time steps of a frame are one graph, and each replay sets the position of the mouse.
//!
//! Run `cargo run --release --example 14_wave -- --frames 100 --size 640x480 --folder frames`. The folder receives the
//! frames as PNG files, and the graph as SVG. `--trace FILE.html` shows when each command ran.

#[path = "wave/options.rs"]
mod options;
#[path = "wave/reference.rs"]
mod reference;
#[path = "wave/waves.rs"]
mod waves;

use anyhow::{Result, ensure};
use clap::Parser;
use fencepost::prelude::*;
use image::RgbaImage;
use indicatif::ProgressBar;
use options::Options;
use reference::Reference;
use std::time::Instant;
use waves::{STEPS, Waves};

const VERIFIED: usize = 3; // frames that the CPU computes too
const TIMED: usize = 2; // frames of each measurement
const IN_FLIGHT: usize = 4; // replays that are enqueued together, before the first of them is read

fn main() -> Result<()> {
    let options = Options::parse();
    let path = options.path();
    let Options { size: [width, height], folder, trace, .. } = options;
    let ctx = Context::new().wait()?;
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));
    let queue = ctx.queue("waves");
    let mut waves = Waves::new(&ctx, [width, height])?;

    // The capture executes nothing. The array of the pixels belongs to the graph.
    let (graph, (pixels, heights)) = queue.capture(|c| {
        let mouse = c.value("mouse", [0.0_f32; 2])?;
        for number in 0..STEPS {
            waves.step(c, number, mouse.get())?;
            c.parameter("mouse", &mouse)?;
        }
        let mut pixels = c.zeros([height as usize, width as usize])?;
        waves.paint(c, &mut pixels)?;
        Ok((c.read_as("pixels", &pixels)?, c.read_as("heights", &waves.current)?))
    })?;
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("graph.svg"), graph.to_svg())?;
    let replay = |mouse: &[f32; 2]| queue.replay(&graph.with().value("mouse", *mouse)?);

    let mut reference = Reference::new([width, height]);
    let bar = ProgressBar::new(path.len() as u64);
    for (block, positions) in path.chunks(IN_FLIGHT).enumerate() {
        let runs = positions.iter().map(replay).collect::<fencepost::Result<Vec<_>>>()?;
        for (at, (run, mouse)) in runs.iter().zip(positions).enumerate() {
            let frame = block * IN_FLIGHT + at;
            let found = run.read(&pixels)?.wait()?;
            if frame < VERIFIED {
                reference.frame(*mouse);
                reference.check(&run.read(&heights)?.wait()?, &found)?;
            }
            let picture = RgbaImage::from_raw(width, height, found.into_flattened());
            let file = folder.join(format!("{frame:04}.png"));
            picture.expect("as many bytes as there were").save(file)?;
            bar.inc(1);
        }
    }
    bar.finish_and_clear();

    // The first frames again, with a call for each launch, then with a call for each frame.
    let first = &path[..path.len().min(TIMED)];
    let launches = measure("launches", &queue, &mut waves, first, |waves, mouse| {
        (0..STEPS).try_for_each(|number| waves.step(&queue, number, *mouse))
    })?;
    let replays = measure("replays", &queue, &mut waves, first, |_, mouse| replay(mouse).map(drop))?;
    ensure!(launches == replays, "launches and replays lead to different heights");
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    let frames = path.len();
    let verified = path.len().min(VERIFIED);
    println!(
        "{frames} frames of {STEPS} steps, the first {verified} verified on the CPU, are in {}",
        folder.display()
    );
    Ok(())
}

/// Prints the steps a second of some frames, which start from still water; returns the bits of the heights.
fn measure(
    name: &str,
    queue: &CommandQueue,
    waves: &mut Waves,
    path: &[[f32; 2]],
    frame: impl Fn(&mut Waves, &[f32; 2]) -> fencepost::Result<()>,
) -> Result<Vec<u32>> {
    waves.still(queue)?;
    queue.finish().wait()?;
    let begin = Instant::now();
    for mouse in path {
        frame(waves, mouse)?;
    }
    let enqueued = begin.elapsed();
    queue.finish().wait()?;
    let steps = STEPS * path.len() as u32;
    let speed = f64::from(steps) / begin.elapsed().as_secs_f64();
    let enqueued = enqueued / steps;
    println!("{name}: {speed:.0} steps a second, {enqueued:?} a step to enqueue");
    Ok(queue.read(&waves.current).wait()?.into_iter().map(f32::to_bits).collect())
}
