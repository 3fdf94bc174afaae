//! The end of a seed: what is left is right, nothing is left over, and every context ends.

use super::array::{Access, Owned};
use super::contexts::{Watches, until};
use super::waits::{Coming, Done, Wrong, compare};
use super::world::World;
use fastrand::Rng;
use fencepost::{Context, Policy};
use std::time::Duration;

/// How long threads may take to give back what nothing uses any more.
const LIMIT: Duration = Duration::from_secs(10);

/// Compares what no thread has taken, drops everything, and looks for what is left over.
pub fn end(world: World, watches: &Watches) -> Done {
    let (arrays, comings) = world.hands.empty();
    for Coming { reading, expected, from } in comings {
        compare(&reading.wait()?, &expected, || format!("the read of {from}, which no thread has taken"))?;
    }
    for owned in arrays {
        check(&world, owned)?;
    }
    let contexts: Vec<Context> = world.homes.iter().map(|home| home.ctx.clone()).collect();
    for ctx in &contexts {
        ctx.set_release_threshold(None);
        ctx.synchronize().wait()?;
        if let Some(error) = ctx.take_error() {
            return Err(Wrong(format!("a context has an error: {error}")));
        }
    }
    drop(world);
    contexts.iter().try_for_each(nothing_is_left)?;
    drop(contexts);
    if watches.have_ended(LIMIT) {
        return Ok(());
    }
    Err(Wrong(format!("a context does not end after its last handle:\n{}", watches.shown())))
}

fn check(world: &World, owned: Owned) -> Done {
    let lane = world.queues.iter().find(|lane| lane.home == owned.home).expect("each context has a queue");
    // Whatever the policy: a wait too many is no mistake.
    let owned = Owned { policy: Policy::Unchecked, ..owned };
    owned.order(lane, Access::Read, &mut Rng::with_seed(0))?;
    let found = lane.queue.read(&owned.array).wait()?;
    compare(&found, &owned.words, || "an array that no thread has taken".into())
}

/// All memory is free, and so is every queue but those of the context itself.
fn nothing_is_left(ctx: &Context) -> Done {
    let mut left = String::new();
    let mut is_clean = || {
        left = leftovers(ctx);
        left.is_empty()
    };
    if until(LIMIT, &mut is_clean) {
        return Ok(());
    }
    Err(Wrong(format!("left over: {left}\n{}", ctx.state_dump())))
}

fn leftovers(ctx: &Context) -> String {
    ctx.trim();
    let stats = ctx.pool_stats();
    let dump = ctx.state_dump();
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
