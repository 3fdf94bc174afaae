//! Captured queues of other contexts, and copies between contexts in a capture.

use crate::api::graph::tape::captured_copy::CapturedCopy;
use crate::api::graph::tape::{CapturedQueue, Tape, TapeState};
use crate::error::site::CommandKind;
use crate::error::{Kind, Result};
use crate::memory::read_slot::ReadSlot;
use crate::runtime::owner::Owner;
use crate::scheduler::ordering::policy::Policy;
use crate::work::graph_data::graph_node::NodeCommand;
use crate::work::region_copy::RegionCopy;
use crate::work::span::Pattern;
use crate::work::step::Work;
use smallvec::SmallVec;
use std::panic::Location;
use std::sync::Arc;

/// Remedy for a second context in a body.
const ONE_CONTEXT: &str =
    "a body has the work of one context: use the other context before or behind the condition or the loop";
/// Remedy for conditions and loops in a capture of several contexts.
const NO_GATES: &str = "a graph with a condition or a loop has the work of one context: put the condition or the loop into a graph of \
                        its own, and replay it before or after";

impl Tape {
    /// Returns an error if the capture has queues of several contexts. The capture fails with the error too.
    pub(crate) fn check_one_context(
        &self,
        state: &TapeState,
        queue: u32,
        call: &'static str,
        at: &'static Location<'static>,
    ) -> Result<()> {
        if state.contexts.len() == 1 {
            return Ok(());
        }
        let queue = state.queues[queue as usize].label.to_string();
        Err(self.fault.raise(Kind::Captured { call, queue, location: at, remedy: NO_GATES }.into()))
    }
}

impl TapeState {
    /// Returns the number of a context. A new one is added.
    ///
    /// # Errors
    /// Returns `Captured` for a new one if the capture has a condition or a loop.
    fn context_of(
        &mut self,
        queue: &CapturedQueue,
        owner: &Owner,
        (call, at): (&'static str, &'static Location<'static>),
    ) -> Result<u32> {
        if let Some(known) = self.contexts.iter().position(|known| known.is(owner)) {
            return Ok(known as u32);
        }
        let refuse = |queue: String, remedy: &'static str| -> crate::error::Error {
            Kind::Captured { call, queue, location: at, remedy }.into()
        };
        let label = || self.queues[queue.index as usize].label.to_string();
        if queue.tape.is_body {
            return Err(queue.tape.fault.raise(refuse(label(), ONE_CONTEXT)));
        }
        if self.gates > 0 {
            return Err(queue.tape.fault.raise(refuse(label(), NO_GATES)));
        }
        self.contexts.push(owner.clone());
        Ok(self.contexts.len() as u32 - 1)
    }

    /// Returns the queue of the context `context` that takes the other side of the copies of `queue`.
    fn copy_queue(&mut self, queue: u32, context: u32, at: &'static Location<'static>) -> u32 {
        if let Some(&known) = self.copy_queues.get(&(queue, context)) {
            return known;
        }
        let label = format!("{}, copy across", self.queues[queue as usize].label);
        let made = self.add_queue((&label, context), at, SmallVec::new(), Vec::new());
        self.copy_queues.insert((queue, context), made);
        made
    }
}

impl CapturedQueue {
    /// Makes a queue of another context that comes after everything captured so far on this one.
    ///
    /// # Errors
    /// Returns `CaptureEnded`, and `Captured` in a body or in a capture with a condition or a loop.
    pub(crate) fn fork_on(&self, owner: &Owner, label: &str, at: &'static Location<'static>) -> Result<Self> {
        let index = self.with("fork_on", at, |state| -> Result<u32> {
            let context = state.context_of(self, owner, ("fork_on", at))?;
            Ok(state.fork(self.index, (label, context), at))
        })??;
        Ok(Self { tape: self.tape.clone(), index, label: label.into(), owner: owner.clone() })
    }

    /// Adds a copy between the context of this queue and another one. The side of the other context is on a queue of
    /// its own, which the copies of this queue share. This queue continues after the write.
    ///
    /// # Errors
    /// Returns the errors of [`fork_on`](Self::fork_on).
    pub(crate) fn copy_between(
        &self,
        at: &'static Location<'static>,
        (source, target): (&Owner, &Owner),
        copy: RegionCopy,
    ) -> Result<()> {
        let reads = self.owner.is(source);
        let other = if reads { target } else { source };
        let unordered = source.engine().lock().policy() == Policy::Unchecked;
        self.with("copy", at, |state| -> Result<()> {
            let context = state.context_of(self, other, ("a copy between contexts", at))?;
            for (owner, span) in [(source, &copy.src), (target, &copy.dst)] {
                let lease = || Arc::new(owner.engine().lease(&span.block));
                state.leases.entry(span.block.id).or_insert_with(lease);
            }
            self.tape.writes.add((&copy.dst.block).into());
            let theirs = state.copy_queue(self.index, context, at);
            let (of_read, of_write) = if reads { (self.index, theirs) } else { (theirs, self.index) };
            if !reads && unordered {
                // No policy orders the read, so it comes after the commands before the copy.
                let (frontier, clock) = state.end_of(self.index);
                state.wait(theirs, &frontier, &clock);
            }
            let node = |queue: u32, work: Work| {
                let what = if queue == theirs { CommandKind::BetweenContexts } else { CommandKind::Copy };
                let values = SmallVec::new();
                Arc::new(NodeCommand { work, what, at, label: None, output: None, values })
            };
            let work = Work::Read { src: copy.src.clone(), slot: ReadSlot::new() };
            let read = state.push(of_read, node(of_read, work), None);
            state.wait_for_nodes(of_write, &[read]);
            let work = Work::Fill { dst: copy.dst.clone(), pattern: Pattern::ZERO };
            let write = state.push(of_write, node(of_write, work), None);
            if reads {
                state.wait_for_nodes(self.index, &[write]);
            }
            state.queues[self.index as usize].last_call = Some(if reads { read } else { write });
            state.copies.push(CapturedCopy { read, write, copy });
            Ok(())
        })?
    }
}
