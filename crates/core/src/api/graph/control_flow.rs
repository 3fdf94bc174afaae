//! Conditions and loops that the device decides, in a capture and on an ordinary queue. Each loop has a bound: its
//! maximum number of iterations.
//!
//! A graph with control flow has a table in device memory, which holds the words of its gates and the loop counters.

use crate::api::graph::Graph;
use crate::api::graph::bindings::GraphOutput;
use crate::api::graph::capture::{Capture, Ending};
use crate::api::graph::replay::Replay;
use crate::api::graph::tape::bodies::Construct;
use crate::api::graph::tape::{CapturedQueue, Tape, TapeState, unique};
use crate::api::queue::CommandQueue;
use crate::api::queue::transfer::ArrayOps;
use crate::arrays::device_array::DeviceArray;
use crate::arrays::storage::Storage;
use crate::error::{CommandKind, ErrorDetail, Result};
use crate::memory::block::{Block, Heap};
use crate::memory::read_slot::ReadSlot;
use crate::memory::staging::Payload;
use crate::record::own_kernels::dispatches_of;
use crate::runtime::owner::Owner;
use crate::runtime::pending::{Pending, then};
use crate::scheduler::host_guard::BlockLease;
use crate::scheduler::ordering::Admission;
use crate::work::graph::control::{
    COUNTS, ControlContents, ControlTable, Gate, GateCounter, GateTest, lay_out,
};
use crate::work::graph::nodes::{GraphNode, NodeCommand};
use crate::work::step::{Span, Work};
use fencepost_kernels::Element;
use fencepost_sync::Slot;
use rustc_hash::FxHashMap;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// An element type of a condition or a count: `u32` or `i32`.
pub trait Condition: Element + sealed::Signed {}

impl Condition for u32 {}
impl Condition for i32 {}

/// Remedy for a chunked loop in a body.
const CHUNKED_IN_BODY: &str =
    "the host continues such a loop, and a body executes without the host: use `Bound::AtMost` in the body";

mod sealed {
    pub trait Signed {
        const SIGNED: bool;
    }

    impl Signed for u32 {
        const SIGNED: bool = false;
    }

    impl Signed for i32 {
        const SIGNED: bool = true;
    }
}

/// A loop of a graph, for [`Replay::iterations`](crate::Replay::iterations) and
/// [`Replay::reached_bound`](crate::Replay::reached_bound). A clone is a cheap handle.
#[derive(Clone)]
pub struct Loop {
    pub(crate) token: u64,
    pub(crate) replay: Option<Replay>,
}

impl Loop {
    /// Returns the replay of a loop that was enqueued on an ordinary queue, outside of a capture. Returns `None` for a
    /// loop in a capture, whose counts differ in each replay of the graph.
    ///
    /// # Example
    /// See [`CommandQueue::while_`].
    pub fn replay(&self) -> Option<&Replay> {
        self.replay.as_ref()
    }
}

impl fmt::Debug for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Loop {}", self.token)
    }
}

