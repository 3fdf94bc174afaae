//! A batch of the CPU recorder on its way: which of its steps may come next.

use crate::device::recorder::LaneValue;
use crate::work::step::{Step, Work};
use fencepost_sync::{Slot, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// A submission on its way. Whatever its steps leave open may really happen in any order.
pub(crate) struct Running {
    steps: Arc<Vec<Step>>,
    /// For each step, how many that are not done have to come first.
    missing: Vec<u32>,
    /// For each step, those that come after it.
    next: Vec<Vec<u32>>,
    /// Steps that may come next.
    ready: Vec<u32>,
    pub(crate) waits: Vec<LaneValue>,
    pub(crate) signal: Value,
}

impl Running {
    pub(crate) fn new(steps: &Arc<Vec<Step>>, waits: &[LaneValue], signal: Value) -> Self {
        let before = before(steps);
        debug_assert!(levels_rise(steps, &before), "bug: a step is not above all that come before it");
        let mut next = vec![Vec::new(); steps.len()];
        for (at, first) in before.iter().enumerate() {
            first.iter().for_each(|&first| next[first].push(at as u32));
        }
        let missing: Vec<u32> = before.iter().map(|first| first.len() as u32).collect();
        let ready = (0..steps.len() as u32).filter(|&at| missing[at as usize] == 0).collect();
        let (steps, waits) = (steps.clone(), waits.to_vec());
        Self { steps, missing, next, ready, waits, signal }
    }

    /// How many steps may come next; a batch without steps counts as one.
    pub(crate) fn choices(&self) -> usize {
        if self.steps.is_empty() { 1 } else { self.ready.len() }
    }

    /// Takes one of the [`choices`](Self::choices), and what may come once it is done; `None` in a batch without steps.
    pub(crate) fn take(&mut self, choice: usize) -> Option<&Step> {
        let at = (choice < self.ready.len()).then(|| self.ready.swap_remove(choice))?;
        for &after in &self.next[at as usize] {
            let missing = &mut self.missing[after as usize];
            *missing -= 1;
            if *missing == 0 {
                self.ready.push(after);
            }
        }
        Some(&self.steps[at as usize])
    }

    /// Whether all its steps were taken: as long as some are left, one of them comes first.
    pub(crate) fn is_over(&self) -> bool {
        self.ready.is_empty()
    }
}

/// For each step the ones that come first: its queue's last one, those it waits for, and the context's own.
fn before(steps: &[Step]) -> Vec<Vec<usize>> {
    let mut last = HashMap::new();
    let mut befores = Vec::with_capacity(steps.len());
    for (at, step) in steps.iter().enumerate() {
        let own = last.insert(step.slot, at);
        let context = last.get(&Slot::CONTEXT).copied().filter(|_| step.slot != Slot::CONTEXT);
        befores.push(own.into_iter().chain(context).chain(step.after.iter().map(|&s| s as usize)).collect());
    }
    befores
}

/// Whether a recorder that does one level after the other, and a level in any order, does each step after those that
/// come before it. Of one stamp, what moves no bytes may share a level: a command's times, what is made visible.
fn levels_rise(steps: &[Step], before: &[Vec<usize>]) -> bool {
    let moves =
        |step: &Step| !matches!(step.work, Work::Start(_) | Work::End(_) | Work::Publish(_) | Work::Nothing);
    let rises = |first: &Step, step: &Step| {
        let shares = first.level == step.level && first.stamp == step.stamp;
        first.level < step.level || (shares && !(moves(first) && moves(step)))
    };
    steps.iter().zip(before).all(|(step, before)| before.iter().all(|&first| rises(&steps[first], step)))
}
