//! 19. Finds clusters of points by k-means, with verbs in a loop that the device ends. The host verifies the clusters.
//!
//! Run `cargo run --release --example 19_kmeans -- --points 100000`. `--trace FILE.html` shows when each command ran.

#[path = "kmeans/clusters.rs"]
mod clusters;
#[path = "kmeans/points.rs"]
mod points;
#[path = "common/trace.rs"]
mod trace;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use clusters::Clusters;
use fencepost::prelude::*;
use points::{CLUSTERS, nearest};
use std::path::PathBuf;
use std::time::Instant;

/// Finds clusters of points on the device.
#[derive(Parser)]
struct Options {
    /// The number of points
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1000..=4_000_000))]
    points: u32,
    /// Write what every queue did, and when, to a `.html` timeline or a `.json` trace for Perfetto
    #[arg(long, value_name = "FILE", value_parser = trace::file)]
    trace: Option<PathBuf>,
}

const LIMIT: f32 = 1e-4; // of the distance that a center moves in the last iteration
const MOST: u32 = 100; // iterations

fn main() -> Result<()> {
    let Options { points, trace } = Options::parse();
    let ctx = Context::new().wait()?;
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));
    let queue = ctx.queue("clusters");
    let (x, y) = points::points(points as usize);
    let mut clusters = Clusters::new(&ctx, &x, &y)?;

    let begin = Instant::now();
    let go = clusters.go.clone(); // the body writes the array through its own handle
    let steps = queue.do_while(&go, Bound::AtMost(MOST), |body| clusters.iteration(body, LIMIT))?;
    let centers = queue.read(&clusters.centers);
    let labels = queue.read(&clusters.labels);
    let centers = centers.wait()?;
    let time = begin.elapsed();
    let run = steps.replay().context("a loop outside of a capture has a replay")?;
    ensure!(!run.reached_bound(&steps)?.wait()?, "{MOST} iterations are too few");
    let iterations = run.iterations(&steps)?.wait()?;
    for [x, y] in &centers {
        println!("a center at {x:7.4}, {y:7.4}");
    }
    println!("{iterations} iterations in {time:?}");

    verify((&x, &y), &centers, &labels.wait()?, iterations)?;
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    println!("{CLUSTERS} clusters of {points} points are verified on the CPU");
    Ok(())
}

/// Compares the clusters with those of the same iterations on the host.
fn verify((x, y): (&[f32], &[f32]), centers: &[[f32; 2]], labels: &[u32], iterations: u32) -> Result<()> {
    let expected = points::centers(x, y, iterations);
    for (center, expected) in centers.iter().zip(&expected) {
        let [x, y] = center.map(f64::from);
        let off = (x - expected[0]).hypot(y - expected[1]);
        ensure!(off < f64::from(LIMIT), "the center {center:?} should be {expected:?}");
    }
    // The device chose the labels before the last move of the centers, so points between two centers may differ.
    let differs = |i: &usize| nearest(&expected, [x[*i].into(), y[*i].into()]) != labels[*i] as usize;
    let differing = (0..x.len()).filter(differs).count();
    ensure!(differing * 1000 <= x.len(), "{differing} points are in another cluster");
    Ok(())
}
