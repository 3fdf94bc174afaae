//! A program for an engine: its text, launch and data.

use std::fmt::Write as _;

use crate::data::{Element, fill};
use crate::parsed::{Lazy, Parsed};
use crate::tolerance::Tolerance;
use crate::tree::print::{declarations, functions, mentions};
use crate::tree::statement::Stmt;
use crate::tree::{Node, Tree, visit};

/// Name of each program's entry point.
pub const ENTRY: &str = "main";
/// Number of elements that an invocation writes to each plain output.
pub(crate) const SLOTS: u32 = 4;
/// Number of elements of each input.
pub(crate) const INPUTS: u32 = 24;

/// Operations on the shared atomics. Each element of the buffer has a single operation, because the result is
/// independent of the order only then.
const SHARED: [&str; 7] =
    ["atomicAdd", "atomicSub", "atomicMax", "atomicMin", "atomicAnd", "atomicOr", "atomicXor"];

/// Returns the element of the shared atomics that belongs to an operation.
pub(crate) fn shared_slot(operation: &str) -> usize {
    SHARED.iter().position(|known| *known == operation).unwrap_or(0)
}

/// Returns the operation at an index, modulo the number of operations.
pub(crate) fn shared_operation(at: usize) -> &'static str {
    SHARED[at % SHARED.len()]
}

/// Name of the buffer with the float that all invocations change.
const SHARED_FLOAT: &str = "shared_f";

/// A WGSL program with its launch and its data.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Seed of the program.
    pub seed: u64,
    /// WGSL text.
    pub text: String,
    /// Number of workgroups of the launch.
    pub groups: [u32; 3],
    /// Storage buffers, in the order of their bindings.
    pub buffers: Vec<Buffer>,
    /// Members of the uniform struct, by name; empty if the program has none.
    pub params: Vec<(&'static str, Param)>,
    pub(crate) lazy: Lazy,
}

/// A storage buffer with its initial contents.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Name of the variable.
    pub name: &'static str,
    /// Type of the elements.
    pub element: Element,
    /// `true` if the access is `read_write`.
    pub is_written: bool,
    /// Bits of the contents.
    pub words: Vec<u32>,
    /// Tolerance of comparisons between two engines.
    pub tolerance: Tolerance,
}

/// A member of the uniform struct.
#[derive(Clone, Copy, Debug)]
pub enum Param {
    /// `u32`.
    U32(u32),
    /// `i32`.
    I32(i32),
    /// `f32`.
    F32(f32),
    /// `vec4<u32>`.
    VectorU32([u32; 4]),
    /// `vec3<i32>`.
    VectorI32([i32; 3]),
    /// `vec2<f32>`.
    VectorF32([f32; 2]),
}

impl Param {
    /// Returns the bytes of the value.
    pub(crate) fn bytes(self) -> Vec<u8> {
        match self {
            Self::U32(value) => value.to_le_bytes().to_vec(),
            Self::I32(value) => value.to_le_bytes().to_vec(),
            Self::F32(value) => value.to_le_bytes().to_vec(),
            Self::VectorU32(value) => bytemuck::cast_slice(&value).to_vec(),
            Self::VectorI32(value) => bytemuck::cast_slice(&value).to_vec(),
            Self::VectorF32(value) => bytemuck::cast_slice(&value).to_vec(),
        }
    }
}

const PARAMS: &str =
    "struct Params { nu: u32, ni: i32, nf: f32, turns: u32, vu: vec4<u32>, vi: vec3<i32>, vf: vec2<f32> }\n";
const SWAP: &str = "compared: i32, value: i32) -> i32 {
    var old = 0i;
    loop {
        let result = atomicCompareExchangeWeak(&own[invocation], compared, value);
        old = result.old_value;
        if result.exchanged || result.old_value != compared { break; }
    }
    return old;
}
";

/// A buffer that a program may use.
struct Kind {
    name: &'static str,
    element: Element,
    is_written: bool,
    /// Elements per invocation; `None` if the buffer has a fixed length.
    of_invocation: Option<u32>,
    len: u32,
}

const fn input(name: &'static str, element: Element) -> Kind {
    Kind { name, element, is_written: false, of_invocation: None, len: INPUTS }
}

const fn output(name: &'static str, element: Element, slots: u32) -> Kind {
    Kind { name, element, is_written: true, of_invocation: Some(slots), len: 0 }
}