impl CommandQueue {
    /// *Enqueues* the commands of `body`, which execute only if `condition` is not 0 at this point of the queue. The
    /// device decides; the host does not wait. In a capture, each replay decides anew.
    ///
    /// `body` captures on the queue that it receives, in the same way as the function of
    /// [`capture`](CommandQueue::capture). It may contain launches, verbs of the algorithms, copies, fills, uploads, new
    /// arrays, forks that it joins, other conditions and loops, and replays of graphs. It reads nothing to the host and
    /// has no host callbacks. Its arrays and the scratch memory of its verbs are allocated once and belong to the graph:
    /// each execution of the body uses them again. While `body` runs, the captured queues around it take no commands.
    /// Commands on an ordinary queue that `body` uses are not captured: they execute in any case.
    ///
    /// On an ordinary queue, each call is a graph of its own. Its memory counts towards the
    /// [backlog](crate::BacklogLimit), and returns to the pool when the call has executed. To call the same body often,
    /// capture the condition once and replay the graph. The call does not wait for the compilation of the kernels of
    /// verbs: the queue does.
    ///
    /// For ordering, a body counts as writing all the bytes that its commands write, even if it does not execute.
    ///
    /// # Errors
    /// Returns the error of `body`. Returns [`ErrorDetail::Shape`] if the condition does not have exactly one element;
    /// [`ErrorDetail::ForeignContext`]; [`ErrorDetail::Captured`] if a call in `body` cannot be in a body; [`ErrorDetail::Unjoined`];
    /// [`ErrorDetail::GraphTooLong`] for more than 65,536 dispatches in a graph; [`ErrorDetail::OutOfMemory`]; the queue's own error.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let go = queue.array(&[1_u32])?;
    /// let mut x = ctx.zeros::<u32, 1>([4])?;
    /// queue.if_(&go, |body| body.fill(&mut x, 7))?;
    /// assert_eq!(queue.read(&x).wait()?, [7; 4]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn if_<T: Condition, const D: usize>(
        &self,
        condition: &DeviceArray<T, D>,
        body: impl FnOnce(&Capture) -> Result<()>,
    ) -> Result<()> {
        let condition = self.condition(condition)?;
        let at = Location::caller();
        self.construct(|queue, place| {
            let construct = Construct { call: "if_", at, condition: &condition };
            let then = capture_body(queue, place, &construct, body)?;
            place.add_if(&construct, &then, None)
        })
        .map(|_| ())
    }

    /// *Enqueues* two bodies as [`if_`](Self::if_) does. The first one executes if `condition` is not 0, and the second
    /// one otherwise. The device reads the condition once, before either body.
    ///
    /// # Errors
    /// Returns the errors of [`if_`](Self::if_).
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let go = queue.array(&[0_u32])?;
    /// let mut x = ctx.zeros::<u32, 1>([4])?;
    /// let mut y = ctx.zeros::<u32, 1>([4])?;
    /// queue.if_else(&go, |body| body.fill(&mut x, 7), |body| body.fill(&mut y, 8))?;
    /// assert_eq!(queue.read(&x).wait()?, [0; 4]);
    /// assert_eq!(queue.read(&y).wait()?, [8; 4]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn if_else<T: Condition, const D: usize>(
        &self,
        condition: &DeviceArray<T, D>,
        then: impl FnOnce(&Capture) -> Result<()>,
        otherwise: impl FnOnce(&Capture) -> Result<()>,
    ) -> Result<()> {
        let condition = self.condition(condition)?;
        let at = Location::caller();
        self.construct(|queue, place| {
            let construct = Construct { call: "if_else", at, condition: &condition };
            let then = capture_body(queue, place, &construct, then)?;
            let otherwise = capture_body(queue, place, &construct, otherwise)?;
            place.add_if(&construct, &then, Some(&otherwise))
        })
        .map(|_| ())
    }

    /// *Enqueues* a loop: the commands of `body` execute again and again while `condition` is not 0, for at most
    /// `bound` iterations. The device reads the condition before each iteration; the host does not wait. The call
    /// captures `body` once. See [`if_`](Self::if_) for what a body may contain.
    /// For a body that writes the condition, pass a clone of the array as `condition`: Rust refuses both borrows (E0502).
    ///
    /// # Errors
    /// Returns the errors of [`if_`](Self::if_).
    ///
    /// # Example
    /// ```
    /// use fencepost::Bound;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (left, lower) = (queue.array(&[1_u32])?, queue.array(&[0_u32])?);
    /// let mut left_now = ctx.zeros::<u32, 1>([1])?;
    /// queue.copy(&left, &mut left_now)?;
    /// let condition = left_now.clone();
    /// let steps = queue.while_(&condition, Bound::AtMost(5), |body| body.copy(&lower, &mut left_now))?;
    /// let run = steps.replay().unwrap();         // outside of a capture, the loop knows its replay
    /// assert_eq!(run.iterations(&steps)?.wait()?, 1);
    /// assert!(!run.reached_bound(&steps)?.wait()?);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn while_<T: Condition, const D: usize>(
        &self,
        condition: &DeviceArray<T, D>,
        bound: Bound,
        body: impl FnOnce(&Capture) -> Result<()>,
    ) -> Result<Loop> {
        self.add_loop("while_", condition, bound, body, |_| GateTest::NonZero)
    }

    /// *Enqueues* a loop like [`while_`](Self::while_), but the first iteration always executes. The device reads the
    /// condition before each later iteration.
    ///
    /// # Errors
    /// Returns the errors of [`if_`](Self::if_), and [`ErrorDetail::Graph`] for a bound of 0.
    ///
    /// # Example
    /// ```
    /// use fencepost::Bound;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let go = queue.array(&[0_u32])?;
    /// let mut x = ctx.zeros::<u32, 1>([4])?;
    /// let steps = queue.do_while(&go, Bound::AtMost(5), |body| body.fill(&mut x, 7))?;
    /// assert_eq!(queue.read(&x).wait()?, [7; 4]);
    /// assert_eq!(steps.replay().unwrap().iterations(&steps)?.wait()?, 1);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn do_while<T: Condition, const D: usize>(
        &self,
        condition: &DeviceArray<T, D>,
        bound: Bound,
        body: impl FnOnce(&Capture) -> Result<()>,
    ) -> Result<Loop> {
        if matches!(bound, Bound::AtMost(0) | Bound::Chunked(0)) {
            let graph = self.label().to_string();
            let at = Location::caller();
            let problem = format!("`do_while` at {at} executes at least once: give it a bound above 0");
            return Err(ErrorDetail::Graph { graph, problem }.into());
        }
        let test = |iteration| if iteration == 0 { GateTest::Always } else { GateTest::NonZero };
        self.add_loop("do_while", condition, bound, body, test)
    }

    /// *Enqueues* a loop like [`while_`](Self::while_), with `count` iterations. The device reads the count before each
    /// iteration and continues while the count exceeds the number of finished iterations, so a body may change the
    /// count. A negative count counts as 0.
    ///
    /// # Errors
    /// Returns the errors of [`if_`](Self::if_).
    ///
    /// # Example
    /// ```
    /// use fencepost::Bound;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let count = queue.array(&[3_u32])?;
    /// let mut x = queue.array(&[1_u32, 0, 0, 0])?;
    /// let (from, mut to) = (x.slice(0..3)?, x.slice(1..4)?);
    /// let steps = queue.repeat(&count, Bound::AtMost(10), |body| body.copy(&from, &mut to))?;
    /// assert_eq!(queue.read(&x).wait()?, [1; 4]);
    /// assert_eq!(steps.replay().unwrap().iterations(&steps)?.wait()?, 3);
    /// # drop(ctx);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn repeat<T: Condition, const D: usize>(
        &self,
        count: &DeviceArray<T, D>,
        bound: Bound,
        body: impl FnOnce(&Capture) -> Result<()>,
    ) -> Result<Loop> {
        let signed = <T as sealed::Signed>::SIGNED;
        self.add_loop("repeat", count, bound, body, move |iteration| match signed {
            true => GateTest::SignedAbove(iteration),
            false => GateTest::Above(iteration),
        })
    }

    #[track_caller]
    fn add_loop<T: Condition, const D: usize>(
        &self,
        call: &'static str,
        condition: &DeviceArray<T, D>,
        bound: Bound,
        body: impl FnOnce(&Capture) -> Result<()>,
        test: impl Fn(u32) -> GateTest,
    ) -> Result<Loop> {
        let condition = self.condition(condition)?;
        let at = Location::caller();
        if let (Bound::Chunked(_), Some(place)) = (bound, self.captured_queue()) {
            place.not_in_body("a loop with Bound::Chunked", at, CHUNKED_IN_BODY)?;
        }
        let (token, replay) = self.construct(|queue, place| {
            let construct = Construct { call, at, condition: &condition };
            let body = capture_body(queue, place, &construct, body)?;
            place.add_loop(&construct, bound, &body, test)
        })?;
        Ok(Loop { token, replay })
    }

    /// Calls `add` with this queue's place in its capture. On an ordinary queue, `add` works on a new capture, whose graph
    /// is then replayed once.
    #[track_caller]
    fn construct<T>(
        &self,
        add: impl FnOnce(&CommandQueue, &CapturedQueue) -> Result<T>,
    ) -> Result<(T, Option<Replay>)> {
        if let Some(place) = self.captured_queue() {
            return Ok((add(self, place)?, None));
        }
        let at = Location::caller();
        let (graph, made) = self.capture_graph(at, true, |capture| add(capture, capture.place()))?;
        let run = self.replay_once(&graph, at)?;
        Ok((made, Some(run)))
    }

    /// Returns the location of a condition in device memory.
    fn condition<T: Condition, const D: usize>(&self, condition: &DeviceArray<T, D>) -> Result<Span> {
        self.check_own_array(&condition.array)?;
        if condition.len() != 1 {
            let object = format!("condition `{}`", condition.array.label());
            let found = condition.shape().to_vec();
            let expected = vec![1];
            let remedy = "pass an array of one element, or a slice of one";
            return Err(ErrorDetail::Shape { object, found, expected, remedy }.into());
        }
        condition.array.words()
    }
}

