//! Kernels and scratch memory of the verbs of `fencepost-algorithms`: messages name the verb, and the device may compile
//! its kernels without the runtime checks that were proven redundant. Any version of the crate may change or remove the
//! functions.
#![allow(unsafe_code, reason = "the caller proves what the device does not check")]

use crate::api::context::Context;
use crate::api::context::kernels::{Job, compiled, dynamic, job};
use crate::api::kernel::{DynKernel, Kernel};
use crate::api::queue::CommandQueue;
use crate::arrays::device_array::DeviceArray;
use crate::device::adapter::AdapterInfo;
use crate::error::{CommandKind, Result};
pub use crate::scheduler::enqueue::TakenRoom;
#[cfg(feature = "validation")]
pub use edits::with_edited_kernels;
pub use fencepost_kernels::Trust;
use fencepost_kernels::{Element, KernelArgs, ShaderSource};

/// Compiles a kernel of a verb as [`Context::kernel_with`](crate::Context::kernel_with) does, but on a thread of the
/// context. The call only checks the kernel; a queue with launches waits for the pipeline, and fails if the compilation
/// fails. In a capture, and in a context without threads, the kernel is compiled during the call. The body of a condition
/// or a loop outside of a capture does not wait, but its queue does.
///
/// # Errors
/// Returns the errors of [`Context::kernel_with`](crate::Context::kernel_with), which name the verb.
pub fn verb_kernel_with<A: KernelArgs>(
    queue: &CommandQueue,
    verb: &'static str,
    overrides: &[(&str, f64)],
) -> Result<Kernel<A::Family>> {
    compiled::<A>(queue.owner(), &of_verb(queue, verb, job::<A>(overrides)?))
}

/// Compiles a kernel of a verb as [`Context::kernel_from_with`](crate::Context::kernel_from_with) does.
///
/// # Errors
/// Returns the errors of [`Context::kernel_from_with`](crate::Context::kernel_from_with), which name the verb.
pub fn verb_kernel_from_source(
    queue: &CommandQueue,
    verb: &'static str,
    source: &ShaderSource,
    (entry, overrides): (&str, &[(&str, f64)]),
) -> Result<DynKernel> {
    dynamic(queue.owner(), &of_verb(queue, verb, Job::new(source.clone(), entry, overrides)))
}

/// Compiles a kernel as [`verb_kernel_with`] does, without the runtime checks that `trust` makes redundant.
///
/// Some devices check all kernels nevertheless: the CPU, devices with bindings of 2^32 bytes and more, and every device
/// if the environment has `FENCEPOST_CHECKED=1`. Captured launches are also checked if they have a named value or an
/// edit changes them.
///
/// # Safety
/// Everything in `trust` must hold for all launches of the returned kernel, whatever the elements of their arrays are,
/// even if another queue changes the elements during the launch.
///
/// # Errors
/// Returns the errors of [`verb_kernel_with`].
pub unsafe fn trusted_kernel_with<A: KernelArgs>(
    queue: &CommandQueue,
    verb: &'static str,
    overrides: &[(&str, f64)],
    trust: Trust,
) -> Result<Kernel<A::Family>> {
    let job = of_verb(queue, verb, job::<A>(overrides)?).with_trust(granted(queue, trust));
    compiled::<A>(queue.owner(), &job)
}

/// Compiles a kernel as [`verb_kernel_from_source`] does, without the runtime checks that `trust` makes redundant, as
/// in [`trusted_kernel_with`].
///
/// # Safety
/// The contract of [`trusted_kernel_with`] applies.
///
/// # Errors
/// Returns the errors of [`verb_kernel_from_source`].
pub unsafe fn trusted_kernel_from_source(
    queue: &CommandQueue,
    verb: &'static str,
    source: &ShaderSource,
    (entry, overrides): (&str, &[(&str, f64)]),
    trust: Trust,
) -> Result<DynKernel> {
    let job = of_verb(queue, verb, Job::new(source.clone(), entry, overrides));
    dynamic(queue.owner(), &job.with_trust(granted(queue, trust)))
}

/// Returns `true` if the device of a context has native code for some built-in kernels: the CPU device, outside of a
/// browser.
pub fn has_twins(context: &Context) -> bool {
    cfg!(cpu_threads) && context.info().backend == AdapterInfo::CPU_BACKEND
}

/// Waits until the backlog has room, and reserves room for all commands of a verb. A captured queue needs no room.
///
/// # Errors
/// Returns [`ErrorDetail::Backlog`](crate::ErrorDetail::Backlog) if there is no room and the call must not block.
#[track_caller]
pub fn take_room(queue: &CommandQueue) -> Result<Option<TakenRoom>> {
    match queue.slot() {
        Ok(slot) => queue.owner().engine().take_room(slot).map(Some),
        Err(_) => Ok(None), // the verb returns the error
    }
}

/// Returns scratch memory of a verb: an array with unspecified elements, for use in the order of the queue. In a capture,
/// it belongs to the graph, even in the body of a condition or a loop. There, all executions of the body use it, one
/// after the other. Messages name the verb.
///
/// # Errors
/// Returns [`ErrorDetail::TooLarge`](crate::ErrorDetail::TooLarge), [`ErrorDetail::OutOfMemory`](crate::ErrorDetail::OutOfMemory)
/// or the queue's own error.
#[track_caller]
pub fn scratch<T: Element>(queue: &CommandQueue, verb: &str, len: usize) -> Result<DeviceArray<T>> {
    queue.array_ops(CommandKind::Fill)?.scratch(verb, len)
}

/// Returns the job for a kernel of a verb. Only in a capture does the verb wait for the compilation, so that replays
/// find compiled kernels. The graph of a condition or a loop outside of a capture has only one replay, which waits for
/// them.
fn of_verb(queue: &CommandQueue, verb: &'static str, job: Job) -> Job {
    #[cfg(feature = "validation")]
    let job = edits::edited(job);
    let waits = queue.captured_queue().is_some_and(|captured| !captured.tape.runs_once);
    job.with_verb(Some(verb)).late_if(!waits)
}

/// Edits of kernels, by which tests plant mistakes.
#[cfg(feature = "validation")]
mod edits {
    use super::{Job, ShaderSource};
    use std::cell::RefCell;
    use std::rc::Rc;

    type Edit = Rc<dyn Fn(&mut ShaderSource, &mut Vec<(String, f64)>)>;

    thread_local! {
        /// Edit of the kernels that verbs compile on this thread.
        static EDIT: RefCell<Option<Edit>> = const { RefCell::new(None) };
    }

    /// Calls `run`. Meanwhile, `edit` changes the source and the overrides of each kernel that a verb compiles on this
    /// thread.
    pub fn with_edited_kernels<R>(
        edit: impl Fn(&mut ShaderSource, &mut Vec<(String, f64)>) + 'static,
        run: impl FnOnce() -> R,
    ) -> R {
        EDIT.replace(Some(Rc::new(edit)));
        let result = run();
        EDIT.take();
        result
    }

    pub(super) fn edited(job: Job) -> Job {
        let edit = EDIT.with_borrow(Clone::clone);
        match edit {
            Some(edit) => job.edited(|source, overrides| edit(source, overrides)),
            None => job,
        }
    }
}

/// Returns `trust` if the device allows kernels without runtime checks.
fn granted(queue: &CommandQueue, trust: Trust) -> Option<Trust> {
    queue.owner().device().caps().trusts.then_some(trust)
}
