//! Atomic operations. Workgroup memory needs no atomic instructions, as one thread executes all invocations of a
//! workgroup.
//!
//! Processors have atomic instructions for integers only. An addition to an atomic float loads the value, computes the
//! sum, and stores it if the atomic still has the loaded bits (compare-and-swap).

use super::function::Lower;
use super::layout::Kind;
use super::place::Place;
use super::refusal::{Result, refuse};
use super::value::Components;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, AtomicRmwOp, InstBuilder, MemFlags, types};
use naga::{AddressSpace, AtomicFunction, Expression, Handle, TypeInner};

impl Lower<'_, '_> {
    /// Translates an atomic operation.
    pub(super) fn atomic(
        &mut self,
        pointer: Handle<Expression>,
        fun: &AtomicFunction,
        value: Handle<Expression>,
        result: Option<Handle<Expression>>,
    ) -> Result<()> {
        let (kind, shared) = self.atomic_kind(pointer)?;
        let Place::Memory { address, offset, .. } = self.place(pointer)? else {
            return refuse("an atomic operation on registers");
        };
        let address = self.builder.ins().iadd_imm(address, i64::from(offset));
        let value = self.value(value)?[0];
        let compare = match fun {
            AtomicFunction::Exchange { compare: Some(compare) } => Some(self.value(*compare)?[0]),
            _ => None,
        };
        let values = self.atomic_at(shared, address, fun, kind, value, compare);
        match result {
            Some(result) => self.remember(result, values),
            None => Ok(()),
        }
    }

    /// Returns the kind of an atomic, and whether other threads access it.
    pub(super) fn atomic_kind(&self, pointer: Handle<Expression>) -> Result<(Kind, bool)> {
        let TypeInner::Atomic(scalar) = self.pointee(pointer)? else {
            return refuse("an atomic operation on a value that is not atomic");
        };
        let kind = Kind::of(scalar)?;
        match self.ty(pointer).pointer_space() {
            Some(AddressSpace::Storage { .. }) if kind == Kind::F32 => Ok((kind, true)),
            _ if kind.is_float() => refuse(format!("an atomic operation on {kind:?}")),
            Some(AddressSpace::Storage { .. }) => Ok((kind, true)),
            Some(AddressSpace::WorkGroup) => Ok((kind, false)),
            space => refuse(format!("an atomic operation in the address space {space:?}")),
        }
    }

    /// Executes an atomic operation at an address. Returns the old value, and if a compare-exchange took place.
    pub(super) fn atomic_at(
        &mut self,
        shared: bool,
        address: ir::Value,
        fun: &AtomicFunction,
        kind: Kind,
        value: ir::Value,
        compare: Option<ir::Value>,
    ) -> Components {
        if let Some(compare) = compare {
            return self.compare_exchange(shared, address, kind, compare, value);
        }
        if kind.is_float() {
            return [self.float_atomic(address, fun, value)].into_iter().collect();
        }
        let op = operation(fun, kind);
        let old = if shared {
            self.builder.ins().atomic_rmw(kind.ir(), MemFlags::trusted(), op, address, value)
        } else {
            self.plain(op, kind, address, value)
        };
        [old].into_iter().collect()
    }

    /// Returns the old value, and a flag that is set if the new value was stored.
    fn compare_exchange(
        &mut self,
        shared: bool,
        address: ir::Value,
        kind: Kind,
        compare: ir::Value,
        value: ir::Value,
    ) -> Components {
        let old = if shared {
            self.builder.ins().atomic_cas(MemFlags::trusted(), address, compare, value)
        } else {
            self.builder.ins().load(kind.ir(), MemFlags::trusted(), address, 0)
        };
        let same = self.builder.ins().icmp(IntCC::Equal, old, compare);
        if !shared {
            let new = self.builder.ins().select(same, value, old);
            self.builder.ins().store(MemFlags::trusted(), new, address, 0);
        }
        [old, same].into_iter().collect()
    }

