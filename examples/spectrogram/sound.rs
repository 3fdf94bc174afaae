//! The sound of the spectrogram, loaded or generated.

use anyhow::Result;
use hound::{SampleFormat, WavReader};
use std::f64::consts::TAU;
use std::path::PathBuf;

/// Returns the first channel of a WAV file, and its rate.
pub(crate) fn load(file: PathBuf) -> Result<(Vec<f32>, u32)> {
    let mut reader = WavReader::open(file)?;
    let spec = reader.spec();
    let samples: Result<Vec<f32>, _> = match spec.sample_format {
        SampleFormat::Float => reader.samples::<f32>().collect(),
        SampleFormat::Int => {
            reader.samples::<i32>().map(|sample| sample.map(|sample| sample as f32)).collect()
        }
    };
    Ok((samples?.into_iter().step_by(spec.channels.into()).collect(), spec.sample_rate))
}

/// Returns eight seconds of noise at 4096 Hz, with a tone that rises from 45 to 250 Hz for a second.
pub(crate) fn chirp() -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(8);
    let mut phase = 0.0;
    let sample = |i: usize| {
        let left = 1.0 - (i as f64 / 4096.0 - 4.0); // seconds until the end of the tone, which lasts one second
        let sounds = (0.01..1.0).contains(&left);
        phase += TAU * 45.0 * left.max(0.01).powf(-0.375) / 4096.0;
        random.f32() - 0.5 + if sounds { 0.5 * phase.sin() as f32 } else { 0.0 }
    };
    (0..8 * 4096).map(sample).collect()
}

/// Returns second differences of the samples. They attenuate low frequencies, which would leak into all bins.
pub(crate) fn without_low_tones(samples: &[f32]) -> Vec<f32> {
    samples.windows(3).map(|x| x[0] - 2.0 * x[1] + x[2]).collect()
}
