//! 20. Ranks pages by their links (PageRank), with verbs in a loop that the device ends. The host verifies the ranks.
//!
//! Run `cargo run --release --example 20_pagerank -- --pages 100000`. `--trace FILE.html` shows when each command ran.

#[path = "pagerank/ranks.rs"]
mod ranks;
#[path = "common/trace.rs"]
mod trace;
#[path = "pagerank/web.rs"]
mod web;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use fencepost::prelude::*;
use ranks::Ranks;
use std::path::PathBuf;
use std::time::Instant;
use web::Web;

/// Ranks the pages of a random web on the device.
#[derive(Parser)]
struct Options {
    /// The number of pages
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1000..=4_000_000))]
    pages: u32,
    /// Write what every queue did, and when, to a `.html` timeline or a `.json` trace for Perfetto
    #[arg(long, value_name = "FILE", value_parser = trace::file)]
    trace: Option<PathBuf>,
}

const DAMPING: f32 = 0.85; // the part of a rank that its links carry
const LIMIT: f32 = 1e-5; // of the sum of all changes in the last step
const MOST: u32 = 1000; // steps
const TOP: usize = 5; // pages to print

fn main() -> Result<()> {
    let Options { pages, trace } = Options::parse();
    let ctx = Context::new().wait()?;
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));
    let queue = ctx.queue("ranks");
    let web = Web::random(pages as usize);
    let mut ranks = Ranks::new(&ctx, &web)?;

    let begin = Instant::now();
    let go = ranks.go.clone(); // the body writes the array through its own handle
    let steps = queue.while_(&go, Bound::Chunked(MOST), |body| ranks.step(body, LIMIT))?;
    let mut highest = queue.zeros([TOP])?;
    let mut places = queue.zeros([TOP])?;
    queue.top_k(&ranks.rank, &mut highest, &mut places)?;
    let rank = queue.read(&ranks.rank);
    let highest = queue.read(&highest);
    let places = queue.read(&places);
    let rank = rank.wait()?;
    let time = begin.elapsed();
    let run = steps.replay().context("a loop outside of a capture has a replay")?;
    ensure!(!run.reached_bound(&steps)?.wait()?, "{MOST} steps are too few");
    let iterations = run.iterations(&steps)?.wait()?;
    for (page, rank) in places.wait()?.iter().zip(highest.wait()?) {
        println!("page {page:>7} has the rank {rank:.3e}");
    }
    println!("{iterations} steps in {time:?}");

    let expected = web.ranks(DAMPING.into(), iterations);
    for (page, (rank, expected)) in rank.iter().zip(expected).enumerate() {
        let off = (f64::from(*rank) - expected).abs();
        ensure!(off < 1e-4 * expected, "the rank of page {page} is {rank}, and should be {expected}");
    }
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    println!("the ranks of {pages} pages are verified on the CPU");
    Ok(())
}
