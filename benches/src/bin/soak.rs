//! Runs the double buffer for minutes, and checks that every block is correct and memory stays flat.

use anyhow::Result;
use clap::Parser;
use fencepost_benches::soak;

fn main() -> Result<()> {
    let options = soak::Options::parse();
    let summary = soak::run(&options)?;
    println!("{}", if options.json { serde_json::to_string(&summary)? } else { summary.to_string() });
    Ok(())
}
