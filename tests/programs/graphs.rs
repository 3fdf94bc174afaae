//! Captures the device work of a program, replays it, and compares it with the oracle.

use super::case::{Cpu, Trial};
use super::checked::Model;
use super::generate::{Style, program, repaired};
use super::guarded::guarded;
use super::held::{Held, Reading};
use super::machine::{Machine, Outcome};
use super::op::{Contents, How, Id, Maker, Op, Ty};
use super::oracle::{Oracle, Word};
use super::run::{Place, compare};
use fastrand::Rng;
use fencepost::prelude::*;
use fencepost::{Capture, Error, ErrorDetail, Graph, Output, Replay};
use std::collections::BTreeSet;

/// Test of captured random programs, each on its own context.
pub struct Replaying<F> {
    pub policy: Policy,
    /// Function that returns the place where the program of a seed runs.
    pub place: F,
}

impl<P: Place, F: Fn(u64) -> P> Trial for Replaying<F> {
    fn program(&self, seed: u64) -> Vec<Op> {
        let all = Style::of_seed(seed, self.policy);
        let style = Style { pinned: false, encodes: false, contexts: false, ..all };
        capturable(&program(&mut Rng::with_seed(seed), style), self.policy)
    }

    fn policy(&self) -> Policy {
        self.policy
    }

    fn run(&self, seed: u64, ops: &[Op]) -> Result<(), String> {
        let place = (self.place)(seed);
        let ops = capturable(ops, self.policy);
        let policy = self.policy;
        guarded(move |watch| {
            let ctx = place.open()?;
            drop(watch.send(ctx.diagnostics().watch()));
            let machine = Machine::new(vec![ctx.clone()], place.threads(), false);
            Run { ctx, machine, oracle: Oracle::default(), rng: Rng::with_seed(seed), policy, seed }
                .execute(&ops)
        })
    }
}

/// Returns a place on the CPU recorder for a seed.
pub fn on_cpu(policy: Policy) -> Replaying<impl Fn(u64) -> Cpu> {
    Replaying { policy, place: move |seed| Cpu::of_seed(seed, policy) }
}

/// Returns the operations that are allowed in a capture.
fn capturable(ops: &[Op], policy: Policy) -> Vec<Op> {
    let mut floats = BTreeSet::new();
    let mut kept = Vec::new();
    for op in ops.iter().map(Op::verb) {
        match op {
            Op::Array { a, ty: Ty::F32, .. } => drop(floats.insert(*a)),
            // Several replays would make the numbers too large for exact results.
            Op::Launch { kernel, .. } if floats.contains(&kernel.parts().1.a) => continue,
            _ => {}
        }
        if is_capturable(op) {
            kept.push(op.clone());
        }
    }
    repaired(&kept, policy)
}

fn is_capturable(op: &Op) -> bool {
    match op {
        Op::Array { by, .. } | Op::Table { by, .. } => *by != Maker::Shared,
        Op::Queue { .. } | Op::Default { .. } | Op::Fork { .. } | Op::DropArray { .. } => true,
        Op::Mark { .. } | Op::Record { .. } | Op::WaitFor { .. } | Op::WaitForQueue { .. } => true,
        Op::Read { .. } | Op::ReadRegion { .. } | Op::ReadRows { .. } => false,
        _ => op.queue().is_some(),
    }
}

/// Returns `true` if the context makes the array, which then exists before the capture.
fn is_made_before(op: &Op) -> bool {
    matches!(op, Op::Array { by: Maker::Context(_), .. } | Op::Table { by: Maker::Context(_), .. })
}

/// One program with its context.
struct Run {
    ctx: Context,
    machine: Machine,
    oracle: Oracle,
    rng: Rng,
    policy: Policy,
    seed: u64,
}

/// A captured program.
struct Captured {
    graph: Graph,
    outputs: Vec<(Id, Shown)>,
    /// Operations that a replay executes, in order.
    ops: Vec<Op>,
}

/// An output of a graph.
enum Shown {
    U32(Output<u32>),
    I32(Output<i32>),
    F32(Output<f32>),
}

fn text(error: &Error) -> String {
    error.to_string()
}

impl Run {
    fn execute(mut self, ops: &[Op]) -> Result<(), String> {
        let (before, body): (Vec<Op>, Vec<Op>) = ops.iter().cloned().partition(is_made_before);
        for op in &before {
            if let Outcome::Failed(error) = self.machine.step(op) {
                return Err(format!("{op:?}: {error}"));
            }
            self.oracle.apply(op);
        }
        let cut = if self.rng.u32(0..3) == 0 { self.rng.usize(0..=body.len()) } else { 0 };
        let hazard = self.policy == Policy::Checked && has_hazard(&before, &body, cut);
        let captured = match (self.capture(&body, cut), hazard) {
            (Ok(_), true) => return Err("the model expects a hazard, the capture has none".into()),
            (Ok(captured), false) => captured,
            (Err(error), true) if matches!(error.detail(), ErrorDetail::Hazard { .. }) => return Ok(()),
            (Err(error), _) => return Err(format!("the capture fails, the model expects {hazard}: {error}")),
        };
        let runs = self.replay(captured, &before).map_err(|error| text(&error))?;
        self.check(runs)
    }

