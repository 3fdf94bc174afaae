//! The state of the translation of one function.

use super::layout::Types;
use super::place::Place;
use super::shared::Shared;
use super::value::Components;
use cranelift_codegen::ir::{
    self, Block, InstBuilder, MemFlags, StackSlot, StackSlotData, StackSlotKind, types,
};
use cranelift_frontend::{FunctionBuilder, Variable};
use naga::valid::FunctionInfo;
use naga::{Expression, Function, Handle, LocalVariable, TypeInner};
use rustc_hash::FxHashMap;

use super::refusal::{Result, refuse};

/// An argument of a WGSL function.
#[derive(Clone)]
pub(super) enum Argument {
    Value(Components),
    Pointer(Place),
}

/// Storage of a local variable.
#[derive(Clone)]
pub(super) enum Local {
    /// A Cranelift variable for each component.
    Registers(Vec<Variable>),
    Stack(StackSlot),
    /// Offset in the memory of its invocation, for a variable that lives across a barrier.
    Invocation(u32),
}

/// Blocks that `break` and `continue` jump to.
#[derive(Clone, Copy)]
pub(super) struct Targets {
    pub(super) exit: Block,
    /// `None` in a `switch` outside of loops.
    pub(super) next: Option<Block>,
}

/// A WGSL function inside a Cranelift function. Frames nest, because calls may be inlined.
pub(super) struct Frame<'m> {
    pub(super) function: &'m Function,
    pub(super) info: &'m FunctionInfo,
    /// Values of the expressions that were evaluated on the way to the current place.
    pub(super) values: FxHashMap<Handle<Expression>, Components>,
    pub(super) arguments: Vec<Argument>,
    pub(super) locals: FxHashMap<Handle<LocalVariable>, Local>,
    /// Offsets of the expressions that live across a barrier in the memory of an invocation.
    pub(super) spills: FxHashMap<Handle<Expression>, u32>,
    pub(super) targets: Vec<Targets>,
    /// Target block of `return`.
    pub(super) exit: Block,
    /// Components of the result.
    pub(super) results: Vec<Variable>,
}

impl<'m> Frame<'m> {
    pub(super) fn new(function: &'m Function, info: &'m FunctionInfo, exit: Block) -> Self {
        Self {
            function,
            info,
            values: FxHashMap::default(),
            arguments: Vec::new(),
            locals: FxHashMap::default(),
            spills: FxHashMap::default(),
            targets: Vec::new(),
            exit,
            results: Vec::new(),
        }
    }
}

/// Translator of one function.
pub(super) struct Lower<'a, 'm> {
    pub(super) builder: FunctionBuilder<'a>,
    pub(super) shared: &'a mut Shared<'m>,
    pub(super) frame: Frame<'m>,
    /// Address of the [`Context`](super::context::Context).
    pub(super) context: ir::Value,
    /// Address of the current invocation's memory, which begins with the private variables.
    pub(super) invocation: ir::Value,
    /// Block that ends the function when the run is stopped.
    pub(super) stopped: Block,
    /// Stack slot for words of all lanes.
    pub(super) scratch: Option<StackSlot>,
    /// `true` after a jump, where the rest of the block is unreachable.
    pub(super) jumped: bool,
}

impl<'m> Lower<'_, 'm> {
    /// Returns the types of the module.
    pub(super) fn types(&self) -> Types<'m> {
        self.shared.types
    }

    /// Returns the type of an expression of the current function.
    pub(super) fn ty(&self, expression: Handle<Expression>) -> &'m TypeInner {
        self.frame.info[expression].ty.inner_with(&self.shared.program.module().types)
    }

    /// Returns an expression of the current function.
    pub(super) fn expression(&self, expression: Handle<Expression>) -> &'m Expression {
        &self.frame.function.expressions[expression]
    }

    /// Reserves uninitialised bytes on the stack.
    pub(super) fn stack(&mut self, bytes: u32) -> Result<StackSlot> {
        let bytes = bytes.saturating_add(15) / 16 * 16;
        self.shared.stack_bytes = self.shared.stack_bytes.saturating_add(bytes);
        if self.shared.stack_bytes > super::shared::MOST_STACK_BYTES {
            return refuse("more memory on the stack than a thread has for it");
        }
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes.max(16), 3);
        Ok(self.builder.create_sized_stack_slot(data))
    }

    /// Loads a field of the context, which does not change during a call.
    pub(super) fn context_field(&mut self, ty: ir::Type, offset: i32) -> ir::Value {
        let flags = MemFlags::trusted().with_readonly().with_can_move();
        self.builder.ins().load(ty, flags, self.context, offset)
    }

    /// Ends the current block with a jump.
    pub(super) fn jump(&mut self, block: Block) {
        self.builder.ins().jump(block, &[]);
        self.jumped = true;
    }

    /// Jumps to a block, unless the current block has ended with a jump. Returns `true` if it jumps.
    pub(super) fn fall(&mut self, block: Block) -> bool {
        let falls = !self.jumped;
        if falls {
            self.jump(block);
        }
        falls
    }

    /// Continues after a branch if one of its blocks has jumped there.
    pub(super) fn end_branch(&mut self, after: Block, reached: bool) {
        if reached {
            self.enter(after);
        } else {
            self.jumped = true;
        }
    }

    /// Continues in a block.
    pub(super) fn enter(&mut self, block: Block) {
        self.builder.switch_to_block(block);
        self.jumped = false;
    }

    /// Jumps to the end of the function if the run was stopped.
    pub(super) fn check_stop(&mut self) {
        let address = self.context_field(types::I64, super::context::STOP);
        // A plain load might be merged with the load of an earlier loop.
        let stop = self.builder.ins().atomic_load(types::I8, MemFlags::trusted(), address);
        let next = self.builder.create_block();
        let stopped = self.stopped;
        self.builder.ins().brif(stop, stopped, &[], next, &[]);
        self.enter(next);
    }

    /// Declares one variable for each component of a type.
    pub(super) fn variables(&mut self, inner: &TypeInner) -> Result<Vec<Variable>> {
        let leaves = self.types().leaves(inner)?;
        Ok(leaves.iter().map(|leaf| self.builder.declare_var(leaf.kind.ir())).collect())
    }

    /// Sets variables to values.
    pub(super) fn define(&mut self, variables: &[Variable], values: &[ir::Value]) {
        for (&variable, &value) in variables.iter().zip(values) {
            self.builder.def_var(variable, value);
        }
    }

    /// Reads variables.
    pub(super) fn read(&mut self, variables: &[Variable]) -> Components {
        variables.iter().map(|&variable| self.builder.use_var(variable)).collect()
    }
}
