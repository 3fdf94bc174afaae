//! The components of values, and their parts.

use super::function::Lower;
use super::layout::{Kind, Types};
use super::refusal::{Result, refuse};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::immediates::{Ieee32, Ieee64};
use cranelift_codegen::ir::{self, InstBuilder, MemFlags, types};
use naga::{Expression, Handle, TypeInner};
use smallvec::SmallVec;

/// Components of a value in the order of [`Types::leaves`].
pub(super) type Components = SmallVec<[ir::Value; 4]>;

/// Maximum number of components from which instructions select by a dynamic index. A larger value is stored, and one
/// component is loaded.
pub(super) const MOST_SELECTED: usize = 8;

/// Returns the first component and the number of components of a member.
pub(super) fn member(types: Types<'_>, inner: &TypeInner, index: u32) -> Result<(usize, usize)> {
    let at = index as usize;
    Ok(match inner {
        TypeInner::Vector { .. } => (at, 1),
        TypeInner::Matrix { rows, .. } => (at * *rows as usize, *rows as usize),
        TypeInner::Array { base, size, .. } => {
            let count = types.count(types.inner(*base))?;
            let last = types.elements(*size)? as usize - 1;
            (at.min(last) * count, count)
        }
        TypeInner::Struct { members, .. } => {
            let mut start = 0;
            for member in &members[..at] {
                start += types.count(types.inner(member.ty))?;
            }
            (start, types.count(types.inner(members[at].ty))?)
        }
        other => return refuse(format!("a member of {other:?}")),
    })
}

impl Lower<'_, '_> {
    /// Returns a component with these bits.
    pub(super) fn bits(&mut self, kind: Kind, bits: u64) -> ir::Value {
        match kind {
            Kind::F16 => self.half_constant(bits),
            Kind::F32 => self.builder.ins().f32const(Ieee32::with_bits(bits as u32)),
            Kind::F64 => self.builder.ins().f64const(Ieee64::with_bits(bits)),
            Kind::Bool | Kind::I32 | Kind::U32 | Kind::I64 | Kind::U64 => {
                self.builder.ins().iconst(kind.ir(), bits as i64)
            }
        }
    }

    /// Returns the float of a type that is nearest to a number.
    pub(super) fn number(&mut self, kind: Kind, value: f64) -> ir::Value {
        match kind {
            Kind::F64 => self.bits(Kind::F64, value.to_bits()),
            _ => self.float(value as f32),
        }
    }

    /// Returns an `f32`.
    pub(super) fn float(&mut self, value: f32) -> ir::Value {
        self.bits(Kind::F32, u64::from(value.to_bits()))
    }

    /// Returns a `u32`.
    pub(super) fn word(&mut self, value: u32) -> ir::Value {
        self.bits(Kind::U32, u64::from(value))
    }

    /// Returns `true` if a value has the components of several lanes.
    pub(super) fn is_vector(&self, x: ir::Value) -> bool {
        self.builder.func.dfg.value_type(x).is_vector()
    }

    /// Returns a scalar, or a vector with the scalar in all lanes if `like` is a vector with lanes of the same width.
    pub(super) fn spread(&mut self, like: ir::Value, scalar: ir::Value) -> ir::Value {
        let lanes = self.builder.func.dfg.value_type(like).lane_count();
        let scalar_type = self.builder.func.dfg.value_type(scalar);
        match scalar_type.by(lanes) {
            Some(ty) if lanes > 1 => self.builder.ins().splat(ty, scalar),
            _ => scalar,
        }
    }

    /// Returns the float of a type that is nearest to a number, in all lanes if `like` is a vector.
    pub(super) fn number_of(&mut self, like: ir::Value, kind: Kind, value: f64) -> ir::Value {
        let number = self.number(kind, value);
        self.spread(like, number)
    }

    /// Returns the bits of a value as a value of another type.
    pub(super) fn cast(&mut self, value: ir::Value, ty: ir::Type) -> ir::Value {
        if self.builder.func.dfg.value_type(value) == ty {
            return value;
        }
        let flags = MemFlags::new().with_endianness(ir::Endianness::Little);
        self.builder.ins().bitcast(ty, flags, value)
    }

