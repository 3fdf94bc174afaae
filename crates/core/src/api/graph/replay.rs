//! The replay of a graph as one command of a queue.
//!
//! On a device without pinned memory, a pinned array is ordinary memory. A captured upload from it is then copied
//! whenever a replay is enqueued, and a captured download to it is read as an output of each replay.

use crate::api::context::current::in_callback;
use crate::api::graph::bindings::{GraphOutput, PreparedReplay, Replayable};
use crate::api::graph::capture::{HostCall, Output};
use crate::api::graph::spanning::{PartRuns, ReplayedGraph, wrong_queue};
use crate::api::graph::tape::{CapturedQueue, unique};
use crate::api::graph::{Graph, GraphInner, spanning};
use crate::api::queue::CommandQueue;
use crate::api::queue::launch::Compiled;
use crate::arrays::plain_memory::{PlainMemory, SharedElements};
use crate::arrays::read::OutputPlace;
use crate::error::{CommandKind, Error, ErrorDetail, Result};
use crate::memory::read_slot::ReadSlot;
use crate::memory::staging::ReplaySource;
use crate::runtime::event::{Event, Recording, same_context};
use crate::runtime::owner::Owner;
use crate::runtime::pending::Pending;
use crate::scheduler::batch::{Callback, Op};
use crate::scheduler::complete::PointHistory;
use crate::scheduler::ordering::Admission;
use crate::scheduler::replays::LoopRun;
use crate::scheduler::times::PointTime;
use crate::scheduler::wait::Caller;
use crate::work::graph::control::Cut;
use crate::work::graph::plan::GraphPlan;
use crate::work::graph::run::{GraphRun, GraphStep};
use crate::work::kernel_launch::LatePipeline;
use crate::work::step::{Span, Work};
use fencepost_kernels::Element;
use fencepost_sync::prim::lock;
use fencepost_sync::{Point, Stamp};
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Weak};

/// One replay of a graph. The host and other queues can wait for its [event](Self::event), and its outputs can be read.
/// A clone is a cheap handle.
#[derive(Clone)]
pub struct Replay {
    inner: Arc<ReplayInner>,
}

struct ReplayInner {
    owner: Owner,
    graph: Arc<GraphInner>,
    run: Arc<GraphRun>,
    /// Stamp before the first command of the replay; the last one is at `point`.
    before: Stamp,
    point: Point,
    past: Arc<PointHistory>,
    event: Event,
    /// Runs of the parts, if the graph has several contexts. In that case `run` has neither outputs nor times.
    far: Option<PartRuns>,
}

impl Drop for ReplayInner {
    /// Marks the outputs that were never read as dropped, so that the device does not copy them.
    fn drop(&mut self) {
        for (at, output) in self.graph.outputs.iter().enumerate() {
            let slot = match &self.far {
                None => Some(&self.run.outputs[at]),
                Some(far) => far.output(at).map(|(_, slot)| slot),
            };
            if let Some(slot) = slot.filter(|_| output.download.is_none()) {
                slot.drop_queued();
            }
        }
    }
}

impl ReplayInner {
    /// Returns where the bytes of an output are.
    fn place_of(&self, output: usize) -> OutputPlace {
        let Some(far) = &self.far else {
            let owner = self.owner.clone();
            let past = self.past.clone();
            return OutputPlace { owner, point: self.point, past, slot: self.run.outputs[output].clone() };
        };
        let (run, slot) = far.output(output).expect("bug: no part reads the output");
        let (point, past) = run.end.clone().expect("bug: a part with outputs has no end");
        OutputPlace { owner: run.owner.clone(), point, past, slot: slot.clone() }
    }

    /// Registers the replay's downloads with their host arrays.
    fn announce_downloads(&self) {
        for (at, output) in self.graph.outputs.iter().enumerate() {
            if let Some(target) = output.download.as_ref().and_then(Weak::upgrade) {
                target.expect(self.place_of(at));
            }
        }
    }
}

