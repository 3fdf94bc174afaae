//! Command queues, events, arrays and kernel launches on wgpu: what `fencepost` is made of.
//!
//! Programs use the `fencepost` crate, which re-exports this one.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(cpu),
    allow(dead_code, reason = "commands, memory and times have a form for the CPU recorder alone")
)]
#![recursion_limit = "256"] // wgpu's types nest deeply under Send and Sync

mod across;
mod adapter;
mod command;
mod context;
mod current;
mod encode;
mod error;
mod event;
mod foreign;
mod kernel;
mod lane;
mod launch;
mod living;
mod making;
mod memory;
#[cfg(feature = "ndarray")]
mod nd;
mod options;
mod ordering;
#[cfg(all(not(target_arch = "wasm32"), not(fencepost_loom)))]
mod overdue;
mod padded;
mod pending;
#[cfg(feature = "image")]
mod picture;
mod pool;
mod profile;
mod queue;
mod recorder;
mod regions;
mod scheduler;
mod single;
mod source;
mod synchronize;
#[cfg(not(target_arch = "wasm32"))]
mod threads;
mod timing;
mod transfer;
mod tuning;
mod user_event;
mod verbs;
mod waits;
mod watch;

#[cfg(feature = "validation")]
#[doc(hidden)]
pub use adapter::validation_messages;
pub use adapter::{AdapterChoice, AdapterInfo, AdapterKind, adapters};
pub use command::Site;
pub use command::grid::{Grid, GridNumber};
pub use context::Context;
pub use current::ScopeOptions;
pub use encode::AccessList;
pub use error::{Error, Kind, PoolLimit, Result};
pub use event::{Event, EventOptions, Events};
/// The cause in [`Kind::Kernel`].
pub use fencepost_kernels::Error as KernelError;
pub use fencepost_kernels::{
    Access, BufferArg, DType, DynArg, Element, FieldType, HostBuffer, HostKernel, Interface, IntoArg,
    KernelArgs, NamedArg, Number, Param, Scalar, ShaderSource, StructType, Value, args, reference,
};
/// What an [`Interface`] is made of.
pub mod interface {
    pub use fencepost_kernels::{Binding, Dim, Layout, Leaf, Needs, Override, ParamField, Params};
}
/// The cause in [`Kind::Pending`].
pub use fencepost_sync::Error as PendingError;
pub use kernel::{DynKernel, Kernel};
pub use launch::SameKernel;
pub use memory::{
    Allocation, AllocationReport, AllocationScope, AllocationSite, AllocationTracker, AnyArray, DeviceArray,
    Direction, Download, HostArray, NewAxis, PoolStats, ReadMap, Region, RegionAxis, Snapshot, Upload,
    WriteMap,
};
pub use options::{AdoptOptions, ContextOptions};
pub use ordering::{AddedWait, Already, Policy, RedundantWait, WaitReport};
pub use pending::Pending;
#[cfg(feature = "image")]
pub use picture::Pixel;
pub use profile::{
    Activity, Awaited, Batch, Busy, CriticalPath, Gap, Interval, Overlap, Profile, Profiler, Row, Summary,
    SummaryRow, Unmeasured, WaitCause,
};
pub use queue::{CommandQueue, QueueOptions};
pub use recorder::RecorderChoice;
#[cfg(feature = "cpu")] // `cpu`, in words that the documentation shows
pub use recorder::cpu::CpuOptions;
pub use scheduler::Priority;
pub use source::Source;
pub use synchronize::synchronize_all;
pub use user_event::UserEvent;
pub use watch::ContextWatch;

/// What derived code refers to.
#[doc(hidden)]
pub use fencepost_kernels::__private;

/// The text of a built-in shader, by file name.
///
/// # Example
/// ```
/// assert!(fencepost::builtin_shader("saxpy.wgsl").unwrap().contains("fn saxpy"));
/// assert!(fencepost::builtin_shader("nothing.wgsl").is_none());
/// ```
pub fn builtin_shader(name: &str) -> Option<&'static str> {
    fencepost_kernels::builtins().iter().find(|(builtin, _)| *builtin == name).map(|(_, text)| *text)
}

/// A context and a queue for the examples in documentation: the CPU recorder, which needs no device.
#[cfg(cpu)]
#[doc(hidden)]
pub fn doctest() -> (Context, CommandQueue) {
    let ctx = Context::on_cpu(CpuOptions::default());
    let queue = ctx.queue("doctest");
    (ctx, queue)
}