    /// Loads an atomic that other threads may change.
    pub(super) fn load_atomic(&mut self, kind: Kind, address: ir::Value) -> ir::Value {
        if !kind.is_float() {
            return self.builder.ins().atomic_load(kind.ir(), MemFlags::trusted(), address);
        }
        let bits = self.builder.ins().atomic_load(types::I32, MemFlags::trusted(), address);
        self.float_of(bits)
    }

    fn float_of(&mut self, bits: ir::Value) -> ir::Value {
        self.builder.ins().bitcast(types::F32, MemFlags::new(), bits)
    }

    fn bits_of(&mut self, float: ir::Value) -> ir::Value {
        self.builder.ins().bitcast(types::I32, MemFlags::new(), float)
    }

    /// Executes an operation on an `f32` that other threads may change, and returns the old value.
    fn float_atomic(&mut self, address: ir::Value, fun: &AtomicFunction, value: ir::Value) -> ir::Value {
        let flags = MemFlags::trusted();
        if matches!(fun, AtomicFunction::Exchange { .. }) {
            let bits = self.bits_of(value);
            let old = self.builder.ins().atomic_rmw(types::I32, flags, AtomicRmwOp::Xchg, address, bits);
            return self.float_of(old);
        }
        let [head, after] = [(); 2].map(|()| self.builder.create_block());
        let seen = self.builder.declare_var(types::I32);
        let first = self.builder.ins().atomic_load(types::I32, flags, address);
        self.builder.def_var(seen, first);
        self.jump(head);
        self.enter(head);
        let bits = self.builder.use_var(seen);
        let old = self.float_of(bits);
        let new = match fun {
            AtomicFunction::Subtract => self.builder.ins().fsub(old, value),
            _ => self.builder.ins().fadd(old, value),
        };
        let new = self.bits_of(new);
        let found = self.builder.ins().atomic_cas(flags, address, bits, new);
        self.builder.def_var(seen, found);
        // Bits are compared because a NaN does not equal itself.
        let same = self.builder.ins().icmp(IntCC::Equal, found, bits);
        self.builder.ins().brif(same, after, &[], head, &[]);
        self.enter(after);
        old
    }

    /// Executes an operation with plain instructions and returns the old value.
    fn plain(&mut self, op: AtomicRmwOp, kind: Kind, address: ir::Value, value: ir::Value) -> ir::Value {
        let old = self.builder.ins().load(kind.ir(), MemFlags::trusted(), address, 0);
        let ins = self.builder.ins();
        let new = match op {
            AtomicRmwOp::Add => ins.iadd(old, value),
            AtomicRmwOp::Sub => ins.isub(old, value),
            AtomicRmwOp::And => ins.band(old, value),
            AtomicRmwOp::Or => ins.bor(old, value),
            AtomicRmwOp::Xor => ins.bxor(old, value),
            AtomicRmwOp::Smin => ins.smin(old, value),
            AtomicRmwOp::Smax => ins.smax(old, value),
            AtomicRmwOp::Umin => ins.umin(old, value),
            AtomicRmwOp::Umax => ins.umax(old, value),
            AtomicRmwOp::Xchg | AtomicRmwOp::Nand => value,
        };
        self.builder.ins().store(MemFlags::trusted(), new, address, 0);
        old
    }
}

fn operation(fun: &AtomicFunction, kind: Kind) -> AtomicRmwOp {
    match (fun, kind) {
        (AtomicFunction::Add, _) => AtomicRmwOp::Add,
        (AtomicFunction::Subtract, _) => AtomicRmwOp::Sub,
        (AtomicFunction::And, _) => AtomicRmwOp::And,
        (AtomicFunction::ExclusiveOr, _) => AtomicRmwOp::Xor,
        (AtomicFunction::InclusiveOr, _) => AtomicRmwOp::Or,
        (AtomicFunction::Min, Kind::I32 | Kind::I64) => AtomicRmwOp::Smin,
        (AtomicFunction::Min, _) => AtomicRmwOp::Umin,
        (AtomicFunction::Max, Kind::I32 | Kind::I64) => AtomicRmwOp::Smax,
        (AtomicFunction::Max, _) => AtomicRmwOp::Umax,
        (AtomicFunction::Exchange { .. }, _) => AtomicRmwOp::Xchg,
    }
}
