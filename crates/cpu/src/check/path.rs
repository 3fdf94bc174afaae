//! Names of parts of variables.

use crate::program::column_stride;
use naga::{Expression, Function, Handle, Module, Type, TypeInner};

/// Appends the path to the scalar at a byte of a type, such as `[3].x`, to a variable's name.
pub(super) fn scalar_at(module: &Module, name: &str, ty: Handle<Type>, byte: u64) -> String {
    let mut path = name.to_owned();
    let mut inner = &module.types[ty].inner;
    let mut byte = byte;
    loop {
        match *inner {
            TypeInner::Array { base, stride, .. } => {
                path += &format!("[{}]", byte / u64::from(stride.max(1)));
                byte %= u64::from(stride.max(1));
                inner = &module.types[base].inner;
            }
            TypeInner::Struct { ref members, .. } => {
                let member = members.iter().rfind(|member| u64::from(member.offset) <= byte);
                let Some(member) = member else { return path };
                path = format!("{path}.{}", member.name.as_deref().unwrap_or("_"));
                byte -= u64::from(member.offset);
                inner = &module.types[member.ty].inner;
            }
            TypeInner::Matrix { rows, scalar, .. } => {
                let stride = u64::from(column_stride(rows, scalar));
                let row = byte % stride / u64::from(scalar.width);
                return format!("{path}[{}].{}", byte / stride, component(row));
            }
            TypeInner::Vector { scalar, .. } => {
                return format!("{path}.{}", component(byte / u64::from(scalar.width)));
            }
            _ => return path,
        }
    }
}

fn component(number: u64) -> &'static str {
    ["x", "y", "z", "w"].get(number as usize).unwrap_or(&"_")
}

/// Names a pointer or a value by its variables.
pub(super) fn describe(module: &Module, function: &Function, expression: Handle<Expression>) -> String {
    let mut handle = expression;
    let mut after = String::new();
    loop {
        let name = match function.expressions[handle] {
            Expression::Access { base, .. } => {
                after.insert_str(0, "[..]");
                handle = base;
                continue;
            }
            Expression::AccessIndex { base, index } => {
                after.insert_str(0, &part(module, function, base, index));
                handle = base;
                continue;
            }
            Expression::Load { pointer } => {
                handle = pointer;
                continue;
            }
            Expression::GlobalVariable(variable) => module.global_variables[variable].name.clone(),
            Expression::LocalVariable(variable) => function.local_variables[variable].name.clone(),
            Expression::FunctionArgument(number) => function.arguments[number as usize].name.clone(),
            Expression::Constant(constant) => module.constants[constant].name.clone(),
            _ => function.named_expressions.get(&handle).cloned(),
        };
        return format!("{}{after}", name.as_deref().unwrap_or("a value"));
    }
}

/// Names a part of an expression by its constant index.
fn part(module: &Module, function: &Function, base: Handle<Expression>, number: u32) -> String {
    let inner = type_of(module, function, base).map(|ty| &module.types[ty].inner);
    let member = match inner {
        Some(TypeInner::Struct { members, .. }) => {
            members.get(number as usize).and_then(|member| member.name.as_deref())
        }
        Some(TypeInner::Vector { .. }) => Some(component(u64::from(number))),
        _ => None,
    };
    member.map_or_else(|| format!("[{number}]"), |member| format!(".{member}"))
}

/// Returns the type of a value or of a pointer's target, if it is part of a variable.
fn type_of(module: &Module, function: &Function, expression: Handle<Expression>) -> Option<Handle<Type>> {
    let element = |base| match module.types[type_of(module, function, base)?].inner {
        TypeInner::Array { base, .. } => Some(base),
        _ => None,
    };
    match function.expressions[expression] {
        Expression::GlobalVariable(variable) => Some(module.global_variables[variable].ty),
        Expression::LocalVariable(variable) => Some(function.local_variables[variable].ty),
        Expression::FunctionArgument(number) => {
            let ty = function.arguments[number as usize].ty;
            match module.types[ty].inner {
                TypeInner::Pointer { base, .. } => Some(base),
                _ => Some(ty),
            }
        }
        Expression::Load { pointer } => type_of(module, function, pointer),
        Expression::Access { base, .. } => element(base),
        Expression::AccessIndex { base, index } => {
            match &module.types[type_of(module, function, base)?].inner {
                TypeInner::Struct { members, .. } => Some(members.get(index as usize)?.ty),
                _ => element(base),
            }
        }
        _ => None,
    }
}
