//! Calls of the flagger of interference.

use super::{Calls, N};
use crate::common::full::full;
use fencepost::algorithms::prelude::*;

impl Calls {
    pub(super) fn interference(&mut self) {
        let windows = SumThresholdFlagger::default().spike_width(0.0, 1.0).extend(1, 1).freq_chunks(1);
        let samples = |level: fn(usize, usize) -> f32| {
            (0..N).map(|at| level(at / 6 % 56, at % 6) + (at * 7 % 13) as f32 / 8.0).collect::<Vec<f32>>()
        };
        // Peaks and dips that last for 1 to 8 samples, near the ends of the band and of its chunks.
        let peaks = samples(|channel, series| match (channel + 5 * series) % 19 {
            0 => 9.0,
            4..6 => 11.0,
            9..13 if series % 2 == 0 => 8.0,
            13..17 if series % 2 == 1 => 10.0,
            _ => 8.0,
        });
        // Each call has many launches, so a plain run takes some.
        let chunks: &[usize] = if full() { &[1, 3, 4] } else { &[1, 4] };
        for &chunks in chunks {
            for &sigmas in if full() { &[1.0, 2.0][..] } else { &[2.0] } {
                let list = peaks.clone();
                self.add(format!("peaks in {chunks} chunks, {sigmas} sigmas"), move |q, a| {
                    let x = q.array(&list)?;
                    let none = q.zeros::<u32, 1>([N])?;
                    let options = windows.freq_chunks(chunks).outlier_nsigma(sigmas);
                    let of_bins = [1, 56, 6];
                    let mut out = a.out.reshape(of_bins)?;
                    q.flag_interference(&x.reshape(of_bins)?, &none.reshape(of_bins)?, &mut out, options)?;
                    let of_times = [28, 2, 6];
                    let mut out = a.other.reshape(of_times)?;
                    q.flag_interference(&x.reshape(of_times)?, &none.reshape(of_times)?, &mut out, options)
                });
            }
        }
        // Levels that rise and fall, with gaps of known samples. A sample of a gap counts as 0, so it is flagged where the
        // level is above the threshold.
        let slopes = samples(|channel, series| match series {
            0 => channel as f32 / 2.0,
            1 => 28.0 - channel as f32 / 2.0,
            2 => channel.abs_diff(28) as f32,
            3 => 28.0 - channel.abs_diff(28) as f32,
            4 => (channel * channel) as f32 / 128.0,
            _ => 6.0,
        });
        for (first, end) in [(14, 44), (0, 25), (30, 56), (0, 56)] {
            for &sigmas in if full() { &[4.0, 9.0, 16.0][..] } else { &[9.0] } {
                let list = slopes.clone();
                self.add(format!("gaps from {first} to {end}, {sigmas} sigmas"), move |q, a| {
                    let shape = [1, 56, 6];
                    let x = q.array(&list)?.reshape(shape)?;
                    let known =
                        (0..N).map(|at| u32::from((first..end).contains(&(at / 6)))).collect::<Vec<u32>>();
                    let known = q.array(&known)?.reshape(shape)?;
                    let options = windows.windows(&[], &[1]).outlier_nsigma(sigmas);
                    q.flag_interference(&x, &known, &mut a.out.reshape(shape)?, options)
                });
            }
        }
    }
}