    /// Selects one of two values, or one in each lane of a mask whose elements have the width of the values.
    pub(super) fn pick(&mut self, condition: ir::Value, accept: ir::Value, reject: ir::Value) -> ir::Value {
        if !self.is_vector(condition) {
            return self.builder.ins().select(condition, accept, reject);
        }
        let ty = self.builder.func.dfg.value_type(accept);
        let [condition, accept, reject] =
            [condition, accept, reject].map(|value| self.cast(value, types::I32X4));
        let picked = match self.shared.blends {
            true => self.builder.ins().x86_blendv(condition, accept, reject),
            false => self.builder.ins().bitselect(condition, accept, reject),
        };
        self.cast(picked, ty)
    }

    /// Returns components with these kinds and bits.
    pub(super) fn constants(&mut self, components: &[(Kind, u64)]) -> Components {
        components.iter().map(|&(kind, bits)| self.bits(kind, bits)).collect()
    }

    /// Returns the zero value of a type.
    pub(super) fn zero(&mut self, inner: &TypeInner) -> Result<Components> {
        let leaves = self.types().leaves(inner)?;
        Ok(leaves.iter().map(|leaf| self.bits(leaf.kind, 0)).collect())
    }

    /// Clamps an index to `last`, the index of the last element. A negative index counts as past the end.
    pub(super) fn clamp(&mut self, index: ir::Value, last: ir::Value) -> ir::Value {
        self.builder.ins().umin(index, last)
    }

    /// Returns the member at a dynamic index.
    pub(super) fn dynamic_member(
        &mut self,
        base: Handle<Expression>,
        index: ir::Value,
    ) -> Result<Components> {
        let inner = self.ty(base);
        let members = match inner {
            TypeInner::Vector { size, .. } => *size as usize,
            TypeInner::Matrix { columns, .. } => *columns as usize,
            TypeInner::Array { size, .. } => self.types().elements(*size)? as usize,
            other => return refuse(format!("an index into {other:?}")),
        };
        let (_, each) = member(self.types(), inner, 0)?;
        if members * each > MOST_SELECTED.max(16) || members > MOST_SELECTED {
            return self.loaded_member(base, index, members, each);
        }
        let values = self.value(base)?;
        let mut chosen: Components = values[(members - 1) * each..].into();
        for at in (0..members - 1).rev() {
            let here = self.builder.ins().icmp_imm(IntCC::Equal, index, at as i64);
            for (part, chosen) in chosen.iter_mut().enumerate() {
                *chosen = self.builder.ins().select(here, values[at * each + part], *chosen);
            }
        }
        Ok(chosen)
    }

    /// Loads a member from a table of constants, or from a copy of the value on the stack. Each component has 4 bytes,
    /// or 8 if one of them needs 8.
    fn loaded_member(
        &mut self,
        base: Handle<Expression>,
        index: ir::Value,
        members: usize,
        each: usize,
    ) -> Result<Components> {
        let leaves = self.types().leaves(self.ty(base))?;
        let bytes = if leaves.iter().any(|leaf| leaf.kind.is_wide()) { 8 } else { 4 };
        let arena = &self.frame.function.expressions;
        let constant = super::constant::components(self.shared.program.module(), self.types(), arena, base)?;
        let start = if let Some(constant) = constant {
            let address = self.shared.table(constant.iter().flat_map(|&(kind, bits)| {
                let bits = if kind == Kind::F16 { single_bits(bits) } else { bits };
                [bits as u32, (bits >> 32) as u32].into_iter().take(bytes as usize / 4)
            }));
            self.builder.ins().iconst(types::I64, address)
        } else {
            let slot = self.stack(bytes * leaves.len() as u32)?;
            let values = self.value(base)?;
            for (at, value) in values.iter().enumerate() {
                self.builder.ins().stack_store(*value, slot, bytes as i32 * at as i32);
            }
            self.builder.ins().stack_addr(types::I64, slot, 0)
        };
        let last = self.word(members as u32 - 1);
        let index = self.clamp(index, last);
        let index = self.builder.ins().uextend(types::I64, index);
        let offset = self.builder.ins().imul_imm(index, i64::from(bytes) * each as i64);
        let address = self.builder.ins().iadd(start, offset);
        Ok((0..each)
            .map(|at| {
                let ty = leaves[at].kind.ir();
                self.builder.ins().load(ty, MemFlags::trusted(), address, bytes as i32 * at as i32)
            })
            .collect())
    }
}

/// Returns the bits of the `f32` with the value of an `f16`.
fn single_bits(bits: u64) -> u64 {
    half::f16::from_bits(bits as u16).to_f32().to_bits().into()
}