impl CommandQueue {
    /// *Enqueues* all commands of a [graph](crate::Graph) as one command of this queue. With
    /// [bindings](crate::Bindings), the graph is replayed with other arrays and values. Events, waits, priorities,
    /// policies and errors apply to the replay as they apply to a launch. The call takes constant time; bindings add
    /// time for each node that they change.
    ///
    /// Several replays of one graph may be in flight, on several queues. If the graph has its own memory or host
    /// callbacks, its replays run one after the other.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::ForeignContext`](crate::ErrorDetail::ForeignContext), [`ErrorDetail::Mapped`](crate::ErrorDetail::Mapped),
    /// [`ErrorDetail::Hazard`](crate::ErrorDetail::Hazard) under `Checked`; [`ErrorDetail::OpenGuard`](crate::ErrorDetail::OpenGuard) if the
    /// graph uploads a pinned array to which the program has write access; [`ErrorDetail::Aliased`](crate::ErrorDetail::Aliased) for
    /// bindings that make two arguments of a launch overlap; the queue's own error.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.zeros::<u32, 1>([4])?;
    /// let (graph, ()) = queue.capture(|c| c.fill(&mut x, 7))?;
    /// let other = ctx.queue("other");
    /// let run = other.replay(&graph)?;
    /// run.event().wait()?;
    /// assert_eq!(queue.read(&x).wait()?, [7; 4]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn replay(&self, graph: &impl Replayable) -> Result<Replay> {
        self.enqueue_prepared(graph.prepared()?, Location::caller())
    }

    /// Enqueues the only replay of a graph, which this queue has just captured. Before it, the queue waits for the
    /// kernels that are still being compiled, and fails if a compilation fails. The memory of the graph counts towards
    /// the backlog.
    pub(crate) fn replay_once(&self, graph: &Graph, at: &'static Location<'static>) -> Result<Replay> {
        let late = unfinished(&graph.plan);
        late.iter().try_for_each(|(late, _)| late.result().transpose().map(drop))?;
        let engine = self.owner().engine();
        let compiled: Vec<Compiled> = late.iter().map(|_| Compiled::new(engine)).collect();
        let by = Admission { slot: self.slot()?, what: CommandKind::Replay(graph.inner.name.0), at };
        let outputs = graph.inner.outputs.iter().map(|_| ReadSlot::new()).collect();
        let run = GraphRun::only(graph.plan.clone(), outputs, graph.own_memory(), at);
        let waits = compiled.iter().map(Compiled::wait);
        let ops = waits.chain(steps(&graph.inner, &run)).collect();
        let enqueued = engine.enqueue_replay(by, &run, ops, &graph.inner.turns, Vec::new())?;
        for (compiled, (late, verb)) in compiled.into_iter().zip(late) {
            compiled.end_with(&late, verb);
        }
        Ok(Replay::new(self.owner(), &graph.inner, run, enqueued, None))
    }

    fn enqueue_prepared(&self, what: PreparedReplay<'_>, at: &'static Location<'static>) -> Result<Replay> {
        let PreparedReplay { graph, plan, spanning } = what;
        if spanning.is_some() && self.captured_queue().is_none() && !self.owner().is(&graph.owner) {
            return Err(wrong_queue(graph.label()));
        }
        same_context(self.owner(), &graph.owner, || format!("graph `{}`", graph.label()))?;
        let outputs = graph.inner.outputs.iter().map(|_| ReadSlot::new()).collect();
        if let Some(captured) = self.captured_queue() {
            captured.include(graph, &plan, at)?;
            let run = GraphRun::new(plan, outputs, Vec::new(), at);
            return Ok(Replay::inside_capture(self, &graph.inner, run));
        }
        let engine = self.owner().engine();
        engine.check_process()?;
        // In a graph of several contexts, each part stages its own uploads.
        let uploads = if spanning.is_some() { Vec::new() } else { engine.stage_uploads(&plan)? };
        let run = GraphRun::new(plan, outputs, uploads, at);
        let by = Admission { slot: self.slot()?, what: CommandKind::Replay(graph.inner.name.0), at };
        let (enqueued, far) = match &spanning {
            None => {
                let ops = steps(&graph.inner, &run);
                let turns = &graph.inner.turns;
                let reads = graph.inner.messages.iter().map(|buffer| buffer.read()).collect();
                (engine.enqueue_replay(by, &run, ops, turns, reads)?, None)
            }
            Some(spanning) => {
                let turns = graph.inner.turns.iter().map(|(_, turn)| turn).collect();
                let replayed = ReplayedGraph { spanning, whole: &run.plan, turns, at };
                let calls =
                    graph.inner.calls.iter().map(|(_, call)| callback(call, &run.plan.label)).collect();
                let (before, point, past, far) = spanning::enqueue(&replayed, by, calls)?;
                ((before, point, past), Some(far))
            }
        };
        Ok(Replay::new(self.owner(), &graph.inner, run, enqueued, far))
    }
}

