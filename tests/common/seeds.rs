//! Reads the seeds of random programs from the environment.

use std::ops::Range;

/// Returns the seeds of `FENCEPOST_SEED` or `FENCEPOST_SEEDS`, if one of them is set.
pub fn asked() -> Option<Range<u64>> {
    let number = |text: &str| text.parse::<u64>().expect("a seed is a number");
    if let Ok(seed) = std::env::var("FENCEPOST_SEED") {
        let seed = number(&seed);
        return Some(seed..seed + 1);
    }
    let seeds = std::env::var("FENCEPOST_SEEDS").ok()?;
    let (from, to) = seeds.split_once("..").expect("FENCEPOST_SEEDS is <from>..<to>");
    Some(number(from)..number(to))
}
