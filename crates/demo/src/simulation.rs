//! Simulates waves on the device with code of the example `14_wave`, and in plain Rust.

#[path = "../../../examples/wave/reference.rs"]
mod reference;
#[path = "../../../examples/wave/waves.rs"]
#[allow(dead_code, reason = "the example uses more of it")]
mod waves;

use std::io::Write;
use std::time::Instant;

use anyhow::{Context as _, Result};
use fencepost::{CommandQueue, Context};

use reference::Reference;
use waves::{STEPS, Waves};

/// Picture of the waves after the last step.
pub(crate) struct Picture {
    /// Width and height.
    pub(crate) size: [u32; 2],
    /// Red, green, blue and alpha of each pixel, row by row.
    pub(crate) bytes: Vec<u8>,
}

/// Simulates waves whose source moves, on the device and then in plain Rust. Prints the speeds of the steps on both, and
/// returns the device's picture.
///
/// # Errors
/// Fails if the device fails, or if a height or a pixel differs from that of plain Rust.
pub(crate) fn run(ctx: &Context, quick: bool, out: &mut impl Write) -> Result<Picture> {
    let size = size(quick);
    let frames = if quick { 1 } else { 8 };
    let [width, height] = size;
    let steps = STEPS * frames;
    writeln!(out, "waves      {steps} steps of {width} by {height} cells")?;

    let queue = ctx.queue("waves");
    let mut waves = Waves::new(ctx, size)?;
    ctx.synchronize().wait()?; // until the arrays are zero
    let begin = Instant::now();
    for frame in 0..frames {
        enqueue_frame(&mut waves, &queue, size, frame)?;
    }
    queue.finish().wait()?;
    let device_speed = f64::from(steps) / begin.elapsed().as_secs_f64();
    let pixels = painted(ctx, &queue, &waves, size)?;
    let heights = queue.read(&waves.current).wait()?;

    let mut reference = Reference::new(size);
    let begin = Instant::now();
    for frame in 0..frames {
        reference.frame(source(size, frame));
    }
    let plain_speed = f64::from(steps) / begin.elapsed().as_secs_f64();
    let cells = reference.check(&heights, &pixels);
    let cells = cells.context("the device and plain Rust compute different waves")?;
    writeln!(out, "           {cells} cells and their pixels verified on the CPU")?;
    writeln!(out, "           device      {device_speed:.0} steps/s")?;
    writeln!(out, "           one thread  {plain_speed:.0} steps/s, plain Rust")?;
    Ok(Picture { size, bytes: pixels.into_flattened() })
}

/// Simulates the first frame again on the device, and reads its picture.
///
/// # Errors
/// Fails if the device fails.
pub(crate) fn run_frame(ctx: &Context, quick: bool) -> Result<()> {
    let size = size(quick);
    let queue = ctx.queue("waves");
    let mut waves = Waves::new(ctx, size)?;
    enqueue_frame(&mut waves, &queue, size, 0)?;
    painted(ctx, &queue, &waves, size)?;
    Ok(())
}

/// Returns the width and the height of the water in cells.
fn size(quick: bool) -> [u32; 2] {
    if quick { [96, 60] } else { [480, 320] }
}

/// Enqueues the steps of a frame.
fn enqueue_frame(waves: &mut Waves, queue: &CommandQueue, size: [u32; 2], frame: u32) -> Result<()> {
    for number in 0..STEPS {
        waves.step(queue, number, source(size, frame))?;
    }
    Ok(())
}

/// Returns the pixels of the present heights.
fn painted(
    ctx: &Context,
    queue: &CommandQueue,
    waves: &Waves,
    [width, height]: [u32; 2],
) -> Result<Vec<[u8; 4]>> {
    let mut pixels = ctx.zeros([height as usize, width as usize])?;
    waves.paint(queue, &mut pixels)?;
    Ok(queue.read(&pixels).wait()?)
}

/// Returns the position of the source in a frame, in cells: it moves along a part of an ellipse.
fn source(size: [u32; 2], frame: u32) -> [f32; 2] {
    let (sin, cos) = (0.5 * frame as f32).sin_cos();
    let [width, height] = size.map(|side| side as f32);
    [width * (0.5 + 0.3 * cos), height * (0.5 + 0.3 * sin)]
}
