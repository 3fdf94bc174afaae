//! The derives of Fencepost: `KernelArgs`, for a struct of kernel arguments, and `Element`, for the elements of arrays.
//!
//! `fencepost` re-exports both macros, with examples. The documentation here lists their attributes.
//!
//! The generated code refers only to `fencepost::__private`. A crate named with the attribute `crate` must re-export
//! `fencepost_kernels::__private`.
#![forbid(unsafe_code)]

mod attribute;
mod element;
mod expand;
mod fields;
mod locate;
mod verify;

use proc_macro::TokenStream;

/// Implements `KernelArgs` for a struct. The struct is checked against its WGSL at compile time.
///
/// `#[kernel(...)]` takes
///
/// | key | meaning |
/// |---|---|
/// | `source = "name.wgsl"` | `shaders/name.wgsl` of the package, else its `name.wgsl`, else a built-in shader |
/// | `wgsl = "..."` | the text itself, instead of `source` |
/// | `entry = "name"` | the entry point; by default the one with the name of the file, or the only one of the shader |
/// | `T = [f32, u32]` | the types for `alias T` of a struct that is generic in `T`; each is checked, and implements `KernelFamily` |
/// | `T = u32` | the type for `alias T` of a struct that is not generic in `T` |
/// | `entries("a", "b")` | entry points that `CommandQueue::launch_all` runs in order; each takes its declared fields |
/// | `returns(total: f32)` | the one entry point returns the shader's `total`, not a field; `CommandQueue::call` launches it |
/// | `handle = Name` | a name for the compiled kernel's type, without a lifetime, so that a struct can store it |
/// | `crate = path` | the path of the framework; by default `::fencepost` |
///
/// A field passes the argument of its name:
///
/// | field | in the shader |
/// |---|---|
/// | `x: &'a DeviceArray<T>` | `var<storage, read> x: array<T>` |
/// | `y: &'a mut DeviceArray<T>` | `var<storage, read_write> y: array<T>` |
/// | `table: &'a DeviceArray<T, 2>` | the same as for one dimension: the elements in C order |
/// | `n: u32`, or another number | the member `n` of the uniform block, or a uniform `n` |
/// | `on: bool` | a member or a uniform of type `u32` |
/// | `place: [f32; 3]` | a member or a uniform of type `vec3<f32>` |
/// | `camera: Camera`, with `#[derive(Element)]` | a member or a uniform of a struct type |
///
/// The elements `T` of arrays are numbers, vectors, matrices, lists and structs, as the trait `Element` lists them.
///
/// A line `//#use "path.wgsl"` in the shader appends another file of the package; the path is relative to the folder of
/// the file that has the line. A line `//#use name` appends the file `lib/name.wgsl` next to the shader, or a built-in
/// snippet. In the text of `wgsl`, paths are relative to `shaders/`. Each file is appended once. Files that use each
/// other in a cycle are an error, and so is a file outside the package, unless the shader itself is outside and the
/// file is in its folder.
///
/// Code that is generic over the types of a list has the bound `Name<'static, T>: KernelFamily`, where `Name` is the
/// struct.
///
/// Names, types and access are compared with the shader at compile time. The error for a difference points at the field
/// and shows both sides. If a type alias hides the element type, a generated constant compares the types. If the
/// element type depends on a type parameter in another way, the check runs when the kernel is made.
#[proc_macro_derive(KernelArgs, attributes(kernel))]
pub fn kernel_args(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    expand::kernel_args(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Implements `Element` for a struct with `#[repr(C)]`, so that device arrays and parameters can have this type.
///
/// Its fields must be elements too, with the names of the members of the WGSL struct; a name that begins with `_` marks
/// padding. For kernel arguments of this type, both layouts are compared number by number at compile time. A difference
/// is an error that names the member, both offsets, and the padding to add.
///
/// `#[element(crate = path)]` gives the path of the framework; by default `::fencepost`.
#[proc_macro_derive(Element, attributes(element))]
pub fn element(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    element::element(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
