//! Decodes the functions of a program into instructions, once, before the first run.

mod access;
mod call;
mod constant;
mod expression;
mod function;
mod math;
mod refusal;
mod statement;

use super::op::{Code, Origin};
use super::shape::{Run, Shapes};
use crate::error::Result;
use crate::program::Program;
use function::FunctionDecoder;
use naga::{AddressSpace, BuiltIn, GlobalVariable, Handle, Span, TypeInner};
use rustc_hash::FxHashMap;

/// Maximum number of slots of an invocation.
pub(super) const STACK: usize = 1 << 22;

/// Maximum number of slots of all invocations of a workgroup.
const WORKGROUP: usize = 1 << 25;

/// Slot of a built-in value of the entry point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input {
    pub(super) builtin: BuiltIn,
    pub(super) slot: usize,
}

/// A program as instructions.
pub(super) struct Decoded {
    /// Functions, of which the entry point is the last.
    pub(super) functions: Vec<Code>,
    /// Shapes of loads and stores, by number.
    pub(super) shapes: Vec<Vec<Run>>,
    /// Built-in values that the entry point takes.
    pub(super) inputs: Vec<Input>,
    /// First values of the private variables.
    pub(super) private: Vec<u64>,
    /// Workgroup variables, each with its offset.
    pub(super) workgroup_variables: Vec<(u64, Handle<GlobalVariable>)>,
    /// Size of the workgroup variables in bytes.
    pub(super) workgroup_bytes: u64,
    /// Number of slots of an invocation.
    pub(super) stack: usize,
    /// `true` if invocations may wait for each other.
    pub(super) waits: bool,
}

/// Place of a variable of the module.
#[derive(Clone, Copy, Debug)]
enum Global {
    /// Region and a byte in it.
    Region(u16, u64),
    /// First slot of a private variable.
    Private(u64),
}

/// Decoder of the functions of a program.
struct Decoder<'p> {
    program: &'p Program,
    shapes: Shapes<'p>,
    constants: constant::Constants,
    globals: FxHashMap<Handle<GlobalVariable>, Global>,
    runs: Vec<Vec<Run>>,
    /// Functions decoded so far; an error for each unsupported function.
    functions: Vec<Result<Code>>,
}

/// Decodes a program.
///
/// # Errors
/// [`Error::Unsupported`](crate::Error::Unsupported), with the line.
pub(super) fn decode(program: &Program) -> Result<Decoded> {
    let module = program.module();
    let shapes = Shapes::new(module);
    let constants = constant::of_module(module, &shapes);
    let mut decoder = Decoder {
        program,
        shapes,
        constants,
        globals: FxHashMap::default(),
        runs: Vec::new(),
        functions: Vec::new(),
    };
    let private = decoder.place_private()?;
    let workgroup_bytes = decoder.place_memory();
    for (handle, function) in module.functions.iter() {
        let code = FunctionDecoder::new(&mut decoder, function, &program.info()[handle]).decode();
        decoder.functions.push(code);
    }
    let entry = &program.entry().function;
    let info = program.info().get_entry_point(program.entry_index());
    let code = FunctionDecoder::new(&mut decoder, entry, info).decode()?;
    let inputs = decoder.inputs()?;
    decoder.finish(code, inputs, private, workgroup_bytes)
}

