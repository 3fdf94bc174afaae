//! Measures the cost of points inside a batch: markers between launches, and batches that end for them.
//!
//! Run `cargo run --release -p fencepost-benches --bin points`, on the adapter of `FENCEPOST_ADAPTER`. Every number is
//! a ratio of two medians of one run, whose rounds alternate.

use std::time::{Duration, Instant};

use anyhow::Result;
use fencepost::prelude::*;
use fencepost::{ContextOptions, Event, Kernel};
use fencepost_launches::saxpy::Saxpy;

const LAUNCHES: usize = 1000;
const ROUNDS: usize = 60;
const N: usize = 1024;
/// Elements of a piece of the double buffer; `PIECES` is the number of pieces.
const PIECE: usize = 1 << 20;
const PIECES: usize = 16;

/// A context, and the arrays of its rounds.
struct Side {
    ctx: Context,
    queue: CommandQueue,
    kernel: Kernel<Saxpy<'static>>,
    x: DeviceArray<f32>,
    y: DeviceArray<f32>,
    pieces: [DeviceArray<f32>; 2],
    host: Vec<f32>,
}

/// One round. The events that it returns are dropped after the time is taken.
type Round = fn(&mut Side) -> Result<Vec<Event>>;

const MARKERS: [(&str, Round); 4] = [
    ("no marker", |side| side.launches(|_, _| Ok(None))),
    ("a marker every 10 launches", |side| {
        side.launches(|side, at| Ok((at % 10 == 0).then(|| side.queue.marker())))
    }),
    ("a marker after every launch", |side| side.launches(|side, _| Ok(Some(side.queue.marker())))),
    ("a read every 100 launches", |side| {
        let read = |side: &Side, at| {
            if at % 100 == 0 {
                side.queue.read(&side.y.slice(0..4)?).wait()?;
            }
            Ok(None)
        };
        side.launches(read)
    }),
];

const PIPELINES: [(&str, Round); 3] =
    [MARKERS[0], MARKERS[2], ("the double buffer, a read a piece", Side::double_buffer)];

fn main() -> Result<()> {
    let mut side = [Side::open(ContextOptions::default())?];
    println!("{}: {LAUNCHES} launches of {N} threads, medians of {ROUNDS} rounds", side[0].ctx.info());
    let medians = measured(&mut side, &MARKERS)?;
    println!("\nbeside launches without a marker:");
    for ((name, _), median) in MARKERS.iter().zip(&medians[0]) {
        let micros = median.as_secs_f64() * 1e6 / LAUNCHES as f64;
        println!("{name:36} x {:5.3} {micros:8.2} us a launch", ratio(*median, medians[0][0]));
    }
    drop(side);
    let endless = ContextOptions::default().lateness(Duration::MAX);
    let mut sides = [Side::open(ContextOptions::default())?, Side::open(endless)?];
    println!(
        "\nbeside `lateness: Duration::MAX`, with which no batch ends for a point, and submissions of both:"
    );
    for row in PIPELINES {
        let medians = measured(&mut sides, &[row])?;
        let counts = [submissions(&mut sides[0], row.1)?, submissions(&mut sides[1], row.1)?];
        let ratio = ratio(medians[0][0], medians[1][0]);
        println!("{:36} x {ratio:5.3} {:6.1} {:6.1}", row.0, counts[0], counts[1]);
    }
    println!("\nthe same, rounds of each kind by turns:");
    let medians = measured(&mut sides, &PIPELINES)?;
    for (at, (name, _)) in PIPELINES.iter().enumerate() {
        println!("{name:36} x {:5.3}", ratio(medians[0][at], medians[1][at]));
    }
    Ok(())
}

/// Returns how many submissions a round makes on average.
fn submissions(side: &mut Side, round: Round) -> Result<f64> {
    const ROUNDS: u64 = 20;
    let submitted = |side: &Side| {
        let dump = side.ctx.diagnostics().state_dump();
        let number = dump.split_once("submitted ").and_then(|(_, rest)| rest.split(',').next()?.parse().ok());
        number.unwrap_or(0_u64)
    };
    let before = submitted(side);
    for _ in 0..ROUNDS {
        drop(round(side)?);
        side.queue.finish().wait()?;
    }
    Ok((submitted(side) - before) as f64 / ROUNDS as f64)
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

/// Returns the median of each round on each side.
fn measured(sides: &mut [Side], rounds: &[(&str, Round)]) -> Result<Vec<Vec<Duration>>> {
    let mut times = vec![vec![Vec::new(); rounds.len()]; sides.len()];
    for number in 0..ROUNDS + 10 {
        for (at, (_, round)) in rounds.iter().enumerate() {
            for turn in 0..sides.len() {
                // A round that runs after the other side's round of the same kind finds other bytes in the caches,
                // so the order alternates.
                let on = (turn + number) % sides.len();
                let side = &mut sides[on];
                let times = &mut times[on];
                let start = Instant::now();
                let events = round(side)?;
                side.queue.finish().wait()?;
                let took = start.elapsed();
                drop(events);
                if number >= 10 {
                    times[at].push(took); // the first ten rounds warm up
                }
            }
        }
    }
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    Ok(times.into_iter().map(|rows| rows.into_iter().map(median).collect()).collect())
}

impl Side {
    fn open(options: ContextOptions) -> Result<Self> {
        let ctx = Context::with_options(options).wait()?;
        let queue = ctx.queue("main");
        let kernel = ctx.kernel::<Saxpy>()?;
        let x = ctx.zeros([N])?;
        let y = ctx.zeros([N])?;
        let pieces = [ctx.zeros([PIECE])?, ctx.zeros([PIECE])?];
        Ok(Self { ctx, queue, kernel, x, y, pieces, host: vec![1.0; PIECE] })
    }

    /// Launches, and calls `point` after each launch.
    fn launches(&mut self, point: impl Fn(&Self, usize) -> Result<Option<Event>>) -> Result<Vec<Event>> {
        let mut events = Vec::new();
        for at in 0..LAUNCHES {
            let args = Saxpy { a: 2.0, x: &self.x, y: &mut self.y };
            self.queue.launch(&self.kernel, Grid::threads([N]), args)?;
            events.extend(point(self, at)?);
        }
        Ok(events)
    }

    /// Uploads piece after piece into alternating arrays, launches on each and reads a part of it.
    fn double_buffer(&mut self) -> Result<Vec<Event>> {
        let mut reads = Vec::new();
        for piece in 0..PIECES {
            let y = &mut self.pieces[piece % 2];
            self.queue.upload(&self.host, y)?;
            let args = Saxpy { a: 2.0, x: &self.x, y: &mut y.slice(0..N)? };
            self.queue.launch(&self.kernel, Grid::threads([N]), args)?;
            reads.push(self.queue.read(&self.pieces[piece % 2].slice(0..N)?));
            self.queue.flush()?;
        }
        reads.into_iter().try_for_each(|read| read.wait().map(drop))?;
        Ok(Vec::new())
    }
}
