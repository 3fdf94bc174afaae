//! The names of what the interpreter lacks.

use naga::{Expression, ScalarKind, Statement, Type, TypeInner, UniqueArena};

/// Names the reason why a type has no values here.
pub(super) fn of_type(types: &UniqueArena<Type>, inner: &TypeInner) -> &'static str {
    // Arrays and structs are searched for a part that has a name.
    let mut todo = vec![inner];
    // The type of a pointer that an expression has is none of the module's types.
    let mut left = types.len() + 1;
    while let Some(inner) = todo.pop().filter(|_| left > 0) {
        left -= 1;
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

fn is_short(inner: &TypeInner) -> bool {
    let scalar = match *inner {
        TypeInner::Atomic(scalar) | TypeInner::ValuePointer { scalar, .. } => Some(scalar),
        _ => inner.scalar(),
    };
    scalar.is_some_and(|scalar| {
        matches!(scalar.kind, ScalarKind::Sint | ScalarKind::Uint) && !matches!(scalar.width, 4 | 8)
    })
}

/// Names what an expression needs.
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

/// Names what a statement needs.
pub(super) fn of_statement(statement: &Statement) -> &'static str {
    match statement {
        Statement::ImageStore { .. } | Statement::ImageAtomic { .. } => "a texture or a sampler",
        Statement::RayQuery { .. } | Statement::RayPipelineFunction(_) => "a ray query",
        Statement::CooperativeStore { .. } => "a cooperative matrix",
        Statement::Kill => "`discard`",
        _ => "this statement",
    }
}
