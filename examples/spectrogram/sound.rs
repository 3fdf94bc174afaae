//! The samples of a recording, which are read while they are used.

use anyhow::Result;
use hound::{SampleFormat, WavReader};
use std::f64::consts::TAU;
use std::path::Path;

type Samples = Box<dyn Iterator<Item = hound::Result<f32>>>;

/// A recording with one channel.
pub(crate) struct Sound {
    /// Number of samples of a second.
    pub(crate) rate: u32,
    /// Number of samples.
    pub(crate) len: usize,
    pub(crate) samples: Samples,
}

impl Sound {
    /// Opens a WAV file of integers or floats. Samples are from -1 to 1, and channels are averaged.
    pub(crate) fn open(file: &Path) -> Result<Self> {
        let reader = WavReader::open(file)?;
        let spec = reader.spec();
        let len = reader.duration();
        let mut samples: Samples = match spec.sample_format {
            SampleFormat::Float => Box::new(reader.into_samples::<f32>()),
            SampleFormat::Int => {
                let one = 2.0_f32.powi(i32::from(spec.bits_per_sample) - 1);
                let samples = reader.into_samples::<i32>();
                Box::new(samples.map(move |sample| sample.map(|sample| sample as f32 / one)))
            }
        };
        let channels = usize::from(spec.channels);
        let mean = move |_| {
            let sum: hound::Result<f32> = samples.by_ref().take(channels).sum();
            sum.map(|sum| sum / channels as f32)
        };
        Ok(Self { rate: spec.sample_rate, len: len as usize, samples: Box::new((0..len).map(mean)) })
    }

    /// Makes a recording of samples.
    pub(crate) fn of(samples: Vec<f32>, rate: u32) -> Self {
        Self { rate, len: samples.len(), samples: Box::new(samples.into_iter().map(Ok)) }
    }

    /// Makes 16 seconds of noise at 4096 Hz. From 9 s to 9.99 s, a tone rises from 45 to 250 Hz, and becomes louder.
    pub(crate) fn chirp() -> Self {
        let mut random = fastrand::Rng::with_seed(8);
        let mut phase = 0.0;
        let sample = |i: usize| {
            let noise = random.f32() - 0.5;
            let left = 10.0 - i as f64 / 4096.0; // seconds
            if !(0.01..1.0).contains(&left) {
                return noise;
            }
            phase += TAU * 45.0 * left.powf(-0.375) / 4096.0;
            noise + (0.1 * left.powf(-0.5) * phase.sin()) as f32
        };
        Self::of((0..16 * 4096).map(sample).collect(), 4096)
    }
}