    /// Captures the operations. The operations before `cut` become a separate graph, which is replayed in the capture.
    fn capture(&mut self, body: &[Op], cut: usize) -> fencepost::Result<Captured> {
        let queue = self.ctx.queue("captured");
        let (first, second) = body.split_at(cut);
        let mut ops = Vec::new();
        let child = match first {
            [] => None,
            _ => Some(queue.capture(|c| part(&mut self.machine, c, first, &[]))?.0),
        };
        let times = if self.seed.is_multiple_of(4) { 2 } else { 1 };
        let (graph, outputs) = queue.capture(|c| {
            if let Some(child) = &child {
                for _ in 0..times {
                    c.replay(child)?;
                    ops.extend_from_slice(first);
                }
            }
            part(&mut self.machine, c, second, first)?;
            let arrays = self.machine.arrays.iter();
            let outputs = arrays.filter_map(|(&a, held)| Some((a, output(c, a, held)?)));
            outputs.map(|(a, output)| Ok((a, output?))).collect::<fencepost::Result<Vec<_>>>()
        })?;
        ops.extend_from_slice(second);
        // The oracle keeps dropped arrays, because the next replay uses them again.
        ops.retain(|op| !matches!(op, Op::DropArray { .. }));
        Ok(Captured { graph, outputs, ops })
    }

    /// Replays the graph on several queues, with other work between the replays. Returns each replay with the expected
    /// elements of its outputs.
    fn replay(&mut self, captured: Captured, before: &[Op]) -> fencepost::Result<Vec<Checked>> {
        let Captured { graph, outputs, ops } = captured;
        let queues: Vec<CommandQueue> = (0..3).map(|at| self.ctx.queue(&format!("replays {at}"))).collect();
        let between = eager(&ops, before, &self.machine);
        let mut last = 0;
        let mut runs = Vec::new();
        for _ in 0..[1, 2, 5][self.rng.usize(0..3)] {
            if let Some(op) = self.rng.choice(&between).filter(|_| self.rng.bool()) {
                let to = self.next(&queues, &mut last)?;
                self.machine.work(&to, op)?;
                self.oracle.apply(op);
            }
            let to = self.next(&queues, &mut last)?;
            let run = to.replay(&graph)?;
            ops.iter().for_each(|op| self.oracle.apply(op));
            for (a, output) in &outputs {
                let expected = self.oracle.arrays[a].clone();
                runs.push(Checked { a: *a, run: run.clone(), output: output.again(), expected });
            }
        }
        if self.rng.bool() {
            drop(graph);
        }
        Ok(runs)
    }

    /// Draws the queue of the next command. Under the policies other than `Ordered`, the program itself orders the commands.
    fn next(&mut self, queues: &[CommandQueue], last: &mut usize) -> fencepost::Result<CommandQueue> {
        let at = self.rng.usize(0..queues.len());
        if self.policy != Policy::Ordered {
            queues[at].wait_for(&queues[*last])?;
        }
        *last = at;
        Ok(queues[at].clone())
    }

    /// Compares the outputs of all replays, and all arrays.
    fn check(mut self, runs: Vec<Checked>) -> Result<(), String> {
        for Checked { a, run, output, expected } in runs {
            let found =
                self.machine.reading(output.read(&run)).map_err(|error| format!("output a{a}: {error}"))?;
            compare(&found, &expected).map_err(|what| format!("output a{a}: {what}"))?;
        }
        let last = self.ctx.queue("last");
        for a in self.machine.arrays.keys().copied().collect::<Vec<Id>>() {
            let found =
                self.machine.elements(&last, a).map_err(|error| format!("at the end, a{a}: {error}"))?;
            compare(&found, &self.oracle.arrays[&a]).map_err(|what| format!("at the end, a{a}: {what}"))?;
        }
        Ok(())
    }
}

/// An output of one replay, with its expected elements.
struct Checked {
    a: Id,
    run: Replay,
    output: Shown,
    expected: Vec<Word>,
}

impl Shown {
    fn again(&self) -> Self {
        match self {
            Shown::U32(output) => Shown::U32(output.clone()),
            Shown::I32(output) => Shown::I32(output.clone()),
            Shown::F32(output) => Shown::F32(output.clone()),
        }
    }

    fn read(&self, run: &Replay) -> Reading {
        let reading = match self {
            Shown::U32(output) => run.read(output).map(Reading::U32),
            Shown::I32(output) => run.read(output).map(Reading::I32),
            Shown::F32(output) => run.read(output).map(Reading::F32),
        };
        reading.unwrap_or_else(Reading::Failed)
    }
}

