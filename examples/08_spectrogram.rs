//! 8. A spectrogram: one queue uploads, one transforms, one reads, and `Checked` proves that their events are enough.
//!
//! `cargo run --example 08_spectrogram -- sound.wav --picture sound.png`; `--trace FILE.html` shows what ran when.

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
use std::f64::consts::TAU;
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
const HOP: usize = 16; // samples from the start of a frame to that of the next
const EVERY: usize = 37; // frames from one that the CPU compares to the next
const FRAMES: usize = 256; // of a block, which is what one launch transforms

/// One of two sets of arrays, and the events at which each queue is done with them.
struct Slot {
    samples: DeviceArray<f32>,
    power: DeviceArray<f32>,
    uploaded: Event,
    transformed: Event,
    fetched: Event,
}

fn main() -> Result<()> {
    let Options { input, outputs: Outputs { picture, trace } } = Options::parse();
    let (samples, rate) = match input {
        Some(file) => sound::load(file)?,
        None => (sound::chirp(), 4096),
    };
    // Differences of differences: low frequencies, which would leak into all bins, become quiet.
    let samples: Vec<f32> = samples.windows(3).map(|x| x[0] - 2.0 * x[1] + x[2]).collect();
    ensure!(samples.len() >= N, "the recording has {} samples, and one frame has {N}", samples.len());
    let ctx = Context::with_options(ContextOptions { policy: Policy::Checked, ..ContextOptions::default() })
        .wait()?;
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));
    let circle: Vec<[f64; 2]> =
        (0..N).map(|i| (TAU * i as f64 / N as f64).sin_cos()).map(|(sin, cos)| [cos, sin]).collect();
    let frames = (samples.len() - N) / HOP + 1;
    let power = transform(&ctx, &samples, &circle, frames)?;

    for frame in (0..frames).step_by(EVERY) {
        check(&samples[frame * HOP..][..N], &circle, &power[frame * BINS..][..BINS])?;
    }
    let cells = picture::by_median(&power);
    let loudest = picture::loudest(&cells);
    let seconds = (loudest.frame * HOP + N / 2) as f64 / f64::from(rate);
    println!("{} Hz is {:.0} times its median", loudest.bin * rate as usize / N, loudest.times);
    picture::draw(&cells, loudest.frame).save(&picture)?;
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    println!(
        "{frames} frames, every {EVERY}th as on the CPU, the loudest at {seconds:.2} s, drawn in {}",
        picture.display()
    );
    Ok(())
}

/// The power in every bin of every frame.
fn transform(ctx: &Context, samples: &[f32], circle: &[[f64; 2]], frames: usize) -> Result<Vec<f32>> {
    let stft = ctx.kernel::<Stft>()?;
    let circle: Vec<_> = circle.iter().map(|[cos, sin]| [*cos as f32, *sin as f32]).collect();
    let circle = ctx.array(&circle)?; // made before the queues, so no queue needs to wait for it
    let length = (FRAMES - 1) * HOP + N;
    let slot = || -> Result<Slot> {
        let (samples, power) = (ctx.zeros([length])?, ctx.zeros([FRAMES * BINS])?);
        Ok(Slot { samples, power, uploaded: ctx.event(), transformed: ctx.event(), fetched: ctx.event() })
    };
    let mut slots = [slot()?, slot()?];
    let (upload, compute, fetch) = (ctx.queue("upload"), ctx.queue("compute"), ctx.queue("fetch"));

    let mut blocks = Vec::new();
    for first in (0..frames).step_by(FRAMES) {
        let slot = &mut slots[blocks.len() % 2];
        let block = &samples[first * HOP..samples.len().min(first * HOP + length)];
        upload.wait_for(&slot.transformed)?; // an event that was never recorded is complete
        upload.upload(block, &mut slot.samples.slice(0..block.len())?)?;
        upload.record(&slot.uploaded)?;

        compute.wait_for(&slot.uploaded)?;
        compute.wait_for(&slot.fetched)?;
        let (circle, samples, power) = (&circle, &slot.samples, &mut slot.power);
        compute.launch(&stft, Grid::groups([FRAMES]), Stft { hop: HOP as u32, circle, samples, power })?;
        compute.record(&slot.transformed)?;

        fetch.wait_for(&slot.transformed)?;
        blocks.push(fetch.read(&slot.power));
        fetch.record(&slot.fetched)?;
    }
    let mut power = Vec::new();
    for block in blocks {
        power.extend(block.wait()?);
    }
    power.truncate(frames * BINS); // the last block has frames past the end
    Ok(power)
}

/// Fails unless the sums of the definition, in `f64`, are the power of a frame.
fn check(samples: &[f32], circle: &[[f64; 2]], power: &[f32]) -> Result<()> {
    let tone = |bin: usize, part: usize| -> f64 {
        let term =
            |(n, x): (usize, &f32)| (0.5 - 0.5 * circle[n][0]) * f64::from(*x) * circle[bin * n % N][part];
        samples.iter().enumerate().map(term).sum()
    };
    let expected: Vec<f64> = (0..BINS).map(|bin| tone(bin, 0).powi(2) + tone(bin, 1).powi(2)).collect();
    let limit = 1e-5 * expected.iter().sum::<f64>();
    for (bin, (found, expected)) in power.iter().zip(expected).enumerate() {
        ensure!((f64::from(*found) - expected).abs() <= limit, "bin {bin} has {found}, not {expected}");
    }
    Ok(())
}
