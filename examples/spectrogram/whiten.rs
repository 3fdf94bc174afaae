//! Whitens a recording: divides each frequency by the deviation of its noise, so that a short signal stands out.

use crate::sound::Sound;
use anyhow::{Result, ensure};
use fencepost::prelude::*;
use serde::Serialize;
use std::f64::consts::PI;

/// Seconds of a segment. The noise is the median of overlapping segments, which a short signal hardly changes.
const SEGMENT: usize = 4;
/// Seconds at both ends in which no amplitude is searched, because the samples fade there.
const CUT: usize = 2;

#[derive(KernelArgs)]
#[kernel(source = "../../examples/spectrogram/whiten.wgsl")]
struct Whiten<'a> {
    ratio: f32,
    noise: &'a DeviceArray<f32>,
    spectrum: &'a mut DeviceArray<[f32; 2]>,
}

/// The largest amplitude of a whitened recording.
#[derive(Serialize)]
pub(crate) struct Amplitude {
    /// Seconds from the start.
    pub(crate) time: f64,
    /// Multiple of the deviation of the noise in the band.
    pub(crate) size: f32,
}

/// Returns the whitened recording, and its largest amplitude in the band.
pub(crate) fn whiten(ctx: &Context, sound: Sound, band: Option<[f64; 2]>) -> Result<(Sound, Amplitude)> {
    let rate = sound.rate as usize;
    let samples = sound.samples.collect::<hound::Result<Vec<f32>>>()?;
    let len = samples.len();
    ensure!(len > SEGMENT * rate, "whitening needs a recording of more than {SEGMENT} seconds");
    let queue = ctx.queue("whiten");
    let x = queue.array(&samples)?;
    let noise = noise(ctx, &queue, &x, rate)?;

    let size = len.next_power_of_two(); // zeros follow
    let plan = RealFftPlan::new(ctx, [size])?;
    let mut y = queue.zeros::<f32, 1>([size])?;
    let mut spectrum = queue.empty::<[f32; 2], 1>([size / 2 + 1])?;
    let taper = queue.array(&Window::Tukey { alpha: 0.1 }.symmetric(len))?;
    queue.map(args![x = &x, taper = &taper], "x * taper", &mut y.slice(0..len)?)?;
    queue.rfft(&plan, &y, &mut spectrum)?;
    let ratio = (SEGMENT * rate) as f32 / size as f32;
    let args = Whiten { ratio, noise: &noise, spectrum: &mut spectrum };
    queue.launch(&ctx.kernel::<Whiten>()?, Grid::threads([size / 2 + 1]), args)?;
    queue.irfft(&plan, &spectrum, &mut y)?;
    let whitened = queue.read(&y.slice(0..len)?);

    if let Some(band) = band {
        let response = queue.array(&response(size, rate as f64, band))?;
        queue.map_in_place(args![z = &mut spectrum, response = &response], "z * response")?;
        queue.irfft(&plan, &spectrum, &mut y)?;
    }
    let in_band = queue.read(&y.slice(0..len)?).wait()?;
    Ok((Sound::of(whitened.wait()?, sound.rate), largest(&in_band, rate)))
}

/// Enqueues the power of the noise at each frequency of a segment: the method of Welch with medians. A power of 1 is
/// that of white noise with a deviation of 1.
fn noise(ctx: &Context, queue: &CommandQueue, x: &DeviceArray<f32>, rate: usize) -> Result<DeviceArray<f32>> {
    let window = Window::Hann.periodic(SEGMENT * rate);
    let plan = StftPlan::new(ctx, &window, window.len() / 2)?;
    let shape = [plan.frames(x.len()), plan.bins()];
    let mut spectra = queue.empty::<[f32; 2], 2>(shape)?;
    let mut powers = queue.empty::<f32, 2>(shape)?;
    let mut noise = queue.empty::<f32, 2>([1, plan.bins()])?;
    queue.stft(&plan, x, &mut spectra)?;
    queue.map(args![z = &spectra], "dot(z, z)", &mut powers)?;
    queue.median(powers.axis(0), &mut noise)?;
    let energy: f64 = window.iter().map(|factor| f64::from(factor * factor)).sum();
    let by = (1.0 / (energy * bias(shape[0]))) as f32;
    queue.map_in_place(args![x = &mut noise, by = by], "x * by")?;
    Ok(noise.reshape([plan.bins()])?)
}

/// Returns the mean of the median of `n` powers of normal noise, whose own mean is 1. An even `n` counts as the odd one
/// before it.
fn bias(n: usize) -> f64 {
    let term = |i: usize| 1.0 / (2 * i + 1) as f64 - 1.0 / (2 * i) as f64;
    1.0 + (1..=(n - 1) / 2).map(term).sum::<f64>()
}

/// Returns a factor for each frequency: the response of a Butterworth filter of order 4 that runs forwards and then
/// backwards, over the deviation that it leaves of white noise.
fn response(size: usize, rate: f64, [low, high]: [f64; 2]) -> Vec<f32> {
    let kept = ((high - low) / (rate / 2.0)).sqrt();
    let warped = |frequency: f64| (PI * frequency / rate).tan();
    let [from, to] = [low, high].map(warped);
    let factor = |k: usize| {
        let place = warped(k as f64 * rate / size as f64);
        let from_middle = (place * place - from * to) / (place * (to - from)); // -1 and 1 at the ends of the band
        (1.0 / ((1.0 + from_middle.powi(8)) * kept)) as f32
    };
    (0..=size / 2).map(factor).collect()
}

/// Returns the largest amplitude, away from the ends.
fn largest(samples: &[f32], rate: usize) -> Amplitude {
    let cut = CUT * rate;
    let inner = samples.iter().enumerate().take(samples.len() - cut).skip(cut);
    let (at, size) = inner
        .map(|(at, x)| (at, x.abs()))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .expect("it is longer than both ends");
    Amplitude { time: at as f64 / rate as f64, size }
}
