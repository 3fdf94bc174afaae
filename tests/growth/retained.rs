//! Checks that repeated rounds retain no memory.

use crate::common::full::full;
use crate::heap;
use fencepost::Context;

/// Maximum growth of the heap between two parts of a run, in bytes. It allows for tables that are pruned at intervals.
const SLACK: isize = 8 << 10;
/// Maximum growth of a table, in entries.
const ENTRIES: usize = 80;
/// Number of measurements of the heap in each part.
const LOOKS: usize = 8;

/// Runs rounds in three parts. Tables reach their size in the first part. The smallest heap size of the third part must
/// not exceed that of the second part by more than a margin. Each part has `rounds` rounds. The full suite has 34 times
/// as many, so that 1,000 become about 100,000 in all.
pub(crate) fn retains_nothing(what: &str, ctx: &Context, rounds: usize, mut round: impl FnMut(usize)) {
    let each = (if full() { 34 * rounds } else { rounds }).div_ceil(LOOKS);
    let mut at = 0;
    let mut part = || {
        let look = |_| {
            (0..each).for_each(|_| {
                round(at);
                at += 1;
            });
            (heap::bytes(), tables(ctx))
        };
        (0..LOOKS).map(look).reduce(least).expect("there are looks")
    };
    part();
    let before = part();
    let after = part();
    let grown = after.0 - before.0;
    let rounds = LOOKS * each;
    assert!(grown <= SLACK, "{what}: {rounds} rounds keep {grown} bytes\n{}", ctx.diagnostics().state_dump());
    let tables = before.1.iter().zip(&after.1);
    let grown = tables.map(|(before, after)| after.saturating_sub(*before)).max();
    assert!(grown <= Some(ENTRIES), "{what}: {rounds} rounds, the tables: {:?}, {:?}", before.1, after.1);
}

type Look = (isize, Vec<usize>);

fn least(a: Look, b: Look) -> Look {
    (a.0.min(b.0), a.1.into_iter().zip(b.1).map(|(a, b)| a.min(b)).collect())
}

/// Returns the lengths of a context's tables, from the state dump.
pub(crate) fn tables(ctx: &Context) -> Vec<usize> {
    let dump = ctx.diagnostics().state_dump();
    let line =
        dump.lines().find_map(|line| line.strip_prefix("kept: ")).expect("the dump has a line of them");
    let number = |part: &str| part.split(' ').next().and_then(|number| number.parse().ok());
    line.split(", ").map(|part| number(part).expect("a number")).collect()
}
