//! The state that all functions of one program share while they are translated.

use super::layout::Types;
use super::listing::Listing;
use super::refusal::{NotCompiled, Result, refuse};
use crate::program::Program;
use cranelift_codegen::ir::{AbiParam, Signature, types};
use cranelift_codegen::settings::{self, Configurable};
#[cfg(not(windows))]
use cranelift_jit::ArenaMemoryProvider;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module as _, default_libcall_names};
use naga::valid::FunctionInfo;
use naga::{AddressSpace, Function, GlobalVariable, Handle, TypeInner};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Maximum size of variables on the stack, summed over all functions of a program. There is no recursion.
pub(super) const MOST_STACK_BYTES: u32 = 64 << 10;

/// Maximum stack size of the frames of all functions of a program together: a quarter of the default stack of a Rust
/// thread.
const MOST_FRAME_BYTES: u32 = 512 << 10;

/// Stack bytes for a return address and saved registers.
const CALL_BYTES: u32 = 128;

/// Maximum size of the memory of a workgroup, and of the memory of its invocations.
pub(super) const MOST_MEMORY_BYTES: u32 = 64 << 20;

/// Addresses reserved for the functions of a program. Only the pages that contain code become memory.
#[cfg(not(windows))]
const RESERVED_BYTES: usize = 64 << 20;
#[cfg(not(windows))]
const _: () = assert!(RESERVED_BYTES < 128 << 20, "a call reaches 128 MiB on ARM");

/// Maximum number of expressions of a program, because compile time grows faster than their number.
pub(super) const MOST_EXPRESSIONS: usize = 20_000;

/// Machine code under construction, the functions still to be translated, and the places of variables.
pub(super) struct Shared<'m> {
    pub(super) program: &'m Program,
    pub(super) types: Types<'m>,
    /// Number of invocations that execute together.
    pub(super) lanes: u32,
    pub(super) jit: JITModule,
    /// Sizes of the functions of the kernel, in the order of their handles.
    pub(super) traits: Vec<super::call::Traits>,
    functions: FxHashMap<Handle<Function>, FuncId>,
    /// Functions that were called and are not translated yet.
    pub(super) waiting: Vec<(Handle<Function>, FuncId)>,
    /// Tables of constants, at the addresses that the code contains.
    pub(super) tables: Vec<Box<[u32]>>,
    /// Calls of built-in functions, at the addresses that the code contains.
    pub(super) calls: Vec<Arc<super::helper::Call>>,
    pub(super) stack_bytes: u32,
    /// Offsets of the variables of a workgroup in its memory.
    pub(super) workgroup_offsets: FxHashMap<Handle<GlobalVariable>, u32>,
    pub(super) workgroup_bytes: u32,
    /// Offsets of the private variables in the memory of an invocation.
    pub(super) private_offsets: FxHashMap<Handle<GlobalVariable>, u32>,
    pub(super) invocation_bytes: u32,
    /// Number of adjacent copies of each word in the memory of invocations, one for each invocation.
    pub(super) columns: u32,
    /// Bytes of a component in the memory of several lanes: 4, or 8 if the program has 64-bit numbers.
    pub(super) cell: u32,
    /// Stack size of one call of each function, summed.
    frame_bytes: u32,
    /// `true` if the code has a loop that some lanes may leave before others.
    pub(super) diverges: bool,
    /// Number of inlined calls around the current place, in code for several lanes.
    pub(super) nested: usize,
    /// `true` if the processor has an instruction that selects between the words of two vectors.
    pub(super) blends: bool,
    /// Number of blocks that are skipped if no lane executes them.
    pub(super) skipped: usize,
    /// Code as text, if it was requested.
    pub(super) listing: Option<Listing>,
}

impl<'m> Shared<'m> {
    pub(super) fn new(program: &'m Program, lanes: u32, has_barriers: bool) -> Result<Self> {
        let types = Types::new(program);
        let module = program.module();
        let functions = module.functions.iter().map(|(_, function)| function);
        let functions = functions.chain([&program.entry().function]);
        if functions.map(|function| function.expressions.len()).sum::<usize>() > MOST_EXPRESSIONS {
            return refuse(format!("more than {MOST_EXPRESSIONS} expressions"));
        }
        let columns = if has_barriers { program.workgroup().iter().product() } else { lanes };
        let mut shared = Self {
            program,
            types,
            lanes,
            jit: jit()?,
            traits: super::call::traits(program.module()),
            functions: FxHashMap::default(),
            waiting: Vec::new(),
            tables: Vec::new(),
            calls: Vec::new(),
            stack_bytes: 0,
            workgroup_offsets: FxHashMap::default(),
            workgroup_bytes: 0,
            private_offsets: FxHashMap::default(),
            invocation_bytes: 0,
            columns,
            cell: if has_wide_numbers(program) { 8 } else { 4 },
            frame_bytes: 0,
            diverges: false,
            nested: 0,
            blends: blends(),
            skipped: 0,
            listing: Listing::wanted(),
        };
        shared.place_variables()?;
        Ok(shared)
    }

    /// Adds the stack bytes of a function to the total.
    pub(super) fn add_frame(&mut self, bytes: u32) -> Result<()> {
        self.frame_bytes = self.frame_bytes.saturating_add(bytes).saturating_add(CALL_BYTES);
        if self.frame_bytes > MOST_FRAME_BYTES {
            return refuse("more values than the stack of a thread holds");
        }
        Ok(())
    }

