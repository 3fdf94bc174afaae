//! The derives of Fencepost: `KernelArgs`, for a struct of kernel arguments, and `Element`, for the elements of arrays.
//!
//! The framework exports both macros, with examples. The documentation here lists their attributes.
//!
//! The generated code refers to `fencepost::__private` and to nothing else. The crate that the attribute `crate` names
//! must re-export `fencepost_kernels::__private`.
#![forbid(unsafe_code)]

mod attribute;
mod element;
mod expand;
mod fields;
mod locate;
mod verify;

use proc_macro::TokenStream;

/// Implements `KernelArgs` for a struct. The struct is checked against its WGSL while Rust compiles.
///
/// `#[kernel(...)]` takes
///
/// | key | meaning |
/// |---|---|
/// | `source = "name.wgsl"` | `shaders/name.wgsl` of the package, else its `name.wgsl`, else a built-in shader |
/// | `wgsl = "..."` | the text itself, instead of `source` |
/// | `entry = "name"` | the entry point; by default the one with the name of the file, or the only one of the shader |
/// | `T = [f32, u32]` | the types for `alias T` of a struct that is generic in `T`; each is checked |
/// | `T = u32` | the type for `alias T` of a struct that is not generic in `T` |
/// | `entries("a", "b")` | entry points that `CommandQueue::launch_all` runs in order; each takes its declared fields |
/// | `returns(total: f32)` | the kernel returns the shader's `total`, not a field; `CommandQueue::call` launches it |
/// | `handle = Name` | a name for the compiled kernel's type, without a lifetime, so that a struct can store it |
/// | `crate = path` | the path of the framework; by default `::fencepost` |
///
/// A line `//#use "path.wgsl"` of the shader appends another file of the package; the path is relative to the folder of
/// the file that has the line. A line `//#use name` appends the file `lib/name.wgsl` next to the shader, or a built-in
/// snippet. The text of `wgsl` uses files as a file in `shaders/` does. Each file is appended once. Files that use each
/// other are an error, and so is a file outside of the package, unless it is in the folder of a shader that is outside
/// too.
///
/// Names, types and access are compared with the shader when the struct is compiled. A difference is an error at the
/// field that shows both sides. If an alias hides the element type, a constant compares the types instead. If the
/// element type depends on a type parameter in another way, the check runs when the kernel is made.
#[proc_macro_derive(KernelArgs, attributes(kernel))]
pub fn kernel_args(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    expand::kernel_args(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Implements `Element` for a struct with `#[repr(C)]`, so that arrays of the device and parameters can hold it.
///
/// Its fields are elements too, and have the names of the members of the WGSL struct; a name that begins with `_` marks
/// padding. If a kernel's arguments name the struct, the two layouts are compared, number by number, when the program
/// is compiled. A difference is an error that names the member, both offsets, and the padding to add.
///
/// `#[element(crate = path)]` gives the path of the framework; by default `::fencepost`.
#[proc_macro_derive(Element, attributes(element))]
pub fn element(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    element::element(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
