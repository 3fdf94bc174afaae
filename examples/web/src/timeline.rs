//! The timeline of two queues, from a profile of each round of their work.

use fencepost::Profile;
use fencepost::prelude::*;
use fencepost::profile::{Activity, Interval, Row, Unmeasured};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::device::Device;
use crate::units;

/// The arguments of the built-in kernel `spin`, which keeps a device busy.
#[derive(KernelArgs)]
#[kernel(source = "spin.wgsl")]
struct Spin<'a> {
    rounds: u32,
    out: &'a mut DeviceArray<u32>,
}

/// Seconds that the longest launch of a round should take: the clocks of browsers are coarse, and a round should be short.
const AIM: f64 = 3e-3;
/// Largest load of a launch.
const HEAVIEST: u32 = 3;
/// Maximum number of rounds of the generator for a load of 1. Some software drivers stop longer loops.
const MOST: u32 = 60_000 / HEAVIEST;

/// Two queues that work at the same time, except where an event orders them.
#[wasm_bindgen]
pub struct TwoQueues {
    ctx: Context,
    spin: Kernel<Spin<'static>>,
    a: CommandQueue,
    b: CommandQueue,
    of_a: DeviceArray<u32>,
    of_b: DeviceArray<u32>,
    /// Rounds of the generator for a load of 1, which follow the speed of the device.
    rounds: u32,
}

impl TwoQueues {
    /// Makes the queues and their arrays.
    ///
    /// # Errors
    /// Fails if the device has no memory, or cannot compile the kernel.
    pub fn new(device: &Device) -> Result<Self> {
        let ctx = device.ctx.clone();
        let elements: usize = device.choose(1 << 18, 1 << 10);
        let spin = ctx.kernel::<Spin>()?;
        let [of_a, of_b] = [ctx.zeros([elements])?, ctx.zeros([elements])?];
        Ok(Self { a: ctx.queue("a"), b: ctx.queue("b"), spin, of_a, of_b, rounds: 16, ctx })
    }

    /// Enqueues the work of a round, and returns its timeline once it is done.
    ///
    /// # Errors
    /// Fails if the device fails.
    pub async fn round(&mut self) -> Result<Timeline> {
        let profiler = self.ctx.profile();
        self.enqueue()?;
        let timeline = Timeline::of(&profiler.finish().await?);
        self.rounds = adapted(self.rounds, timeline.longest());
        Ok(timeline)
    }

    /// Enqueues launches on both queues. The last two launches of `b` come after the second one of `a`, and the last one
    /// of `a` after all of `b`.
    fn enqueue(&mut self) -> Result<()> {
        self.launch_on_a(1)?;
        self.launch_on_a(2)?;
        let second = self.a.marker();
        self.launch_on_a(1)?;
        self.launch_on_b(2)?;
        self.b.wait_for(&second)?;
        self.launch_on_b(HEAVIEST)?;
        self.launch_on_b(1)?;
        self.a.wait_for(&self.b)?;
        self.launch_on_a(1)
    }

    fn launch_on_a(&mut self, load: u32) -> Result<()> {
        let grid = Grid::threads([self.of_a.len()]);
        self.a.launch(&self.spin, grid, Spin { rounds: load * self.rounds, out: &mut self.of_a })
    }

    fn launch_on_b(&mut self, load: u32) -> Result<()> {
        let grid = Grid::threads([self.of_b.len()]);
        self.b.launch(&self.spin, grid, Spin { rounds: load * self.rounds, out: &mut self.of_b })
    }
}

/// Returns the rounds of the generator for the next time, from those of a time whose longest launch took `seconds`.
fn adapted(rounds: u32, seconds: Option<f64>) -> u32 {
    // Without a time the launches may be shorter than a tick of the clock. One time may be an outlier.
    let factor = seconds.map_or(2.0, |seconds| (AIM / seconds.max(1e-9)).clamp(0.25, 4.0));
    ((f64::from(rounds) * factor) as u32).clamp(1, MOST)
}

