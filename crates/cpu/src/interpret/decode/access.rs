//! Pointers, parts of values, loads and stores.

use super::function::{FunctionDecoder, Value};
use crate::error::Result;
use crate::interpret::op::{Address, Op, Root, Slot, To, Unsized};
use naga::proc::TypeResolution;
use naga::{AddressSpace, ArraySize, Expression, Handle, TypeInner};

impl FunctionDecoder<'_, '_> {
    /// Returns the first slot of the value of an expression.
    pub(super) fn slot(&mut self, handle: Handle<Expression>) -> Result<Slot> {
        match self.values[handle.index()] {
            Some(Value::Slots(slot)) => return Ok(slot),
            Some(Value::Address(_)) => return self.pointer(handle),
            None => {}
        }
        if let Some(value) = self.known[handle.index()].clone() {
            let slot = self.constant(&value)?;
            self.values[handle.index()] = Some(Value::Slots(slot));
            return Ok(slot);
        }
        if self.inner(handle).pointer_space().is_some() {
            return self.pointer(handle);
        }
        Err(self.unsupported_value(handle))
    }

    /// Puts a pointer into a slot.
    fn pointer(&mut self, handle: Handle<Expression>) -> Result<Slot> {
        let at = self.address(handle)?;
        let to = self.reserve(1)?;
        self.push(Op::Pointer { to, at });
        Ok(to)
    }

    /// Returns the place to which a pointer refers.
    pub(super) fn address(&mut self, handle: Handle<Expression>) -> Result<Address> {
        if let Some(Value::Address(at)) = self.values[handle.index()] {
            return Ok(at);
        }
        match self.function.expressions[handle] {
            Expression::GlobalVariable(variable) => self.global(variable),
            Expression::LocalVariable(variable) => {
                let offset = self.local(variable) as u64;
                Ok(Address { offset, index: None, root: Root::Frame })
            }
            _ => Err(self.unsupported_value(handle)),
        }
    }

    /// Returns `true` for a pointer to a variable of the invocation.
    pub(super) fn is_stack(&self, handle: Handle<Expression>) -> bool {
        matches!(self.inner(handle).pointer_space(), Some(AddressSpace::Function | AddressSpace::Private))
    }

    /// Returns the type of a pointer's target.
    pub(super) fn pointee(&self, handle: Handle<Expression>) -> Option<TypeResolution> {
        self.inner(handle).pointer_base_type()
    }

    /// Decodes the access to a part with a constant number.
    pub(super) fn access_index(
        &mut self,
        handle: Handle<Expression>,
        base: Handle<Expression>,
        number: u32,
    ) -> Result<()> {
        let wrong = |this: &Self| this.unsupported_value(base);
        let value = if let Some(ty) = self.pointee(base) {
            if matches!(self.decoder.shapes.inner(&ty), TypeInner::Array { size: ArraySize::Dynamic, .. }) {
                let index = self.constant(&[u64::from(number)].into())?;
                return self.element(handle, base, &ty, index);
            }
            let part = self.decoder.shapes.part(self.decoder.shapes.inner(&ty), number);
            let part = part.ok_or_else(|| wrong(self))?;
            let at = self.address(base)?;
            let step = if at.is_stack() { part.slots } else { part.bytes };
            Value::Address(Address { offset: at.offset + step, ..at })
        } else {
            let part = self.decoder.shapes.part(self.inner(base), number).ok_or_else(|| wrong(self))?;
            Value::Slots(self.slot(base)? + part.slots as Slot)
        };
        self.values[handle.index()] = Some(value);
        Ok(())
    }

    /// Decodes the access to an element.
    pub(super) fn access(
        &mut self,
        handle: Handle<Expression>,
        base: Handle<Expression>,
        index: Handle<Expression>,
    ) -> Result<()> {
        let wrong = |this: &Self| this.unsupported_value(base);
        let index = self.slot(index)?;
        let Some(ty) = self.pointee(base) else {
            let elements = self.decoder.shapes.elements(self.inner(base)).ok_or_else(|| wrong(self))?;
            let len = elements.len.ok_or_else(|| wrong(self))?;
            let from = self.slot(base)?;
            let to = self.result(handle)?;
            self.push(Op::Pick { to, from, index, len });
            return Ok(());
        };
        self.element(handle, base, &ty, index)
    }

