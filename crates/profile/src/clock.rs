//! Conversion of device time to host time.
//!
//! Each batch has four times. The host knows the time before the submission and the time at which it observed the
//! completion; the device knows the start of the first command and the end of the last command. The device's two times
//! are between the host's two times, so the offset of the clocks is known up to the remaining difference. This is the
//! method of F. Cristian, Probabilistic clock synchronization, 1989.

/// A reading of both clocks around one batch.
#[derive(Clone, Copy, Debug)]
pub struct ClockBounds {
    /// Host time in seconds, before the submission.
    pub before: f64,
    /// Host time in seconds, after the completion.
    pub after: f64,
    /// Tick of the device's clock at the start of the first command.
    pub first: u64,
    /// Tick of the device's clock at the end of the last command.
    pub last: u64,
}

/// A function from ticks of a device to seconds of the host's clock.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClockFit {
    /// First tick of all readings.
    origin: u64,
    /// Host time in seconds at the tick `origin`.
    offset: f64,
    seconds_a_tick: f64,
    /// Largest possible error in seconds.
    pub error: f64,
}

/// The offset between host seconds and device seconds at the device second `at`: `middle`, with an error of at most
/// `error`.
#[derive(Clone, Copy)]
struct Offset {
    at: f64,
    middle: f64,
    error: f64,
}

/// Largest drift between two clocks, in seconds per second: the crystal of each clock is accurate to one part in ten
/// thousand.
const DRIFT: f64 = 2e-4;

impl ClockFit {
    /// Fits the function either to the reading with the smallest error, or to the best readings of the first and of the
    /// second half of the time, and returns the fit with the smaller error; `None` if there are no readings.
    ///
    /// The driver reports the length of a tick. It is used unless the two readings contradict it.
    pub fn of(sightings: &[ClockBounds], seconds_a_tick: f64) -> Option<Self> {
        let origin = sightings.iter().map(|sighting| sighting.first).min()?;
        let end = sightings.iter().map(|sighting| sighting.last).max()?;
        let narrowest = |of: &dyn Fn(&ClockBounds) -> bool| {
            let offsets = sightings.iter().filter(|sighting| of(sighting));
            let offsets = offsets.map(|sighting| sighting.offset(origin, seconds_a_tick));
            offsets.min_by(|a, b| a.error.total_cmp(&b.error))
        };
        let axis = |(offset, drift, error): (f64, f64, f64)| {
            let seconds_a_tick = seconds_a_tick * (1.0 + drift);
            Self { origin, offset, seconds_a_tick, error }
        };
        let only = narrowest(&|_| true)?;
        let span = (end - origin) as f64 * seconds_a_tick;
        let alone = axis((only.middle, 0.0, only.error + DRIFT * span));
        let middle = origin + (end - origin) / 2;
        let halves = (narrowest(&|it| it.first <= middle), narrowest(&|it| it.first > middle));
        let (Some(early), Some(late)) = halves else { return Some(alone) };
        let both = axis(line(early, late));
        Some(if both.error < alone.error { both } else { alone })
    }

    /// Returns the host time of a tick.
    pub fn seconds(&self, tick: u64) -> f64 {
        self.offset + tick.wrapping_sub(self.origin) as i64 as f64 * self.seconds_a_tick
    }
}

impl ClockBounds {
    fn offset(&self, origin: u64, seconds_a_tick: f64) -> Offset {
        let device = |tick: u64| (tick - origin) as f64 * seconds_a_tick;
        let least = self.before - device(self.first);
        let most = self.after - device(self.last);
        let middle = (least + most) / 2.0;
        let error = (most - least).abs() / 2.0;
        Offset { at: device(self.first), middle, error }
    }
}

/// Returns the line through two offsets: its value at 0, its slope, and its largest possible error. The slope is 0 if a
/// constant offset fits both.
fn line(start: Offset, end: Offset) -> (f64, f64, f64) {
    let least = (start.middle - start.error).max(end.middle - end.error);
    let most = (start.middle + start.error).min(end.middle + end.error);
    if least <= most {
        let offset = (least + most) / 2.0;
        let error = |known: Offset| (offset - known.middle).abs() + known.error;
        return (offset, 0.0, error(start).max(error(end)));
    }
    let drift = (end.middle - start.middle) / (end.at - start.at);
    (start.middle - drift * start.at, drift, start.error.max(end.error))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: f64 = 1e-3;

    fn sighting(before: f64, first: u64, last: u64, after: f64) -> ClockBounds {
        ClockBounds { before, after, first, last }
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} should be {expected}");
    }

    #[test]
    fn the_error_of_one_sighting_is_half_of_the_remaining_difference() {
        let axis = ClockFit::of(&[sighting(2.0, 100, 300, 2.6)], TICK).expect("a sighting");
        close(axis.error, 0.2 + 0.2 * DRIFT);
        close(axis.seconds(100), 2.2);
        close(axis.seconds(300), 2.4);
        assert_eq!(ClockFit::of(&[], TICK), None);
    }

    #[test]
    fn the_sightings_with_the_smallest_errors_are_used() {
        let wide = [sighting(0.0, 100, 200, 9.0), sighting(0.0, 8100, 8200, 20.0)];
        let narrow = [sighting(2.0, 1000, 1010, 2.03), sighting(9.995, 9000, 9010, 10.025)];
        let axis = ClockFit::of(&[wide, narrow].concat(), TICK).expect("sightings");
        // The offset is between 1.1 and 1.12 at the start, between 1.095 and 1.115 at the end.
        assert!(axis.error <= 0.02, "{}", axis.error);
        assert!((axis.seconds(1000) - 2.01).abs() <= axis.error);
        assert!((axis.seconds(9000) - 10.01).abs() <= axis.error);
    }

    #[test]
    fn a_tick_has_the_reported_length_unless_the_sightings_contradict_it() {
        let at = |host: f64, tick: u64| sighting(host - 0.01, tick, tick, host + 0.01);
        let same = ClockFit::of(&[at(1.0, 1000), at(9.005, 9000)], TICK).expect("sightings");
        close(same.seconds(9000) - same.seconds(1000), 8.0);
        let slow = ClockFit::of(&[at(1.0, 1000), at(9.8, 9000)], TICK).expect("sightings");
        close(slow.seconds(9000) - slow.seconds(1000), 8.8);
        close(slow.seconds(5000), 5.4);
        close(slow.error, 0.01);
    }

    #[test]
    fn a_wide_sighting_does_not_increase_the_error_of_a_narrow_one() {
        let found = ClockFit::of(&[sighting(0.0, 1000, 1000, 5.0), sighting(6.99, 7000, 7000, 7.01)], TICK);
        let axis = found.expect("sightings");
        close(axis.error, 0.01 + 6.0 * DRIFT);
        close(axis.seconds(1000), 1.0);
    }

    #[test]
    fn a_tick_before_all_sightings_has_an_earlier_time() {
        let axis = ClockFit::of(&[sighting(1.0, 1000, 1000, 1.0)], TICK).expect("a sighting");
        close(axis.seconds(900), 0.9);
    }
}
