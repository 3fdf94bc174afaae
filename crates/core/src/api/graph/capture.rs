//! Captures of graphs, and captured host callbacks.
//!
//! A kernel may omit runtime checks that a proof about its launch makes redundant. If the program may change a captured
//! launch later, the proof may no longer hold, so the launch gets a kernel with all checks.

use crate::api::context::Context;
use crate::api::context::kernels::Job;
use crate::api::graph::Graph;
use crate::api::graph::bindings::GraphOutput;
use crate::api::graph::tape::{CapturedQueue, Tape, unique};
use crate::api::queue::CommandQueue;
use crate::api::queue::transfer::READ_IN_BODY;
use crate::arrays::device_array::DeviceArray;
use crate::error::{CommandKind, ErrorDetail, Result, panic_text};
use crate::runtime::owner::Owner;
use crate::work::kernel_launch::{KernelText, Launch};
use fencepost_kernels::Element;
use fencepost_sync::prim::{Condvar, Mutex, assert_unlocked, lock, sleep};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread::ThreadId;

/// A queue that captures: its verbs add nodes to a graph and execute nothing.
///
/// A capture dereferences to a [`CommandQueue`], so every verb and every algorithm that takes a queue can be captured.
/// Calls that need a result now, such as a read or a wait, return [`ErrorDetail::Captured`](crate::ErrorDetail::Captured), and the
/// capture fails with the same error. Ordinary queues that the function uses are not captured.
pub struct Capture {
    pub(crate) queue: CommandQueue,
}

/// An output of a graph. [`Replay::read`](crate::Replay::read) returns its elements for one replay.
pub struct Output<T: Element> {
    pub(crate) token: u64,
    pub(crate) len: usize,
    pub(crate) name: Arc<str>,
    element: PhantomData<fn() -> T>,
}

impl<T: Element> Output<T> {
    pub(crate) fn new(token: u64, len: usize, name: Arc<str>) -> Self {
        Self { token, len, name, element: PhantomData }
    }
}

impl<T: Element> Clone for Output<T> {
    fn clone(&self) -> Self {
        Self::new(self.token, self.len, self.name.clone())
    }
}

impl<T: Element> fmt::Debug for Output<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Output `{}` of {} {}", self.name, self.len, T::DTYPE)
    }
}

impl Deref for Capture {
    type Target = CommandQueue;

    fn deref(&self) -> &CommandQueue {
        &self.queue
    }
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Capture on queue `{}`", self.queue.label())
    }
}

impl CommandQueue {
    /// *Captures* the commands that `f` enqueues on the queue that it receives. Returns them as a graph, with the
    /// result of `f`. Nothing is executed or enqueued.
    ///
    /// Arrays that `f` makes on the captured queue live as long as the graph. `zeros` clears its array in each replay.
    /// Bytes that `f` uploads from ordinary memory are copied at the capture; a pinned array is read or written in each
    /// replay.
    /// [`fork`](Self::fork) on the captured queue returns another captured queue, which comes after the work of the
    /// first one only; [`wait_for`](Self::wait_for) joins it again. A replay of another graph on the
    /// captured queue becomes a part of the graph.
    ///
    /// # Errors
    /// Returns the error of `f`. Returns [`ErrorDetail::Captured`](crate::ErrorDetail::Captured) if a call in `f` cannot be captured;
    /// [`ErrorDetail::Unjoined`](crate::ErrorDetail::Unjoined) if a forked queue is not joined; [`ErrorDetail::Hazard`](crate::ErrorDetail::Hazard)
    /// under `Checked`; the queue's own error. The queue remains usable.
    ///
    /// # Panics
    /// A panic of `f` continues in the caller. The queue remains usable.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = queue.array(&[1_u32, 2, 3, 4])?;
    /// let (graph, doubled) = queue.capture(|c| {
    ///     let mut y = c.zeros::<u32, 1>([4])?;
    ///     c.copy(&x, &mut y)?;
    ///     c.read_as("y", &y)
    /// })?;
    /// let run = queue.replay(&graph)?;
    /// assert_eq!(run.read(&doubled)?.wait()?, [1, 2, 3, 4]);
    /// # drop(ctx);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn capture<T>(&self, f: impl FnOnce(&Capture) -> Result<T>) -> Result<(Graph, T)> {
        self.not_captured("capture", "capture the inner graph first, and replay it in this capture")?;
        self.capture_graph(Location::caller(), false, f)
    }

    /// Captures as [`capture`](Self::capture) does, on an ordinary queue. `runs_once` is `true` for a graph that
    /// [`replay_once`](Self::replay_once) replays.
    pub(crate) fn capture_graph<T>(
        &self,
        at: &'static Location<'static>,
        runs_once: bool,
        f: impl FnOnce(&Capture) -> Result<T>,
    ) -> Result<(Graph, T)> {
        self.owner().engine().lock().check(self.slot()?)?;
        let tape = Tape::new(self.owner(), self.label(), at, runs_once);
        let ending = Ending(&tape);
        let capture = Capture { queue: CommandQueue::captured(self, &tape) };
        let open = tape.writes.open();
        let result = f(&capture);
        drop(open);
        if let Err(forked) = self.owner().engine().check_process() {
            std::mem::forget(ending); // a thread of the parent may have held the lock of the tape
            return Err(forked);
        }
        let result = result?;
        let ended = tape.end()?;
        drop(ending);
        Ok((Graph::new(&tape, self.label(), ended)?, result))
    }
}