/// Returns the commands that `body` captures.
fn capture_body(
    queue: &CommandQueue,
    place: &CapturedQueue,
    construct: &Construct<'_>,
    body: impl FnOnce(&Capture) -> Result<()>,
) -> Result<TapeState> {
    let _open = place.open_body(construct.call, construct.at)?;
    let tape = Tape::of_body(place, queue.label(), construct.at);
    let _ending = Ending(&tape);
    body(&Capture { queue: CommandQueue::captured(queue, &tape) })?;
    tape.end()
}

impl Replay {
    /// *Flushes*; the result is the number of iterations of a loop in this replay. If the loop is in a body, it is the
    /// sum over all executions of the loop.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Graph`] if the loop belongs to another graph, and [`ErrorDetail::Captured`] for a replay inside a
    /// capture. The result has the errors of the work.
    ///
    /// # Example
    /// See [`CommandQueue::while_`].
    #[track_caller]
    pub fn iterations(&self, of: &Loop) -> Result<Pending<u32>> {
        self.not_in_capture("iterations", Location::caller())?;
        let index = self.counter(of)?;
        Ok(then(self.counters()?, move |counters| Ok(counters[2 * index])))
    }

    /// *Flushes*; the result is `true` if the bound ended a loop of this replay while its condition still held. For a
    /// loop in a body, the result is `true` if any of its executions ended that way.
    ///
    /// # Errors
    /// Returns the errors of [`iterations`](Self::iterations).
    ///
    /// # Example
    /// See [`CommandQueue::while_`].
    #[track_caller]
    pub fn reached_bound(&self, of: &Loop) -> Result<Pending<bool>> {
        self.not_in_capture("reached_bound", Location::caller())?;
        let index = self.counter(of)?;
        Ok(then(self.counters()?, move |counters| Ok(counters[2 * index + 1] != 0)))
    }

