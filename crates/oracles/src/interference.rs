//! Flags of interference on the host.

use fencepost_algorithms::SumThresholdFlagger;

/// Ratio of the standard deviation of normal numbers to the median of their magnitudes.
const DEVIATION: f64 = 1.4826;
/// Flags of an element in a window above the threshold, and in one below its negative.
const SIGNS: [(u8, f64); 2] = [(1, 1.0), (2, -1.0)];

/// Values of some times, each with some bins of channels.
type Lines<T> = Vec<Vec<T>>;

/// Returns the flags of samples of some times, channels and series, computed with `f64`. Also returns the smallest
/// distance of a number from the threshold that it is compared with, as a part of the sum of both magnitudes: if it is
/// large, the flags do not depend on how a device rounds.
///
/// # Example
/// ```
/// use fencepost_algorithms::SumThresholdFlagger;
/// use fencepost_oracles as host;
/// let options = SumThresholdFlagger::default().extend(1, 1);
/// let (flags, _) = host::flag_interference(&[1.0, 1.0, f32::NAN], &[0, 0, 0], [3, 1, 1], &options);
/// assert_eq!(flags, [0, 0, 1]);
/// ```
pub fn flag_interference(
    x: &[f32],
    known: &[u32],
    [times, channels, series]: [usize; 3],
    options: &SumThresholdFlagger<'_>,
) -> (Vec<u32>, f64) {
    let mut flags = vec![0; x.len()];
    let mut margin = f64::INFINITY;
    if x.is_empty() {
        return (flags, margin);
    }
    let width = options.average_freq.min(channels);
    let bins = channels.div_ceil(width);
    let ends = (0..=options.freq_chunks).map(|chunk| chunk * bins / options.freq_chunks);
    let ends: Vec<usize> = ends.collect();
    for one in 0..series {
        let at = |time: usize, channel: usize| (time * channels + channel) * series + one;
        let sample = |time: usize, channel: usize| {
            let at = at(time, channel);
            let is_left_out = known[at] != 0 || !x[at].is_finite();
            (!is_left_out).then(|| f64::from(x[at].abs()))
        };
        let of_bin = |time: usize, bin: usize| -> Vec<f64> {
            let end = channels.min(bin * width + width);
            (bin * width..end).filter_map(|channel| sample(time, channel)).collect()
        };
        let mean = |list: Vec<f64>| list.iter().sum::<f64>() / list.len().max(1) as f64;
        let data: Lines<f64> = table(times, bins, |time, bin| mean(of_bin(time, bin)));
        let known: Lines<bool> = table(times, bins, |time, bin| of_bin(time, bin).is_empty());
        let mut flagger = Flagger { options, ends: &ends, margin };
        let found = flagger.flags(data, known);
        margin = flagger.margin;
        let found: Lines<bool> = table(times, channels, |time, channel| {
            let half = options.freq_extend / 2;
            let mut around = channel.saturating_sub(half)..channels.min(channel + half + 1);
            around.any(|channel| found[time][channel / width])
        });
        let of_row = |row: &Vec<bool>| row.iter().filter(|&&flag| flag).count() as f64;
        let of_column = |channel: usize| found.iter().filter(|row| row[channel]).count() as f64;
        let rows: Vec<f64> = found.iter().map(of_row).collect();
        let columns: Vec<f64> = (0..channels).map(of_column).collect();
        for (time, row) in found.iter().enumerate() {
            for (channel, &flag) in row.iter().enumerate() {
                let is_flagged = flag
                    || rows[time] > options.flag_all_freq_frac * channels as f64
                    || columns[channel] > options.flag_all_time_frac * times as f64
                    || !x[at(time, channel)].is_finite();
                flags[at(time, channel)] = u32::from(is_flagged);
            }
        }
    }
    (flags, margin)
}

fn table<T>(rows: usize, columns: usize, cell: impl Fn(usize, usize) -> T) -> Lines<T> {
    (0..rows).map(|row| (0..columns).map(|column| cell(row, column)).collect()).collect()
}

/// The steps for one series.
struct Flagger<'a> {
    options: &'a SumThresholdFlagger<'a>,
    /// First bin of each chunk, and the number of bins.
    ends: &'a [usize],
    margin: f64,
}

