//! A submitted batch of the CPU recorder, and the order of its steps.

use crate::device::LaneValue;
use crate::work::graph::run::GraphStep;
use crate::work::step::{Step, Work};
use fencepost_sync::{Slot, TimelineValue};
use std::collections::HashMap;
use std::sync::Arc;

/// One operation of a batch: a step, a node of a replayed graph, or the end of a replay.
#[derive(Clone, Copy, Debug)]
struct BatchOperation {
    step: u32,
    node: Option<u32>,
}

/// An operation that was taken from its batch, for the caller to execute.
pub(crate) struct TakenWork {
    steps: Arc<Vec<Step>>,
    operation: BatchOperation,
}

/// The operation that the caller executes next.
pub(crate) struct NextWork<'r> {
    /// Step of the operation.
    pub(crate) step: &'r Step,
    pub(crate) part: StepPart<'r>,
}

/// The part of a step that an operation executes.
pub(crate) enum StepPart<'r> {
    Whole,
    Node(&'r GraphStep, u32),
    /// End of a graph. Executes nothing.
    End,
}

/// A submitted batch. Operations that do not depend on each other may run in any order.
pub(crate) struct RunningBatch {
    steps: Arc<Vec<Step>>,
    operations: Vec<BatchOperation>,
    /// For each operation, the number of missing predecessors. If it is 0, the operation is ready or was taken.
    missing: Vec<u32>,
    /// For each operation, the operations that depend on it.
    next: Vec<Vec<u32>>,
    /// Operations that may come next.
    ready: Vec<u32>,
    /// Values that other lanes must complete before the first step.
    pub(crate) waits: Vec<LaneValue>,
    /// Value that the lane completes after the last step.
    pub(crate) signal: TimelineValue,
}

impl RunningBatch {
    pub(crate) fn new(steps: &Arc<Vec<Step>>, waits: &[LaneValue], signal: TimelineValue) -> Self {
        let before = predecessors(steps);
        debug_assert!(levels_rise(steps, &before), "bug: a step is not above its predecessors");
        let (operations, before) = operations_of(steps, &before);
        let mut next = vec![Vec::new(); operations.len()];
        for (at, first) in before.iter().enumerate() {
            first.iter().for_each(|&first| next[first].push(at as u32));
        }
        let missing: Vec<u32> = before.iter().map(|first| first.len() as u32).collect();
        let ready = (0..operations.len() as u32).filter(|&at| missing[at as usize] == 0).collect();
        let steps = steps.clone();
        let waits = waits.to_vec();
        Self { steps, operations, missing, next, ready, waits, signal }
    }

    /// Counts the operations that may come next. A batch without steps counts as one.
    pub(crate) fn choices(&self) -> usize {
        if self.steps.is_empty() { 1 } else { self.ready.len() }
    }

    /// Takes the ready operation with index `choice`. Operations that waited only for it become ready. Returns `None`
    /// in a batch without steps.
    pub(crate) fn take(&mut self, choice: usize) -> Option<TakenWork> {
        let at = (choice < self.ready.len()).then(|| self.ready.swap_remove(choice))?;
        for &after in &self.next[at as usize] {
            let missing = &mut self.missing[after as usize];
            *missing -= 1;
            if *missing == 0 {
                self.ready.push(after);
            }
        }
        Some(TakenWork { steps: self.steps.clone(), operation: self.operations[at as usize] })
    }

    /// Returns `true` if all operations were taken. While operations are left, at least one of them is ready.
    pub(crate) fn is_over(&self) -> bool {
        self.ready.is_empty()
    }
}

impl TakenWork {
    pub(crate) fn work(&self) -> NextWork<'_> {
        let step = &self.steps[self.operation.step as usize];
        let part = match (&step.work, self.operation.node) {
            (Work::Graph(graph), Some(node)) => StepPart::Node(graph, node),
            (Work::Graph(_), None) => StepPart::End,
            _ => StepPart::Whole,
        };
        NextWork { step, part }
    }
}

/// Returns the operations of the steps, each with its predecessors. The nodes of a graph come after the predecessors of
/// the graph's step, and the end of the graph comes after all its nodes.
fn operations_of(steps: &[Step], before: &[Vec<usize>]) -> (Vec<BatchOperation>, Vec<Vec<usize>>) {
    let mut operations = Vec::new();
    let mut befores = Vec::<Vec<usize>>::new();
    let mut ends: Vec<usize> = Vec::with_capacity(steps.len());
    for (at, step) in steps.iter().enumerate() {
        let mut outside: Vec<usize> = before[at].iter().map(|&step| ends[step]).collect();
        if let Work::Graph(graph) = &step.work {
            let order = graph.order();
            let start = operations.len();
            for (place, first) in order.before.iter().enumerate() {
                operations.push(BatchOperation { step: at as u32, node: Some(order.first + place as u32) });
                let inside = first.iter().map(|&node| start + (node - order.first) as usize);
                befores.push(outside.iter().copied().chain(inside).collect());
            }
            outside.extend(start..operations.len());
        }
        ends.push(operations.len());
        operations.push(BatchOperation { step: at as u32, node: None });
        befores.push(outside);
    }
    (operations, befores)
}

/// Returns the predecessors of each step: the previous step of its queue, the last of the context commands at the start
/// of the batch, and the steps in `Step::after`.
fn predecessors(steps: &[Step]) -> Vec<Vec<usize>> {
    let mut last = HashMap::new();
    let mut befores = Vec::with_capacity(steps.len());
    let first = steps.iter().position(|step| step.slot != Slot::CONTEXT).unwrap_or(steps.len());
    for (at, step) in steps.iter().enumerate() {
        let own = last.insert(step.slot, at);
        let context = first.checked_sub(1).filter(|_| step.slot != Slot::CONTEXT);
        befores.push(own.into_iter().chain(context).chain(step.after.iter().map(|&s| s as usize)).collect());
    }
    befores
}

/// Returns `true` if each step comes after its predecessors when levels are executed one after the other, with the
/// steps of a level in any order. Two steps with one stamp may share a level if one of them only takes a time.
fn levels_rise(steps: &[Step], before: &[Vec<usize>]) -> bool {
    let moves = |step: &Step| !matches!(step.work, Work::Start(_) | Work::End(_) | Work::Nothing);
    let rises = |first: &Step, step: &Step| {
        let shares = first.level == step.level && first.stamp == step.stamp;
        first.level < step.level || (shares && !(moves(first) && moves(step)))
    };
    steps.iter().zip(before).all(|(step, before)| before.iter().all(|&first| rises(&steps[first], step)))
}