    /// Returns the index of a loop in the graph of this replay.
    fn counter(&self, of: &Loop) -> Result<usize> {
        let table = self.plan().control.as_ref();
        let found = table.and_then(|table| table.layout.loops.iter().position(|&token| token == of.token));
        found.ok_or_else(|| {
            let problem = "the loop belongs to another graph".into();
            ErrorDetail::Graph { graph: self.plan().label.to_string(), problem }.into()
        })
    }
}
/// Maximum number of iterations of a loop on the device. The loop ends after this many iterations even if its condition
/// still holds; [`Replay::reached_bound`](crate::Replay::reached_bound) tells whether this has happened.
///
/// # Example
/// ```
/// use fencepost::Bound;
/// # let (ctx, queue) = fencepost::doctest();
/// let count = queue.array(&[3_u32])?;
/// let mut x = ctx.zeros::<u32, 1>([4])?;
/// for bound in [Bound::AtMost(100), Bound::Chunked(1_000_000)] {
///     let steps = queue.repeat(&count, bound, |body| body.fill(&mut x, 7))?;
///     assert_eq!(steps.replay().unwrap().iterations(&steps)?.wait()?, 3);
/// }
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Bound {
    /// A replay submits all iterations up to the bound at once, and the device skips the iterations after the end of
    /// the loop. A skipped iteration still costs an empty dispatch for each dispatch of the body. A graph has at most
    /// 65,536 gates and dispatches of bodies.
    AtMost(u32),
    /// A replay submits the iterations in chunks of 4, 8, 16 and so on, up to a size that depends on the number of
    /// dispatches in the body. Whenever a chunk completes and the loop goes on, the context submits another one. It
    /// keeps one chunk submitted ahead, so that the device does not wait. The bound can be any number: at most one
    /// chunk is skipped after the end of the loop.
    ///
    /// A loop whose condition never becomes 0 runs up to its bound, and delays later work of the queue until then.
    /// [`Replay::cancel`](crate::Replay::cancel) and
    /// [`ContextOptions::launch_limit`](crate::ContextOptions::launch_limit) end it earlier. Dropping the last handle
    /// of the context waits 5 seconds for running loops, and then cancels them.
    ///
    /// The threads of the context keep the loop going; without threads, waits and polls do. Commands after the loop
    /// stay in their queue until it has ended. Such a loop cannot be inside the body of a condition or another loop.
    Chunked(u32),
}