    /// Decodes a pointer to an element of the target of another pointer.
    fn element(
        &mut self,
        handle: Handle<Expression>,
        base: Handle<Expression>,
        ty: &TypeResolution,
        index: Slot,
    ) -> Result<()> {
        let elements = self.decoder.shapes.elements(self.decoder.shapes.inner(ty));
        let elements = elements.ok_or_else(|| self.unsupported_value(base))?;
        let at = self.address(base)?;
        let to = self.reserve(1)?;
        let stride = if at.is_stack() { elements.slots } else { elements.bytes };
        match elements.len {
            Some(len) => self.push(Op::Index { to, base: at.index, index, len, stride }),
            None => {
                let array = Box::new(Unsized { at, stride });
                self.push(Op::IndexUnsized { to, base: at.index, index, array });
            }
        }
        self.values[handle.index()] = Some(Value::Address(Address { index: Some(to), ..at }));
        Ok(())
    }

    /// Decodes `arrayLength`.
    pub(super) fn array_length(
        &mut self,
        handle: Handle<Expression>,
        array: Handle<Expression>,
    ) -> Result<()> {
        let ty = self.pointee(array).ok_or_else(|| self.unsupported_value(array))?;
        let elements = self.decoder.shapes.elements(self.decoder.shapes.inner(&ty));
        let stride = elements.ok_or_else(|| self.unsupported_value(array))?.bytes;
        let at = self.address(array)?;
        let to = self.result(handle)?.slot;
        self.push(Op::Length { to, array: Box::new(Unsized { at, stride }) });
        Ok(())
    }

    /// Decodes a load through a pointer.
    pub(super) fn load(&mut self, pointer: Handle<Expression>, to: To) -> Result<()> {
        let at = self.address(pointer)?;
        let ty = self.pointee(pointer).ok_or_else(|| self.unsupported_value(pointer))?;
        if at.is_stack() {
            self.push(match slot_of(&at, to.count) {
                Some(from) => Op::LoadSlot { to: to.slot, from },
                None => Op::LoadStack { to, at },
            });
            return Ok(());
        }
        if let TypeInner::Atomic(scalar) = *self.decoder.shapes.inner(&ty) {
            self.push(Op::LoadAtomic { to: to.slot, at, width: scalar.width });
            return Ok(());
        }
        match self.shape(pointer, &ty)? {
            None => self.push(Op::LoadWords { to, at }),
            Some(shape) => self.push(Op::Load { to: to.slot, at, shape }),
        }
        Ok(())
    }

    /// Decodes a store through a pointer.
    pub(super) fn store(&mut self, pointer: Handle<Expression>, value: Handle<Expression>) -> Result<()> {
        let from = self.slot(value)?;
        let count = self.count(value)?;
        let at = self.address(pointer)?;
        let ty = self.pointee(pointer).ok_or_else(|| self.unsupported_value(pointer))?;
        if at.is_stack() {
            self.push(match slot_of(&at, count) {
                Some(to) => Op::StoreSlot { to, from },
                None => Op::StoreStack { from, count, at },
            });
            return Ok(());
        }
        if let TypeInner::Atomic(scalar) = *self.decoder.shapes.inner(&ty) {
            self.push(Op::StoreAtomic { from, at, width: scalar.width });
            return Ok(());
        }
        match self.shape(pointer, &ty)? {
            None => self.push(Op::StoreWords { from, count, at }),
            Some(shape) => self.push(Op::Store { from, at, shape }),
        }
        Ok(())
    }

    /// Returns the index of a shape, or `None` for consecutive words.
    fn shape(&mut self, pointer: Handle<Expression>, ty: &TypeResolution) -> Result<Option<u32>> {
        let runs = self.decoder.shapes.runs(self.decoder.shapes.inner(ty));
        let runs = runs.ok_or_else(|| self.unsupported_value(pointer))?;
        if let [run] = runs[..]
            && run.width == 4
        {
            return Ok(None);
        }
        let known = self.decoder.runs.iter().position(|other| *other == runs);
        let number = known.unwrap_or_else(|| {
            self.decoder.runs.push(runs);
            self.decoder.runs.len() - 1
        });
        Ok(Some(number as u32))
    }
}

/// Returns the slot of a constant address, if its value has one slot.
fn slot_of(at: &Address, count: u32) -> Option<Slot> {
    (at.root == Root::Frame && at.index.is_none() && count == 1).then_some(at.offset as Slot)
}