/// Returns the pipelines of launches that are not compiled, each with the verb of its kernel.
fn unfinished(plan: &GraphPlan) -> Vec<(Arc<LatePipeline>, Option<&'static str>)> {
    let mut found: Vec<(Arc<LatePipeline>, Option<&'static str>)> = Vec::new();
    for node in plan.nodes.iter() {
        let Work::Launch(launch) = &node.command.work else { continue };
        let kernel = launch.kernel();
        if let Some(late) = kernel.pipeline.unfinished()
            && !found.iter().any(|(known, _)| Arc::ptr_eq(known, late))
        {
            found.push((late.clone(), kernel.origin.verb));
        }
    }
    found
}

/// Returns a queue callback that calls a host callback of the graph.
fn callback(call: &HostCall, graph: &Arc<str>) -> Callback {
    let call = call.clone();
    let graph = graph.clone();
    Callback::new(move || in_callback(|| call.call(&graph)))
}

/// Returns the commands of a replay: the parts of the graph, the host callbacks between them, and the chunked loops.
fn steps(graph: &GraphInner, run: &Arc<GraphRun>) -> Vec<Op> {
    let mut ops = Vec::new();
    let plan = &run.plan;
    let mut calls = graph.calls.iter();
    for (at, segment) in plan.segments.iter().enumerate() {
        match at.checked_sub(1).map(|before| plan.cuts[before]) {
            Some(Cut::HostCall) => {
                let (_, call) = calls.next().expect("bug: a cut without a host callback");
                ops.push(Op::Callback(callback(call, &plan.label)));
            }
            Some(Cut::LoopStart(number)) => {
                let chunked = plan.loops[number as usize].clone();
                ops.push(Op::Loop(Box::new(LoopRun::new(run, at as u32, chunked))));
                continue;
            }
            Some(Cut::LoopEnd) | None => {}
        }
        if !segment.order.levels.is_empty() {
            let step = GraphStep { run: run.clone(), segment: Some(at as u32) };
            ops.push(Op::Work(Work::Graph(Box::new(step))));
        }
    }
    ops
}

impl Replay {
    /// Returns an enqueued replay. `before` is the stamp before its first command, and `point` the last one.
    fn new(
        owner: &Owner,
        graph: &Arc<GraphInner>,
        run: Arc<GraphRun>,
        (before, point, past): (Stamp, Point, Arc<PointHistory>),
        far: Option<PartRuns>,
    ) -> Self {
        let owner = owner.clone();
        let graph = graph.clone();
        let event = Event::new(owner.clone(), Recording::Point(point, past.clone(), None));
        let inner = Arc::new(ReplayInner { owner, graph, run, before, point, past, event, far });
        inner.announce_downloads();
        Self { inner }
    }

    /// Returns the replay of a graph in a capture. Such a replay has no event and no readable outputs.
    fn inside_capture(queue: &CommandQueue, graph: &Arc<GraphInner>, run: Arc<GraphRun>) -> Self {
        let owner = queue.owner().clone();
        let event = queue.marker();
        let past = Arc::default();
        let graph = graph.clone();
        let before = Stamp(0);
        let point = Point::START;
        let far = None;
        Self { inner: Arc::new(ReplayInner { owner, graph, run, before, point, past, event, far }) }
    }

    /// Returns the event of the replay, which completes when all its commands are complete.
    pub fn event(&self) -> &Event {
        &self.inner.event
    }

    /// Blocks until the replay is complete.
    ///
    /// # Errors
    /// Returns the errors of [`Event::wait`].
    #[track_caller]
    pub fn wait(&self) -> Result<()> {
        self.inner.event.wait()
    }

    /// Cancels the replay: its commands that are not yet submitted do not execute. The call does not block. It has no
    /// effect if all commands are submitted, or if the replay is already cancelled. A replay that waits for an event or
    /// for other work still waits, and ends when its turn comes.
    ///
    /// A loop with [`Bound::Chunked`](crate::Bound::Chunked) ends after the submitted chunks, at most two. Bytes that
    /// were already written stay written. The replay, its outputs, and all later commands of its queue that were
    /// enqueued before this call end with [`ErrorDetail::Cancelled`]. The queue itself does not fail: commands enqueued
    /// after this call execute.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Captured`] for a replay inside a capture.
    ///
    /// # Example
    /// ```
    /// use fencepost::{Bound, ErrorDetail};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let go_on = queue.array(&[1_u32])?;
    /// let mut x = ctx.zeros::<u32, 1>([4])?;
    /// let endless = queue.while_(&go_on, Bound::Chunked(u32::MAX), |body| body.fill(&mut x, 7))?;
    /// let run = endless.replay().unwrap();
    /// run.cancel()?;
    /// assert!(matches!(run.wait().unwrap_err().detail(), ErrorDetail::Cancelled { .. }));
    /// queue.fill(&mut x, 8)?;
    /// assert_eq!(queue.read(&x).wait()?, [8; 4]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn cancel(&self) -> Result<()> {
        self.not_in_capture("Replay::cancel", Location::caller())?;
        let ReplayInner { owner, run, before, point, .. } = &*self.inner;
        owner.engine().check_process()?;
        owner.engine().cancel_replay(*before, *point, &run.plan.label);
        Ok(())
    }

    /// *Flushes*; the result is the elements of an output of this replay.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Graph`](crate::ErrorDetail::Graph) if the output belongs to another graph, and
    /// [`ErrorDetail::Captured`](crate::ErrorDetail::Captured) for a replay inside a capture. The result has the errors of the work.
    #[track_caller]
    pub fn read<T: Element>(&self, output: &Output<T>) -> Result<Pending<Vec<T>>> {
        self.not_in_capture("Replay::read", Location::caller())?;
        let inner = &self.inner;
        let found = inner.graph.outputs.iter().rposition(|known| known.token == output.token);
        let Some(at) = found else {
            let problem = format!("it has no output `{}`: the output belongs to another graph", output.name);
            return Err(ErrorDetail::Graph { graph: inner.graph.name.1.to_string(), problem }.into());
        };
        self.read_output(at, output.len)
    }

    /// *Flushes*; the result is the counters of the graph's loops, two words for each loop.
    pub(crate) fn counters(&self) -> Result<Pending<Vec<u32>>> {
        let layout = self.plan().control.as_ref().map(|table| &table.layout);
        let output = layout.and_then(|layout| layout.output).expect("bug: a loop without counters");
        let bytes = self.inner.graph.outputs[output as usize].bytes;
        self.read_output(output as usize, bytes as usize / 4)
    }

    /// Returns the plan that the replay executes.
    pub(crate) fn plan(&self) -> &GraphPlan {
        &self.inner.run.plan
    }

    /// Returns an error if the replay is inside a capture. The capture fails with the error too.
    pub(crate) fn not_in_capture(
        &self,
        call: &'static str,
        location: &'static Location<'static>,
    ) -> Result<()> {
        let Recording::Captured(point) = self.inner.event.recording() else { return Ok(()) };
        let remedy = "the replay is a part of the capture: make the call on a replay of the captured graph";
        let queue = point.queue.to_string();
        Err(point.fault.raise(ErrorDetail::Captured { call, queue, location, remedy }.into()))
    }

    fn read_output<T: Element>(&self, at: usize, len: usize) -> Result<Pending<Vec<T>>> {
        let place = self.inner.place_of(at);
        let engine = place.owner.engine().clone();
        let state = engine.lock();
        state.check_not_lost()?;
        engine.submit_up_to(state, place.point, Caller::Waits);
        Ok(place.read(len, self.clone()))
    }
}

