//! Lists every public method of `CommandQueue` and of `Capture`, with its effect on a captured queue.
//!
//! `cargo xtask lint` compares the names with the methods of the crate, so a new method without an entry fails.

use crate::common::kernels::Mix;
use fencepost::prelude::*;
use fencepost::{
    Bound, Capture, DynKernel, EventOptions, Graph, HostArray, Kernel, Pending, Result, ScopeOptions, Shape,
    region,
};
use std::panic::Location;

/// Number of elements of the arrays.
pub const N: usize = 64;

/// Objects that the verbs use. The elements of `x` are 7, those of `two` are 2.
pub struct Objects {
    pub ctx: Context,
    /// Another context.
    pub other: Context,
    pub x: DeviceArray<u32>,
    pub two: DeviceArray<u32>,
    pub mix: Kernel<Mix<'static>>,
    pub mixed: DynKernel,
    pub returns: Kernel<FirstOf<'static>>,
    pub phases: Kernel<Phases<'static>>,
    pub child: Graph,
    pub up: HostArray<u32, fencepost::Upload>,
    pub outside: Event,
}

/// `first` = the first element of `x`.
#[derive(KernelArgs)]
#[kernel(
    wgsl = "
        @group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> first: u32;
        @compute @workgroup_size(1) fn first_of() { first = x[0]; }",
    returns(first: u32)
)]
pub struct FirstOf<'a> {
    pub x: &'a DeviceArray<u32>,
}

/// Phases that add 1 to each element, then double it.
#[derive(KernelArgs)]
#[kernel(
    wgsl = "
        @group(0) @binding(0) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(64) fn add_1(@builtin(global_invocation_id) id: vec3<u32>) {
            if id.x < arrayLength(&y) { y[id.x] += 1u; }
        }
        @compute @workgroup_size(64) fn double(@builtin(global_invocation_id) id: vec3<u32>) {
            if id.x < arrayLength(&y) { y[id.x] *= 2u; }
        }",
    entries("add_1", "double")
)]
pub struct Phases<'a> {
    pub y: &'a mut DeviceArray<u32>,
}

/// Effect of a method on a captured queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Behaviour {
    /// The method adds nodes, and a replay changes the elements of `x`.
    Writes,
    /// The method adds nodes that change no element of `x`.
    Adds,
    /// The method adds no node, and the capture succeeds.
    NoNode,
    /// The capture fails, and the error names the method and its line.
    Refused,
}

/// A method with its arguments.
#[derive(Clone, Copy)]
pub enum Call {
    Queue(fn(&Objects, &CommandQueue) -> Result<()>),
    Capture(fn(&Objects, &Capture) -> Result<()>),
}

/// An entry of the table.
#[derive(Clone, Copy)]
pub struct Verb {
    pub name: &'static str,
    pub behaviour: Behaviour,
    pub call: Call,
    /// Line of the entry, which contains the call of the method.
    pub at: &'static Location<'static>,
}

type QueueCall = fn(&Objects, &CommandQueue) -> Result<()>;
type CaptureCall = fn(&Objects, &Capture) -> Result<()>;

#[track_caller]
fn writes(name: &'static str, call: QueueCall) -> Verb {
    Verb { name, behaviour: Behaviour::Writes, call: Call::Queue(call), at: Location::caller() }
}

#[track_caller]
fn adds(name: &'static str, call: QueueCall) -> Verb {
    Verb { name, behaviour: Behaviour::Adds, call: Call::Queue(call), at: Location::caller() }
}

#[track_caller]
fn no_node(name: &'static str, call: QueueCall) -> Verb {
    Verb { name, behaviour: Behaviour::NoNode, call: Call::Queue(call), at: Location::caller() }
}

#[track_caller]
fn refused(name: &'static str, call: QueueCall) -> Verb {
    Verb { name, behaviour: Behaviour::Refused, call: Call::Queue(call), at: Location::caller() }
}

#[track_caller]
fn of_capture(name: &'static str, behaviour: Behaviour, call: CaptureCall) -> Verb {
    Verb { name, behaviour, call: Call::Capture(call), at: Location::caller() }
}

