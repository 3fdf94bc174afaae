//! The state of one function while it is decoded: its slots, its labels and its instructions.

use super::constant::{self, Constants};
use super::statement::{Scope, Task};
use super::{Decoder, Global, STACK, refusal};
use crate::error::{Error, Result};
use crate::interpret::op::{Address, Code, Op, Origin, Root, Slot, Target, To};
use naga::proc::TypeResolution;
use naga::valid::FunctionInfo;
use naga::{
    AddressSpace, Expression, Function, GlobalVariable, Handle, LocalVariable, Span, Type, TypeInner,
};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Place of an expression's value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    /// First slot of the value.
    Slots(Slot),
    /// Place that a pointer names.
    Address(Address),
}

/// Decoder of one function.
pub(super) struct FunctionDecoder<'d, 'p> {
    pub(super) decoder: &'d mut Decoder<'p>,
    pub(super) function: &'p Function,
    pub(super) info: &'p FunctionInfo,
    /// Values of the constant expressions.
    pub(super) known: Constants,
    /// Places of the expressions decoded so far.
    pub(super) values: Vec<Option<Value>>,
    pub(super) ops: Vec<Op>,
    origins: Vec<Origin>,
    /// Origin of the next instructions.
    pub(super) origin: Origin,
    constants: Vec<u64>,
    constant_slots: FxHashMap<Rc<[u64]>, Slot>,
    locals: Vec<Slot>,
    /// Next free slot.
    pub(super) next: u32,
    /// First slot that was never used.
    end: u32,
    /// Instruction of each label.
    labels: Vec<Target>,
    pub(super) scopes: Vec<Scope>,
    pub(super) tasks: Vec<Task<'p>>,
    pub(super) calls: Vec<usize>,
}

impl<'d, 'p> FunctionDecoder<'d, 'p> {
    /// Creates the decoder of a function.
    pub(super) fn new(decoder: &'d mut Decoder<'p>, function: &'p Function, info: &'p FunctionInfo) -> Self {
        let module = decoder.program.module();
        let known = constant::evaluate(module, &decoder.shapes, &function.expressions, &decoder.constants);
        Self {
            decoder,
            function,
            info,
            known,
            values: vec![None; function.expressions.len()],
            ops: Vec::new(),
            origins: Vec::new(),
            origin: Origin { expression: None, span: Span::UNDEFINED },
            constants: Vec::new(),
            constant_slots: FxHashMap::default(),
            locals: Vec::new(),
            next: 0,
            end: 0,
            labels: Vec::new(),
            scopes: Vec::new(),
            tasks: Vec::new(),
            calls: Vec::new(),
        }
    }

    /// Decodes the function.
    pub(super) fn decode(mut self) -> Result<Code> {
        self.place_arguments()?;
        self.place_locals()?;
        self.tasks.push(Task::block(&self.function.body));
        self.run_tasks()?;
        self.push(Op::Return { from: 0, count: 0 });
        self.finish_jumps();
        self.constants.reverse();
        self.calls.sort_unstable();
        self.calls.dedup();
        Ok(Code {
            ops: self.ops,
            origins: self.origins,
            constants: self.constants,
            frame: self.end as usize,
            calls: self.calls,
        })
    }