impl Replay {
    /// *Returns* the event of a captured marker in this replay. The event completes with the whole replay. If the
    /// marker is timed, the event holds the time at which this replay passed the marker. So [`Event::seconds_since`]
    /// measures the time between two markers, in one replay or in two.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Graph`](crate::ErrorDetail::Graph) if the marker was not captured in this graph, and
    /// [`ErrorDetail::Captured`](crate::ErrorDetail::Captured) for a replay inside a capture.
    ///
    /// # Example
    /// ```
    /// use fencepost::EventOptions;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let timed = EventOptions::default().timing(true);
    /// let mut x = ctx.zeros::<u32, 1>([1024])?;
    /// let (graph, (start, end)) = queue.capture(|c| {
    ///     let start = c.marker_with(timed);
    ///     c.fill(&mut x, 7)?;
    ///     Ok((start, c.marker_with(timed)))
    /// })?;
    /// let run = queue.replay(&graph)?;
    /// let (start, end) = (run.event_of(&start)?, run.event_of(&end)?);
    /// assert!(end.seconds_since(&start).wait()? > 0.0);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn event_of(&self, marker: &Event) -> Result<Event> {
        self.not_in_capture("event_of", Location::caller())?;
        let inner = &self.inner;
        let wrong = |problem: &str| -> Error {
            let graph = inner.graph.name.1.to_string();
            ErrorDetail::Graph { graph, problem: problem.into() }.into()
        };
        let marked = match marker.recording() {
            Recording::Captured(marked) if marked.tape == inner.graph.id => marked,
            Recording::Captured(_) => return Err(wrong("the marker belongs to another graph")),
            Recording::Failed(error) => return Err(error),
            _ => return Err(wrong("the event is not a captured marker")),
        };
        if let (Some(node), Some(far)) = (marked.time, &inner.far) {
            return Ok(far_event(far, node));
        }
        let time = marked.time.and_then(|node| time_of(&inner.run, node));
        Ok(Event::new(inner.owner.clone(), Recording::Point(inner.point, inner.past.clone(), time)))
    }
}