/// Waits for a result, which a captured queue refuses.
fn wait<T>(pending: Pending<T>) -> Result<()> {
    pending.wait().map(drop)
}

/// Returns the entries.
#[rustfmt::skip]
pub fn table() -> Vec<Verb> {
    let queue = [
        // Properties of the queue.
        no_node("options", |_, q| { q.options(); Ok(()) }),
        no_node("take_error", |_, q| { assert!(q.take_error().is_none()); Ok(()) }),
        no_node("context", |_, q| q.context().kernel::<Mix>().map(drop)),
        refused("check_value", |_, q| q.check_value("check_value", "nothing runs")),
        no_node("check_launch", |o, q| q.check_launch(&o.mix, Mix { a: 2, b: 1, x: &o.two, y: &mut o.x.clone() })),
        no_node("check_launch_dyn", |o, q| q.check_launch_dyn(&o.mixed, args![a = 2_u32, b = 1_u32, x = &o.two, y = &mut o.x.clone()])),
        // Order.
        no_node("marker", |_, q| { q.marker(); Ok(()) }),
        no_node("marker_with", |_, q| { q.marker_with(EventOptions::default()); Ok(()) }),
        no_node("wait_for", |_, q| q.wait_for(&q.marker())),
        no_node("wait_for a queue", |_, q| q.wait_for(q)),
        no_node("fork", |_, q| { q.fork("empty fork"); Ok(()) }),
        no_node("scope", |_, q| { q.scope(|| ()); Ok(()) }),
        no_node("scope_with", |_, q| { q.scope_with(ScopeOptions::default().wait(false), || ()); Ok(()) }),
        refused("make_current", |_, q| { q.make_current(); Ok(()) }),
        // New arrays.
        adds("zeros", |_, q| q.zeros::<u32, 2>(Shape::padded([3, 4], [4, 8])).map(drop)),
        adds("full", |_, q| q.full([N], 3_u32).map(drop)),
        adds("array", |_, q| q.array(&[1_u32; N]).map(drop)),
        no_node("empty", |_, q| q.empty::<u32, 2>(Shape::padded([3, 4], [4, 8])).map(drop)),
        // Work.
        writes("fill", |o, q| q.fill(&mut o.x.clone(), 1)),
        writes("copy", |o, q| q.copy(&o.two, &mut o.x.clone())),
        writes("copy_region", |o, q| q.copy_region(&o.two, region![..;2], &mut o.x.clone(), region![..;2])),
        writes("upload", |o, q| q.upload(&[5_u32; N], &mut o.x.clone())),
        writes("upload_region", |o, q| q.upload_region(&[5_u32; N / 2], &mut o.x.clone(), region![..;2])),
        writes("upload a slice of a pinned array", |o, q| q.upload(&o.up.slice(1..N)?, &mut o.x.slice(1..N)?)),
        writes("set", |o, q| q.set(&mut o.x.clone(), [0], 5)),
        writes("launch", |o, q| q.launch(&o.mix, Grid::threads([N]), Mix { a: 2, b: 1, x: &o.two, y: &mut o.x.clone() })),
        writes("launch_dyn", |o, q| q.launch_dyn(&o.mixed, Grid::threads([N]), args![a = 2_u32, b = 1_u32, x = &o.two, y = &mut o.x.clone()])),
        writes("launch_all", |o, q| q.launch_all(&o.phases, [Grid::threads([N]); 2], Phases { y: &mut o.x.clone() })),
        writes("replay", |o, q| q.replay(&o.child).map(drop)),
        // Control flow.
        writes("if_", |o, q| q.if_(&o.two.slice(0..1)?, |b| b.fill(&mut o.x.clone(), 1))),
        writes("if_else", |o, q| q.if_else(&o.two.slice(0..1)?, |b| b.fill(&mut o.x.clone(), 1), |b| b.fill(&mut o.x.clone(), 2))),
        writes("while_", |o, q| q.while_(&o.two.slice(0..1)?, Bound::AtMost(2), |b| b.fill(&mut o.x.clone(), 1)).map(drop)),
        writes("do_while", |o, q| q.do_while(&o.two.slice(0..1)?, Bound::AtMost(2), |b| b.fill(&mut o.x.clone(), 1)).map(drop)),
        writes("repeat", |o, q| q.repeat(&o.two.slice(0..1)?, Bound::AtMost(2), |b| b.fill(&mut o.x.clone(), 1)).map(drop)),
        // Calls whose results are needed immediately.
        refused("read", |o, q| wait(q.read(&o.x))),
        refused("read_into", |o, q| q.read_into(&o.x, &mut [0; N])),
        refused("read_region", |o, q| wait(q.read_region(&o.x, region![1..3]))),
        refused("get", |o, q| wait(q.get(&o.x, [0]))),
        refused("call", |o, q| wait(q.call(&o.returns, Grid::groups([1]), FirstOf { x: &o.x })?)),
        adds("download", |o, q| q.download(&o.x, &mut o.ctx.pinned([N])?)),
        adds("download_region", |o, q| q.download_region(&o.x, region![1..3], &mut o.ctx.pinned([2])?)),
        refused("flush", |_, q| q.flush()),
        refused("finish", |_, q| wait(q.finish())),
        // Calls that a replay cannot repeat.
        refused("callback", |_, q| q.callback(|| ())),
        refused("encode", |_, q| q.encode(|_, _| Ok(()))),
        refused("submit_foreign", |_, q| q.submit_foreign([], |_| Ok(()))),
        refused("capture", |_, q| q.capture(|_| Ok(())).map(drop)),
    ];
    let capture = [
        of_capture("read_as", Behaviour::Adds, |o, c| c.read_as("x", &o.x).map(drop)),
        of_capture("on", Behaviour::NoNode, |_, c| c.on(&c.fork("empty fork")).map(drop)),
        of_capture("fork_on", Behaviour::NoNode, |o, c| c.fork_on(&o.other, "empty fork").map(drop)),
        of_capture("input", Behaviour::NoNode, |o, c| c.input("x", &o.x).map(drop)),
        of_capture("value", Behaviour::NoNode, |_, c| c.value("a", 2_u32).map(drop)),
        of_capture("parameter", Behaviour::Writes, |o, c| {
            let a = c.value("a", 3_u32)?;
            c.launch(&o.mix, Grid::threads([N]), Mix { a: 2, b: 1, x: &o.two, y: &mut o.x.clone() })?;
            c.parameter("a", &a)
        }),
        of_capture("label_node", Behaviour::Writes, |o, c| {
            c.fill(&mut o.x.clone(), 1)?;
            c.label_node("fill")
        }),
        of_capture("label_loop", Behaviour::Writes, |o, c| {
            let rounds = c.while_(&o.two.slice(0..1)?, Bound::AtMost(2), |b| b.fill(&mut o.x.clone(), 1))?;
            c.label_loop("rounds", &rounds)
        }),
        of_capture("host", Behaviour::NoNode, |_, c| c.host(|| ())),
    ];
    queue.into_iter().chain(capture).collect()
}

/// Returns calls of other types that take a captured queue or its event. `wait_for` is called with an event from outside.
#[rustfmt::skip]
pub fn events() -> Vec<Verb> {
    Vec::from([
        no_node("Event::record", |_, q| q.marker().record(q)),
        refused("Tuning::start", |_, q| Tuning::start(q).map(drop)),
        refused("Event::wait", |_, q| q.marker().wait()),
        refused("Event::done", |_, q| wait(q.marker().done())),
        refused("Event::is_complete", |_, q| q.marker().is_complete().map(drop)),
        refused("await", |_, q| wait(q.marker().into_future())),
        refused("seconds_since", |_, q| wait(q.marker().seconds_since(&q.marker()))),
        refused("wait_for", |o, q| q.wait_for(&o.outside)),
        refused("wait_for", |o, q| q.wait_for(&o.ctx.user_event("user"))),
        refused("wait_for", |o, q| q.wait_for(&o.ctx.queue("outside"))),
    ])
}
