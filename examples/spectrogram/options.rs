//! The command line of the spectrogram.

use crate::outputs::Outputs;
use anyhow::{Result, bail, ensure};
use clap::{Parser, value_parser};
use std::ops::Range;
use std::path::PathBuf;

const HELP: &str = "Examples:
  cargo run --release --example 08_spectrogram
  cargo run --release --example 08_spectrogram -- song.wav --window 4096 --hop 1024 --picture song.png
  cargo run --release --example 08_spectrogram -- strain.wav --whiten --band 35 350 --zoom 2 --picture event.png
  cargo run --release --example 08_spectrogram -- strain.wav --whiten --band 35 350 --peak";

/// Draws the spectrogram of a recording, and finds its loudest moment.
///
/// The colours show the power of each cell in multiples of the median of its frequency.
#[derive(Parser)]
#[command(after_help = HELP)]
pub(crate) struct Options {
    /// A WAV file, whose channels are averaged; without one the example makes a rising tone in noise
    pub(crate) input: Option<PathBuf>,
    /// Divide each frequency by the deviation of its noise; the device must hold the whole recording
    #[arg(long)]
    pub(crate) whiten: bool,
    /// Draw and search the frequencies between two, in hertz
    #[arg(long, num_args = 2, value_names = ["LOW", "HIGH"])]
    band: Option<Vec<f64>>,
    /// Print the loudest cell as JSON, and with `--whiten` the largest amplitude in the band
    #[arg(long)]
    pub(crate) peak: bool,
    /// The number of samples of a frame
    #[arg(long, default_value_t = 256, value_parser = value_parser!(u32).range(16..=16384))]
    window: u32,
    /// The number of samples between the starts of two frames, at most that of a frame
    #[arg(long, default_value_t = 16, value_parser = value_parser!(u32).range(1..=16384))]
    hop: u32,
    /// Draw so many seconds around the loudest cell
    #[arg(long, value_name = "SECONDS")]
    pub(crate) zoom: Option<f64>,
    #[command(flatten)]
    pub(crate) outputs: Outputs,
}

impl Options {
    /// Returns the number of samples of a frame, and of those between the starts of two.
    pub(crate) fn frame(&self) -> [usize; 2] {
        [self.window as usize, self.hop as usize]
    }

    /// Returns the ends of the band, in hertz, or `None` for all frequencies.
    pub(crate) fn band(&self, rate: u32) -> Result<Option<[f64; 2]>> {
        let half = f64::from(rate) / 2.0;
        match self.band.as_deref() {
            None => Ok(None),
            Some(&[low, high]) if 0.0 < low && low < high && high < half => Ok(Some([low, high])),
            Some(band) => bail!("--band needs two frequencies between 0 and {half} Hz, not {band:?}"),
        }
    }

    /// Returns the frequencies in the band, as multiples of the lowest one.
    pub(crate) fn rows(&self, rate: u32, band: Option<[f64; 2]>) -> Result<Range<usize>> {
        let [window, hop] = self.frame();
        ensure!(hop <= window, "--hop {hop} is longer than the frames of {window} samples");
        let [low, high] = band.unwrap_or([0.0, f64::INFINITY]);
        let row = |frequency: f64| frequency * window as f64 / f64::from(rate);
        // The mean of the samples is in the two lowest rows. The highest row is half the rate.
        let first = (row(low).ceil() as usize).max(2);
        let end = (row(high).floor() as usize).saturating_add(1).min(window / 2);
        ensure!(first < end, "no frequency is in the band: --window needs a larger number");
        Ok(first..end)
    }
}