/// Returns the event of a timed marker of a graph of several contexts. The event belongs to the marker's context, and
/// completes with the part that contains the marker.
fn far_event(far: &PartRuns, node: u32) -> Event {
    let (part, at) = far.spanning.part_of_node(node).expect("bug: a marker is in no part");
    let run = far.runs[part].as_ref().expect("bug: a part with nodes has no run");
    let (point, past) = run.end.clone().expect("bug: a part with a timed marker has no end");
    Event::new(run.owner.clone(), Recording::Point(point, past, time_of(&run.run, at)))
}

/// Returns the time of a node, if the device measures it.
fn time_of(run: &GraphRun, node: u32) -> Option<Arc<PointTime>> {
    let times = run.times.get()?;
    let time = times.measured(node)?.clone();
    let queue = times.queue.clone();
    let lane = times.lane;
    let stamp = times.stamp;
    Some(Arc::new(PointTime { queue, lane, stamp, time }))
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Replay of graph `{}`: {:?}", self.inner.graph.name.1, self.inner.event)
    }
}

/// A function that returns the bytes that an upload takes from the elements of a pinned array.
type Bytes<T> = Box<dyn Fn(&[T]) -> Vec<u8> + Send + Sync>;

/// A pinned array in ordinary memory that each replay uploads. Keeps the elements of the array alive.
pub(crate) struct PlainSource<T> {
    pub(crate) label: Arc<str>,
    pub(crate) elements: SharedElements<T>,
    /// Size of the upload in bytes.
    pub(crate) size: u64,
    /// Function that returns the bytes of the upload.
    pub(crate) bytes: Bytes<T>,
}

impl<T: Element> ReplaySource for PlainSource<T> {
    fn label(&self) -> &str {
        &self.label
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn copy_to(&self, to: &mut [u8]) -> Result<()> {
        let elements = lock(&self.elements).share_with_replay(&self.label)?;
        let bytes = (self.bytes)(&elements);
        to[..bytes.len()].copy_from_slice(&bytes);
        Ok(())
    }
}

impl CapturedQueue {
    /// Adds a download of `len` elements at the end of the queue.
    pub(crate) fn download<T: Element>(
        &self,
        at: &'static Location<'static>,
        (src, len): (Span, usize),
        (memory, label): (&Arc<PlainMemory<T>>, &Arc<str>),
    ) -> Result<()> {
        self.tape.writes.add(memory.into());
        let replayed = Arc::downgrade(&lock(memory).replayed);
        let output = GraphOutput {
            token: unique(),
            name: label.clone(),
            bytes: src.size,
            element: T::DTYPE.to_string().into(),
            element_size: T::DTYPE.size() as u32,
            len: len as u64,
            download: Some(replayed),
        };
        self.push_read(("download", CommandKind::Download, at), src, None, output)
    }
}