impl Flagger<'_> {
    /// Returns the flags of all bins, with those around them in time.
    fn flags(&mut self, data: Lines<f64>, mut known: Lines<bool>) -> Lines<bool> {
        let times = data.len();
        let bins = data[0].len();
        let options = self.options;
        let fits = |most: usize| move |window: &usize| *window <= most;
        let windows_time: Vec<usize> = options.windows_time.iter().copied().filter(fits(times)).collect();
        let in_bins = options.windows_freq.iter().map(|window| window.div_ceil(options.average_freq));
        let mut windows_freq: Vec<usize> = in_bins.filter(fits(bins)).collect();
        windows_freq.sort();
        windows_freq.dedup();
        let sigma_of_bins = options.spike_width_freq / options.average_freq as f64;

        let unflagged = |bin: usize| -> Vec<f64> {
            (0..times).filter(|&time| !known[time][bin]).map(|time| data[time][bin]).collect()
        };
        let spectrum: Vec<f64> = (0..bins).map(|bin| median(unflagged(bin)).unwrap_or(0.0)).collect();
        let missing: Vec<bool> = (0..bins).map(|bin| unflagged(bin).is_empty()).collect();
        let background = self.background(
            std::slice::from_ref(&spectrum),
            std::slice::from_ref(&missing),
            [0.0, sigma_of_bins],
        );
        let deviations: Vec<f64> = spectrum.iter().zip(&background[0]).map(|(x, mean)| x - mean).collect();
        let of_spectrum = self.windows(&deviations, &missing, &windows_freq, self.ends);
        add(&mut known, |_, bin| of_spectrum[bin]);

        let background = self.background(&data, &known, [options.spike_width_time, sigma_of_bins]);
        let deviations = table(times, bins, |time, bin| data[time][bin] - background[time][bin]);
        let mut of_times = Vec::new();
        for bin in 0..bins {
            let column: Vec<f64> = deviations.iter().map(|row| row[bin]).collect();
            let left_out: Vec<bool> = known.iter().map(|row| row[bin]).collect();
            of_times.push(self.windows(&column, &left_out, &windows_time, &[0, times]));
        }
        add(&mut known, |time, bin| of_times[bin][time]);
        let mut found = Vec::new();
        for (row, left_out) in deviations.iter().zip(&known) {
            found.push(self.windows(row, left_out, &windows_freq, self.ends));
        }
        add(&mut found, |time, bin| of_spectrum[bin] || of_times[bin][time]);
        let half = options.time_extend / 2;
        table(times, bins, |time, bin| {
            (time.saturating_sub(half)..times.min(time + half + 1)).any(|time| found[time][bin])
        })
    }

    /// Returns `true` if a number is above a threshold, and keeps the smallest distance.
    fn is_above(&mut self, number: f64, threshold: f64) -> bool {
        let both = number.abs() + threshold.abs();
        if both > 0.0 {
            self.margin = self.margin.min((number - threshold).abs() / both);
        }
        number > threshold
    }

    /// Returns the background of samples, without those that are flagged, and without outliers.
    fn background(&mut self, data: &[Vec<f64>], flags: &[Vec<bool>], sigmas: [f64; 2]) -> Lines<f64> {
        let mut flags = flags.to_vec();
        for step in (1..=self.options.background_iterations).rev() {
            let means = smooth(data, &flags, sigmas.map(|sigma| sigma * step as f64));
            let ends = self.ends;
            for chunk in ends.windows(2) {
                let places =
                    (0..data.len()).flat_map(|time| (chunk[0]..chunk[1]).map(move |bin| (time, bin)));
                let places: Vec<(usize, usize)> = places.filter(|&(time, bin)| !flags[time][bin]).collect();
                let distance = |&(time, bin): &(usize, usize)| (data[time][bin] - means[time][bin]).abs();
                let Some(middle) = median(places.iter().map(distance).collect()) else { continue };
                let limit = DEVIATION * self.options.background_reject * middle;
                for place in places {
                    let is_outlier = self.is_above(distance(&place), limit);
                    flags[place.0][place.1] = is_outlier;
                }
            }
        }
        smooth(data, &flags, sigmas).into_iter().map(|row| bridged(&row)).collect()
    }

    /// Returns the flags of windows of a line. `ends` has the first element of each chunk, and the number of elements.
    fn windows(&mut self, x: &[f64], left_out: &[bool], windows: &[usize], ends: &[usize]) -> Vec<bool> {
        let mut found = vec![false; x.len()];
        for chunk in ends.windows(2) {
            let own = chunk[0]..chunk[1];
            let kept = own.clone().filter(|&i| !left_out[i]).map(|i| x[i].abs());
            let Some(noise) = median(kept.collect()) else { continue };
            let mut states = vec![0_u8; x.len()];
            for &window in windows {
                let falloff = self.options.rho.powf((window as f64).log2());
                let limit = DEVIATION * self.options.outlier_nsigma * noise / falloff;
                // An element of another chunk counts as flagged.
                let counted = |i: usize| {
                    let state = if own.contains(&i) { states[i] } else { 3 };
                    let most = if state & 1 != 0 { x[i].min(limit) } else { x[i] };
                    if state & 2 != 0 { most.max(-limit) } else { most }
                };
                let counted: Vec<f64> = (0..x.len()).map(counted).collect();
                let mut next = states.clone();
                for (first, elements) in counted.windows(window).enumerate() {
                    let mean = elements.iter().sum::<f64>() / window as f64;
                    for (bit, sign) in SIGNS {
                        let places = first..first + window;
                        // Other windows change nothing.
                        let is_open = places.clone().any(|i| own.contains(&i) && states[i] & bit == 0);
                        if is_open && self.is_above(sign * mean, limit) {
                            next[places].iter_mut().for_each(|state| *state |= bit);
                        }
                    }
                }
                states = next;
            }
            own.for_each(|i| found[i] = states[i] != 0);
        }
        found
    }
}

