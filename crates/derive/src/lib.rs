//! The derives of Fencepost: `KernelArgs`, for a struct of kernel arguments, and `Element`, for what arrays hold.
//!
//! The framework exports both macros; their documentation says what they take.
//!
//! What it writes refers to `fencepost::__private` and nothing else: whatever `crate` names must re-export
//! `fencepost_kernels::__private`.
#![forbid(unsafe_code)]

mod attribute;
mod element;
mod expand;
mod fields;
mod locate;
mod verify;

use proc_macro::TokenStream;

/// Implements `KernelArgs` for a struct, which is checked against its WGSL while Rust compiles.
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
///
/// `#[kernel(...)]` takes
///
/// | key | meaning |
/// |---|---|
/// | `source = "name.wgsl"` | a file: `shaders/name.wgsl` of the package, then `name.wgsl` of the package, then a built-in shader |
/// | `wgsl = "..."` | the text itself, instead of `source` |
/// | `entry = "name"` | the entry point; by default the one that is named as the file, or the only one there is |
/// | `T = [f32, u32]` | the types for `alias T` of a struct that is generic in `T`; each is checked |
/// | `T = u32` | the type for `alias T` of a struct that is not |
/// | `handle = Name` | a name for the kernel when it is compiled, without a lifetime: what a struct stores |
/// | `crate = path` | where the framework is; by default `::fencepost` |
///
/// A line `//#use "path.wgsl"` of the shader appends another file of the package, found from the folder of the file that has
/// the line, and `//#use name` the file `lib/name.wgsl` beside the shader, or a built-in snippet. The text of `wgsl` uses files
/// as one in `shaders/` does. Each is appended once; files that use each other are an error, and so is a file outside of the
/// package, unless it is in the folder of a shader that is outside too.
///
/// Names, types and access are compared with the shader when the struct is compiled, and a difference is an
/// error at the field that shows both sides. Where the element type is hidden behind an alias, a constant is
/// compared instead; where it depends on a type parameter in another way, the check is left to the time when the
/// kernel is made.
#[proc_macro_derive(KernelArgs, attributes(kernel))]
pub fn kernel_args(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    expand::kernel_args(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Implements `Element` for a struct with `#[repr(C)]`, so that arrays of the device and parameters can hold it.
///
/// Its fields are elements themselves, and are named as the members of the WGSL struct; those whose names begin with `_` are
/// padding. Where a kernel's arguments name the struct, the two layouts are compared, number by number, when the program is
/// compiled, and a difference is an error that names the member, both places, and the padding to add.
///
/// `#[element(crate = path)]` says where the framework is; by default `::fencepost`.
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
#[proc_macro_derive(Element, attributes(element))]
pub fn element(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    element::element(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
