//! Checks a launch: it runs interpreted, and an observer looks at all accesses, indices and operands.
//!
//! # Races
//! Two accesses to one byte are a race if at least one writes, at least one is not atomic, and no barrier orders them.
//! WGSL's atomic operations do not order other accesses. `workgroupBarrier` orders accesses to workgroup variables,
//! `storageBarrier` orders accesses to buffers, and both only among the invocations of one workgroup. So accesses
//! between two such barriers are unordered, and accesses of two workgroups to a buffer are never ordered.
//!
//! For each word and instruction, a set records the invocations that access the word: one set between two barriers, and
//! one for the whole launch. Two members of each set are enough to tell if two sets have different members. So **each
//! pair of instructions that races in the run is found**, and no other pair. Invocations run one after the other, but
//! their order does not matter: a seed changes the findings only if the accesses themselves depend on the order.
//!
//! # Unwritten memory
//! Reading bytes of a buffer is a finding if no upload, fill, copy or kernel wrote them before, and no other invocation
//! of the launch can write them first. (If one can, the read and the write are a race, or both are atomic.) An atomic
//! change also reads its word, so each change of an unwritten word is a finding.
//!
//! # Cost
//! A checked launch runs on one thread. It takes two to four times as long as an interpreted launch if few instructions
//! access each word, and longer if many do. It uses 9 bytes for each word of a bound buffer range, and 32 more bytes
//! for each instruction that accesses a word in a writable range.
//!
//! A word has no race if only one invocation accesses it, if it is only read, or if all its accesses are atomic. For
//! the other words, all pairs of instructions are compared; words that are accessed by the same instructions are
//! compared only once. The analysis checks `stop` between its steps, and if it is set ends the run with
//! [`Fault::Stopped`].
//!
//! # Limits
//! - A check sees the accesses of one run. Another input may lead to other accesses.
//! - Operations of subgroups, including `subgroupBarrier`, do not order accesses here.
//! - Only bytes that the shader names count as accessed. WGSL lets a store to a component access the whole vector;
//!   [`CheckOptions::whole_vectors`] takes this into account.
//! - An access with an index out of range is reported as such, and never as part of a race.
//! - A read of unwritten memory is found when it happens, even if the kernel ignores the value.

mod checker;
#[cfg(test)]
mod cost_tests;
mod finding;
mod list;
mod memory;
mod names;
mod nan;
mod operands;
mod options;
mod path;
mod race;
mod sets;
mod shadow;
mod sites;
mod unread;
mod work;

use crate::error::Fault;
use crate::interpret::Interpreter;
use crate::run::GridRun;
use checker::Checker;
use memory::Memories;
use names::Names;

pub use finding::{
    Absent, Access, AccessKind, CheckedRun, Element, Finding, InvocationId, Mistake, Race, Step,
};
pub use options::CheckOptions;
pub use shadow::{Bound, Shadow};
pub(crate) use sites::Sites;

/// Runs workgroups and returns their mistakes.
pub(crate) fn run(
    (interpreter, sites): (&Interpreter, &Sites),
    run: &GridRun<'_>,
    bound: &[Bound],
    shadow: &mut Shadow,
    options: &CheckOptions,
) -> CheckedRun {
    let program = interpreter.program();
    let memories = Memories::new(program, interpreter, run, bound, shadow, options.unwritten_workgroup);
    let mut checker =
        Checker::new(Names::new(program, interpreter, sites, run.groups), memories, *options, run.stop);
    let result = interpreter.run_observed(run, &mut checker);
    let complete = checker.finish(result.is_ok());
    checker.memories.give_back(shadow);
    CheckedRun {
        findings: checker.list.finish(program.name(), options.most),
        fault: fault_of(result, complete),
    }
}

/// Combines the faults of a run and of its analysis.
fn fault_of(result: Result<(), Fault>, complete: bool) -> Option<Fault> {
    let fault = result.err().filter(|fault| !matches!(fault, Fault::Barrier { .. }));
    fault.or((!complete).then_some(Fault::Stopped))
}
