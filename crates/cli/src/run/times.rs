//! Launches a kernel, and measures its time on the device.

use anyhow::Result;
use fencepost::interface::{NamedArg, Value};
use fencepost::{CommandQueue, DynKernel, ErrorDetail, Event, Grid};
use serde::Serialize;

use super::buffer::Bound;
use crate::progress;

/// Time of a launch on the device, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Times {
    pub(super) launches: usize,
    pub(super) min: f64,
    pub(super) median: f64,
    pub(super) max: f64,
}

/// A kernel with everything that its launches need.
pub(super) struct Job<'a> {
    pub(super) queue: &'a CommandQueue,
    pub(super) kernel: &'a DynKernel,
    pub(super) grid: Grid<'a>,
    pub(super) values: &'a [(String, Value)],
}

impl Job<'_> {
    /// Enqueues one launch.
    pub(super) fn launch(&self, buffers: &[Bound]) -> Result<()> {
        let values = self
            .values
            .iter()
            .map(|(name, value)| (name, fencepost::interface::DynArg::Value(value.clone())));
        let arrays = buffers.iter().map(|buffer| (&buffer.name, buffer.arg()));
        let args: Vec<NamedArg<'_>> =
            values.chain(arrays).map(|(name, arg)| (Some(name.as_str().into()), arg)).collect();
        Ok(self.queue.launch_dyn(self.kernel, self.grid, args)?)
    }

    /// Launches `launches` times, each time with the buffers' initial elements, and measures each launch. The inner
    /// error says why the times are unknown.
    pub(super) fn measure(&self, buffers: &mut [Bound], launches: u32) -> Result<Result<Times, String>> {
        let bar = progress::bar(launches.into());
        let mut seconds = Vec::new();
        let mut reason = None;
        for launch in 0..launches {
            if launch > 0 {
                buffers.iter_mut().try_for_each(|buffer| buffer.restore(self.queue))?;
            }
            let start = self.queue.marker();
            self.launch(buffers)?;
            let end = self.queue.marker();
            match between(&start, &end)? {
                Ok(time) => seconds.push(time),
                Err(why) => reason = Some(why),
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(Times::of(seconds).ok_or_else(|| reason.unwrap_or_default()))
    }
}

/// Returns the seconds between two events, or the reason why they are not known.
fn between(start: &Event, end: &Event) -> Result<Result<f64, String>> {
    match end.seconds_since(start).wait() {
        Ok(seconds) => Ok(Ok(seconds)),
        Err(error) => match error.detail() {
            ErrorDetail::NotMeasured { reason, .. } => {
                end.wait()?;
                Ok(Err(reason.clone()))
            }
            _ => Err(error.into()),
        },
    }
}

impl Times {
    fn of(mut seconds: Vec<f64>) -> Option<Self> {
        seconds.sort_by(f64::total_cmp);
        let launches = seconds.len();
        let middle = seconds.len() / 2;
        let median = match launches {
            0 => return None,
            odd if odd % 2 == 1 => seconds[middle],
            _ => (seconds[middle - 1] + seconds[middle]) / 2.0,
        };
        Some(Self { launches, min: seconds[0], median, max: seconds[launches - 1] })
    }

    /// Writes the times in microseconds.
    pub(super) fn text(&self) -> String {
        let us = |seconds: f64| format!("{:.1} us", 1e6 * seconds);
        match self.launches {
            1 => us(self.median),
            n => format!(
                "min {}, median {}, max {} ({n} launches)",
                us(self.min),
                us(self.median),
                us(self.max)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle_of_the_sorted_times() {
        let times = Times::of(vec![3.0, 1.0, 2.0]).expect("there are times");
        assert_eq!((times.min, times.median, times.max), (1.0, 2.0, 3.0));
        assert_eq!(Times::of(vec![4.0, 1.0]).map(|times| times.median), Some(2.5));
        assert_eq!(Times::of(vec![]), None);
    }

    #[test]
    fn one_launch_has_one_time() {
        let one = Times::of(vec![12.34e-6]).expect("there is one");
        assert_eq!(one.text(), "12.3 us");
    }
}
