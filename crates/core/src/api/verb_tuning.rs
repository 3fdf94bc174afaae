//! The choices of the verbs of `fencepost-algorithms` among the variants of their kernels. Any version of the crate may
//! change or remove the functions.

use crate::api::context::Context;
use crate::api::queue::CommandQueue;
use crate::device::checks::is_any_set;
use crate::error::Result;
use crate::runtime::pending::{FutureLate, Pending};
use crate::runtime::tuning_table::{Ceilings, TunedCase, TunedChoice, TuningTable};
use crate::scheduler::threads::is_inside_callback;
use fencepost_kernels::ShaderSource;
use fencepost_sync::MaybeSend;
use siphasher::sip128::SipHasher13;
use std::future::Future;

/// Returns the number of the variant that a verb takes for a case, or `None` for the default.
///
/// `accept` returns the number of a choice of the table, or `None` if it does not fit. `measure` is called if
/// `may_measure` is `true`, the context measures on first use and the call can wait. Nothing is measured for a captured
/// queue, whose commands do not execute.
#[inline]
pub fn number(
    queue: &CommandQueue,
    case: TunedCase,
    may_measure: bool,
    accept: impl Fn(&TunedChoice) -> Option<usize>,
    measure: impl FnOnce(u64) -> Option<TunedChoice>,
) -> Option<usize> {
    let tuning = queue.owner().tuning();
    if !tuning.is_on() {
        return None;
    }
    let may_measure = may_measure && can_wait(queue) && queue.captured_queue().is_none();
    tuning.number(case, may_measure, accept, measure)
}

/// Returns `true` if a wait in this call ends at the latest with its time limit. In a context without threads, the wait
/// does the work itself.
fn can_wait(queue: &CommandQueue) -> bool {
    let has_threads = cfg!(not(target_arch = "wasm32")) && queue.owner().engine().threads;
    has_threads && !is_inside_callback() && !is_any_set()
}

/// Returns the number of times that the context's source of choices was set.
pub fn generation(ctx: &Context) -> u64 {
    ctx.owner.tuning().generation()
}

/// Adds a measured choice, which the verbs take from now on, and stores it for the next run. Does neither if the source
/// was set after the [`generation`].
pub fn keep(ctx: &Context, generation: u64, case: TunedCase, number: usize, choice: TunedChoice) {
    ctx.owner.tuning().keep(generation, case, number, choice);
}

/// Returns the highest rates of the adapter, if they are in the table or were measured in this context before. Adds them
/// to the table, unless the source was set after the [`generation`].
pub fn known_ceilings(ctx: &Context, generation: u64) -> Option<Ceilings> {
    ctx.owner.tuning().known_ceilings(generation)
}

/// Adds the highest rates of the adapter to the table, unless the source was set after the [`generation`].
pub fn keep_ceilings(ctx: &Context, generation: u64, ceilings: Ceilings) {
    ctx.owner.tuning().keep_ceilings(generation, ceilings);
}

/// Returns a table of the context's adapter with these choices.
pub fn table_of(ctx: &Context, choices: impl IntoIterator<Item = TunedChoice>) -> TuningTable {
    let mut table = TuningTable::of(ctx.info());
    choices.into_iter().for_each(|choice| table.insert(choice));
    table
}

/// Returns a hash of the whole texts of built-in kernels. It is the same on each machine.
///
/// # Errors
/// Returns the errors of a source, for a name that is not the one of a built-in shader.
pub fn hash_of_kernels(stems: &[&str]) -> Result<u64> {
    let mut all = String::new();
    for stem in stems {
        all += &ShaderSource::builtin(&format!("{stem}.wgsl"))?.whole_text()?;
    }
    Ok(SipHasher13::new().hash(all.as_bytes()).as_u128() as u64)
}

/// Returns a pending result of a future. A blocking wait ignores its time limit.
pub fn pending<T>(future: impl Future<Output = Result<T>> + MaybeSend + 'static) -> Pending<T> {
    Pending::late(FutureLate(Box::pin(future)))
}
