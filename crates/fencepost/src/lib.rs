#![doc = include_str!("front.md")]
#![doc = ""]
#![doc = include_str!("overview.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(feature = "algorithms")]
pub use fencepost_algorithms as algorithms;
#[cfg(feature = "image")]
pub use fencepost_core::Pixel;
#[cfg(feature = "cpu")]
pub use fencepost_core::SimulatorOptions;
#[cfg(feature = "cpu")]
#[doc(hidden)]
pub use fencepost_core::doctest;
#[cfg(feature = "cpu")]
pub use fencepost_core::kernel_check;
#[doc(hidden)]
pub use fencepost_core::{
    __private, builtins, plain_file, regrouped, snippets, testing, trusted_kernel, words,
};
pub use fencepost_core::{
    AccessList, AdapterChoice, AdapterInfo, AdapterKind, AdoptOptions, AnyArray, BacklogLimit, Bound,
    Capture, CheckOptions, CommandQueue, Condition, Context, ContextOptions, ContextWatch, DType,
    DeviceArray, Diagnostics, Direction, Download, DynKernel, Element, Error, ErrorDetail, ErrorKind, Event,
    EventOptions, Graph, Grid, HostArray, HostBuffer, HostKernel, HostRead, HostWrite, Kernel, KernelArgs,
    KernelFamily, NewAxis, Output, Pending, Policy, PrintOptions, Priority, Profile, Profiler, QueueOptions,
    ReadMap, ReadTarget, RecorderChoice, Region, RegionAxis, Replay, Result, Scalar, ScopeOptions,
    ShaderSource, Shape, Snapshot, Source, Tuning, TuningChoice, TuningTable, Upload, UserEvent, WaitFor,
    Warning, WriteMap, adapters, args, builtin_shader, reference, region, synchronize_all,
};

/// Causes of errors, and the sites that they name.
pub mod error {
    #[doc(inline)]
    pub use fencepost_core::{FileError, KernelError, PendingError, Site};
}

/// Parts of graphs: their inputs, values, loops, edits and files.
pub mod graph {
    #[doc(inline)]
    pub use fencepost_core::{
        Bindings, Contents, GraphEdit, GraphStatistics, GraphValue, LoadOptions, Loop, ReplayForm, Replayable,
    };
}

/// Interfaces of kernels, and the values that a program passes to them.
pub mod interface {
    #[doc(inline)]
    pub use fencepost_core::interface::{
        Binding, Dim, Excerpt, Layout, Leaf, Messages, Needs, Override, ParamField, Params,
    };
    #[doc(inline)]
    pub use fencepost_core::{
        Access, BufferArg, ComplexNumber, DynArg, EntryPoints, FieldType, GridNumber, Interface, IntoArg,
        NamedArg, NamedValue, Number, Param, Returns, SameBits, SameKernel, StructType, Value,
    };
}

/// Allocations and the pool of a context's memory.
pub mod memory {
    #[doc(inline)]
    pub use fencepost_core::{
        Allocation, AllocationReport, AllocationScope, AllocationSite, AllocationTracker, MemoryLimit, Pool,
        PoolLimit, PoolStats,
    };
}

/// Lines that kernels print.
pub mod print {
    #[doc(inline)]
    pub use fencepost_core::{PrintTo, Printed, PrintedLine};
}

/// Parts of a [`Profile`].
pub mod profile {
    #[doc(inline)]
    pub use fencepost_core::{
        Activity, Awaited, Busy, CriticalPath, Gap, Interval, Overlap, ProfileBatch, Row, Summary,
        SummaryRow, Unmeasured, WaitCause,
    };
}

/// Parts of a [`TuningTable`].
pub mod tuning {
    #[doc(inline)]
    pub use fencepost_core::{ArraySize, Ceilings, TunedChoice};
}

/// Reports of the waits that a policy added.
pub mod waits {
    #[doc(inline)]
    pub use fencepost_core::{AddedWait, Already, RedundantWait, WaitReport};
}

/// Makes a struct an element of arrays.
///
/// ```
/// use bytemuck::{Pod, Zeroable};
/// use fencepost::prelude::*;
///
/// #[derive(Clone, Copy, Pod, Zeroable, Element)]
/// #[repr(C)]
/// struct Particle {
///     position: [f32; 3], // vec3<f32>
///     mass: f32,
///     velocity: [f32; 3],
///     _padding: [u8; 4],  // WGSL aligns the struct to 16 bytes
/// }
/// ```
#[doc(inline)]
pub use fencepost_derive::Element;
/// Makes a struct the arguments of a kernel.
///
/// ```
/// use fencepost::prelude::*;
///
/// #[derive(KernelArgs)]
/// #[kernel(source = "saxpy.wgsl", T = [f32, i32, u32], handle = SaxpyKernel)]
/// struct Saxpy<'a, T: Element> {
///     a: T,                        // a plain value: a member of the uniform block
///     x: &'a DeviceArray<T>,       // `&`: var<storage, read>
///     y: &'a mut DeviceArray<T>,   // `&mut`: var<storage, read_write>
/// }
///
/// struct Solver {
///     saxpy: SaxpyKernel<f32>,     // Kernel<Saxpy<'static, f32>>
/// }
/// # let (ctx, queue) = fencepost::doctest();
/// let solver = Solver { saxpy: ctx.kernel::<Saxpy<f32>>()? };
/// let (x, mut y) = (ctx.full([4], 1.0)?, ctx.full([4], 1.0)?);
/// queue.launch(&solver.saxpy, Grid::threads([4]), Saxpy { a: 2.0, x: &x, y: &mut y })?;
/// assert_eq!(queue.read(&y).wait()?, [3.0; 4]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[doc(inline)]
pub use fencepost_derive::KernelArgs;

#[cfg(all(doc, not(doctest)))] // crates/book runs the examples
pub mod guide;

/// Re-exports the names that most programs need.
pub mod prelude {
    #[cfg(feature = "cpu")]
    #[doc(no_inline)]
    pub use crate::SimulatorOptions;
    #[cfg(feature = "algorithms")]
    pub use fencepost_algorithms::prelude::*;

    pub use crate::{
        AdapterChoice, AdoptOptions, Bound, CheckOptions, CommandQueue, Context, ContextOptions, DType,
        DeviceArray, Download, DynKernel, Element, Error, ErrorDetail, ErrorKind, Event, EventOptions, Graph,
        Grid, HostArray, Kernel, KernelArgs, KernelFamily, Pending, Policy, PrintOptions, Priority,
        QueueOptions, Result, ShaderSource, Shape, Tuning, TuningChoice, TuningTable, Upload, UserEvent,
        args, region,
    };
}