/// Captures a read of an array as an output.
fn output(c: &Capture, a: Id, held: &Held) -> Option<fencepost::Result<Shown>> {
    let name = format!("a{a}");
    Some(match held {
        Held::U32(array) => c.read_as(&name, array).map(Shown::U32),
        Held::I32(array) => c.read_as(&name, array).map(Shown::I32),
        Held::F32(array) => c.read_as(&name, array).map(Shown::F32),
        Held::Table(_) => return None,
    })
}

/// Captures operations. Each queue of the program is a fork, which comes after the work of all other queues, as a new
/// queue of a context does. Queues of `earlier` operations are forked again.
fn part(machine: &mut Machine, c: &Capture, ops: &[Op], earlier: &[Op]) -> fencepost::Result<()> {
    let mut events = BTreeSet::new();
    machine.queues.clear();
    for op in earlier {
        if let Op::Queue { q, .. } | Op::Default { q, .. } | Op::Fork { q, .. } = op {
            machine.adopt(*q, c.fork(&format!("q{q}")));
        }
    }
    for op in ops {
        match op {
            Op::Queue { q, .. } | Op::Default { q, .. } => new_queue(machine, *q, c)?,
            Op::Fork { q, from } => {
                let from = machine.queues[from].clone();
                new_queue(machine, *q, &from)?;
            }
            Op::WaitFor { q, events: all } => {
                // An event of the earlier operations is complete before this part begins.
                let events = all.iter().copied().filter(|e| events.contains(e)).collect();
                settle(machine.step(&Op::WaitFor { q: *q, events }))?;
            }
            Op::Mark { e, .. } | Op::Record { e, .. } => {
                events.insert(*e);
                settle(machine.step(op))?;
            }
            op => settle(machine.step(op))?,
        }
    }
    machine.queues().try_for_each(|queue| c.wait_for(queue))
}

fn new_queue(machine: &mut Machine, q: Id, from: &CommandQueue) -> fencepost::Result<()> {
    let new = from.fork(&format!("q{q}"));
    machine.queues().try_for_each(|other| new.wait_for(other))?;
    machine.adopt(q, new);
    Ok(())
}

fn settle(outcome: Outcome) -> fencepost::Result<()> {
    if let Outcome::Failed(error) = outcome { Err(error) } else { Ok(()) }
}

/// Returns `true` if two operations conflict and are unordered. Everything before `cut` comes before the rest.
fn has_hazard(before: &[Op], body: &[Op], cut: usize) -> bool {
    let mut model = Model::new(Policy::Checked);
    before.iter().for_each(|op| model.apply(op, false));
    let mut queues = Vec::new();
    for (at, op) in body.iter().enumerate() {
        if at == cut {
            join_all(&mut model, &queues);
        }
        if !model.missing(op).is_empty() {
            return true;
        }
        model.apply(&as_used(op), false);
        if let Op::Queue { q, .. } | Op::Default { q, .. } | Op::Fork { q, .. } = op {
            queues.push(*q);
        }
    }
    false
}

/// Returns the operation as a capture sees it: making an array without contents is not a command.
fn as_used(op: &Op) -> Op {
    let mut seen = op.clone();
    match &mut seen {
        Op::Array { by, contents: Contents::Empty, .. } | Op::Table { by, zeros: false, .. } => {
            *by = Maker::Context(0);
        }
        _ => {}
    }
    seen
}

/// Orders all queues after each other's work so far.
fn join_all(model: &mut Model, queues: &[Id]) {
    let Some((&first, others)) = queues.split_first() else { return };
    others.iter().for_each(|&other| model.apply(&Op::WaitForQueue { q: first, other }, false));
    others.iter().for_each(|&q| model.apply(&Op::WaitForQueue { q, other: first }, false));
}

/// Returns the operations that may also run between two replays: they use arrays that exist outside of the graph.
fn eager(ops: &[Op], before: &[Op], machine: &Machine) -> Vec<Op> {
    let outside = before.iter().filter_map(|op| match op {
        Op::Array { a, .. } | Op::Table { a, .. } => Some(*a),
        _ => None,
    });
    let outside: BTreeSet<Id> = outside.filter(|a| machine.arrays.contains_key(a)).collect();
    let uses = |op: &Op| match op {
        Op::Fill { dst, .. } | Op::Upload { dst, .. } => Some(vec![dst.a]),
        Op::Copy { src, dst, .. } => Some(vec![src.a, dst.a]),
        Op::Launch { kernel, how: How::Typed, .. } => {
            let (reads, write) = kernel.parts();
            Some(reads.iter().map(|part| part.a).chain([write.a]).collect())
        }
        _ => None,
    };
    let fits = |op: &&Op| uses(op).is_some_and(|all| all.iter().all(|a| outside.contains(a)));
    ops.iter().filter(fits).cloned().collect()
}
