//! The names of unsupported features.

use naga::{Expression, Module, PredeclaredType, ScalarKind, Statement, TypeInner};

/// Returns the reason why a type is not supported.
pub(super) fn of_type(module: &Module, inner: &TypeInner) -> &'static str {
    let types = &module.types;
    // Arrays and structs are searched for an unsupported part that can be named.
    let mut todo = vec![inner];
    // The pointer type of an expression is not in the module's list of types.
    let mut left = types.len() + 1;
    while let Some(inner) = todo.pop().filter(|_| left > 0) {
        left -= 1;
        if is_short_exponent(module, inner) {
            return "`frexp` of `f16`, whose exponent is an integer of 16 bits,";
        }
        match *inner {
            TypeInner::Image { .. } | TypeInner::Sampler { .. } => return "a texture or a sampler",
            TypeInner::AccelerationStructure { .. } | TypeInner::RayQuery { .. } => return "a ray query",
            TypeInner::CooperativeMatrix { .. } => return "a cooperative matrix",
            TypeInner::BindingArray { .. } => return "an array of bindings",
            TypeInner::Array { base, .. } | TypeInner::Pointer { base, .. } => todo.push(&types[base].inner),
            TypeInner::Struct { ref members, .. } => {
                todo.extend(members.iter().map(|member| &types[member.ty].inner));
            }
            _ if is_short(inner) => return "an integer of 16 bits",
            _ => {}
        }
    }
    "a value of this type or size"
}

/// Returns `true` for the type of a `frexp` result whose exponent has 16 bits.
fn is_short_exponent(module: &Module, inner: &TypeInner) -> bool {
    module.special_types.predeclared_types.iter().any(|(special, &ty)| {
        matches!(special, PredeclaredType::FrexpResult { scalar, .. } if scalar.width == 2)
            && module.types[ty].inner == *inner
    })
}

fn is_short(inner: &TypeInner) -> bool {
    let scalar = match *inner {
        TypeInner::Atomic(scalar) | TypeInner::ValuePointer { scalar, .. } => Some(scalar),
        _ => inner.scalar(),
    };
    scalar.is_some_and(|scalar| {
        matches!(scalar.kind, ScalarKind::Sint | ScalarKind::Uint) && !matches!(scalar.width, 4 | 8)
    })
}

/// Names the feature that an expression needs.
pub(super) fn of_expression(expression: &Expression) -> &'static str {
    match expression {
        Expression::ImageSample { .. } | Expression::ImageLoad { .. } | Expression::ImageQuery { .. } => {
            "a texture or a sampler"
        }
        Expression::Derivative { .. } => "a derivative",
        Expression::RayQueryVertexPositions { .. }
        | Expression::RayQueryProceedResult
        | Expression::RayQueryGetIntersection { .. } => "a ray query",
        Expression::CooperativeLoad { .. } | Expression::CooperativeMultiplyAdd { .. } => {
            "a cooperative matrix"
        }
        _ => "this expression",
    }
}

/// Names the feature that a statement needs.
pub(super) fn of_statement(statement: &Statement) -> &'static str {
    match statement {
        Statement::ImageStore { .. } | Statement::ImageAtomic { .. } => "a texture or a sampler",
        Statement::RayQuery { .. } | Statement::RayPipelineFunction(_) => "a ray query",
        Statement::CooperativeStore { .. } => "a cooperative matrix",
        Statement::Kill => "`discard`",
        _ => "this statement",
    }
}