    /// Assigns offsets to the variables of a workgroup and of an invocation.
    fn place_variables(&mut self) -> Result<()> {
        let program = self.program;
        let uses = program.info().get_entry_point(program.entry_index());
        for (handle, variable) in program.module().global_variables.iter() {
            if uses[handle].is_empty() {
                continue;
            }
            let size = self.types.size(variable.ty);
            match variable.space {
                AddressSpace::WorkGroup => {
                    let offset = reserve(&mut self.workgroup_bytes, size)?;
                    self.workgroup_offsets.insert(handle, offset);
                }
                AddressSpace::Private => {
                    let size = if self.lanes == 1 {
                        size
                    } else {
                        let count = self.types.count(self.types.inner(variable.ty))?;
                        u32::try_from(count).unwrap_or(u32::MAX).saturating_mul(self.cell)
                    };
                    let offset = reserve(&mut self.invocation_bytes, size)?;
                    self.private_offsets.insert(handle, offset);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the Cranelift function for a function of the kernel, which is translated later.
    pub(super) fn function(&mut self, handle: Handle<Function>) -> Result<FuncId> {
        if let Some(&id) = self.functions.get(&handle) {
            return Ok(id);
        }
        let signature = self.signature(&self.program.module().functions[handle])?;
        let id = self.jit.declare_anonymous_function(&signature).map_err(failed)?;
        self.functions.insert(handle, id);
        self.waiting.push((handle, id));
        Ok(id)
    }

    /// Returns the signature of a function: the context, the memory of the invocation, and the components of the
    /// arguments.
    pub(super) fn signature(&self, function: &Function) -> Result<Signature> {
        let mut signature = self.jit.make_signature();
        signature.params.extend([AbiParam::new(types::I64); 2]);
        for argument in &function.arguments {
            match self.types.inner(argument.ty) {
                TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. } => {
                    signature.params.push(AbiParam::new(types::I64));
                }
                inner => {
                    let leaves = self.types.leaves(inner)?;
                    signature.params.extend(leaves.iter().map(|leaf| AbiParam::new(leaf.kind.ir())));
                }
            }
        }
        if let Some(result) = &function.result {
            let leaves = self.types.leaves(self.types.inner(result.ty))?;
            signature.returns.extend(leaves.iter().map(|leaf| AbiParam::new(leaf.kind.ir())));
        }
        Ok(signature)
    }

    /// Keeps a table of constants as long as the code, and returns its address.
    pub(super) fn table(&mut self, words: impl Iterator<Item = u32>) -> i64 {
        let words: Box<[u32]> = words.collect();
        if let Some(known) = self.tables.iter().find(|table| **table == words) {
            return known.as_ptr() as i64;
        }
        let address = words.as_ptr() as i64;
        self.tables.push(words);
        address
    }
}

/// Reserves memory after the memory reserved so far, and returns its offset.
pub(super) fn reserve(bytes: &mut u32, size: u32) -> Result<u32> {
    let start = *bytes;
    match start.checked_add(size).and_then(|end| end.checked_next_multiple_of(16)) {
        Some(end) if end <= MOST_MEMORY_BYTES => *bytes = end,
        _ => return refuse("more memory than a thread has for a workgroup"),
    }
    Ok(start)
}

/// Returns `true` if a value or a variable of a program contains 64-bit numbers.
fn has_wide_numbers(program: &Program) -> bool {
    let module = program.module();
    let is_wide = |inner: &TypeInner| match inner {
        TypeInner::Atomic(scalar) => scalar.width == 8,
        inner => inner.scalar_width() == Some(8),
    };
    let in_function = |function: &Function, info: &FunctionInfo| {
        function.expressions.iter().any(|(it, _)| is_wide(info[it].ty.inner_with(&module.types)))
    };
    let entry = program.info().get_entry_point(program.entry_index());
    module.types.iter().any(|(_, ty)| is_wide(&ty.inner))
        || in_function(&program.entry().function, entry)
        || module.functions.iter().any(|(at, function)| in_function(function, &program.info()[at]))
}

/// Returns `true` if the processor has an instruction that selects between the words of two vectors.
fn blends() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("sse4.1");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Creates an empty module for machine code of this processor.
fn jit() -> Result<JITModule> {
    let mut flags = settings::builder();
    let settings = [
        ("opt_level", "speed"),
        // The verifier refuses wrong code instead of executing it.
        ("enable_verifier", "true"),
        // A large frame touches each of its pages, so that a stack overflow is detected.
        ("enable_probestack", "true"),
        ("probestack_strategy", "inline"),
        ("enable_multi_ret_implicit_sret", "true"),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
    ];
    for (name, value) in settings {
        flags.set(name, value).map_err(failed)?;
    }
    let isa = cranelift_native::builder().map_err(failed)?;
    let isa = isa.finish(settings::Flags::new(flags)).map_err(failed)?;
    if isa.pointer_bytes() != 8 {
        return refuse("a computer without 64-bit addresses");
    }
    let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
    reserve_code(&mut builder)?;
    Ok(JITModule::new(builder))
}

/// Reserves new pages for the code of a program. They leave the address space with the program.
///
/// Cranelift would take memory of the heap, where pages of dropped code are used again. On ARM, Linux makes new code
/// visible to the instruction cache only when a page becomes executable for the first time. Functions on the heap may
/// also be farther from each other than a call reaches.
#[cfg(not(windows))]
fn reserve_code(builder: &mut JITBuilder) -> Result<()> {
    let memory = ArenaMemoryProvider::new_with_size(RESERVED_BYTES).map_err(failed)?;
    builder.memory_provider(Box::new(memory));
    Ok(())
}

/// Keeps Cranelift's memory: on Windows it consists of new pages, and a reservation would count as memory in use.
#[cfg(windows)]
fn reserve_code(_: &mut JITBuilder) -> Result<()> {
    Ok(())
}

/// Reports an error of Cranelift.
pub(super) fn failed(error: impl std::fmt::Debug) -> NotCompiled {
    NotCompiled::new(format!("code that Cranelift does not translate: {error:?}"))
}