    /// Places the arguments in the first slots.
    fn place_arguments(&mut self) -> Result<()> {
        let mut slots = Vec::new();
        for argument in &self.function.arguments {
            let count = self.decoder.shapes.slots_of(argument.ty);
            let count = count.ok_or_else(|| self.unsupported(self.refused(argument.ty)))?;
            slots.push(self.reserve(count)?);
        }
        for (handle, expression) in self.function.expressions.iter() {
            let Expression::FunctionArgument(number) = *expression else { continue };
            let slot = slots[number as usize];
            let value = match *self.inner(handle) {
                TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. } => {
                    let root = if self.is_stack(handle) { Root::StackPointer } else { Root::MemoryPointer };
                    Value::Address(Address { offset: 0, index: Some(slot), root })
                }
                _ => Value::Slots(slot),
            };
            self.values[handle.index()] = Some(value);
        }
        Ok(())
    }

    /// Reserves slots for the variables of the function, and sets their first values.
    fn place_locals(&mut self) -> Result<()> {
        let mut zeroed = Vec::new();
        let mut set = Vec::new();
        for (handle, variable) in self.function.local_variables.iter() {
            self.origin.span = self.function.local_variables.get_span(handle);
            let count = self.decoder.shapes.slots_of(variable.ty);
            let count = count.ok_or_else(|| self.unsupported(self.refused(variable.ty)))?;
            let slot = self.reserve(count)?;
            self.locals.push(slot);
            match variable.init {
                Some(init) if !self.is_zero(init) => set.push((slot, count, init)),
                _ => zeroed.push((slot, count)),
            }
        }
        for (slot, count) in zeroed {
            match self.ops.last_mut() {
                Some(Op::Zero { to }) if to.slot + to.count as Slot == slot => to.count += count,
                _ => self.push(Op::Zero { to: To { slot, count } }),
            }
        }
        for (slot, count, init) in set {
            let from = self.slot(init)?;
            self.copy(To { slot, count }, from);
        }
        Ok(())
    }

    /// Returns `true` for a constant whose bits are all zero.
    fn is_zero(&self, handle: Handle<Expression>) -> bool {
        self.known[handle.index()].as_ref().is_some_and(|value| value.iter().all(|&bits| bits == 0))
    }

    /// Returns the slot of a variable of the function.
    pub(super) fn local(&self, variable: Handle<LocalVariable>) -> Slot {
        self.locals[variable.index()]
    }

    /// Returns the address of a variable of the module.
    pub(super) fn global(&self, variable: Handle<GlobalVariable>) -> Result<Address> {
        let program = self.decoder.program;
        let (root, offset) = match self.decoder.globals.get(&variable) {
            Some(&Global::Region(region, byte)) => (Root::Region(region), byte),
            Some(&Global::Private(slot)) => (Root::Private, slot),
            // There are no loads or stores through a pointer to a variable that the entry point does not use.
            None if program.info().get_entry_point(program.entry_index())[variable].is_empty() => {
                match program.module().global_variables[variable].space {
                    AddressSpace::Private => (Root::Private, 0),
                    _ => (Root::Region(u16::MAX), 0),
                }
            }
            None => {
                let variable = &program.module().global_variables[variable];
                let name = variable.name.as_deref().unwrap_or("(no name)");
                let what = format!("the variable `{name}`, which is neither a buffer nor a uniform block,");
                return Err(self.unsupported(what));
            }
        };
        Ok(Address { offset, index: None, root })
    }

    /// Reserves slots for a value.
    pub(super) fn reserve(&mut self, count: u32) -> Result<Slot> {
        let slot = self.next;
        self.next = slot.saturating_add(count);
        self.end = self.end.max(self.next);
        if self.end as usize > STACK {
            return Err(
                self.unsupported(format!("a function with more than {STACK} words of variables and values"))
            );
        }
        Ok(slot as Slot)
    }

    /// Reserves the slots of the result of an expression.
    pub(super) fn result(&mut self, handle: Handle<Expression>) -> Result<To> {
        let count = self.count(handle)?;
        let slot = self.reserve(count)?;
        self.values[handle.index()] = Some(Value::Slots(slot));
        Ok(To { slot, count })
    }

    /// Returns the slots of a constant.
    pub(super) fn constant(&mut self, value: &Rc<[u64]>) -> Result<Slot> {
        if let Some(&slot) = self.constant_slots.get(value) {
            return Ok(slot);
        }
        if self.constants.len() + value.len() > STACK {
            return Err(self.unsupported(format!("a function with more than {STACK} words of constants")));
        }
        // The list is reversed at the end, so its first value is just below the base.
        self.constants.extend(value.iter().rev());
        let slot = -(self.constants.len() as Slot);
        self.constant_slots.insert(value.clone(), slot);
        Ok(slot)
    }

    /// Appends an instruction.
    pub(super) fn push(&mut self, op: Op) {
        self.ops.push(op);
        self.origins.push(self.origin);
    }

    /// Appends a copy.
    pub(super) fn copy(&mut self, to: To, from: Slot) {
        match to.count {
            0 => {}
            1 => self.push(Op::Move { to: to.slot, from }),
            _ => self.push(Op::Copy { to, from }),
        }
    }

    /// Creates a label.
    pub(super) fn label(&mut self) -> Target {
        self.labels.push(0);
        self.labels.len() as Target - 1
    }

    /// Puts a label before the next instruction.
    pub(super) fn bind(&mut self, label: Target) {
        self.labels[label as usize] = self.ops.len() as Target;
    }

    /// Replaces the labels of all jumps by instructions.
    fn finish_jumps(&mut self) {
        let labels = &self.labels;
        for op in &mut self.ops {
            match op {
                Op::Jump(target) | Op::JumpIf { target, .. } | Op::JumpUnless { target, .. } => {
                    *target = labels[*target as usize];
                }
                Op::Switch { cases, .. } => {
                    let targets = cases.values.iter_mut().map(|(_, target)| target);
                    targets.chain([&mut cases.default]).for_each(|target| *target = labels[*target as usize]);
                }
                _ => {}
            }
        }
    }

    /// Returns the type of an expression.
    pub(super) fn ty(&self, handle: Handle<Expression>) -> &'p TypeResolution {
        &self.info[handle].ty
    }

    /// Returns the inner type of an expression.
    pub(super) fn inner(&self, handle: Handle<Expression>) -> &'p TypeInner {
        self.ty(handle).inner_with(&self.decoder.program.module().types)
    }

    /// Returns the number of slots of an expression.
    pub(super) fn count(&self, handle: Handle<Expression>) -> Result<u32> {
        let slots = self.decoder.shapes.slots(self.inner(handle));
        slots.ok_or_else(|| self.unsupported_value(handle))
    }

    /// Returns the type of the components of an expression.
    pub(super) fn scalar(&self, handle: Handle<Expression>) -> Result<naga::Scalar> {
        let scalar = self.inner(handle).scalar().filter(|&scalar| crate::interpret::shape::known(scalar));
        scalar.ok_or_else(|| self.unsupported_value(handle))
    }

    /// Returns the reason why a type is not supported.
    fn refused(&self, ty: Handle<Type>) -> &'static str {
        let module = self.decoder.program.module();
        refusal::of_type(module, &module.types[ty].inner)
    }

    /// Returns the error for an expression with an unsupported type.
    pub(super) fn unsupported_value(&self, handle: Handle<Expression>) -> Error {
        let what = refusal::of_type(self.decoder.program.module(), self.inner(handle));
        self.unsupported_at(handle, what)
    }

    /// Returns the error for an unsupported feature at the current place.
    pub(super) fn unsupported(&self, what: impl Into<String>) -> Error {
        self.decoder.program.unsupported(what, self.origin.span)
    }

    /// Returns the error for an unsupported feature at an expression.
    pub(super) fn unsupported_at(&self, handle: Handle<Expression>, what: &str) -> Error {
        self.decoder.program.unsupported(what, self.function.expressions.get_span(handle))
    }
}
