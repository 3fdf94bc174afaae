//! Simulates heat in a plate on the ranks of MPI. Each rank computes a strip of rows on its own device, and exchanges
//! the edges of the strip with the ranks next to it while the device computes the rows between them.
//!
//! Run `cargo xtask mpi` in the repository, or build this package with an MPI and run
//! `mpirun --bind-to none -n 2 target/release/heat_mpi`.

mod cores;
mod host;
mod strip;

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use fencepost::prelude::*;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};
use mpi::{Tag, Threading};
use strip::Strip;

/// Simulates heat in a plate: each rank of MPI computes a strip of its rows on its own device.
#[derive(Parser)]
#[command(after_help = HELP)]
struct Options {
    /// Cells of a row, a multiple of 64: each row has a multiple of 256 bytes, the alignment of a binding
    #[arg(long, default_value_t = 512, value_parser = width)]
    width: usize,
    /// Rows, of which each rank needs three
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(3..=1 << 20))]
    height: u32,
    /// Time steps
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,
}

const HELP: &str = "Examples:
  mpirun --bind-to none -n 2 target/release/heat_mpi
  mpirun --bind-to none -n 4 -x FENCEPOST_ADAPTER target/release/heat_mpi --height 4096 --steps 1000

mpirun binds each rank to one core by default. The CPU device then computes with a single thread, and the threads of a
context share the core with the program: pass --bind-to none.

The last line is a hash of all cells. It is the same for each number of ranks.";

/// Tag of the messages with the rows of a rank.
const ROWS: Tag = 2;
/// Maximum number of cell updates that the first rank repeats on the host.
const VERIFIED: usize = 1 << 28;

fn main() -> Result<()> {
    let options = Options::parse();
    // The threads of contexts call nothing of MPI.
    let started = mpi::initialize_with_threading(Threading::Funneled);
    let (universe, _) = started.context("MPI is in use already")?;
    let world = universe.world();
    if let Err(error) = simulate(&world, &options) {
        eprintln!("rank {}: {error:#}", world.rank());
        world.abort(1); // the other ranks may wait for a message of this one
    }
    Ok(())
}

fn simulate(world: &SimpleCommunicator, options: &Options) -> Result<()> {
    let &Options { width, height, steps } = options;
    let height = height as usize;
    let ranks = world.size() as usize;
    let rank = world.rank() as usize;
    ensure!(
        height / ranks >= 3,
        "{height} rows are too few for {ranks} ranks: pass --height {} or more",
        3 * ranks
    );
    if rank == 0
        && let Some(warning) = cores::warning()
    {
        eprintln!("{warning}");
    }
    // `Checked` proves that the events of the strip are sufficient: a missing wait would be an error.
    let ctx = Context::with_options(ContextOptions::default().policy(Policy::Checked)).wait()?;
    let own = height * rank / ranks..height * (rank + 1) / ranks;
    let mut strip = Strip::new(&ctx, world, width, own)?;
    strip.finish()?;
    world.barrier();
    let begin = Instant::now();
    for _ in 0..steps {
        strip.step()?;
    }
    strip.finish()?;
    world.barrier();
    let per_step = begin.elapsed() / steps;

    let mut cells = strip.cells()?;
    if rank > 0 {
        world.process_at_rank(0).send_with_tag(&cells[..], ROWS);
        return Ok(());
    }
    for other in 1..world.size() {
        let (rows, _) = world.process_at_rank(other).receive_vec_with_tag::<f32>(ROWS);
        cells.extend(rows);
    }
    println!("{ranks} ranks, the first on {}", ctx.info());
    println!("{height} rows of {width} cells, {steps} steps: {per_step:?} a step");
    if height * width <= VERIFIED / steps as usize {
        let expected = host::after(steps, height, width);
        let bits = |cells: &[f32]| cells.iter().map(|cell| cell.to_bits()).collect::<Vec<_>>();
        ensure!(bits(&cells) == bits(&expected), "the cells differ from those that the host computes");
        println!("the cells are those that the host computes");
    } else {
        println!("not verified, because the host would need long for more than {VERIFIED} updates of cells");
    }
    println!("hash {:016x}", host::hash(&cells));
    Ok(())
}

fn width(text: &str) -> Result<usize, String> {
    let width = text.parse::<usize>().ok().filter(|width| (64..=1 << 16).contains(width) && width % 64 == 0);
    width.ok_or_else(|| "it must be a multiple of 64, from 64 to 65536".into())
}
