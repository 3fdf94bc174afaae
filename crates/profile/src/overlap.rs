//! The overlap of commands in a profile.

use crate::profile::Profile;
use crate::row::Interval;
use crate::spans;
use std::fmt;
use std::sync::Arc;

/// The overlap of a profile's commands, and the idle times of its lanes: [`Profile::overlap`] returns it. Times are in
/// seconds, and only rows with a time count.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Overlap {
    /// Time in which at least one launch ran.
    pub compute: f64,
    /// Time in which at least one copy, fill, upload or read ran.
    pub copy: f64,
    /// Time in which a launch ran while a copy, fill, upload or read ran too.
    pub both: f64,
    /// `both` divided by the shorter of `compute` and `copy`, from 0 to 1. `None` if one of them is 0.
    pub share: Option<f64>,
    /// Busy time of each hardware queue.
    pub lanes: Vec<Busy>,
    /// Busy time of each queue.
    pub queues: Vec<Busy>,
    /// Idle times of the hardware queues between two commands, the longest first.
    pub gaps: Vec<Gap>,
    /// Number of device commands without a time, which the other fields do not include.
    pub unmeasured: usize,
}

/// The busy time of a queue.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Busy {
    /// Label of the queue. Hardware queue 0 has the label `lane 0`.
    pub label: Arc<str>,
    /// Number of the queue.
    pub number: usize,
    /// Seconds in which at least one command of the queue ran.
    pub seconds: f64,
    /// `seconds` divided by the time from the first start of all commands to the last end, from 0 to 1.
    pub share: f64,
}

/// An idle time of a hardware queue between two commands.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Gap {
    /// Number of the hardware queue.
    pub lane: usize,
    /// Interval from the end of a command to the start of the next command.
    pub time: Interval,
}

impl Profile {
    /// *Returns* the overlap of the commands.
    ///
    /// Intervals are united and intersected by one sweep over their ends, so that no moment counts twice (V. Klee,
    /// 1977; J. L. Bentley). Commands on one level count as overlapping, because the device may run them at the same
    /// time, even if the driver runs them one after the other.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.zeros::<u32, 1>([1024])?;
    /// let profiler = ctx.profile();
    /// queue.fill(&mut x, 1)?;
    /// let overlap = profiler.finish().wait()?.overlap();
    /// assert!(overlap.copy > 0.0 && overlap.compute == 0.0 && overlap.share.is_none());
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn overlap(&self) -> Overlap {
        let work = || self.measured().filter(|(row, _)| row.is_work());
        let all = spans::union(work().map(|(_, time)| time));
        let compute = spans::union(work().filter(|(row, _)| row.activity.computes()).map(|(_, time)| time));
        let copy = spans::union(work().filter(|(row, _)| row.activity.moves()).map(|(_, time)| time));
        let both = spans::seconds(&spans::both(&compute, &copy));
        let compute = spans::seconds(&compute);
        let copy = spans::seconds(&copy);
        let shorter = compute.min(copy);
        let wall = all.first().zip(all.last()).map_or(0.0, |(first, last)| last.end - first.start);
        let busy = |label: Arc<str>, number, union: &[Interval]| {
            let seconds = spans::seconds(union);
            Busy { label, number, seconds, share: if wall > 0.0 { seconds / wall } else { 0.0 } }
        };
        let of_lane = |lane| spans::union(work().filter(|(row, _)| row.lane == lane).map(|(_, time)| time));
        let of_queue =
            |number| spans::union(work().filter(|(row, _)| row.queue_number == number).map(|(_, time)| time));
        let queues = self.queues();
        let mut gaps = Vec::new();
        let mut lanes = Vec::new();
        for lane in 0..queues.iter().map(|(_, lane)| lane + 1).max().unwrap_or(0) {
            let union = of_lane(lane);
            gaps.extend(spans::gaps(&union).into_iter().map(|time| Gap { lane, time }));
            lanes.push(busy(format!("lane {lane}").into(), lane, &union));
        }
        gaps.sort_by(|a, b| b.time.seconds().total_cmp(&a.time.seconds()));
        let queues = queues.iter().enumerate();
        let queues = queues.map(|(at, (label, _))| busy((*label).into(), at, &of_queue(at))).collect();
        let share = (shorter > 0.0).then(|| both / shorter);
        let unmeasured = self.rows.iter().filter(|row| row.is_work() && row.lacks_time()).count();
        Overlap { compute, copy, both, share, lanes, queues, gaps, unmeasured }
    }
}

