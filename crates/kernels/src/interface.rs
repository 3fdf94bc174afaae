//! What one entry point wants from the host.

use std::fmt;

use crate::Layout;

/// Everything the host must know of one entry point to launch it.
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    /// The entry point's name; errors call the kernel by it.
    pub entry: String,
    /// Invocations of one workgroup, with the overrides applied.
    pub workgroup: [u32; 3],
    /// Bytes of workgroup memory that it uses, each variable rounded up to 16 as WebGPU counts them, with the
    /// overrides applied.
    pub workgroup_memory: u64,
    /// The storage buffers, by rising binding index.
    pub bindings: Vec<Binding>,
    /// The uniform block that carries the values, if there is one.
    pub params: Option<Params>,
    /// The module's pipeline constants.
    pub overrides: Vec<Override>,
    /// Optional abilities of a device without which the module is refused.
    pub needs: Needs,
    /// Whether the entry point numbers its invocations as the snippet `linear` does, so that a grid of one dimension may come
    /// as one of two.
    pub folds: bool,
}

/// One storage buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The variable's name.
    pub name: String,
    /// `@binding(index)`; the group is always 0.
    pub index: u32,
    /// What `var<storage, ...>` says.
    pub declared: Access,
    /// What the entry point does to the data, through all functions it calls; `None` if it
    /// touches none of it (`arrayLength` touches none).
    pub used: Option<Access>,
    /// The whole type as WGSL text.
    pub text: String,
    /// The element type as WGSL text.
    pub element: String,
    /// How an element lies in memory; `None` if the host has no such type. `atomic<u32>` counts as `u32`.
    pub layout: Option<Layout<'static>>,
    /// Bytes from one element to the next.
    pub stride: u32,
    /// Bytes that must be bound at least.
    pub min_size: u64,
    /// Whether the length is the bound buffer's, and not the type's.
    pub runtime_sized: bool,
}

/// How a buffer is used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Only read.
    Read,
    /// Only written: no earlier value is looked at, but elements that are not written keep theirs.
    Write,
    /// Both; atomic operations are both.
    ReadWrite,
}

impl Access {
    /// Whether earlier values are looked at.
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadWrite)
    }

    /// Whether values may change.
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
    /// The variable's name.
    pub name: String,
    /// `@binding(index)`.
    pub index: u32,
    /// Bytes of the block, padding included.
    pub size: u32,
    /// The struct's members in order.
    pub fields: Vec<ParamField>,
}

/// One member of the block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamField {
    /// The member's name.
    pub name: String,
    /// How it lies in memory; `None` if the host has no such type.
    pub layout: Option<Layout<'static>>,
    /// Its type as WGSL text.
    pub text: String,
    /// Bytes from the start of the block.
    pub offset: u32,
    /// Bytes of the member.
    pub size: u32,
}

/// A pipeline constant: `override NAME: type = default;`.
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    /// The name, or the number of `@id(n)` if it has one: the key by which a pipeline sets it.
    pub name: String,
    /// Its type as WGSL text.
    pub text: String,
    /// Its default where that is a plain number.
    pub default: Option<f64>,
}

/// Optional abilities of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// 16-bit floats.
    pub f16: bool,
    /// 64-bit floats.
    pub f64: bool,
    /// 64-bit integers.
    pub int64: bool,
    /// Subgroup operations.
    pub subgroups: bool,
    /// Atomic operations on 32-bit floats.
    pub float32_atomics: bool,
}

impl Interface {
    /// The names of all arguments in positional order: bindings by index, with the block's members in its place.
    pub fn argument_names(&self) -> impl Iterator<Item = &str> {
        self.arguments().map(|argument| match argument {
            Argument::Buffer(at) => self.bindings[at].name.as_str(),
            Argument::Value(at) => self.fields()[at].name.as_str(),
        })
    }

    /// How an element or the value of the argument of that name lies in memory, if the host has such a type.
    pub fn layout_of(&self, name: &str) -> Option<&Layout<'static>> {
        let binding =
            self.bindings.iter().find(|binding| binding.name == name).map(|binding| &binding.layout);
        let field = || self.fields().iter().find(|field| field.name == name).map(|field| &field.layout);
        binding.or_else(field)?.as_ref()
    }

    /// All arguments in positional order.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = Argument> + use<> {
        let at = self.params.as_ref().map_or(0, |p| p.index);
        let before = self.bindings.iter().take_while(|b| b.index < at).count();
        let buffers = self.bindings.len();
        let values = self.fields().len();
        (0..before)
            .map(Argument::Buffer)
            .chain((0..values).map(Argument::Value))
            .chain((before..buffers).map(Argument::Buffer))
    }

    /// The members of the block; empty without one.
    pub(crate) fn fields(&self) -> &[ParamField] {
        self.params.as_ref().map_or(&[], |p| &p.fields)
    }
}

/// One argument as the shader counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// A position in [`Interface::bindings`].
    Buffer(usize),
    /// A position in [`Params::fields`].
    Value(usize),
}

impl Binding {
    /// The declaration as the shader has it.
    pub fn declaration(&self) -> String {
        format!("`var<storage, {}> {}: {}`", self.declared, self.name, self.text)
    }
}

impl ParamField {
    /// The declaration as the shader has it.
    pub fn declaration(&self) -> String {
        format!("`{}: {}` in its parameters", self.name, self.text)
    }
}
