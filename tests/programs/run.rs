//! Runs a program and its oracle side by side, and compares the results.

use super::awaiting::Waits;
use super::checked::Model;
use super::guarded::guarded;
use super::machine::{Machine, Outcome};
use super::op::Op;
use super::oracle::{Oracle, Word};
use fencepost::{Context, Policy};

/// Opens the contexts of a program and selects the way in which it waits.
pub trait Place: Clone + Send + 'static {
    fn open(&self) -> Result<Context, String>;
    /// Opens the second context of a program.
    fn open_second(&self) -> Result<Context, String>;
    fn policy(&self) -> Policy;
    /// Returns `true` if the contexts have threads.
    fn threads(&self) -> bool;
    /// Returns the way in which programs wait.
    fn waits(&self) -> Waits {
        Waits::AsDrawn
    }
}

/// Runs a program on one fresh context or two, [guarded]. A panic or a hang is a failure too.
pub fn run(place: &impl Place, ops: &[Op]) -> Result<(), String> {
    let place = place.clone();
    let ops = ops.to_vec();
    guarded(move |watch| {
        let mut contexts = vec![place.open()?];
        if ops.iter().any(Op::is_elsewhere) {
            contexts.push(place.open_second()?);
        }
        contexts.iter().for_each(|ctx| drop(watch.send(ctx.diagnostics().watch())));
        let asks = place.policy() != Policy::Checked;
        let machine = Machine::new(contexts, place.threads(), asks).waiting(place.waits());
        execute(machine, place.policy(), &ops)
    })
}

fn execute(mut machine: Machine, policy: Policy, ops: &[Op]) -> Result<(), String> {
    let mut oracle = Oracle::default();
    let mut model = Model::new(policy);
    let mut refused = std::collections::BTreeSet::new();
    for (at, op) in ops.iter().enumerate() {
        let wrong = |what: String| format!("operation {at}, {op:?}: {what}");
        let missing = if policy == Policy::Checked { model.missing(op) } else { Vec::new() };
        let outcome = machine.step(op);
        // A read reports a hazard only when the program waits for it.
        let (hazard, shown) = match (op.begins_read(), op) {
            (Some(r), _) => {
                if !missing.is_empty() {
                    refused.insert(r);
                }
                (false, !missing.is_empty())
            }
            (None, Op::WaitRead { r, .. }) => (refused.contains(r), refused.contains(r)),
            _ => (!missing.is_empty(), !missing.is_empty()),
        };
        if outcome.hazard() != hazard {
            let expected = if hazard { "a hazard" } else { "no hazard" };
            return Err(wrong(format!(
                "the model expects {expected} ({missing:?}), the call {}",
                short(&outcome)
            )));
        }
        if shown {
            model.refuse(op);
            continue;
        }
        judge(&outcome, oracle.shown(op)).map_err(wrong)?;
        oracle.apply(op);
        model.apply(op, matches!(outcome, Outcome::Told | Outcome::Data(_)));
    }
    finish(machine, &oracle)
}

fn judge(outcome: &Outcome, expected: Option<Vec<Word>>) -> Result<(), String> {
    match (outcome, expected) {
        (Outcome::Failed(error), _) => Err(format!("error: {error}")),
        (Outcome::Data(found), Some(expected)) => compare(found, &expected),
        _ => Ok(()),
    }
}

/// Compares elements, except those that were never written.
pub fn compare(found: &[u32], expected: &[Word]) -> Result<(), String> {
    if found.len() != expected.len() {
        return Err(format!("{} elements, the oracle has {}", found.len(), expected.len()));
    }
    let differs =
        |(_, (found, expected)): &(usize, (&u32, &Word))| expected.is_some_and(|word| word != **found);
    let mut wrong = found.iter().zip(expected).enumerate().filter(differs);
    let Some((i, (found, expected))) = wrong.next() else { return Ok(()) };
    let more = wrong.count();
    Err(format!("element {i} is {found}, the oracle has {}; {more} more differ", expected.unwrap_or(0)))
}

fn short(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failed(error) => format!("fails: {error}"),
        Outcome::Data(_) => "shows elements".into(),
        other => format!("gives {other:?}"),
    }
}

/// Completes all work, and compares all remaining arrays.
fn finish(mut machine: Machine, oracle: &Oracle) -> Result<(), String> {
    machine.signal_all();
    machine.unmap_all();
    let last = machine.last_queues().map_err(|error| format!("at the end: {error}"))?;
    for (&a, expected) in &oracle.arrays {
        let found = machine
            .elements(&last[machine.home_of(a)], a)
            .map_err(|error| format!("at the end, a{a}: {error}"))?;
        compare(&found, expected).map_err(|what| format!("at the end, a{a}: {what}"))?;
    }
    for queue in last {
        machine.get(queue.finish()).map_err(|error| format!("at the end: {error}"))?;
    }
    machine.check_callbacks()
}
