//! Calls of quantiles and of windows.

use super::super::quantiles::METHODS;
use super::{Calls, N};
use fencepost::algorithms::prelude::*;

/// Quantiles at places that are whole numbers, in the middle of two and elsewhere, and at the ends.
const LEVELS: [f64; 6] = [0.0, 0.5, 0.3, 0.7, 0.951, 1.0];

impl Calls {
    pub(super) fn quantiles(&mut self) {
        for method in METHODS {
            self.add(format!("quantiles by {method:?}"), move |q, a| {
                let levels = Quantiles::several(&LEVELS).method(method);
                let out = a.out.slice(0..LEVELS.len() * 7)?;
                q.quantile(
                    a.y.reshape([N / 7, 7])?.axis(0),
                    levels,
                    &mut out.reshape([LEVELS.len(), 1, 7])?,
                )?;
                let of_numbers = a.other.slice(0..LEVELS.len() * 3)?.cast_bits();
                let mut of_numbers = of_numbers.reshape([LEVELS.len(), 3, 1])?;
                q.quantile(a.numbers.reshape([3, N / 3])?.axis(1).skip_nan(), levels, &mut of_numbers)
            });
        }
        self.add("quantiles of few", |q, a| {
            let levels = Quantiles::several(&LEVELS);
            let x = a.numbers.slice(0..330)?.reshape([2, 11, 15])?;
            q.quantile(
                x.axis(1),
                levels,
                &mut a.out.slice(0..LEVELS.len() * 30)?.cast_bits().reshape([6, 2, 1, 15])?,
            )
        });
        self.add("quantiles of all", |q, a| {
            let levels = Quantiles::several(&LEVELS);
            q.quantile(&a.y.cast_bits::<i32>(), levels, &mut a.out.slice(0..LEVELS.len())?.cast_bits())?;
            q.quantile(&a.x, levels, &mut a.other.slice(0..LEVELS.len())?)?;
            q.quantile(a.numbers.skip_nan(), levels, &mut a.few.slice(0..LEVELS.len())?.cast_bits())
        });
        self.add("medians of columns", |q, a| {
            let x = a.numbers.reshape([N / 3, 3])?;
            q.median(x.axis(0), &mut a.out.slice(0..3)?.cast_bits().reshape([1, 3])?)?;
            q.median(x.axis(0).skip_nan(), &mut a.other.slice(0..3)?.cast_bits().reshape([1, 3])?)?;
            let x = a.y.cast_bits::<i32>().reshape([N / 3, 3])?;
            q.median(x.axis(0), &mut a.few.slice(0..3)?.cast_bits().reshape([1, 3])?)
        });
        self.add("medians of segments", |q, a| {
            q.median(a.numbers.segments(&a.offsets), &mut a.few.cast_bits())?;
            q.median(a.numbers.segments(&a.offsets).skip_nan(), &mut a.few_others.cast_bits())
        });
        self.add("medians of pairs", |q, a| {
            let [most, infinity] = [f32::MAX, f32::INFINITY];
            let pairs = [
                -most, most, -infinity, 1.0, infinity, 1.0, infinity, -infinity, 3e38, 2e38, 1.5, 1.5, -0.0,
                0.0,
            ];
            let x = q.array(&pairs)?.reshape([7, 2])?;
            q.median(x.axis(1), &mut a.few.slice(0..7)?.cast_bits().reshape([7, 1])?)
        });
        self.add("deviations", |q, a| {
            q.mad(a.numbers.skip_nan(), &mut a.float())?;
            q.mad(a.numbers.segments(&a.offsets).skip_nan(), &mut a.few.cast_bits())?;
            q.mad(
                a.numbers.reshape([N / 3, 3])?.axis(0),
                &mut a.out.slice(0..3)?.cast_bits().reshape([1, 3])?,
            )?;
            let x = q
                .array(&[f32::INFINITY, f32::INFINITY, 1.0, f32::NEG_INFINITY, 2.0, 2.5])?
                .reshape([2, 3])?;
            q.mad(x.axis(1), &mut a.other.slice(0..2)?.cast_bits().reshape([2, 1])?)
        });
    }

    pub(super) fn windows(&mut self) {
        for width in [1, 5, 31] {
            self.add(format!("medians of {width}"), move |q, a| {
                q.rolling(&a.numbers, &mut a.floats(), Rolling::median([width]))?;
                let y = a.y.cast_bits::<i32>();
                q.rolling(&y, &mut a.other.cast_bits(), Rolling::median([width]))
            });
        }
        self.add("medians without nans", |q, a| {
            let numbers = a.numbers.reshape([3, N / 3])?;
            let mut out = a.floats().reshape([3, N / 3])?;
            q.rolling(&numbers, &mut out, Rolling::median([1, 7]).skip_nan())?;
            let flags = a.x.slice(0..N / 3)?.reshape([1, N / 3])?;
            let windows = Rolling::median([1, 7]).skip_nan().without(&flags);
            q.rolling(&numbers, &mut a.other.cast_bits().reshape([3, N / 3])?, windows)
        });
        self.add("pictures", |q, a| {
            let y = a.y.reshape([2, 7, 2, 6, 2])?;
            let mask = a.x.slice(0..84)?.reshape([1, 7, 2, 6, 1])?;
            q.rolling(&y, &mut a.out.reshape(y.shape())?, Rolling::median([1, 5, 1, 3, 1]).only(&mask))?;
            q.rolling(&y, &mut a.other.reshape(y.shape())?, Rolling::min([1, 3, 1, 5, 1]))?;
            let mask = a.x.slice(0..168)?.reshape([2, 7, 1, 6, 2])?;
            q.rolling(
                &y,
                &mut a.both.slice(0..N)?.reshape(y.shape())?,
                Rolling::max([1, 3, 1, 5, 1]).only(&mask),
            )
        });
        self.add("sums above thresholds", |q, a| {
            let x = q.array(&(0..N).map(|i| (i * 7 % 13) as f32 / 2.0).collect::<Vec<f32>>())?;
            let shape = [4, N / 12, 3];
            let noise = q.array(&(0..12).map(|i| 1.0 + (i % 3) as f32 / 4.0).collect::<Vec<f32>>())?;
            let noise = noise.reshape([4, 1, 3])?;
            let options = SumThreshold::along(1, 4.0).flag(6);
            q.sum_threshold(&x.reshape(shape)?, &noise, &mut a.out.reshape(shape)?, options)?;
            q.sum_threshold(&x.reshape(shape)?, &noise, &mut a.other.reshape(shape)?, options.lengths(1))?;
            // The window is as long as the array, or longer.
            let few = x.slice(0..6)?.reshape([3, 2])?;
            let noise = noise.reshape([12])?.slice(0..3)?.reshape([3, 1])?;
            q.sum_threshold(
                &few,
                &noise,
                &mut a.few.slice(0..6)?.reshape([3, 2])?,
                SumThreshold::along(1, 2.5),
            )?;
            let infinite = q.array(&[f32::INFINITY, 1.0, 1.0, f32::INFINITY, 0.5, f32::INFINITY])?;
            let mut flags = a.few_others.slice(0..6)?.reshape([3, 2])?;
            q.sum_threshold(&infinite.reshape([3, 2])?, &noise, &mut flags, SumThreshold::along(1, 2.5))
        });
    }
}
