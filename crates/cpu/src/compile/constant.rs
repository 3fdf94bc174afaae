//! The components of constant expressions.

use super::layout::{Kind, Types};
use super::refusal::{Result, refuse};
use naga::{Arena, Expression, Handle, Literal, Module};

/// Returns the bits of a literal.
pub(super) fn literal(literal: Literal) -> Result<(Kind, u64)> {
    Ok(match literal {
        Literal::Bool(value) => (Kind::Bool, u64::from(value)),
        Literal::I32(value) => (Kind::I32, u64::from(value as u32)),
        Literal::U32(value) => (Kind::U32, u64::from(value)),
        Literal::I64(value) => (Kind::I64, value as u64),
        Literal::U64(value) => (Kind::U64, value),
        Literal::F16(value) => (Kind::F16, u64::from(value.to_bits())),
        Literal::F32(value) => (Kind::F32, u64::from(value.to_bits())),
        Literal::F64(value) => (Kind::F64, value.to_bits()),
        other => return refuse(format!("the literal {other:?}")),
    })
}

/// Returns the kinds and the bits of the components of a constant expression, or `None` if the expression is not
/// constant.
pub(super) fn components(
    module: &Module,
    types: Types<'_>,
    arena: &Arena<Expression>,
    expression: Handle<Expression>,
) -> Result<Option<Vec<(Kind, u64)>>> {
    let part = |part| components(module, types, arena, part);
    Ok(match &arena[expression] {
        Expression::Literal(value) => Some(vec![literal(*value)?]),
        Expression::Constant(constant) => {
            components(module, types, &module.global_expressions, module.constants[*constant].init)?
        }
        Expression::ZeroValue(ty) => {
            Some(types.leaves(types.inner(*ty))?.iter().map(|leaf| (leaf.kind, 0)).collect())
        }
        Expression::Splat { size, value } => part(*value)?.map(|value| value.repeat(*size as usize)),
        Expression::Compose { components, .. } => {
            let mut all = Vec::new();
            for component in components {
                let Some(values) = part(*component)? else { return Ok(None) };
                all.extend(values);
            }
            Some(all)
        }
        Expression::AccessIndex { base, index } => {
            let Some(base_values) = part(*base)? else { return Ok(None) };
            let Some((start, count)) = member_of_constant(module, types, arena, *base, *index)? else {
                return Ok(None);
            };
            base_values.get(start..start + count).map(<[_]>::to_vec)
        }
        Expression::Swizzle { size, vector, pattern } => part(*vector)?.map(|values| {
            pattern[..*size as usize].iter().map(|component| values[*component as usize]).collect()
        }),
        _ => None,
    })
}

/// Returns the first component and the number of components of a member of a named constant.
fn member_of_constant(
    module: &Module,
    types: Types<'_>,
    arena: &Arena<Expression>,
    base: Handle<Expression>,
    index: u32,
) -> Result<Option<(usize, usize)>> {
    let ty = match &arena[base] {
        Expression::Constant(constant) => module.constants[*constant].ty,
        Expression::Compose { ty, .. } | Expression::ZeroValue(ty) => *ty,
        _ => return Ok(None),
    };
    super::value::member(types, types.inner(ty), index).map(Some)
}
