//! Command queues, events, arrays and kernel launches on wgpu. This crate implements the `fencepost` crate.
//!
//! Programs use the `fencepost` crate, which re-exports this one.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(cpu),
    allow(dead_code, reason = "commands, memory and times have a form for the CPU recorder alone")
)]
#![recursion_limit = "256"] // wgpu's types nest deeply under Send and Sync

mod api;
mod arrays;
mod device;
mod driver;
mod error;
mod memory;
mod multi;
mod record;
mod runtime;
mod scheduler;
mod work;

pub use crate::api::context::current::ScopeOptions;
pub use crate::api::context::diagnostics::{Diagnostics, Pool};
pub use crate::api::context::{Context, synchronize_all};
pub use crate::api::graph::bindings::{Bindings, GraphValue, Replayable};
pub use crate::api::graph::capture::{Capture, Output};
pub use crate::api::graph::control_flow::{Bound, Condition, Loop};
pub use crate::api::graph::edit::GraphEdit;
pub use crate::api::graph::loading::LoadOptions;
pub use crate::api::graph::replay::Replay;
pub use crate::api::graph::saving::Contents;
pub use crate::api::graph::{Graph, GraphStatistics};
pub use crate::api::grid::{Grid, GridNumber};
#[doc(hidden)]
pub use crate::api::group_checks;
pub use crate::api::queue::encode::AccessList;
#[doc(hidden)]
pub use crate::api::testing;
#[doc(hidden)]
pub use crate::api::trusted_kernel;
#[doc(hidden)]
pub use crate::api::verb_tuning;
pub use crate::device::adapter::{AdapterChoice, AdapterInfo, AdapterKind, adapters};
pub use crate::error::{Error, ErrorDetail, ErrorKind, MemoryLimit, PoolLimit, Result, Site};
pub use crate::record::lanes::{RecorderChoice, ReplayForm};
pub use crate::runtime::event::{Event, EventOptions, UserEvent};
/// The cause of an [`ErrorDetail::Kernel`].
pub use fencepost_kernels::Error as KernelError;
pub use fencepost_kernels::{
    Access, BufferArg, ComplexNumber, DType, DynArg, Element, EntryPoints, FieldType, HostBuffer, HostKernel,
    Interface, IntoArg, KernelArgs, KernelFamily, NamedArg, NamedValue, Number, Param, PrintedLine, Returns,
    SameBits, Scalar, ShaderSource, StructType, Value, Warning, args, reference,
};
/// The parts of an [`Interface`].
pub mod interface {
    pub use fencepost_kernels::{
        Binding, Dim, Excerpt, Layout, Leaf, Messages, Needs, Override, ParamField, Params,
    };
}
pub use crate::api::display::Snapshot;
#[cfg(feature = "image")]
pub use crate::api::image_arrays::Pixel;
pub use crate::api::kernel::{DynKernel, Kernel};
#[cfg(feature = "cpu")]
pub use crate::api::kernel_check;
pub use crate::api::options::{AdoptOptions, ContextOptions};
pub use crate::api::profiler::Profiler;
pub use crate::api::queue::launch::SameKernel;
pub use crate::api::queue::transfer::ReadTarget;
pub use crate::api::queue::tuning::Tuning;
pub use crate::api::queue::wait_for::WaitFor;
pub use crate::api::queue::{CommandQueue, QueueOptions};
pub use crate::arrays::device_array::{AnyArray, DeviceArray};
#[doc(hidden)]
pub use crate::arrays::device_array::{covering_words, regrouped, words, words_of};
pub use crate::arrays::host_array::{Direction, Download, HostArray, HostRead, HostWrite, Upload};
pub use crate::arrays::map::{ReadMap, WriteMap};
pub use crate::arrays::matrices::Matrices;
pub use crate::arrays::over::{Candidates, Determinism, Over, Parts, Prefix, Terms};
pub use crate::arrays::storage::{AllocationScope, AllocationTracker};
pub use crate::arrays::strides::Strides;
pub use crate::arrays::upload_source::Source;
pub use crate::device::checks::CheckOptions;
pub use crate::device::wgpu_device::BacklogLimit;
pub use crate::memory::allocations::{Allocation, AllocationReport, AllocationSite};
pub use crate::memory::pool::PoolStats;
pub use crate::memory::region::{NewAxis, Region, RegionAxis, Shape};

pub use crate::memory::uses::Policy;
#[cfg(feature = "cpu")]
pub use crate::record::cpu::cpu_recorder::SimulatorOptions;
pub use crate::runtime::context_tuning::TuningChoice;
pub use crate::runtime::context_watch::ContextWatch;
pub use crate::runtime::pending::Pending;
pub use crate::runtime::tuning_table::{ArraySize, Ceilings, TunedCase, TunedChoice, TuningTable};
pub use crate::scheduler::messages::{PrintOptions, PrintTo, Printed};
pub use crate::scheduler::ordering::{AddedWait, Already, RedundantWait, WaitReport};
pub use crate::scheduler::queues::Priority;
/// The cause of an [`ErrorDetail::File`].
pub use fencepost_profile::FileError;
pub use fencepost_profile::{
    Activity, Awaited, Busy, CriticalPath, Gap, Interval, Overlap, Profile, ProfileBatch, Row, Summary,
    SummaryRow, Unmeasured, WaitCause,
};
/// The cause of an [`ErrorDetail::Pending`].
pub use fencepost_sync::Error as PendingError;

/// The items that derived code and the command `fencepost` refer to.
#[doc(hidden)]
pub use fencepost_kernels::{__private, builtins, plain_file, snippets};

/// Returns the text of the built-in shader with this file name, or `None` if there is none.
///
/// # Example
/// ```
/// assert!(fencepost::builtin_shader("saxpy.wgsl").unwrap().contains("fn saxpy"));
/// assert!(fencepost::builtin_shader("nothing.wgsl").is_none());
/// ```
pub fn builtin_shader(name: &str) -> Option<&'static str> {
    fencepost_kernels::builtins().iter().find(|(builtin, _)| *builtin == name).map(|(_, text)| *text)
}

/// Makes a context and a queue for the examples in documentation. They run on the simulator, which needs no device.
#[cfg(cpu)]
#[doc(hidden)]
pub fn doctest() -> (Context, CommandQueue) {
    let ctx = Context::simulated(SimulatorOptions::default());
    let queue = ctx.queue("doctest");
    (ctx, queue)
}
