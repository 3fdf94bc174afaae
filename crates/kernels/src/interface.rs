//! The interface between one entry point and the host.

use std::fmt;

use crate::{Layout, Messages, Warning};

/// Describes everything that the host must know of one entry point to launch it.
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    /// Names the entry point; errors use this name for the kernel.
    pub entry: String,
    /// Counts the invocations of one workgroup along each axis, with the overrides applied.
    pub workgroup: [u32; 3],
    /// Counts the bytes of workgroup memory that it uses, each variable rounded up to 16 as WebGPU counts them, with
    /// the overrides applied.
    pub workgroup_memory: u64,
    /// Lists the storage buffers, by rising binding index. If there are [`messages`](Self::messages), the last one is their
    /// buffer, which is no argument.
    pub bindings: Vec<Binding>,
    /// Describes the uniform block that carries the values, if there is one.
    pub params: Option<Params>,
    /// Lists the module's pipeline constants.
    pub overrides: Vec<Override>,
    /// Lists the optional features that a device must have for the module.
    pub needs: Needs,
    /// Is `true` if the entry point numbers its invocations as the snippet `linear` does. A grid of one dimension can
    /// then be launched as a grid of two.
    pub folds: bool,
    /// Describes the statements `print` and `assert`, if the entry point reaches one.
    pub messages: Option<Messages>,
    /// Parts of the text that run here and that a browser refuses, in the entry point and what it calls.
    pub warnings: Vec<Warning>,
}

/// Describes one storage buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Names the variable.
    pub name: String,
    /// Holds `@binding(index)`; the group is always 0.
    pub index: u32,
    /// Holds the access of `var<storage, ...>`.
    pub declared: Access,
    /// Holds the access that the entry point makes, through all functions that it calls; `None` if it accesses no
    /// element (`arrayLength` accesses none).
    pub used: Option<Access>,
    /// Holds the whole type as WGSL text.
    pub text: String,
    /// Holds the element type as WGSL text.
    pub element: String,
    /// Describes the memory layout of an element; `None` if the host has no such type. `atomic<u32>` counts as `u32`.
    pub layout: Option<Layout<'static>>,
    /// Counts the bytes from one element to the next.
    pub stride: u32,
    /// Counts the bytes that must be bound at least.
    pub min_size: u64,
    /// Is `true` if the bound buffer sets the length, and not the type.
    pub runtime_sized: bool,
}

/// Names the use of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// The kernel only reads the buffer.
    Read,
    /// The kernel only writes the buffer: it reads no earlier value, and elements that it does not write keep theirs.
    Write,
    /// The kernel reads and writes the buffer; an atomic operation does both.
    ReadWrite,
}

impl Access {
    /// Returns `true` if earlier values are read.
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadWrite)
    }

    /// Returns `true` if values may change.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::ReadWrite)
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::ReadWrite => "read_write",
        })
    }
}

/// Describes the uniform block `params`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Names the variable.
    pub name: String,
    /// Holds `@binding(index)`.
    pub index: u32,
    /// Counts the bytes of the block, padding included.
    pub size: u32,
    /// Lists the struct's members in order. A block that is no struct is its one field.
    pub fields: Vec<ParamField>,
}

/// Describes one member of the block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamField {
    /// Names the member.
    pub name: String,
    /// Describes its memory layout; `None` if the host has no such type.
    pub layout: Option<Layout<'static>>,
    /// Holds its type as WGSL text.
    pub text: String,
    /// Counts the bytes from the start of the block.
    pub offset: u32,
    /// Counts the bytes of the member.
    pub size: u32,
}

/// Describes a pipeline constant: `override NAME: type = default;`.
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    /// Holds the key by which a pipeline sets the override: the name, or the number of `@id(n)` if it has one.
    pub name: String,
    /// Holds its type as WGSL text.
    pub text: String,
    /// Holds its default if that is a plain number.
    pub default: Option<f64>,
}

/// Lists optional features of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Is `true` for 16-bit floats.
    pub f16: bool,
    /// Is `true` for 64-bit floats.
    pub f64: bool,
    /// Is `true` for 64-bit integers.
    pub int64: bool,
    /// Is `true` for subgroup operations.
    pub subgroups: bool,
    /// Is `true` for atomic operations on 32-bit floats.
    pub float32_atomics: bool,
}

impl Interface {
    /// Returns the names of all arguments in positional order: bindings by index, with the block's members at its
    /// position.
    pub fn argument_names(&self) -> impl Iterator<Item = &str> {
        self.arguments().map(|argument| match argument {
            Argument::Buffer(at) => self.bindings[at].name.as_str(),
            Argument::Value(at) => self.fields()[at].name.as_str(),
        })
    }

    /// Returns the storage buffers that are arguments: all but that of the [`messages`](Self::messages).
    pub fn array_bindings(&self) -> &[Binding] {
        &self.bindings[..self.bindings.len() - usize::from(self.messages.is_some())]
    }

    /// Returns the memory layout of the element or value of the argument of that name, if the host has such a type.
    pub fn layout_of(&self, name: &str) -> Option<&Layout<'static>> {
        let binding =
            self.array_bindings().iter().find(|binding| binding.name == name).map(|binding| &binding.layout);
        let field = || self.fields().iter().find(|field| field.name == name).map(|field| &field.layout);
        binding.or_else(field)?.as_ref()
    }

    /// Returns all arguments in positional order.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = Argument> + use<> {
        let at = self.params.as_ref().map_or(0, |p| p.index);
        let before = self.bindings.iter().take_while(|b| b.index < at).count();
        let buffers = self.array_bindings().len();
        let values = self.fields().len();
        (0..before)
            .map(Argument::Buffer)
            .chain((0..values).map(Argument::Value))
            .chain((before..buffers).map(Argument::Buffer))
    }

    /// Returns the members of the block; none without a block.
    pub(crate) fn fields(&self) -> &[ParamField] {
        self.params.as_ref().map_or(&[], |p| &p.fields)
    }
}

/// Names one argument by the shader's count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// Holds a position in [`Interface::bindings`].
    Buffer(usize),
    /// Holds a position in [`Params::fields`].
    Value(usize),
}

impl Binding {
    /// Returns the declaration as it stands in the shader.
    pub fn declaration(&self) -> String {
        format!("`var<storage, {}> {}: {}`", self.declared, self.name, self.text)
    }
}

impl ParamField {
    /// Returns the declaration as it stands in the shader.
    pub fn declaration(&self) -> String {
        format!("`{}: {}` in its parameters", self.name, self.text)
    }
}
