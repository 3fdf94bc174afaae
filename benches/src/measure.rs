use std::{thread, time::Duration};

use anyhow::{Context, Result};
use fastrand::Rng;
use indicatif::{ProgressBar, ProgressStyle};

use crate::{
    implementation::{Implementation, LaunchTime},
    job::{Job, MOST_QUEUES, Variant},
    rows::Row,
    stats::Summary,
    transfer::HostMemory,
};

/// Samples of a turn in the rows that repeat launches. The first one warms the caches.
const TIMES: u32 = 8;

/// All times of one row.
pub(crate) struct Measured {
    pub(crate) row: Row,
    pub(crate) rounds: usize,
    pub(crate) entries: Vec<Entry>,
}

/// Times of one implementation for a row on a number of queues.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) queues: usize,
    /// A time for each round, without the wait. Transfers have none.
    pub(crate) host: Vec<Duration>,
    /// A time for each round, until the host knew that the work was done.
    pub(crate) total: Vec<Duration>,
}

impl Measured {
    /// Returns a summary of times of this row, per launch or transfer.
    pub(crate) fn summary(&self, times: &[Duration]) -> Option<Summary> {
        Summary::of(times, self.row.launches())
    }
}

/// Takes the samples of one row, round-robin.
pub(crate) fn measure(
    row: &Row,
    implementations: &mut [Box<dyn Implementation>],
    quick: bool,
    progress: &ProgressBar,
) -> Result<Measured> {
    progress.set_message(row.to_string());
    let mut lanes = lanes(row, implementations);
    let bytes = row.bytes();
    let mut memory = HostMemory::of(bytes);
    set_up(bytes, row.live(), implementations)?;
    for round in 0..row.warm_up(quick) + row.rounds(quick) {
        let counted = round >= row.warm_up(quick);
        round_of(row, round, counted, &mut lanes, implementations, &mut memory)?;
        progress.inc(1);
    }
    let entries = lanes.into_iter().map(|lane| lane.entry(implementations)).collect();
    Ok(Measured { row: *row, rounds: row.rounds(quick), entries })
}

/// Prepares the arrays of each implementation, besides those of the launch rows.
fn set_up(bytes: usize, live: usize, implementations: &mut [Box<dyn Implementation>]) -> Result<()> {
    for implementation in implementations {
        let part = implementation.part();
        if part.transfers {
            implementation.allocate(bytes)?;
        }
        if part.live_arrays {
            implementation.keep_alive(live)?;
        }
    }
    Ok(())
}

/// One implementation on a number of queues. Lanes take turns.
struct Lane {
    implementation: usize,
    queues: usize,
    host: Vec<Duration>,
    total: Vec<Duration>,
}

impl Lane {
    fn entry(self, implementations: &[Box<dyn Implementation>]) -> Entry {
        let name = implementations[self.implementation].name();
        Entry { name, queues: self.queues, host: self.host, total: self.total }
    }
}

fn lanes(row: &Row, implementations: &[Box<dyn Implementation>]) -> Vec<Lane> {
    let lane = |implementation, queues| Lane { implementation, queues, host: vec![], total: vec![] };
    let mut lanes = Vec::new();
    for (index, implementation) in implementations.iter().enumerate() {
        let most = implementation.part().in_row(row).min(MOST_QUEUES);
        lanes.extend((1..=most).map(|queues| lane(index, queues)));
    }
    lanes
}

/// Takes one sample of every lane. Each round draws a new order, so that no lane always follows the same other lane.
fn round_of(
    row: &Row,
    round: usize,
    counted: bool,
    lanes: &mut [Lane],
    implementations: &mut [Box<dyn Implementation>],
    memory: &mut HostMemory,
) -> Result<()> {
    let count = lanes.len();
    let mut order: Vec<_> = (0..count).collect();
    Rng::with_seed(round as u64).shuffle(&mut order);
    for index in order {
        let lane = &mut lanes[index];
        let implementation = implementations[lane.implementation].as_mut();
        let seed = (round * count + index) as u32;
        let (host, total) = sample(row, lane.queues, seed, implementation, memory)
            .with_context(|| format!("row `{row}`, {}", implementation.name()))?;
        if counted {
            lane.host.extend(host);
            lane.total.push(total);
        }
    }
    Ok(())
}

fn sample(
    row: &Row,
    queues: usize,
    seed: u32,
    implementation: &mut dyn Implementation,
    memory: &mut HostMemory,
) -> Result<(Option<Duration>, Duration)> {
    match *row {
        Row::Launch { variant, launches, .. } => launch(Job { variant, launches, queues }, implementation),
        Row::Again { variant, launches, pause } => {
            again(Job { variant, launches, queues }, pause, implementation)
        }
        Row::LaunchWait => {
            launch_and_wait(Job { variant: Variant::Chain, launches: 1, queues }, implementation)
        }
        Row::Transfer { direction, .. } => Ok((None, memory.sample(direction, seed, implementation)?)),
    }
}

fn launch(job: Job, implementation: &mut dyn Implementation) -> Result<(Option<Duration>, Duration)> {
    implementation.reset(job.outputs())?;
    let time = implementation.launch(&job)?;
    job.check(implementation, 1)?;
    Ok((Some(time.host), time.total))
}

/// Returns the median of [`TIMES`] samples but the first, without a reset between them.
fn again(
    job: Job,
    pause: Option<Duration>,
    implementation: &mut dyn Implementation,
) -> Result<(Option<Duration>, Duration)> {
    implementation.reset(job.outputs())?;
    let mut launch = || {
        pause.into_iter().for_each(thread::sleep);
        implementation.launch(&job)
    };
    let times = (0..TIMES).map(|_| launch()).collect::<Result<Vec<_>>>()?;
    job.check(implementation, TIMES)?;
    let median = |part: fn(&LaunchTime) -> Duration| {
        let mut later: Vec<Duration> = times[1..].iter().map(part).collect();
        later.sort();
        later[later.len() / 2]
    };
    Ok((Some(median(|time| time.host)), median(|time| time.total)))
}

fn launch_and_wait(
    job: Job,
    implementation: &mut dyn Implementation,
) -> Result<(Option<Duration>, Duration)> {
    implementation.reset(job.outputs())?;
    let total = implementation.launch_and_wait(&job)?;
    job.check(implementation, 1)?;
    Ok((None, total))
}

/// Returns a bar over all rounds, shown only on a terminal.
pub(crate) fn progress(rows: &[Row], quick: bool) -> ProgressBar {
    let rounds: usize = rows.iter().map(|row| row.warm_up(quick) + row.rounds(quick)).sum();
    let style = ProgressStyle::with_template("{bar:40} {percent:>3} %  {elapsed}  {msg}");
    ProgressBar::new(rounds as u64).with_style(style.expect("bug: the template does not parse"))
}