impl Overlap {
    /// Returns the sum of the gaps in seconds.
    pub fn idle(&self) -> f64 {
        spans::seconds(self.gaps.iter().map(|gap| &gap.time))
    }
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let compute = self.compute * 1e3;
        let copy = self.copy * 1e3;
        let both = self.both * 1e3;
        write!(f, "launches {compute:.3} ms, copies {copy:.3} ms, both at once {both:.3} ms")?;
        match self.share {
            Some(share) => writeln!(f, " ({:.1} % of the shorter)", share * 100.0)?,
            None => writeln!(f)?,
        }
        for busy in self.lanes.iter().chain(&self.queues) {
            let seconds = busy.seconds * 1e3;
            let share = busy.share * 100.0;
            writeln!(f, "{}: busy {seconds:.3} ms ({share:.1} %)", busy.label)?;
        }
        write!(f, "idle between commands: {:.3} ms in {} gaps", self.idle() * 1e3, self.gaps.len())?;
        if self.unmeasured > 0 { write!(f, "\nnot measured: {} commands", self.unmeasured) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Activity, Row, Unmeasured};
    use crate::test_profiles::{profile, row, unmeasured, wait};

    #[test]
    fn no_moment_counts_twice_in_the_overlap() {
        let rows = vec![
            row(0, Activity::Upload, "x", (0.0, 2.0)),
            row(1, Activity::Launch, "k", (1.0, 4.0)),
            row(0, Activity::Copy, "y", (3.0, 3.5)),
            row(0, Activity::Read, "y", (3.25, 3.5)),
            row(1, Activity::Launch, "k", (6.0, 7.0)),
            wait(1, None, (4.0, 6.0)),
            unmeasured(row(0, Activity::Fill, "x", (0.0, 100.0))),
            Row { time: Err(Unmeasured::InPlace), ..row(0, Activity::Read, "y", (0.0, 100.0)) },
        ];
        let overlap = profile(rows).overlap();
        assert_eq!((overlap.compute, overlap.copy, overlap.both), (4.0, 2.5, 1.5));
        assert_eq!(overlap.unmeasured, 1);
        assert!(overlap.to_string().ends_with("not measured: 1 commands"));
        assert_eq!(overlap.share, Some(0.6));
        assert_eq!(overlap.gaps, [Gap { lane: 0, time: Interval { start: 4.0, end: 6.0 } }]);
        assert_eq!((overlap.lanes[0].seconds, overlap.lanes[0].share), (5.0, 5.0 / 7.0));
        let queues: Vec<f64> = overlap.queues.iter().map(|queue| queue.seconds).collect();
        assert_eq!(queues, [2.5, 4.0]);
    }

    #[test]
    fn gaps_are_found_on_each_lane_separately() {
        let on_lane_1 = |times| Row { lane: 1, ..row(1, Activity::Launch, "k", times) };
        let rows = vec![
            row(0, Activity::Launch, "k", (0.0, 10.0)),
            on_lane_1((0.0, 1.0)),
            on_lane_1((2.0, 3.0)),
            on_lane_1((6.0, 7.0)),
        ];
        let overlap = profile(rows).overlap();
        let gaps: Vec<(usize, f64)> = overlap.gaps.iter().map(|gap| (gap.lane, gap.time.seconds())).collect();
        assert_eq!(gaps, [(1, 3.0), (1, 1.0)]);
        assert_eq!((overlap.lanes[0].share, overlap.lanes[1].share), (1.0, 0.3));
    }

    #[test]
    fn an_empty_profile_has_no_overlap() {
        let overlap = profile(Vec::new()).overlap();
        assert_eq!((overlap.compute, overlap.both, overlap.share), (0.0, 0.0, None));
        assert!(overlap.lanes.is_empty() && overlap.to_string().contains("0 gaps"));
    }
}
