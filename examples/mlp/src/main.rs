//! Trains a perceptron with two layers on handwritten digits. An epoch of the training is one graph.
//!
//! Run `cargo xtask mlp` in the repository, or `cargo run --release` in this folder.

mod network;
mod plain;
mod samples;

use std::time::Instant;

use anyhow::{Result, ensure};
use clap::{Parser, value_parser};
use fencepost::prelude::*;
use network::{BATCH, Network, Score};
use plain::Plain;
use samples::Samples;

/// Trains a perceptron with two layers on images of handwritten digits.
#[derive(Parser)]
#[command(after_help = HELP)]
struct Options {
    /// The number of passes over the images
    #[arg(long, default_value_t = 50, value_parser = value_parser!(u32).range(2..=1000))]
    epochs: u32,
    /// The seed of the first weights, and of the orders of the images
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

const HELP: &str = "Examples:
  cargo run --release
  FENCEPOST_ADAPTER=cpu cargo run --release -- --epochs 100 --seed 7

Exits with an error if fewer than 95 % of the test images are recognised, as after few epochs.";

/// Smallest part of the test images that a trained network recognises. It recognises about 97 %.
const FLOOR: f64 = 0.95;

fn main() -> Result<()> {
    let Options { epochs, seed } = Options::parse();
    let ctx = Context::new().wait()?;
    println!("running on {}", ctx.info());
    let queue = ctx.queue("training");
    let [training, test] = Samples::load();
    let training_images = training.upload(&ctx)?;
    let test_images = test.upload(&ctx)?;
    let generator = Philox::seed(seed);
    let mut network = Network::new(&queue, generator)?;
    let mut plain = Plain::new(&network.read(&queue)?);
    let mut order = queue.empty([training.len()])?;
    let graph = network.epoch(&queue, &training_images, &order)?;

    let part = |score: &Score| f64::from(score.right) / test.len() as f64;
    let mut begin = Instant::now();
    for epoch in 1..=epochs {
        queue.random_permutation(&mut order, generator.stream(1 + u64::from(epoch)))?;
        queue.replay(&graph)?;
        if epoch == 1 {
            plain.epoch(&training, &queue.read(&order).wait()?);
            plain.compare(&network.read(&queue)?)?;
            begin = Instant::now(); // the kernels are compiled now
        }
        if epoch % 10 == 0 {
            let Score { loss, .. } = network.score(&queue, &training_images)?;
            let found = part(&network.score(&queue, &test_images)?);
            println!("epoch {epoch:3}: loss {loss:.4}, {:.1} % of the test images", 100.0 * found);
        }
    }
    queue.finish().wait()?;
    let steps = f64::from(epochs - 1) * (training.len() / BATCH) as f64;
    println!("{:.0} steps a second", steps / begin.elapsed().as_secs_f64());

    let score = network.score(&queue, &test_images)?;
    let found = part(&score);
    let expected = Plain::new(&network.read(&queue)?).right(&test);
    // Two digits may have nearly the same score.
    ensure!(expected.abs_diff(score.right as usize) <= 1, "the host finds {expected}, not {}", score.right);
    ensure!(found >= FLOOR, "{:.1} % of the test images are too few: 95 % are needed", 100.0 * found);
    println!(
        "{:.1} % of {} test images are recognised, which is verified on the CPU, as is the first epoch",
        100.0 * found,
        test.len()
    );
    Ok(())
}