/// A guard that ends a capture when it is dropped, even after an error or a panic.
pub(crate) struct Ending<'t>(pub(crate) &'t Tape);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.discard();
    }
}

impl Capture {
    /// Returns the capture for a queue that was forked from it, to name and bind the nodes of that queue.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Graph`](crate::ErrorDetail::Graph) if the queue belongs to no capture, or to another one.
    pub fn on(&self, queue: &CommandQueue) -> Result<Self> {
        match queue.captured_queue() {
            Some(captured) if Arc::ptr_eq(&captured.tape, &self.place().tape) => {
                Ok(Self { queue: queue.clone() })
            }
            _ => {
                let problem = format!("queue `{}` is not a queue of this capture", queue.label());
                Err(ErrorDetail::Graph { graph: self.queue.label().into(), problem }.into())
            }
        }
    }

    /// Returns a captured queue of another context, on any adapter, which comes after the work captured so far on this
    /// queue. Verbs on it capture work of that context, and [`wait_for`](CommandQueue::wait_for) joins it,
    /// as for a [fork](CommandQueue::fork). A copy between arrays of two contexts can be captured on a queue of either.
    ///
    /// A replay of the graph executes the work of each context on that context's device. Work that nothing orders may
    /// run at the same time. A wait between two contexts goes through the host, as it does without a graph, unless both
    /// are on one wgpu device.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Captured`](crate::ErrorDetail::Captured) in a body, and in a capture with a condition or a loop;
    /// [`ErrorDetail::CaptureEnded`](crate::ErrorDetail::CaptureEnded).
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// # let (other, _) = fencepost::doctest();
    /// let x = queue.array(&[1_u32, 2, 3, 4])?;
    /// let (graph, copied) = queue.capture(|c| {
    ///     let side = c.fork_on(&other, "side")?;
    ///     let mut y = side.zeros::<u32, 1>([4])?;      // memory of the other context
    ///     side.copy(&x, &mut y)?;
    ///     let copied = c.on(&side)?.read_as("y", &y)?;
    ///     c.wait_for(&side)?;
    ///     Ok(copied)
    /// })?;
    /// assert_eq!(queue.replay(&graph)?.read(&copied)?.wait()?, [1, 2, 3, 4]);
    /// # drop(ctx);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn fork_on(&self, context: &Context, label: &str) -> Result<CommandQueue> {
        self.queue.fork_captured(self.place(), &context.owner, label, Location::caller())
    }

    pub(crate) fn place(&self) -> &CapturedQueue {
        self.queue.captured_queue().expect("bug: a capture is on a captured queue")
    }

    /// *Captures* a read of an array as an output of the graph. Each replay reads the elements at this point of the
    /// queue, and [`Replay::read`](crate::Replay::read) returns them.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Alignment`](crate::ErrorDetail::Alignment), [`ErrorDetail::ForeignContext`](crate::ErrorDetail::ForeignContext),
    /// [`ErrorDetail::Graph`](crate::ErrorDetail::Graph) for a second output of one name, and
    /// [`ErrorDetail::Captured`](crate::ErrorDetail::Captured) in a body.
    #[track_caller]
    pub fn read_as<T: Element, const D: usize>(
        &self,
        name: &str,
        array: &DeviceArray<T, D>,
    ) -> Result<Output<T>> {
        let at = Location::caller();
        self.queue.check_own_array(&array.array)?;
        let captured = self.place();
        captured.not_in_body("read_as", at, READ_IN_BODY)?;
        let maker = self.queue.array_ops(CommandKind::Read)?;
        let full;
        let whole = if array.frame().is_full() {
            &array.array
        } else {
            full = maker.empty::<T, D>(array.shape().into())?;
            maker.copy_part(&array.all(), &full.all())?;
            &full.array
        };
        let src = whole.words()?;
        let token: u64 = unique();
        let name: Arc<str> = name.into();
        let element = T::DTYPE.to_string().into();
        let element_size = T::DTYPE.size() as u32;
        let len = array.len() as u64;
        let bytes = src.size;
        let download = None;
        let output = GraphOutput { token, name: name.clone(), bytes, element, element_size, len, download };
        captured.push_read(("read_as", CommandKind::Read, at), src, Some(name.clone()), output)?;
        Ok(Output::new(token, array.len(), name))
    }

    /// *Captures* a host callback. Each replay calls it on the context's callback thread. It runs after all commands
    /// captured before it, on any queue, and all commands captured later wait for it. Replays of a graph with host
    /// callbacks run one after the other, so the calls come in the order of the replays. If the callback panics, the
    /// queue of the replay fails; later replays call it again.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::CaptureEnded`](crate::ErrorDetail::CaptureEnded), and [`ErrorDetail::Captured`](crate::ErrorDetail::Captured) in a
    /// body.
    #[track_caller]
    pub fn host(&self, f: impl FnMut() + Send + 'static) -> Result<()> {
        let at = Location::caller();
        let captured = self.place();
        captured.not_in_body("host", at, "call the function before or after the condition or the loop")?;
        captured.with("host", at, |state| {
            state.queues[captured.index as usize].clear_last_call();
            let before = state.nodes.len() as u32;
            state.calls.push((before, HostFunction::new(f, at)));
            // A running callback may flush or wait for another queue. If a second replay could then be due, it would
            // call the callback recursively.
            state.takes_turns = true;
        })
    }
}

