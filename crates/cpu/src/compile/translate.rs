//! The translation of a whole program.

use super::code::Code;
use super::entry;
use super::function::{Frame, Lower};
use super::plan::Plan;
use super::refusal::Result;
use super::shared::{MOST_MEMORY_BYTES, Shared, failed};
use crate::program::Program;
use cranelift_codegen::ir::{self, AbiParam, Block, InstBuilder, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Module as _};
use naga::{Function, Handle};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A program as machine code, with the sizes of the memory that it needs.
pub(super) struct Translation {
    pub(super) code: Code,
    pub(super) workgroup_bytes: usize,
    pub(super) invocation_bytes: usize,
    /// `true` if the code has a loop that some lanes may leave before others.
    pub(super) diverges: bool,
    /// Number of blocks that are skipped if no lane executes them.
    #[cfg(test)]
    pub(super) skipped: usize,
}

/// Translates a program.
pub(super) fn translate(program: &Program, lanes: u32) -> Result<Translation> {
    let plan = Plan::new(program)?;
    let mut shared = Shared::new(program, lanes, plan.has_barriers)?;
    let mut signature = shared.jit.make_signature();
    signature.params.push(AbiParam::new(types::I64));
    signature.returns.push(AbiParam::new(types::I32));
    let workgroup = shared.jit.declare_anonymous_function(&signature).map_err(failed)?;
    translate_entry(&mut shared, &plan, workgroup, signature)?;
    while let Some((function, id)) = shared.waiting.pop() {
        translate_function(&mut shared, function, id)?;
    }
    let size: u32 = program.workgroup().iter().product();
    let invocations = if plan.has_barriers { size as usize } else { lanes as usize };
    let invocation_bytes = invocations * shared.invocation_bytes as usize;
    // A module whose code is already executable keeps its pages when it is dropped.
    if invocation_bytes > MOST_MEMORY_BYTES as usize {
        return super::refusal::refuse("more memory for invocations than a thread has for it");
    }
    make_executable(&mut shared.jit)?;
    let address = shared.jit.get_finalized_function(workgroup);
    if let Some(listing) = shared.listing.take() {
        listing.write(program.name(), lanes, &shared.jit);
    }
    Ok(Translation {
        workgroup_bytes: shared.workgroup_bytes as usize,
        invocation_bytes,
        diverges: shared.diverges,
        #[cfg(test)]
        skipped: shared.skipped,
        code: Code::new(shared.jit, address, shared.tables, shared.calls),
    })
}

/// Makes the code executable. Some systems deny that to a program; Cranelift then panics.
fn make_executable(jit: &mut JITModule) -> Result<()> {
    let finalized = catch_unwind(AssertUnwindSafe(|| jit.finalize_definitions().map_err(failed)));
    match finalized {
        Ok(finalized) => finalized,
        Err(_) => super::refusal::refuse("a system that denies executable memory to programs"),
    }
}

fn translate_entry<'m>(
    shared: &mut Shared<'m>,
    plan: &Plan<'m>,
    id: FuncId,
    signature: ir::Signature,
) -> Result<()> {
    let program = shared.program;
    let frame = |exit| entry::frame(program, exit);
    define(shared, id, signature, frame, |lower, values, exit| {
        lower.context = values[0];
        lower.invocation = lower.context_field(types::I64, super::context::INVOCATIONS);
        entry::entry(lower, plan)?;
        lower.fall(exit);
        for (block, result) in [(exit, 0), (lower.stopped, 1)] {
            lower.enter(block);
            let result = lower.word(result);
            lower.builder.ins().return_(&[result]);
        }
        Ok(())
    })
}

fn translate_function(shared: &mut Shared<'_>, handle: Handle<Function>, id: FuncId) -> Result<()> {
    let program = shared.program;
    let function = &program.module().functions[handle];
    let signature = shared.signature(function)?;
    let frame = |exit| Frame::new(function, &program.info()[handle], exit);
    define(shared, id, signature, frame, |lower, values, _| {
        lower.context = values[0];
        lower.invocation = values[1];
        lower.take_arguments(&values[2..])?;
        lower.body()?;
        let results = lower.frame.results.clone();
        let results = lower.read(&results);
        lower.builder.ins().return_(&results);
        let stopped = lower.stopped;
        lower.enter(stopped);
        let zeros = match &function.result {
            Some(result) => lower.zero(lower.types().inner(result.ty))?,
            None => super::value::Components::new(),
        };
        lower.builder.ins().return_(&zeros);
        Ok(())
    })
}

/// Defines a Cranelift function.
fn define<'m>(
    shared: &mut Shared<'m>,
    id: FuncId,
    signature: ir::Signature,
    frame: impl FnOnce(Block) -> Frame<'m>,
    translate: impl FnOnce(&mut Lower<'_, 'm>, &[ir::Value], Block) -> Result<()>,
) -> Result<()> {
    let mut code = shared.jit.make_context();
    code.func.signature = signature;
    let mut buffers = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut code.func, &mut buffers);
    let [start, exit, stopped] = [(); 3].map(|()| builder.create_block());
    builder.append_block_params_for_function_params(start);
    builder.switch_to_block(start);
    let values = builder.block_params(start).to_vec();
    let context = values[0];
    let invocation = values[0];
    let frame = frame(exit);
    let mut lower = Lower {
        builder,
        shared: &mut *shared,
        frame,
        context,
        invocation,
        stopped,
        scratch: None,
        jumped: false,
    };
    translate(&mut lower, &values, exit)?;
    lower.builder.seal_all_blocks();
    lower.builder.finalize();
    if let Some(listing) = &mut shared.listing {
        listing.begin(&mut code);
    }
    shared.jit.define_function(id, &mut code).map_err(failed)?;
    if let Some(listing) = &mut shared.listing {
        listing.end(id, &code);
    }
    let frame = code.compiled_code().map_or(0, |code| code.frame_size);
    shared.add_frame(frame)
}
