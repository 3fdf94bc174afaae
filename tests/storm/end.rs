//! Ends a seed: it checks that remaining arrays are correct, that no memory is retained, and that every context ends.

use super::array::{Access, Owned};
use super::contexts::{Watches, until};
use super::shared::Shared;
use super::waits::{Coming, Done, Wrong, compare};
use fastrand::Rng;
use fencepost::{Context, Policy};
use std::time::Duration;

/// Time limit for threads to release unused memory.
const LIMIT: Duration = Duration::from_secs(10);

/// Checks the arrays and reads that no thread has taken, drops everything, and checks that nothing is retained.
pub fn end(shared: Shared, watches: &Watches) -> Done {
    let (arrays, comings) = shared.handover.empty();
    for Coming { reading, expected, from } in comings {
        compare(&reading.wait()?, &expected, || format!("the read of {from}, which no thread has taken"))?;
    }
    for owned in arrays {
        check(&shared, owned)?;
    }
    let contexts: Vec<Context> = shared.homes.iter().map(|home| home.ctx.clone()).collect();
    for ctx in &contexts {
        ctx.pool().set_release_threshold(None);
        ctx.synchronize().wait()?;
        if let Some(error) = ctx.take_error() {
            return Err(Wrong(format!("a context has an error: {error}")));
        }
    }
    drop(shared);
    contexts.iter().try_for_each(nothing_is_left)?;
    drop(contexts);
    if watches.have_ended(LIMIT) {
        return Ok(());
    }
    Err(Wrong(format!("a context does not end after its last handle:\n{}", watches.shown())))
}

fn check(shared: &Shared, owned: Owned) -> Done {
    let lane = shared.queues.iter().find(|lane| lane.home == owned.home).expect("each context has a queue");
    // Wait under every policy. An unneeded wait is not an error.
    let owned = Owned { policy: Policy::Unchecked, ..owned };
    owned.order(lane, Access::Read, &mut Rng::with_seed(0))?;
    let found = lane.queue.read(&owned.array).wait()?;
    compare(&found, &owned.words, || "an array that no thread has taken".into())
}

/// Checks that all memory is free, and that every queue has ended except the context's own.
fn nothing_is_left(ctx: &Context) -> Done {
    let mut left = String::new();
    let mut is_clean = || {
        left = leftovers(ctx);
        left.is_empty()
    };
    if until(LIMIT, &mut is_clean) {
        return Ok(());
    }
    Err(Wrong(format!("retained: {left}\n{}", ctx.diagnostics().state_dump())))
}

fn leftovers(ctx: &Context) -> String {
    ctx.pool().trim();
    let stats = ctx.pool().stats();
    let dump = ctx.diagnostics().state_dump();
    let queues = dump.lines().filter(|line| line.starts_with("queue ") && !is_of_context(line));
    let mut left: Vec<String> = queues.map(str::to_owned).collect();
    let bytes = stats.total();
    if bytes > 0 || stats.arrays > 0 || stats.blocks > 0 {
        left.push(format!("{stats:?}"));
    }
    left.join("\n")
}

fn is_of_context(line: &str) -> bool {
    ["`context`", "`default`"].iter().any(|name| line.contains(name))
}
