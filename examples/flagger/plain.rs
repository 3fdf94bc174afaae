//! The data of the flagger, and the same flagger in plain Rust.

use anyhow::{Result, ensure};

pub(crate) const CHANNELS: usize = 1024;
/// Number of channels of the window whose median is the background.
pub(crate) const WIDTH: usize = 13;
/// Threshold of a single channel, in standard deviations of the noise.
pub(crate) const SIGMAS: f64 = 11.0;

/// Number of different dumps.
const OBSERVED: usize = 4;
/// Channel with strong interference in each seventh baseline.
const STRONG: usize = 300;
/// First of four channels with interference that is weak in each of them, in each fifth baseline.
const WEAK: usize = 600;

/// Returns the flags of the channels at both ends of the band, which are known before.
pub(crate) fn known() -> Vec<u32> {
    (0..CHANNELS).map(|channel| u32::from(!(16..CHANNELS - 16).contains(&channel))).collect()
}

/// Returns dumps of visibilities, indexed by channel and baseline: a band with noise and interference.
pub(crate) fn observed(baselines: usize) -> Vec<Vec<[f32; 2]>> {
    let mut rng = fastrand::Rng::with_seed(22);
    // A sum of twelve uniform numbers has nearly a normal distribution, with a deviation of 1.
    let mut noise = || (0..12).map(|_| rng.f32()).sum::<f32>() - 6.0;
    let mut visibility = |at: usize| {
        let channel = at / baselines;
        let baseline = at % baselines;
        let band = 40.0 + 5.0 * (channel as f32 / 150.0).sin();
        let strong = if channel == STRONG && baseline.is_multiple_of(7) { 100.0 } else { 0.0 };
        let weak = if (WEAK..WEAK + 4).contains(&channel) && baseline.is_multiple_of(5) { 11.0 } else { 0.0 };
        [band + strong + weak + noise(), noise()]
    };
    (0..OBSERVED).map(|_| (0..CHANNELS * baselines).map(&mut visibility).collect()).collect()
}

/// Fails unless the flags are those of the dumps. Returns the share of flagged samples in percent.
pub(crate) fn verify(observed: &[Vec<[f32; 2]>], found: &[Vec<u32>], baselines: usize) -> Result<f64> {
    let expected: Vec<Vec<u32>> = observed.iter().map(|vis| flags(vis, baselines)).collect();
    let mut flagged = 0;
    for (dump, found) in found.iter().enumerate() {
        let expected = &expected[dump % expected.len()];
        // A sum within a rounding error of its threshold may be on either side of it.
        let differing = found.iter().zip(expected).filter(|(a, b)| a != b).count();
        ensure!(differing * 10_000 <= found.len(), "{differing} flags of dump {dump} differ");
        let is_flagged = |channel: usize, baseline: usize| found[channel * baselines + baseline] == 1;
        for baseline in 0..baselines {
            ensure!(baseline % 7 != 0 || is_flagged(STRONG, baseline), "strong interference is not flagged");
            let weak = (WEAK..WEAK + 4).filter(|&channel| is_flagged(channel, baseline)).count();
            // Noise may hide one of the four channels.
            ensure!(baseline % 5 != 0 || weak >= 3, "weak interference is not flagged");
        }
        flagged += found.iter().filter(|&&flag| flag == 1).count();
    }
    Ok(100.0 * flagged as f64 / (found.len() * CHANNELS * baselines) as f64)
}

/// Returns the flags of one dump.
fn flags(vis: &[[f32; 2]], baselines: usize) -> Vec<u32> {
    let known = known();
    let mut flags = vec![0; vis.len()];
    for baseline in 0..baselines {
        let amplitude = |channel: usize| {
            let [re, im] = vis[channel * baselines + baseline];
            re.hypot(im)
        };
        let amplitudes: Vec<f32> = (0..CHANNELS).map(amplitude).collect();
        let deviation = |channel: usize| {
            let window = channel.saturating_sub(WIDTH / 2)..CHANNELS.min(channel + WIDTH / 2 + 1);
            let unflagged = window.filter(|&channel| known[channel] == 0).map(|channel| amplitudes[channel]);
            let background = median(unflagged.collect());
            if known[channel] == 0 { amplitudes[channel] - background } else { 0.0 }
        };
        let mut deviations: Vec<f32> = (0..CHANNELS).map(deviation).collect();
        let magnitudes =
            deviations.iter().map(|deviation| deviation.abs()).filter(|&magnitude| magnitude > 0.0);
        let noise = 1.4826 * median(magnitudes.collect());
        let mut is_flagged = vec![false; CHANNELS];
        for step in 0..4 {
            let length = 1_usize << step;
            let threshold = (SIGMAS * 1.2_f64.powi(-step)) as f32 * noise;
            for (deviation, _) in deviations.iter_mut().zip(&is_flagged).filter(|(_, flagged)| **flagged) {
                *deviation = threshold;
            }
            for first in 0..=CHANNELS - length {
                let window = first..first + length;
                if deviations[window.clone()].iter().sum::<f32>() > threshold * length as f32 {
                    is_flagged[window].fill(true);
                }
            }
        }
        for (channel, flagged) in is_flagged.into_iter().enumerate() {
            flags[channel * baselines + baseline] = u32::from(flagged);
        }
    }
    flags
}

/// Returns the median, or a NaN of no numbers.
fn median(mut numbers: Vec<f32>) -> f32 {
    numbers.sort_by(f32::total_cmp);
    match numbers[..] {
        [] => f32::NAN,
        _ if numbers.len() % 2 == 1 => numbers[numbers.len() / 2],
        _ => 0.5 * (numbers[numbers.len() / 2 - 1] + numbers[numbers.len() / 2]),
    }
}
