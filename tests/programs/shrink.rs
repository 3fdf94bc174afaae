//! Minimizes a failing program.

use super::generate::repaired;
use super::op::Op;
use fencepost::Policy;
use std::time::{Duration, Instant};

/// Time limit of the search for a smaller program.
const PATIENCE: Duration = Duration::from_secs(40);

/// Removes operations as long as the program still fails.
pub fn shrink(ops: &[Op], policy: Policy, fails: impl Fn(&[Op]) -> bool) -> Vec<Op> {
    let end = Instant::now() + PATIENCE;
    let mut best = ops.to_vec();
    let mut chunk = best.len().div_ceil(2);
    while chunk > 0 && Instant::now() < end {
        let mut at = 0;
        let before = best.len();
        while at < best.len() && Instant::now() < end {
            let mut fewer = best.clone();
            fewer.drain(at..(at + chunk).min(best.len()));
            let fewer = repaired(&fewer, policy);
            if fewer.len() < best.len() && fails(&fewer) {
                best = fewer;
            } else {
                at += chunk;
            }
        }
        // Repeat single removals until none succeeds.
        chunk = if chunk > 1 || best.len() == before { chunk / 2 } else { 1 };
    }
    best
}