/// Returns a copy of a launch whose kernel has all runtime checks, because later changes by the program may break the
/// proofs.
pub(crate) fn checked(owner: &Owner, launch: &Launch) -> Result<Launch> {
    let mut copy = launch.duplicate();
    let KernelText { source, entry, verb, overrides, trust } = &launch.kernel().origin;
    if trust.is_some() {
        let overrides: Vec<(&str, f64)> = overrides.iter().map(|(name, value)| (&**name, *value)).collect();
        copy.set_kernel(Job::new(source.clone(), entry, &overrides).with_verb(*verb).run(owner)?);
    }
    Ok(copy)
}

/// A host callback that each replay calls.
pub(crate) type HostCall = Arc<HostFunction>;

/// A host callback with the line that captured it.
pub(crate) struct HostFunction {
    at: &'static Location<'static>,
    state: Mutex<CallState>,
    /// Notified when a call has ended.
    ended: Condvar,
}

/// State of a host callback. A caller takes the function out for the call, so that no lock is held while it runs.
enum CallState {
    Idle(Box<dyn FnMut() + Send>),
    RunsOn(ThreadId),
}

impl HostFunction {
    pub(crate) fn new(f: impl FnMut() + Send + 'static, at: &'static Location<'static>) -> HostCall {
        let state = Mutex::new(CallState::Idle(Box::new(f)));
        Arc::new(Self { at, state, ended: Condvar::new() })
    }

    /// Calls the function. Later replays call it again, even after a panic. Calls never overlap.
    ///
    /// # Panics
    /// A panic of the function continues in the caller, with a text that names the graph and the line of the capture. A
    /// recursive call on the same thread also panics. That happens in a context without threads if the function waits
    /// for a replay of another graph that calls the same function.
    pub(crate) fn call(&self, graph: &str) {
        let text = match self.take() {
            Some(mut function) => {
                assert_unlocked("a host callback in a graph");
                let panic = catch_unwind(AssertUnwindSafe(&mut *function)).err();
                *lock(&self.state) = CallState::Idle(function);
                self.ended.notify_all();
                panic.map(panic_text)
            }
            None => Some("it waits for a replay that calls it again".into()),
        };
        if let Some(text) = text {
            resume_unwind(Box::new(format!(
                "the host callback in graph `{graph}`, captured at {}: {text}",
                self.at
            )));
        }
    }

    /// Takes the function out, and waits for the end of a call on another thread. Returns `None` in a recursive call on
    /// this thread.
    fn take(&self) -> Option<Box<dyn FnMut() + Send>> {
        let here = std::thread::current().id();
        let mut state = lock(&self.state);
        loop {
            match *state {
                CallState::Idle(_) => break,
                CallState::RunsOn(thread) if thread == here => return None,
                CallState::RunsOn(_) => state = sleep(&self.ended, state),
            }
        }
        match std::mem::replace(&mut *state, CallState::RunsOn(here)) {
            CallState::Idle(function) => Some(function),
            CallState::RunsOn(_) => None,
        }
    }
}

impl Drop for HostFunction {
    fn drop(&mut self) {
        assert_unlocked("the drop of a host callback in a graph");
    }
}

#[cfg(all(test, not(fencepost_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_panicked_is_called_again() {
        let mut calls = 0;
        let function = HostFunction::new(
            move || {
                calls += 1;
                assert!(calls > 1, "call {calls}");
            },
            Location::caller(),
        );
        let panic = catch_unwind(AssertUnwindSafe(|| function.call("g"))).expect_err("the first call panics");
        let text = panic_text(panic);
        assert!(text.starts_with("the host callback in graph `g`, captured at "), "{text}");
        assert!(text.ends_with(": call 1"), "{text}");
        function.call("g");
    }

    #[test]
    fn a_call_inside_of_a_call_is_a_panic_with_a_text_and_no_deadlock() {
        let place = Arc::<std::sync::OnceLock<HostCall>>::default();
        let again = place.clone();
        let function =
            HostFunction::new(move || again.get().expect("it is set").call("inner"), Location::caller());
        assert!(place.set(function.clone()).is_ok());
        let panic = catch_unwind(AssertUnwindSafe(|| function.call("g"))).expect_err("the inner call panics");
        let text = panic_text(panic);
        assert!(text.ends_with("it waits for a replay that calls it again"), "{text}");
    }
}
