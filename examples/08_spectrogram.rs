//! 8. Computes a spectrogram: one queue uploads, one transforms, one reads, and `Checked` verifies their events.
//!
//! Run `cargo run --example 08_spectrogram -- sound.wav --picture sound.png`. `--trace FILE.html` shows when each
//! command ran.

#[path = "spectrogram/definition.rs"]
mod definition;
#[path = "common/outputs.rs"]
mod outputs;
#[path = "spectrogram/picture.rs"]
mod picture;
#[path = "spectrogram/sound.rs"]
mod sound;

use anyhow::{Result, ensure};
use clap::Parser;
use fencepost::prelude::*;
use outputs::Outputs;
use std::path::PathBuf;

/// Finds the loudest moment of a recording, and draws the frequencies around it.
#[derive(Parser)]
struct Options {
    /// A WAV file; without one the example makes a chirp in noise
    input: Option<PathBuf>,
    #[command(flatten)]
    outputs: Outputs,
}

#[derive(KernelArgs)]
#[kernel(source = "../../examples/spectrogram/stft.wgsl")]
struct Stft<'a> {
    hop: u32,
    circle: &'a DeviceArray<[f32; 2]>,
    samples: &'a DeviceArray<f32>,
    power: &'a mut DeviceArray<f32>,
}

const N: usize = 256; // samples of a frame
const BINS: usize = N / 2;
const HOP: usize = 16; // samples between the starts of two frames
const EVERY: usize = 37; // frames between two frames that the CPU verifies
const FRAMES: usize = 256; // frames of a block; one launch transforms a block

/// One of two sets of arrays, with the events that complete when each queue has finished with it.
struct Slot {
    samples: DeviceArray<f32>,
    power: DeviceArray<f32>,
    uploaded: Event,
    transformed: Event,
    fetched: Event,
}

fn main() -> Result<()> {
    let Options { input, outputs: Outputs { picture, trace } } = Options::parse();
    let (samples, rate) = input.map_or_else(|| Ok((sound::chirp(), 4096)), sound::load)?;
    let samples = sound::without_low_tones(&samples);
    ensure!(samples.len() >= N, "the recording has {} samples, and one frame has {N}", samples.len());
    let ctx = Context::with_options(ContextOptions::default().policy(Policy::Checked)).wait()?;
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));
    let circle = definition::circle();
    let frames = (samples.len() - N) / HOP + 1;
    let power = transform(&ctx, &samples, &circle, frames)?;

    definition::check(&samples, &circle, &power)?;
    let cells = picture::by_median(&power);
    let loudest = picture::loudest(&cells);
    let seconds = (loudest.frame * HOP + N / 2) as f64 / f64::from(rate);
    println!("{} Hz is {:.0} times its median", loudest.bin * rate as usize / N, loudest.times);
    picture::draw(&cells, loudest.frame).save(&picture)?;
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    println!(
        "{frames} frames, every {EVERY}th verified on the CPU, the loudest at {seconds:.2} s, drawn in {}",
        picture.display()
    );
    Ok(())
}

/// Returns the power in every bin of every frame.
fn transform(ctx: &Context, samples: &[f32], circle: &[[f64; 2]], frames: usize) -> Result<Vec<f32>> {
    let stft = ctx.kernel::<Stft>()?;
    let circle: Vec<_> = circle.iter().map(|[cos, sin]| [*cos as f32, *sin as f32]).collect();
    let circle = ctx.array(&circle)?; // made before the queues, so no queue needs to wait for it
    let length = (FRAMES - 1) * HOP + N;
    let slot = || -> Result<Slot> {
        let samples = ctx.zeros([length])?;
        let power = ctx.zeros([FRAMES * BINS])?;
        Ok(Slot { samples, power, uploaded: ctx.event(), transformed: ctx.event(), fetched: ctx.event() })
    };
    let mut slots = [slot()?, slot()?];
    let [upload, compute, fetch] = ["upload", "compute", "fetch"].map(|label| ctx.queue(label));

    let mut blocks = Vec::new();
    for first in (0..frames).step_by(FRAMES) {
        let slot = &mut slots[blocks.len() % 2];
        let block = &samples[first * HOP..samples.len().min(first * HOP + length)];
        upload.wait_for(&slot.transformed)?; // an event that was never recorded is complete
        upload.upload(block, &mut slot.samples.slice(0..block.len())?)?;
        slot.uploaded.record(&upload)?;

        compute.wait_for(&slot.uploaded)?;
        compute.wait_for(&slot.fetched)?;
        let args = Stft { hop: HOP as u32, circle: &circle, samples: &slot.samples, power: &mut slot.power };
        compute.launch(&stft, Grid::groups([FRAMES]), args)?;
        slot.transformed.record(&compute)?;

        fetch.wait_for(&slot.transformed)?;
        blocks.push(fetch.read(&slot.power));
        slot.fetched.record(&fetch)?;
    }
    let mut power = Vec::new();
    for block in blocks {
        power.extend(block.wait()?);
    }
    power.truncate(frames * BINS); // the last block has frames past the end
    Ok(power)
}
