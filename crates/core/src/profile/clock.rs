//! The clock of a device on the axis of the host's.
//!
//! A batch is sighted four times: the host knows when it was about to be submitted and when it was seen to be complete,
//! the device when its first command started and its last one ended. As the device's two lie between the host's, the
//! offset of the clocks is known up to what is left over: the method of F. Cristian, Probabilistic clock
//! synchronization, 1989.

/// What both clocks showed around a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sighting {
    /// Seconds of the host's clock, before the batch and behind it.
    pub(crate) before: f64,
    pub(crate) after: f64,
    /// Ticks of the device's clock, at the start of its first command and the end of its last.
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// Where the ticks of a device are on the axis of the host.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct TimeAxis {
    origin: u64,
    /// Host seconds of the origin.
    offset: f64,
    seconds_a_tick: f64,
    /// By how many seconds it may be wrong.
    pub(crate) error: f64,
}

/// The offset between host seconds and device seconds, at some time.
#[derive(Clone, Copy)]
struct Offset {
    at: f64,
    middle: f64,
    error: f64,
}

/// How much of the time two clocks may be apart at the end of it, where nobody compares them: the crystal of each is right
/// by one in ten thousand.
const DRIFT: f64 = 2e-4;

impl TimeAxis {
    /// From the narrowest sighting, or from that of the first half and that of the second, whichever leaves less open;
    /// `None` without any.
    ///
    /// A tick is as long as the driver says unless the two show that it is not.
    pub(crate) fn of(sightings: &[Sighting], seconds_a_tick: f64) -> Option<Self> {
        let origin = sightings.iter().map(|sighting| sighting.first).min()?;
        let end = sightings.iter().map(|sighting| sighting.last).max()?;
        let narrowest = |of: &dyn Fn(&Sighting) -> bool| {
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

    /// The host's time of a tick.
    pub(crate) fn seconds(&self, tick: u64) -> f64 {
        self.offset + tick.wrapping_sub(self.origin) as i64 as f64 * self.seconds_a_tick
    }
}

impl Sighting {
    fn offset(&self, origin: u64, seconds_a_tick: f64) -> Offset {
        let device = |tick: u64| (tick - origin) as f64 * seconds_a_tick;
        let (least, most) = (self.before - device(self.first), self.after - device(self.last));
        let (middle, error) = ((least + most) / 2.0, (most - least).abs() / 2.0);
        Offset { at: device(self.first), middle, error }
    }
}

/// The line of offsets through two of them: its value at 0, its slope, and by how much it may be wrong. It is level if
/// one offset fits both.
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

    fn sighting(before: f64, first: u64, last: u64, after: f64) -> Sighting {
        Sighting { before, after, first, last }
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} should be {expected}");
    }

    #[test]
    fn one_sighting_leaves_half_of_what_is_left_over() {
        let axis = TimeAxis::of(&[sighting(2.0, 100, 300, 2.6)], TICK).expect("a sighting");
        close(axis.error, 0.2 + 0.2 * DRIFT);
        close(axis.seconds(100), 2.2);
        close(axis.seconds(300), 2.4);
        assert_eq!(TimeAxis::of(&[], TICK), None);
    }

    #[test]
    fn the_narrowest_sightings_count() {
        let wide = [sighting(0.0, 100, 200, 9.0), sighting(0.0, 8100, 8200, 20.0)];
        let narrow = [sighting(2.0, 1000, 1010, 2.03), sighting(9.995, 9000, 9010, 10.025)];
        let axis = TimeAxis::of(&[wide, narrow].concat(), TICK).expect("sightings");
        // The offset is between 1.1 and 1.12 at the start, between 1.095 and 1.115 at the end.
        assert!(axis.error <= 0.02, "{}", axis.error);
        assert!((axis.seconds(1000) - 2.01).abs() <= axis.error);
        assert!((axis.seconds(9000) - 10.01).abs() <= axis.error);
    }

    #[test]
    fn ticks_are_as_long_as_said_unless_the_sightings_say_otherwise() {
        let at = |host: f64, tick: u64| sighting(host - 0.01, tick, tick, host + 0.01);
        let same = TimeAxis::of(&[at(1.0, 1000), at(9.005, 9000)], TICK).expect("sightings");
        close(same.seconds(9000) - same.seconds(1000), 8.0);
        let slow = TimeAxis::of(&[at(1.0, 1000), at(9.8, 9000)], TICK).expect("sightings");
        close(slow.seconds(9000) - slow.seconds(1000), 8.8);
        close(slow.seconds(5000), 5.4);
        close(slow.error, 0.01);
    }

    #[test]
    fn a_wide_sighting_makes_a_narrow_one_no_worse() {
        let found = TimeAxis::of(&[sighting(0.0, 1000, 1000, 5.0), sighting(6.99, 7000, 7000, 7.01)], TICK);
        let axis = found.expect("sightings");
        close(axis.error, 0.01 + 6.0 * DRIFT);
        close(axis.seconds(1000), 1.0);
    }

    #[test]
    fn a_tick_before_all_sightings_is_before_them() {
        let axis = TimeAxis::of(&[sighting(1.0, 1000, 1000, 1.0)], TICK).expect("a sighting");
        close(axis.seconds(900), 0.9);
    }
}