const BUFFERS: [Kind; 14] = [
    input("in_u", Element::U32),
    input("in_i", Element::I32),
    input("in_f", Element::F32),
    input("in_v", Element::VectorF32),
    input("in_s", Element::Item),
    output("out_u", Element::U32, SLOTS),
    output("out_i", Element::I32, SLOTS),
    output("out_f", Element::F32, SLOTS),
    output("out_s", Element::Item, 1),
    output("out_x", Element::F32, SLOTS),
    output("own", Element::AtomicI32, 1),
    Kind { name: "shared_u", element: Element::AtomicU32, is_written: true, of_invocation: None, len: 8 },
    output("own_f", Element::AtomicF32, 1),
    Kind { name: SHARED_FLOAT, element: Element::AtomicF32, is_written: true, of_invocation: None, len: 1 },
];

impl Program {
    /// Writes the program of a tree.
    pub(crate) fn new(seed: u64, tree: &Tree) -> Self {
        let mut body = functions(tree);
        if mentions(&body, "swap_own") {
            let number = if tree.has_privates { "" } else { "invocation: u32, " };
            body = format!("fn swap_own({number}{SWAP}{body}");
        }
        let invocations = tree.workgroup.iter().chain(&tree.groups).product::<u32>();
        let mut rng = fastrand::Rng::with_seed(tree.data_seed);
        let params = params(&mut rng, tree.is_portable);
        let mut bindings = String::new();
        let has_params = mentions(&body, "params");
        if has_params {
            bindings.push_str(PARAMS);
            bindings.push_str("@group(0) @binding(0) var<uniform> params: Params;\n");
        }
        let mut buffers = Vec::new();
        for (kind, at) in BUFFERS.iter().zip(1..) {
            let len = kind.of_invocation.map_or(kind.len, |slots| slots * invocations);
            // Sums with the shared float are exact.
            let words = fill(&mut rng, kind.element, len, tree.is_portable || kind.name == SHARED_FLOAT);
            if !mentions(&body, kind.name) {
                continue;
            }
            let access = if kind.is_written { "read_write" } else { "read" };
            let name = kind.name;
            let text = kind.element.text();
            let _ =
                writeln!(bindings, "@group(0) @binding({at}) var<storage, {access}> {name}: array<{text}>;");
            let tolerance = if name == "out_x" { tolerance(tree) } else { Tolerance::default() };
            buffers.push(Buffer {
                name,
                element: kind.element,
                is_written: kind.is_written,
                words,
                tolerance,
            });
        }
        let declared = declarations(tree, &format!("{bindings}{body}"));
        let params = if has_params { params } else { Vec::new() };
        let text = format!("{declared}{bindings}{body}");
        let text = if mentions(&text, "f16") { format!("enable f16;\n{text}") } else { text };
        Self { seed, text, groups: tree.groups, buffers, params, lazy: Lazy::default() }
    }

    /// Returns the parsed program for the engines on the CPU.
    ///
    /// # Errors
    /// The text is not valid WGSL.
    pub(crate) fn parsed(&self) -> Result<&Parsed, String> {
        self.lazy.get(&self.text)
    }
}

fn params(rng: &mut fastrand::Rng, is_portable: bool) -> Vec<(&'static str, Param)> {
    let mut word = |element| fill(rng, element, 1, is_portable)[0];
    vec![
        ("nu", Param::U32(word(Element::U32))),
        ("ni", Param::I32(word(Element::I32).cast_signed())),
        ("nf", Param::F32(f32::from_bits(word(Element::F32)))),
        ("turns", Param::U32(word(Element::U32) % 6)),
        ("vu", Param::VectorU32([(); 4].map(|()| word(Element::U32)))),
        ("vi", Param::VectorI32([(); 3].map(|()| word(Element::I32).cast_signed()))),
        ("vf", Param::VectorF32([(); 2].map(|()| f32::from_bits(word(Element::F32))))),
    ]
}

/// Returns the tolerance of the output of inexact functions: the widest tolerance in each slot.
fn tolerance(tree: &Tree) -> Tolerance {
    let mut found = Tolerance::default();
    let mut tree = tree.clone();
    visit::lists(&mut tree, &mut |body| {
        for stmt in body.iter() {
            if let Stmt::Assign(_, _, value) = stmt
                && let Node::Builtin(name, _) = &value.node
                && let Some(of) = Tolerance::of(name)
            {
                found = found.or(of);
            }
        }
    });
    found
}