/// Adds flags to others.
fn add(flags: &mut [Vec<bool>], further: impl Fn(usize, usize) -> bool) {
    for (time, row) in flags.iter_mut().enumerate() {
        row.iter_mut().enumerate().for_each(|(bin, flag)| *flag |= further(time, bin));
    }
}

fn median(mut list: Vec<f64>) -> Option<f64> {
    list.sort_by(f64::total_cmp);
    let middle = list.len() / 2;
    match list.len() {
        0 => None,
        n if n % 2 == 1 => Some(list[middle]),
        _ => Some(f64::midpoint(list[middle - 1], list[middle])),
    }
}

/// Returns the weighted means of the samples around each one that are not flagged, and NaNs where all are flagged.
fn smooth(data: &[Vec<f64>], flags: &[Vec<bool>], sigmas: [f64; 2]) -> Lines<f64> {
    let times = data.len();
    let bins = data[0].len();
    let sums = moved(table(times, bins, |t, b| if flags[t][b] { 0.0 } else { data[t][b] }), sigmas);
    let weights = moved(table(times, bins, |t, b| f64::from(u8::from(!flags[t][b]))), sigmas);
    table(times, bins, |t, b| if weights[t][b] == 0.0 { f64::NAN } else { sums[t][b] / weights[t][b] })
}

/// Returns four moving means, one after the other, along both axes.
fn moved(rows: Lines<f64>, [of_times, of_bins]: [f64; 2]) -> Lines<f64> {
    let transposed = |rows: Lines<f64>| table(rows[0].len(), rows.len(), |column, row| rows[row][column]);
    let along = |rows: Lines<f64>, sigma: f64| -> Lines<f64> {
        rows.iter().map(|row| moving_means(row, sigma)).collect()
    };
    along(transposed(along(transposed(rows), of_times)), of_bins)
}

/// Returns four moving means of a line between zeros.
fn moving_means(line: &[f64], sigma: f64) -> Vec<f64> {
    let radius = (0.5 * (3.0 * sigma * sigma + 1.0).sqrt()) as usize;
    let beside = 4 * radius;
    let zeros = vec![0.0; beside];
    let mut wide = [&zeros[..], line, &zeros].concat();
    for _ in 0..4 {
        let mean = |at: usize| {
            let around = at.saturating_sub(radius)..wide.len().min(at + radius + 1);
            wide[around].iter().sum::<f64>() / (2 * radius + 1) as f64
        };
        wide = (0..wide.len()).map(mean).collect();
    }
    wide[beside..beside + line.len()].to_vec()
}

/// Returns a line with each NaN replaced by the number between its neighbours, or by the nearest one, or by 0.
fn bridged(line: &[f64]) -> Vec<f64> {
    let between = |i: usize| {
        let before = (0..=i).rev().find(|&i| !line[i].is_nan());
        let after = (i..line.len()).find(|&i| !line[i].is_nan());
        match (before, after) {
            (None, None) => 0.0,
            (Some(one), None) | (None, Some(one)) => line[one],
            (Some(one), Some(other)) if one == other => line[one],
            (Some(one), Some(other)) => {
                line[one] + (line[other] - line[one]) * (i - one) as f64 / (other - one) as f64
            }
        }
    };
    (0..line.len()).map(between).collect()
}