/// Bars of two queues, in seconds from the first start on.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// The launches and waits of both queues.
    pub bars: Vec<Bar>,
    /// End of the last bar.
    pub end: f64,
    /// A sentence about the times.
    pub summary: String,
}

/// A launch or a wait.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// Number of the queue: 0 for `a`, 1 for `b`.
    pub queue: u32,
    /// `true` for a wait.
    pub waits: bool,
    /// Start of the bar.
    pub start: f64,
    /// End of the bar.
    pub end: f64,
}

impl Timeline {
    /// Draws the bars of a profile.
    fn of(profile: &Profile) -> Self {
        let mut bars: Vec<Bar> = profile.rows.iter().filter_map(|row| bar(profile, row)).collect();
        let start = bars.iter().map(|bar| bar.start).fold(f64::INFINITY, f64::min);
        for bar in &mut bars {
            bar.start -= start;
            bar.end -= start;
        }
        let end = bars.iter().map(|bar| bar.end).fold(0.0, f64::max);
        let is_launch = |row: &&Row| row.activity == Activity::Launch;
        let has_clock = !profile.rows.iter().any(|row| row.time == Err(Unmeasured::NoClock));
        let launches = profile.rows.iter().filter(is_launch).count();
        let summary = summary(&bars, launches, has_clock);
        Self { bars, end, summary }
    }

    /// Returns the time of the longest launch.
    fn longest(&self) -> Option<f64> {
        let launches = self.bars.iter().filter(|bar| !bar.waits);
        launches.map(|bar| bar.end - bar.start).reduce(f64::max)
    }
}

/// Returns the bar of a launch or of a wait, if it has a time.
fn bar(profile: &Profile, row: &Row) -> Option<Bar> {
    let queue = match &*row.queue {
        "a" => 0,
        "b" => 1,
        _ => return None,
    };
    let waits = match row.activity {
        Activity::Launch => false,
        Activity::Wait => true,
        _ => return None,
    };
    let Interval { start, end } = match row.time {
        Ok(time) => time,
        Err(Unmeasured::NoClock) => of_batch(profile, row)?,
        Err(_) => return None,
    };
    Some(Bar { queue, waits, start, end })
}

/// Returns the time from the submission of a row's batch to its completion, by the host's clock.
fn of_batch(profile: &Profile, row: &Row) -> Option<Interval> {
    let batch = profile.batches.get(row.batch?)?;
    Some(Interval { start: batch.submitted, end: batch.completed? })
}

fn summary(bars: &[Bar], launches: usize, has_clock: bool) -> String {
    let measured = bars.iter().filter(|bar| !bar.waits).count();
    if measured == 0 {
        return "No launch has a time: each was shorter than a tick of the device's clock.".into();
    }
    let [a, b] = [0, 1].map(|queue| units::time(busy(bars, queue)));
    let both = units::time(together(bars));
    let mut text = format!("Queue a was busy for {a}, queue b for {b}, both at once for {both}.");
    if !has_clock {
        text += " This device has no timestamps, so a bar lasts from the submission of a batch to its completion.";
    } else if measured < launches {
        text += " Launches that are shorter than a tick of the device's clock have no bar.";
    }
    text
}

/// Returns the seconds in which a queue ran launches. Bars of one batch may be equal, so times that overlap count once.
fn busy(bars: &[Bar], queue: u32) -> f64 {
    spans(bars, queue).iter().map(|[start, end]| end - start).sum()
}

/// Returns the seconds in which both queues ran launches.
fn together(bars: &[Bar]) -> f64 {
    let [a, b] = [0, 1].map(|queue| spans(bars, queue));
    let overlap = |[start, end]: &[f64; 2]| -> f64 {
        b.iter().map(|[from, to]| (end.min(*to) - start.max(*from)).max(0.0)).sum()
    };
    a.iter().map(overlap).sum()
}

