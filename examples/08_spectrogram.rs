//! 8. Draws a spectrogram: a recording is streamed through three queues, and `Checked` verifies their waits.
//!
//! Run `cargo run --release --example 08_spectrogram -- sound.wav --picture sound.png`. `--help` shows how to find a
//! signal in noise.

#[path = "spectrogram/cells.rs"]
mod cells;
#[path = "spectrogram/options.rs"]
mod options;
#[path = "common/outputs.rs"]
mod outputs;
#[path = "spectrogram/paint.rs"]
mod paint;
#[path = "spectrogram/picture.rs"]
mod picture;
#[path = "spectrogram/sound.rs"]
mod sound;
#[path = "spectrogram/whiten.rs"]
mod whiten;

use anyhow::{Result, ensure};
use cells::{Cells, Peak};
use clap::Parser as _;
use fencepost::prelude::*;
use options::Options;
use outputs::Outputs;
use sound::Sound;

/// Number of frames of a block. One launch transforms a block.
const BLOCK: usize = 512;

/// One of two buffers for the samples of a block, with the event that completes when they are transformed.
struct Slot {
    staging: HostArray<f32, Upload>,
    samples: DeviceArray<f32>,
    used: Event,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let mut sound = options.input.as_deref().map_or_else(|| Ok(Sound::chirp()), Sound::open)?;
    let band = options.band(sound.rate)?;
    let rows = options.rows(sound.rate, band)?;
    let ctx = Context::with_options(ContextOptions::default().policy(Policy::Checked)).wait()?;
    if !options.peak {
        println!("running on {}", ctx.info());
    }
    let Outputs { picture, trace } = &options.outputs;
    let trace = trace.as_ref().map(|file| (ctx.profile(), file));

    let mut amplitude = None;
    if options.whiten {
        let (whitened, largest) = whiten::whiten(&ctx, sound, band)?;
        sound = whitened;
        amplitude = Some(largest);
    }
    let rate = sound.rate as usize;
    let [powers, medians] = spectrogram(&ctx, sound, options.frame())?;
    let cells = Cells::new(powers, &medians, rows, options.frame(), rate);
    let (frame, cell) = cells.loudest();
    let shown = options.zoom.map_or(0..cells.frames(), |seconds| cells.around(frame, seconds));
    picture::draw(&cells, shown).save(picture)?;
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    let peak = Peak { amplitude, cell };
    match options.peak {
        true => println!("{}", serde_json::to_string(&peak)?),
        false => println!("{peak}, drawn in {}", picture.display()),
    }
    Ok(())
}

/// Returns the power of each frame at each frequency, and the medians of the frequencies.
fn spectrogram(ctx: &Context, mut sound: Sound, [window, hop]: [usize; 2]) -> Result<[Vec<f32>; 2]> {
    let plan = StftPlan::new(ctx, &Window::Hann.periodic(window), hop)?;
    let (frames, bins) = (plan.frames(sound.len), plan.bins());
    ensure!(frames > 0, "the recording has {} samples, and a frame has {window}", sound.len);
    let length = (BLOCK - 1) * hop + window; // samples of a block
    let slot = || -> Result<Slot> {
        Ok(Slot { staging: ctx.pinned([length])?, samples: ctx.empty([length])?, used: ctx.event() })
    };
    let mut slots = [slot()?, slot()?];
    let spectra = ctx.empty::<[f32; 2], 2>([BLOCK, bins])?;
    let power = ctx.empty::<f32, 2>([frames, bins])?;
    let [upload, transform, download] = ["upload", "transform", "download"].map(|label| ctx.queue(label));

    let mut block = Vec::new();
    let mut pending: Vec<Pending<Vec<f32>>> = Vec::new();
    let mut powers = Vec::with_capacity(power.len());
    for first in (0..frames).step_by(BLOCK) {
        block.drain(..block.len().min(BLOCK * hop)); // the next block begins with the other samples
        for sample in sound.samples.by_ref().take(length - block.len()) {
            block.push(sample?);
        }
        let slot = &mut slots[first / BLOCK % 2];
        slot.staging.host_mut()?[..block.len()].copy_from_slice(&block); // after the upload of two blocks ago
        upload.wait_for(&slot.used)?; // the device has transformed the block of two turns ago
        upload.upload(&slot.staging, &mut slot.samples)?;

        transform.wait_for(&upload.marker())?;
        let mut rows = power.slice(first..frames.min(first + BLOCK))?;
        let mut spectra = spectra.slice(0..rows.shape()[0])?;
        transform.stft(&plan, &slot.samples.slice(0..block.len())?, &mut spectra)?;
        transform.map(args![z = &spectra], "dot(z, z)", &mut rows)?;
        slot.used.record(&transform)?;

        download.wait_for(&slot.used)?;
        pending.push(download.read(&rows));
        if pending.len() == 2 {
            powers.extend(pending.remove(0).wait()?); // while the device transforms this block
        }
    }
    for block in pending {
        powers.extend(block.wait()?);
    }
    let mut medians = transform.empty::<f32, 2>([1, bins])?;
    transform.median(power.axis(0), &mut medians)?;
    Ok([powers, transform.read(&medians).wait()?])
}
