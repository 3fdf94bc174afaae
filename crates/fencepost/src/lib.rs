#![doc = include_str!("../README.md")]
#![doc = ""]
#![doc = include_str!("overview.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(feature = "algorithms")]
pub use fencepost_algorithms as algorithms;
pub use fencepost_core::*;
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
/// let (x, mut y) = (ctx.ones([4])?, ctx.ones([4])?);
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
    pub use crate::{
        Bound, CommandQueue, Context, ContextOptions, DeviceArray, Download, Element, Error, Event, Graph,
        Grid, HostArray, Kernel, KernelArgs, Kind, Pending, Policy, QueueOptions, Result, Upload, UserEvent,
        args, region,
    };
}
