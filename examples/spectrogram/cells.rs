//! The cells of a spectrogram.

use crate::whiten::Amplitude;
use serde::Serialize;
use std::fmt;
use std::ops::Range;

/// The loudest moment of a recording.
#[derive(Serialize)]
pub(crate) struct Peak {
    /// The largest amplitude, if the recording is whitened.
    #[serde(flatten)]
    pub(crate) amplitude: Option<Amplitude>,
    pub(crate) cell: Cell,
}

/// A frame at a frequency.
#[derive(Serialize)]
pub(crate) struct Cell {
    /// Seconds from the start to the middle of the frame.
    time: f64,
    /// Frequency in hertz.
    frequency: f64,
    /// Power in multiples of the median of the frequency.
    ratio: f32,
}

impl fmt::Display for Peak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Amplitude { time, size }) = self.amplitude {
            writeln!(
                f,
                "the largest amplitude is at {time:.4} s, {size:.2} times the deviation of the noise"
            )?;
        }
        let Cell { time, frequency, ratio } = self.cell;
        write!(f, "the loudest cell is at {time:.3} s and {frequency} Hz, {ratio:.0} times the median")
    }
}

/// All cells, with their powers in multiples of the median of the frequency.
pub(crate) struct Cells {
    /// Ratios in C order: frames, frequencies.
    ratios: Vec<f32>,
    /// Number of frequencies of a frame.
    bins: usize,
    /// Frequencies that are searched and drawn.
    rows: Range<usize>,
    /// Samples of a frame.
    window: usize,
    /// Samples between the starts of two frames.
    hop: usize,
    /// Samples of a second.
    rate: usize,
}

impl Cells {
    /// Divides powers by the medians of their frequencies.
    pub(crate) fn new(
        mut powers: Vec<f32>,
        medians: &[f32],
        rows: Range<usize>,
        [window, hop]: [usize; 2],
        rate: usize,
    ) -> Self {
        // In silence, the median is no larger than the rounding errors of a loud frame.
        let floor = (1e-13_f32 * powers.iter().copied().fold(0.0_f32, f32::max)).max(f32::MIN_POSITIVE);
        for frame in powers.chunks_mut(medians.len()) {
            frame.iter_mut().zip(medians).for_each(|(power, median)| *power /= median.max(floor));
        }
        Self { ratios: powers, bins: medians.len(), rows, window, hop, rate }
    }

    pub(crate) fn frames(&self) -> usize {
        self.ratios.len() / self.bins
    }

    pub(crate) fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    pub(crate) fn ratio(&self, frame: usize, row: usize) -> f32 {
        self.ratios[frame * self.bins + row]
    }

    /// Returns the seconds from the start to a frame; a whole number is the middle of one.
    pub(crate) fn time(&self, frame: f64) -> f64 {
        (frame * self.hop as f64 + (self.window / 2) as f64) / self.rate as f64
    }

    /// Returns the frequency of a row, in hertz.
    pub(crate) fn frequency(&self, row: f64) -> f64 {
        row * self.rate as f64 / self.window as f64
    }

    /// Returns the number of the frame with the loudest cell, and that cell.
    pub(crate) fn loudest(&self) -> (usize, Cell) {
        let cells = (0..self.frames()).flat_map(|frame| self.rows().map(move |row| (frame, row)));
        let ratio = |&(frame, row): &(usize, usize)| self.ratio(frame, row);
        let (frame, row) = cells.max_by(|a, b| ratio(a).total_cmp(&ratio(b))).expect("there is a frame");
        let time = self.time(frame as f64);
        (frame, Cell { time, frequency: self.frequency(row as f64), ratio: self.ratio(frame, row) })
    }

    /// Returns the frames of some seconds around a frame.
    pub(crate) fn around(&self, frame: usize, seconds: f64) -> Range<usize> {
        let count = ((seconds * self.rate as f64 / self.hop as f64) as usize).clamp(1, self.frames());
        let first = frame.saturating_sub(count / 2).min(self.frames() - count);
        first..first + count
    }
}