/// Makes the table of an ended capture, if the capture has gates, and makes the read of the counters the last node.
///
/// # Errors
/// Returns `OutOfMemory` or `TooLarge`.
pub(crate) fn add(
    owner: &Owner,
    ended: &mut TapeState,
    at: &'static Location<'static>,
) -> Result<Option<ControlTable>> {
    if ended.gates == 0 {
        return Ok(None);
    }
    mark_first_gates(&mut ended.nodes, ended.loops.len());
    let (mut table, leases) = make_table(owner, &ended.nodes, (ended.gates, &ended.loops), at)?;
    for lease in leases {
        ended.leases.insert(lease.block.id, Arc::new(lease));
    }
    ended.takes_turns = true;
    if !ended.loops.is_empty() {
        let read = add_counters(&mut table, &mut ended.outputs, at);
        ended.push_last(read);
    }
    Ok(Some(table))
}

/// Adds the output that holds the counters of all loops. Returns the command that reads them, for the last node.
pub(crate) fn add_counters(
    table: &mut ControlTable,
    outputs: &mut Vec<GraphOutput>,
    at: &'static Location<'static>,
) -> Arc<NodeCommand> {
    let output = outputs.len() as u32;
    table.layout.output = Some(output);
    let (bytes, read) = read_of_counters(table, output, at);
    let token = unique();
    let name = "counters of loops".into();
    let element = "u32".into();
    outputs.push(GraphOutput {
        token,
        name,
        bytes,
        element,
        element_size: 4,
        len: bytes / 4,
        download: None,
    });
    read
}

/// Makes the first gate of each loop reset the loop's counter.
pub(crate) fn mark_first_gates(nodes: &mut [GraphNode], loops: usize) {
    let mut seen = vec![false; loops];
    for node in nodes {
        let Work::Gate(gate) = &node.command.work else { continue };
        let Some(counter) = gate.counter else { continue };
        let resets = !std::mem::replace(&mut seen[counter.index as usize], true);
        if counter.resets != resets {
            let gate = Gate { counter: Some(GateCounter { resets, ..counter }), ..(**gate).clone() };
            node.command = Arc::new(node.command.with_work(Work::Gate(Box::new(gate))));
        }
    }
}

/// Makes the gate table of `nodes`, which exclude the read of the counters. The returned leases keep the memory of the
/// table alive. An edit of a graph needs a new table, because replays in flight use the old one.
///
/// # Errors
/// Returns `OutOfMemory` or `TooLarge`.
pub(crate) fn make_table(
    owner: &Owner,
    nodes: &[GraphNode],
    (gates, loops): (u32, &[u64]),
    at: &'static Location<'static>,
) -> Result<(ControlTable, [BlockLease; 2])> {
    let caps = owner.device().caps();
    let mut known: FxHashMap<*const NodeCommand, Arc<[[u32; 3]]>> = FxHashMap::default();
    let dispatches = |node: &GraphNode| {
        let found = || dispatches_of(&node.command.work, caps).unwrap_or_default();
        known.entry(Arc::as_ptr(&node.command)).or_insert_with(found).clone()
    };
    let contents = |node: &GraphNode| match &node.command.work {
        Work::Upload { src: Payload::Kept(kept), dst } => Some((kept.bytes.clone(), dst.size)),
        _ => None,
    };
    let ControlContents { layout, bytes } = lay_out(nodes, (gates, loops.to_vec()), dispatches, contents);
    let by = Admission { slot: Slot::CONTEXT, what: CommandKind::Upload, at };
    let allocate = |bytes: u64| Storage::allocate(owner, Heap::Device, bytes, &"table of a graph".into(), by);
    let words = allocate(bytes.len() as u64)?;
    let counts = allocate(4 * u64::from(COUNTS * layout.dispatches().max(1)))?;
    let span = Span { block: words.block().clone(), offset: 0, size: bytes.len() as u64 };
    ArrayOps { owner, by, captured: None }.upload_words(span, &bytes)?;
    // The leases keep the blocks alive after the storages are dropped.
    let lease = |block: &Arc<Block>| owner.engine().lease(block);
    let leases = [lease(words.block()), lease(counts.block())];
    let table = ControlTable { words: words.block().clone(), counts: counts.block().clone(), layout };
    Ok((table, leases))
}

