//! Checks a launch: it runs interpreted, and an observer looks at all accesses, indices and operands.
//!
//! # Races
//! Two accesses of one byte are a race if at least one writes, at least one is not atomic, and no barrier orders them.
//! WGSL's atomic operations order nothing else. `workgroupBarrier` orders accesses to variables of the workgroup,
//! `storageBarrier` orders accesses to buffers, and both only between the invocations of one workgroup. So the accesses
//! between two such barriers have no order, and two workgroups' accesses to a buffer never have one.
//!
//! For each word, a set keeps the invocations that access it by one instruction: between two barriers, and for a
//! launch. Two members of each set suffice to decide whether two sets have different members, so **each pair of
//! instructions that races in the run is found**, and no pair without a race. Invocations run one after the other, but
//! their order does not matter: a seed changes a finding only where the accesses themselves depend on the order.
//!
//! # Unwritten memory
//! A read of bytes of a buffer is a finding if no upload, fill, copy or kernel wrote them before, and if no other
//! invocation writes them first in any order of the invocations. If another one may, the read and the write are a race,
//! or both are atomic. An atomic change reads its word, so each change of an unwritten word is a finding.
//!
//! # Cost
//! A checked launch runs on one thread. It takes two to four times as long as an interpreted one if a few instructions
//! access each word, and longer if many do. It uses 9 bytes for each word of a bound part of a buffer. It uses more for
//! the words that the kernel accesses and may write: 32 bytes for each instruction that accesses the word.
//!
//! A word has no race if only one invocation accesses it, if it is only read, or if all its accesses are atomic. The
//! instructions of other words are compared in pairs, once for all words with the same instructions. The analysis looks
//! at `stop` between its steps, and ends the run with [`Fault::Stopped`].
//!
//! # Limits
//! - A check sees the accesses of one run. Another input may lead to other accesses.
//! - Operations of subgroups, including `subgroupBarrier`, order nothing here.
//! - A byte is accessed if the text names it. WGSL lets a store to a component access the whole vector;
//!   [`CheckOptions::whole_vectors`] takes this into account.
//! - An access through an index out of range is found as such, and takes part in no race.
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

/// Returns the fault of a run and of its analysis.
fn fault_of(result: Result<(), Fault>, complete: bool) -> Option<Fault> {
    let fault = result.err().filter(|fault| !matches!(fault, Fault::Barrier { .. }));
    fault.or((!complete).then_some(Fault::Stopped))
}
