//! Kernels: WGSL sources, reflection, typed arguments and CPU references.
//!
//! - [`ShaderSource`] finds a shader, sets its `alias T`, and appends the snippets of its `//#use name` lines.
//! - [`Module`] parses it with naga and reads the [`Interface`] of an entry point: bindings with the access that the
//!   entry point makes, parameters with their offsets, overrides, workgroup size.
//! - [`KernelArgs`] (derived) or [`args!`] describe the arguments of the host; [`check()`] and [`check_dyn`] compare
//!   them with the interface and return the [`ArgumentSlots`] with which a [`Binder`] places each argument.
//! - [`reference()`] gives the plain sequential Rust function of a built-in shader, as a [`HostKernel`].
//!
//! This crate uses naga, but no device.
//!
//! # Writing a kernel
//! `shaders/` has one kernel a file. The entry point has the name of the file, and uses group 0 only. Values are the
//! members of one uniform struct; arrays are storage buffers with the names of the host's fields. A kernel for several
//! element types has one line `alias T = f32;`, which makes it valid as it is. Shared functions are in `shaders/lib`.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod agree;
mod aliasing;
mod alignment;
mod args;
mod check;
mod comments;
mod continuing;
mod directives;
mod dtype;
mod element;
mod entry_points;
mod error;
mod folds;
mod grammar;
mod immediate_block;
mod inlined;
mod integer_polyfills;
mod interface;
mod layout;
mod messages;
mod naga_guard;
mod nested_switches;
mod nesting;
mod override_mistake;
mod overrides;
mod parser_words;
mod part;
#[doc(hidden)]
pub mod plain_file;
mod polyfills;
mod reach;
mod reference;
mod reflect;
#[doc(hidden)]
pub mod report;
mod returns;
mod several;
mod shader_language;
mod shader_layout;
mod snippets;
mod source;
mod spirv;
mod splice;
mod stack;
mod storage_access;
mod tokens;
mod trusted;
mod type_place;
mod types;
mod uniformity;
mod use_lines;
mod variables;
mod visit;
mod wording;

pub use agree::{Text, buffer_mismatch, value_mismatch};
pub use args::{
    ArgField, ArgKind, Binder, BufferArg, DynArg, EntryPoints, IntoArg, KernelArgs, KernelFamily, NamedArg,
    NamedValue, Returns, TypedBuffer, Value,
};
pub use check::{
    ArgumentSlot, ArgumentSlots, check, check_access, check_argument, check_complete, check_dyn,
};
pub use dtype::{DType, FieldType, Scalar, StructType};
pub use element::{ComplexNumber, Element, Number, Param, SameBits};
pub use error::{Error, Excerpt, Names, Result, Warning};
#[doc(hidden)]
pub use immediate_block::with_uniform_block;
pub use interface::{Access, Binding, Interface, Needs, Override, ParamField, Params};
pub use layout::ParamsBlock;
pub use messages::Messages;
pub use messages::records::{AssertionFailure, MessageReport, PrintedLine};
pub use naga_guard::{NagaPanic, catch_naga_panic};
#[doc(hidden)]
pub use nesting::NESTING_ADVICE;
#[doc(hidden)]
pub use parser_words::is_reserved_word;
#[doc(hidden)]
pub use part::PART_COUNT;
pub use reference::{HostBuffer, HostKernel, reference, reference_of};
pub use reflect::{Entry, Module, SourceMap};
#[doc(hidden)]
pub use returns::with_final_returns;
pub use several::{check_declared, check_each};
pub use shader_language::{ShaderLanguage, legalize};
pub use shader_layout::{Dim, Layout, Leaf};
#[doc(hidden)]
pub use snippets::snippets;
pub use source::{ShaderSource, builtins};
#[doc(hidden)]
pub use stack::{calling_thread, on_compiler_stack, on_stack_of};
#[doc(hidden)]
pub use storage_access::with_writable_storage;
pub use trusted::{Trust, TrustedKernel, trust_of, trusted_kernels};

/// Items used by the code that `#[derive(KernelArgs)]` generates. The facade re-exports this module.
#[doc(hidden)]
pub mod __private {
    pub use crate::{
        ArgField, ArgKind, Binder, BufferArg, DType, Dim, DynArg, Element, EntryPoints, FieldType, IntoArg,
        KernelArgs, KernelFamily, Layout, Leaf, Param, Result, Returns, Scalar, ShaderSource, StructType,
        Text, TypedBuffer, Value, buffer_mismatch, value_mismatch,
    };
    pub use std::borrow::Cow;
    pub use std::vec::Vec;

    /// Returns the type of an array's elements.
    pub const fn dtype_of<A: TypedBuffer>() -> DType {
        <A::Element as Element>::DTYPE
    }

    /// Returns the type of a parameter.
    pub const fn dtype_of_value<T: Param>() -> DType {
        T::TYPE
    }

    /// Passes an array to `binder`.
    pub fn bind_buffer<B: Binder + ?Sized, A: TypedBuffer>(binder: &mut B, buffer: &A) {
        binder.buffer(buffer);
    }

    /// Passes a parameter to `binder`.
    pub fn bind_value<B: Binder + ?Sized, T: Param>(binder: &mut B, value: &T) {
        value.with_bytes(|bytes| binder.value(bytes));
    }
}