/// Returns the command that reads the counters of all loops at the end of a replay, and the span that it reads.
pub(crate) fn read_of_counters(
    table: &ControlTable,
    output: u32,
    at: &'static Location<'static>,
) -> (u64, Arc<NodeCommand>) {
    let range = table.layout.counters();
    let size = range.end - range.start;
    let src = Span { block: table.words.clone(), offset: range.start, size };
    let work = Work::Read { src, slot: ReadSlot::new() };
    let label = Some("counters of loops".into());
    let unnamed = NodeCommand::new(work, CommandKind::Read, at);
    (size, Arc::new(NodeCommand { label, output: Some(output), ..unnamed }))
}

impl Capture {
    /// Labels a loop that was captured on this queue, or in a body on it. [`Graph::loop_`] finds the loop by this
    /// label, even in a graph loaded from a file. Several loops may share a label.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Graph`] if the loop belongs to another capture, and [`ErrorDetail::CaptureEnded`].
    ///
    /// # Example
    /// ```
    /// use fencepost::Bound;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let count = queue.array(&[3_u32])?;
    /// let mut x = queue.array(&[1_u32, 0, 0, 0])?;
    /// let (from, mut to) = (x.slice(0..3)?, x.slice(1..4)?);
    /// let (graph, ()) = queue.capture(|c| {
    ///     let shifts = c.repeat(&count, Bound::AtMost(8), |body| body.copy(&from, &mut to))?;
    ///     c.label_loop("shifts", &shifts)
    /// })?;
    /// let run = queue.replay(&graph)?;
    /// assert_eq!(run.iterations(&graph.loop_("shifts")?)?.wait()?, 3);
    /// # drop(ctx);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn label_loop(&self, label: &str, of: &Loop) -> Result<()> {
        self.place().with("label_loop", Location::caller(), |state| {
            if !state.loops.contains(&of.token) {
                let problem = format!("the loop for label `{label}` belongs to another capture");
                return Err(ErrorDetail::Graph { graph: (**self).label().into(), problem }.into());
            }
            state.names.loops.insert(of.token, label.into());
            Ok(())
        })?
    }
}

impl Graph {
    /// Returns a loop of the graph by the label that [`Capture::label_loop`] gave it. If several loops share the label,
    /// the call returns the last one.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::GraphName`] if the graph has no such loop.
    ///
    /// # Example
    /// See [`Capture::label_loop`].
    pub fn loop_(&self, label: &str) -> Result<Loop> {
        let names = &self.plan.names.loops;
        let labelled = |of: &Loop| names.get(&of.token).is_some_and(|known| **known == *label);
        let loops = self.loops();
        let known = || loops.iter().filter_map(|of| names.get(&of.token)).map(|label| label.to_string());
        let found = loops.iter().rev().find(|of| labelled(of)).cloned();
        found.ok_or_else(|| self.unknown("loop", label, known().collect()).into())
    }

    /// Returns the loops of the graph in the order in which they begin: a loop comes before the loops in its body. A
    /// graph loaded from a file has the same order, so that a loop without a label can be found by its index.
    ///
    /// # Example
    /// ```
    /// use fencepost::{Bound, Graph};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let count = queue.array(&[3_u32])?;
    /// let one = queue.array(&[7_u32])?;
    /// let (graph, _) = queue.capture(|c| {
    ///     let mut x = c.zeros::<u32, 1>([1])?;
    ///     let times = c.input("times", &count)?;
    ///     let one = c.input("one", &one)?;
    ///     c.repeat(&times, Bound::AtMost(8), |body| body.copy(&one, &mut x))
    /// })?;
    /// let loaded = Graph::from_bytes(&ctx, &graph.to_bytes()?)?;
    /// let run = queue.replay(&loaded.with().input("times", &count)?.input("one", &one)?)?;
    /// assert_eq!(run.iterations(&loaded.loops()[0])?.wait()?, 3);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn loops(&self) -> Vec<Loop> {
        let tokens = self.plan.control.iter().flat_map(|table| &table.layout.loops);
        tokens.map(|&token| Loop { token, replay: None }).collect()
    }
}
