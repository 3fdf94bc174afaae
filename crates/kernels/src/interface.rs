//! The interface between one entry point and the host.

use std::fmt;

use crate::{Layout, Messages, Warning};

/// Everything that the host must know about an entry point to launch it.
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    /// Name of the entry point; errors use this name for the kernel.
    pub entry: String,
    /// Invocations of one workgroup along each axis, with the overrides applied.
    pub workgroup: [u32; 3],
    /// Number of bytes of workgroup memory that it uses, each variable rounded up to 16 as WebGPU counts them, with the
    /// overrides applied.
    pub workgroup_memory: u64,
    /// Storage buffers, by ascending binding index. If there are [`messages`](Self::messages), the last one is their
    /// buffer, which is not an argument.
    pub bindings: Vec<Binding>,
    /// Uniform block with the parameters, if there is one.
    pub params: Option<Params>,
    /// Pipeline constants of the module.
    pub overrides: Vec<Override>,
    /// Optional features that a device must have for the module.
    pub needs: Needs,
    /// `true` if the entry point numbers its invocations with the snippet `linear`. Then a one-dimensional grid can be
    /// launched with two dimensions.
    pub folds: bool,
    /// Statements `print` and `assert`, if the entry point reaches one.
    pub messages: Option<Messages>,
    /// Parts of the entry point, and of the functions that it calls, that run here but that a browser refuses.
    pub warnings: Vec<Warning>,
}

/// A storage buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Name of the variable.
    pub name: String,
    /// The index of `@binding(index)`; the group is always 0.
    pub index: u32,
    /// Access of `var<storage, ...>`.
    pub declared: Access,
    /// Access that the entry point makes, through all functions that it calls; `None` if it accesses no element
    /// (`arrayLength` accesses none).
    pub used: Option<Access>,
    /// The whole type as WGSL text.
    pub text: String,
    /// Element type as WGSL text.
    pub element: String,
    /// Memory layout of an element; `None` if the host has no such type. `atomic<u32>` counts as `u32`.
    pub layout: Option<Layout<'static>>,
    /// Number of bytes from one element to the next.
    pub stride: u32,
    /// Minimum number of bytes to bind.
    pub min_size: u64,
    /// `true` if the length depends on the bound buffer, not on the type.
    pub runtime_sized: bool,
}

/// Use of a buffer by a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Read access.
    Read,
    /// Write access without reads. Elements that the kernel does not write are kept.
    Write,
    /// Read and write access, or atomic operations.
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

/// The uniform block `params`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Name of the variable.
    pub name: String,
    /// The index of `@binding(index)`.
    pub index: u32,
    /// Size of the block in bytes, padding included.
    pub size: u32,
    /// Members of the struct in order. A block that is not a struct has a single field.
    pub fields: Vec<ParamField>,
}

/// One member of the block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamField {
    /// Name of the member.
    pub name: String,
    /// Memory layout; `None` if the host has no such type.
    pub layout: Option<Layout<'static>>,
    /// Type as WGSL text.
    pub text: String,
    /// Number of bytes from the start of the block.
    pub offset: u32,
    /// Size of the member in bytes.
    pub size: u32,
}

/// A pipeline constant: `override NAME: type = default;`.
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    /// Key by which a pipeline sets the override: the name, or the number of `@id(n)` if it has one.
    pub name: String,
    /// Type as WGSL text.
    pub text: String,
    /// Default, if it is a plain number.
    pub default: Option<f64>,
}

/// Optional features of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// `true` for 16-bit floats.
    pub f16: bool,
    /// `true` for 64-bit floats.
    pub f64: bool,
    /// `true` for 64-bit integers.
    pub int64: bool,
    /// `true` for subgroup operations.
    pub subgroups: bool,
    /// `true` for atomic operations on 32-bit floats.
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

    /// Returns the storage buffers that are arguments: all but the buffer of the [`messages`](Self::messages).
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

/// One argument, by its position in the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// Position in [`Interface::bindings`].
    Buffer(usize),
    /// Position in [`Params::fields`].
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