impl Decoder<'_> {
    /// Reserves slots for each private variable, and returns their first values.
    fn place_private(&mut self) -> Result<Vec<u64>> {
        let module = self.program.module();
        let mut values = Vec::new();
        let uses = self.program.info().get_entry_point(self.program.entry_index());
        for (handle, variable) in module.global_variables.iter() {
            if variable.space != AddressSpace::Private || uses[handle].is_empty() {
                continue;
            }
            let span = module.global_variables.get_span(handle);
            let Some(slots) = self.shapes.slots_of(variable.ty) else {
                let what = refusal::of_type(module, &module.types[variable.ty].inner);
                return Err(self.program.unsupported(what, span));
            };
            if values.len() + slots as usize > STACK {
                let what = format!("a kernel whose private variables have more than {STACK} words");
                return Err(self.program.unsupported(what, span));
            }
            self.globals.insert(handle, Global::Private(values.len() as u64));
            let init = variable.init.map(|init| self.constants[init.index()].clone());
            match init {
                None => values.extend(std::iter::repeat_n(0, slots as usize)),
                Some(Some(init)) => values.extend_from_slice(&init),
                Some(None) => return Err(self.program.unsupported("this first value", span)),
            }
        }
        Ok(values)
    }

    /// Assigns regions to the other variables, and returns the bytes of the variables of a workgroup.
    fn place_memory(&mut self) -> u64 {
        let module = self.program.module();
        let buffers = self.program.buffers();
        for (region, &handle) in buffers.iter().enumerate() {
            if let Some(handle) = handle {
                self.globals.insert(handle, Global::Region(region as u16, 0));
            }
        }
        if let Some(handle) = self.program.params() {
            self.globals.insert(handle, Global::Region(buffers.len() as u16, 0));
        }
        let uses = self.program.info().get_entry_point(self.program.entry_index());
        let mut bytes = 0_u64;
        for (handle, variable) in module.global_variables.iter() {
            if variable.space == AddressSpace::WorkGroup && !uses[handle].is_empty() {
                self.globals.insert(handle, Global::Region(buffers.len() as u16 + 1, bytes));
                bytes += u64::from(self.program.layouter()[variable.ty].size).next_multiple_of(16);
            }
        }
        bytes
    }

    /// Lists the built-in values that the entry point takes.
    fn inputs(&self) -> Result<Vec<Input>> {
        let module = self.program.module();
        let mut inputs = Vec::new();
        let mut slot = 0;
        for argument in &self.program.entry().function.arguments {
            let members = match &module.types[argument.ty].inner {
                TypeInner::Struct { members, .. } if argument.binding.is_none() => {
                    members.iter().map(|member| (&member.binding, member.ty)).collect()
                }
                _ => vec![(&argument.binding, argument.ty)],
            };
            for (binding, ty) in members {
                let Some(naga::Binding::BuiltIn(builtin)) = *binding else {
                    return Err(self
                        .program
                        .unsupported("an argument that is not a built-in value", Span::UNDEFINED));
                };
                if !crate::interpret::builtin::is_known(builtin) {
                    return Err(self
                        .program
                        .unsupported(format!("the built-in value {builtin:?}"), Span::UNDEFINED));
                }
                inputs.push(Input { builtin, slot });
                slot += self.shapes.slots_of(ty).unwrap_or(0) as usize;
            }
        }
        Ok(inputs)
    }

    /// Puts the functions together. Functions that the entry point does not call may be unsupported.
    fn finish(
        mut self,
        entry: Code,
        inputs: Vec<Input>,
        private: Vec<u64>,
        workgroup_bytes: u64,
    ) -> Result<Decoded> {
        self.functions.push(Ok(entry));
        let functions: Vec<Code> =
            self.functions.into_iter().map(|code| code.unwrap_or_else(|_| empty())).collect();
        // Callees have smaller numbers than their callers.
        let mut stacks = Vec::new();
        let mut waits = Vec::new();
        for code in &functions {
            let below = code.calls.iter().map(|&callee| stacks[callee]).max().unwrap_or(0);
            stacks.push(below + code.constants.len() + code.frame);
            waits.push(code.waits() || code.calls.iter().any(|&callee| waits[callee]));
        }
        let stack = stacks.last().copied().unwrap_or(0);
        let waits = waits.last() == Some(&true);
        let stack = stack + private.len();
        if stack > STACK {
            let what =
                format!("an invocation with {stack} words of variables and values (the most is {STACK})");
            return Err(self.program.unsupported(what, Span::UNDEFINED));
        }
        let together =
            if waits { self.program.workgroup().iter().map(|&count| count as usize).product() } else { 1 };
        if stack.saturating_mul(together) > WORKGROUP {
            let what = format!("a workgroup with {together} times {stack} words (the most is {WORKGROUP})");
            return Err(self.program.unsupported(what, Span::UNDEFINED));
        }
        let workgroup = self.program.buffers().len() as u16 + 1;
        let mut workgroup_variables: Vec<_> = self
            .globals
            .iter()
            .filter_map(|(&handle, global)| match *global {
                Global::Region(region, byte) if region == workgroup => Some((byte, handle)),
                _ => None,
            })
            .collect();
        workgroup_variables.sort_unstable_by_key(|&(byte, handle)| (byte, handle.index()));
        Ok(Decoded {
            functions,
            shapes: self.runs,
            inputs,
            private,
            workgroup_variables,
            workgroup_bytes,
            stack,
            waits,
        })
    }
}

/// Returns a placeholder for a function that does not run.
fn empty() -> Code {
    let origin = Origin { expression: None, span: Span::UNDEFINED };
    let ops = vec![super::op::Op::Return { from: 0, count: 0 }];
    Code { ops, origins: vec![origin], constants: Vec::new(), frame: 0, calls: Vec::new() }
}