/// Returns the times in which a queue ran launches, ascending and without overlaps.
fn spans(bars: &[Bar], queue: u32) -> Vec<[f64; 2]> {
    let launches = bars.iter().filter(|bar| bar.queue == queue && !bar.waits);
    let mut all: Vec<[f64; 2]> = launches.map(|bar| [bar.start, bar.end]).collect();
    all.sort_by(|one, other| one[0].total_cmp(&other[0]));
    let mut united: Vec<[f64; 2]> = Vec::new();
    for [start, end] in all {
        match united.last_mut() {
            Some(last) if start <= last[1] => last[1] = last[1].max(end),
            _ => united.push([start, end]),
        }
    }
    united
}

#[cfg(test)]
mod tests {
    use pollster::block_on;

    use super::*;
    use crate::device::tests::on_cpu;

    fn launch(queue: u32, start: f64, end: f64) -> Bar {
        Bar { queue, waits: false, start, end }
    }

    #[test]
    fn a_round_has_bars_of_both_queues_in_the_order_of_the_events() {
        let mut queues = TwoQueues::new(&on_cpu()).expect("it is made");
        let mut timeline = block_on(queues.round()).expect("it runs");
        // A launch that is shorter than a tick has no bar, so the load grows until each has one.
        for _ in 0..20 {
            if timeline.bars.iter().filter(|bar| !bar.waits).count() == 7 {
                break;
            }
            timeline = block_on(queues.round()).expect("it runs");
        }
        let of = |queue| timeline.bars.iter().filter(move |bar| bar.queue == queue && !bar.waits);
        let [a, b]: [Vec<Bar>; 2] = [0, 1].map(|queue| of(queue).copied().collect());
        assert_eq!((a.len(), b.len()), (4, 3), "{timeline:?}");
        assert!(b[1].start >= a[1].end, "the second launch of b waits for the second one of a: {timeline:?}");
        assert!(a[3].start >= b[2].end, "the last launch of a waits for all of b: {timeline:?}");
        assert!(timeline.bars.iter().all(|bar| 0.0 <= bar.start && bar.start <= bar.end));
        assert!(timeline.summary.starts_with("Queue a was busy for "), "{timeline:?}");
    }

    #[test]
    fn the_load_follows_the_longest_launch_in_small_steps() {
        assert_eq!(adapted(100, Some(AIM)), 100);
        assert_eq!(adapted(100, Some(AIM / 100.0)), 400);
        assert_eq!(adapted(100, Some(AIM * 100.0)), 25);
        assert_eq!(adapted(100, None), 200);
        assert_eq!([adapted(1, Some(1.0)), adapted(MOST, None)], [1, MOST]);
    }

    #[test]
    fn times_that_overlap_on_one_queue_count_once() {
        let bars = [launch(0, 0.0, 2.0), launch(0, 1.0, 3.0), launch(0, 5.0, 6.0), launch(1, 2.5, 5.5)];
        assert_eq!([busy(&bars, 0), busy(&bars, 1), together(&bars)], [4.0, 3.0, 1.0]);
    }

    #[test]
    fn waits_are_not_busy() {
        let wait = Bar { waits: true, ..launch(1, 0.0, 9.0) };
        assert_eq!((busy(&[wait], 1), together(&[launch(0, 0.0, 1.0), wait])), (0.0, 0.0));
    }

    #[test]
    fn the_summary_says_which_times_are_missing() {
        assert!(summary(&[], 7, true).starts_with("No launch has a time"));
        let bars = [launch(0, 0.0, 1e-3)];
        assert!(summary(&bars, 1, false).contains("has no timestamps"));
        assert!(summary(&bars, 2, true).contains("have no bar"));
        assert_eq!(
            summary(&bars, 1, true),
            "Queue a was busy for 1.00 ms, queue b for 0 ns, both at once for 0 ns."
        );
    }
}
