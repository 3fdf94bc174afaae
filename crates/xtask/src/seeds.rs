//! `cargo xtask seeds`: runs the random programs of many seeds in the simulator.

use std::ops::Range;

use anyhow::{Result, bail};

use crate::built::Built;
use crate::progress;
use crate::workspace::Workspace;

/// Number of seeds that one process runs; small, so that the progress bar moves.
const PIECE: u64 = 100;

/// Runs the programs of `count` seeds, beginning with `from`. Each runs under every policy, with injected faults, and
/// twice. The first failure ends the run, and prints the smallest program that fails.
pub(crate) fn seeds(workspace: &Workspace, from: u64, count: u64) -> Result<()> {
    if from.checked_add(count).is_none() {
        bail!("{count} seeds from {from} on do not exist: the last one is {}", u64::MAX - 1);
    }
    let programs = Built::new(workspace, &["programs"])?;
    let bar = progress::bar(count);
    bar.set_message("seeds");
    for piece in pieces(from, count) {
        let seeds = format!("{}..{}", piece.start, piece.end);
        for run in programs.lines(workspace) {
            let run = run.var("FENCEPOST_TEST_ADAPTERS", "none").var("FENCEPOST_SEEDS", &seeds);
            let (passed, said) = run.var("RUST_LOG", "off").said()?;
            if !passed {
                bar.abandon();
                eprintln!("{said}");
                bail!("a program of the seeds {seeds} failed: its own seed is above");
            }
        }
        bar.inc(piece.end - piece.start);
    }
    bar.finish_and_clear();
    println!("{count} seeds from {from} on passed");
    Ok(())
}

/// Splits the seeds into pieces.
fn pieces(from: u64, count: u64) -> impl Iterator<Item = Range<u64>> {
    let end = from + count;
    (0..count.div_ceil(PIECE)).map(move |at| {
        let start = from + at * PIECE;
        start..end.min(start.saturating_add(PIECE))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_every_seed_once() {
        let all: Vec<u64> = pieces(7, 2 * PIECE + 1).flatten().collect();
        assert_eq!(all, (7..7 + 2 * PIECE + 1).collect::<Vec<_>>());
        assert_eq!(pieces(7, 0).count(), 0);
    }
}
