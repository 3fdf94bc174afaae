//! Replacements, in WGSL, for functions and operators that back ends compute wrongly or not at all.
//!
//! SPIR-V for Vulkan has bit functions, and the non-algebraic functions of GLSL.std.450, only for 32 bits. naga 30 also
//! emits them for 64 bits, and drivers then return wrong numbers or crash.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::sync::OnceLock;

use naga::front::Typifier;
use naga::proc::ResolveContext;
use naga::{
    BinaryOperator, Expression, Function, Handle, Literal, MathFunction, Module, Scalar, ScalarKind, Span,
    Statement, Type, TypeInner,
};

use crate::integer_polyfills::{call, prepend, scalar};
use crate::visit::{emitted, for_each_function, for_each_statement, operands};

/// Name of a function of [`texts`], for scalars or for vectors of this size.
type Name = String;

/// Replaces functions of 64-bit numbers in a module.
pub(crate) fn polyfill_functions(module: &mut Module) {
    let mut needed: Vec<Name> = Vec::new();
    for_each_function(module, 0, |module, function| needed.extend(found(module, function).into_values()));
    if needed.is_empty() {
        return;
    }
    needed.sort_unstable();
    needed.dedup();
    let helpers = add(module, texts(), &needed);
    let count = helpers.len();
    for_each_function(module, count, |module, function| replace(module, function, &helpers));
}

/// Returns the name of the replacement for a WGSL function on a type, or `None` if it is not replaced.
pub(crate) fn replaced(fun: MathFunction, of: Scalar) -> Option<&'static str> {
    let is_64 = |name| (of == Scalar::I64 || of == Scalar::U64).then_some(name);
    let is_f64 = |name| (of == Scalar::F64).then_some(name);
    match fun {
        MathFunction::Sin => is_f64("sin"),
        MathFunction::Cos => is_f64("cos"),
        MathFunction::Tan => is_f64("tan"),
        MathFunction::Asin => is_f64("asin"),
        MathFunction::Acos => is_f64("acos"),
        MathFunction::Atan => is_f64("atan"),
        MathFunction::Atan2 => is_f64("atan2"),
        MathFunction::Sinh => is_f64("sinh"),
        MathFunction::Cosh => is_f64("cosh"),
        MathFunction::Tanh => is_f64("tanh"),
        MathFunction::Asinh => is_f64("asinh"),
        MathFunction::Acosh => is_f64("acosh"),
        MathFunction::Atanh => is_f64("atanh"),
        MathFunction::Exp => is_f64("exp"),
        MathFunction::Exp2 => is_f64("exp2"),
        MathFunction::Log => is_f64("log"),
        MathFunction::Log2 => is_f64("log2"),
        MathFunction::Pow => is_f64("pow"),
        MathFunction::Degrees => is_f64("degrees"),
        MathFunction::Radians => is_f64("radians"),
        MathFunction::CountOneBits => is_64("countOneBits"),
        MathFunction::CountLeadingZeros => is_64("countLeadingZeros"),
        MathFunction::CountTrailingZeros => is_64("countTrailingZeros"),
        MathFunction::ReverseBits => is_64("reverseBits"),
        MathFunction::FirstLeadingBit => is_64("firstLeadingBit"),
        MathFunction::FirstTrailingBit => is_64("firstTrailingBit"),
        MathFunction::ExtractBits => is_64("extractBits"),
        MathFunction::InsertBits => is_64("insertBits"),
        MathFunction::Pack4xI8Clamp => Some("pack4xI8Clamp"),
        MathFunction::Pack4x8snorm => Some("pack4x8snorm"),
        MathFunction::Unpack2x16float => Some("unpack2x16float"),
        _ => None,
    }
}

/// Returns the name of the replacement for an operator on integers, if it is replaced.
fn replaced_operator(op: BinaryOperator, of: Scalar) -> Option<&'static str> {
    let is_64 = |name| (of == Scalar::I64 || of == Scalar::U64).then_some(name);
    let is_integer = |name| matches!(of.kind, ScalarKind::Sint | ScalarKind::Uint).then_some(name);
    match op {
        BinaryOperator::ShiftLeft => is_integer("shiftLeft"),
        BinaryOperator::ShiftRight => is_integer("shiftRight"),
        BinaryOperator::Less => is_64("less"),
        BinaryOperator::LessEqual => is_64("lessEqual"),
        BinaryOperator::Greater => is_64("greater"),
        BinaryOperator::GreaterEqual => is_64("greaterEqual"),
        _ => None,
    }
}

/// Returns the name of the replacement for a conversion to 64 bits, if it is replaced: naga extends a number by the
/// signedness of the result.
fn replaced_conversion(kind: ScalarKind, from: Scalar) -> Option<&'static str> {
    let is_replaced =
        matches!((from, kind), (Scalar::U32, ScalarKind::Sint) | (Scalar::I32, ScalarKind::Uint));
    is_replaced.then_some("widen")
}

/// Returns `true` if an expression is a number below 32.
fn is_small(function: &Function, amount: Handle<Expression>) -> bool {
    match function.expressions[amount] {
        Expression::Literal(Literal::U32(number)) => number < 32,
        Expression::Splat { value, .. } => is_small(function, value),
        Expression::Compose { ref components, .. } => components.iter().all(|&one| is_small(function, one)),
        _ => false,
    }
}

/// Functions of integers with their arguments and their result. In functions for vectors, `T` and `B` are vectors;
/// offsets and bit counts are scalars.
const FUNCTIONS: &[(&str, &[&str], &str)] = &[
    ("countOneBits", &["T"], "T"),
    ("countLeadingZeros", &["T"], "T"),
    ("countTrailingZeros", &["T"], "T"),
    ("reverseBits", &["T"], "T"),
    ("firstLeadingBit", &["T"], "T"),
    ("firstTrailingBit", &["T"], "T"),
    ("extractBits", &["T", "u32", "u32"], "T"),
    ("insertBits", &["T", "T", "u32", "u32"], "T"),
    ("less", &["T", "T"], "bool"),
    ("lessEqual", &["T", "T"], "bool"),
    ("greater", &["T", "T"], "bool"),
    ("greaterEqual", &["T", "T"], "bool"),
];

/// Operators on integers of any width.
const SHIFTS: &[&str] = &["shiftLeft", "shiftRight"];

/// Functions of one float.
const FLOAT_FUNCTIONS: &[&str] = &[
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp",
    "exp2", "log", "log2", "degrees", "radians",
];

/// Returns the module with all functions, including the functions for vectors.
fn texts() -> &'static Module {
    static MODULE: OnceLock<Module> = OnceLock::new();
    MODULE.get_or_init(|| {
        let mut text = concat!(
            include_str!("polyfills/int64.wgsl"),
            include_str!("polyfills/shifts.wgsl"),
            include_str!("polyfills/float64.wgsl"),
            include_str!("polyfills/packing.wgsl")
        )
        .to_owned();
        for ty in ["i64", "u64"] {
            for (name, arguments, result) in FUNCTIONS {
                for size in 2..=4 {
                    vector_function(&mut text, name, ty, (arguments, result), size);
                }
            }
        }
        for ty in ["i32", "u32", "i64", "u64"] {
            for size in 2..=4 {
                SHIFTS.iter().for_each(|name| vector_function(&mut text, name, ty, (&["T", "B"], "T"), size));
            }
        }
        for size in 2..=4 {
            vector_function(&mut text, "widen", "u32", (&["T"], "i64"), size);
            vector_function(&mut text, "widen", "i32", (&["T"], "u64"), size);
            FLOAT_FUNCTIONS
                .iter()
                .for_each(|name| vector_function(&mut text, name, "f64", (&["T"], "T"), size));
            ["atan2", "pow"]
                .iter()
                .for_each(|name| vector_function(&mut text, name, "f64", (&["T", "T"], "T"), size));
        }
        naga::front::wgsl::parse_str(&text).expect("bug: a text of ours is not WGSL")
    })
}

/// Writes a function that computes each component of a vector.
fn vector_function(
    text: &mut String,
    name: &str,
    ty: &str,
    (arguments, result): (&[&str], &str),
    size: usize,
) {
    let vector = |of: &str| match of {
        "T" => format!("vec{size}<{ty}>"),
        "B" => format!("vec{size}<u32>"),
        scalar => scalar.to_owned(),
    };
    let mut declared = Vec::new();
    let mut components = Vec::new();
    for (at, argument) in arguments.iter().enumerate() {
        declared.push(format!("a{at}: {}", vector(argument)));
    }
    for component in ["x", "y", "z", "w"].iter().take(size) {
        let passed = arguments.iter().enumerate().map(|(at, argument)| {
            if vector(argument).starts_with("vec") { format!("a{at}.{component}") } else { format!("a{at}") }
        });
        components.push(format!("{name}_{ty}({})", passed.collect::<Vec<_>>().join(", ")));
    }
    let result = if result == "T" { vector("T") } else { format!("vec{size}<{result}>") };
    let _ = write!(
        text,
        "fn {name}_{ty}_{size}({}) -> {result} {{ return {result}({}); }}",
        declared.join(", "),
        components.join(", ")
    );
}

/// Returns the expressions of a function to replace, each with the name of the replacement.
fn found(module: &Module, function: &Function) -> HashMap<Handle<Expression>, Name> {
    let mut found = HashMap::new();
    let context = ResolveContext::with_locals(module, &function.local_variables, &function.arguments);
    let mut types = Typifier::new();
    let Some((last, _)) = function.expressions.iter().next_back() else { return found };
    // An invalid module is reported by the device's validator.
    if types.grow(last, &function.expressions, &context).is_err() {
        return found;
    }
    let emitted = emitted(&function.body);
    for (handle, expression) in function.expressions.iter() {
        let (operand, name): (_, &dyn Fn(Scalar) -> Option<&'static str>) = match *expression {
            Expression::Math { fun, arg, .. } => (arg, &move |of| replaced(fun, of)),
            Expression::Binary {
                op: BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight, right, ..
            } if is_small(function, right) => {
                continue;
            }
            Expression::Binary { op, left, .. } => (left, &move |of| replaced_operator(op, of)),
            Expression::As { expr, kind, convert: Some(8) } => {
                (expr, &move |of| replaced_conversion(kind, of))
            }
            _ => continue,
        };
        let Some((of, size)) = scalar(types.get(operand, &module.types)) else { continue };
        if let Some(name) = name(of).filter(|_| emitted.contains(&handle)) {
            let ty = match of {
                Scalar::I64 => "i64",
                Scalar::U64 => "u64",
                Scalar::F64 => "f64",
                Scalar::F32 => "f32",
                Scalar::U32 => "u32",
                _ => "i32",
            };
            let size = size.map_or_else(String::new, |size| format!("_{size}"));
            found.insert(handle, format!("{name}_{ty}{size}"));
        }
    }
    found
}

/// Adds functions, and the functions that they call, before the functions of a module.
fn add(module: &mut Module, own: &Module, needed: &[Name]) -> BTreeMap<Name, Handle<Function>> {
    let mut wanted: Vec<bool> = own.functions.iter().map(|_| false).collect();
    // A function calls only functions before it.
    for (handle, function) in own.functions.iter().rev() {
        let name = function.name.as_ref();
        if wanted[handle.index()] || name.is_some_and(|name| needed.contains(name)) {
            wanted[handle.index()] = true;
            let mut body = function.body.clone();
            for_each_statement(&mut body, &mut |statement| {
                if let Statement::Call { function: called, .. } = statement {
                    wanted[called.index()] = true;
                }
            });
        }
    }
    // A device may not support the types of the other functions.
    let functions = own.functions.iter().filter(|(handle, _)| wanted[handle.index()]);
    let mut used: HashSet<_> = functions.flat_map(|(_, function)| types_of(function)).collect();
    for (handle, ty) in own.types.iter().collect::<Vec<_>>().into_iter().rev() {
        if let TypeInner::Array { base, .. } = ty.inner
            && used.contains(&handle)
        {
            used.insert(base);
        }
    }
    let mut types = HashMap::new();
    for (handle, ty) in own.types.iter().filter(|(handle, _)| used.contains(handle)) {
        let mut ty = ty.clone();
        if let TypeInner::Array { base, .. } = &mut ty.inner {
            *base = types[base];
        }
        types.insert(handle, module.types.insert(ty, Span::UNDEFINED));
    }
    let mut helpers = BTreeMap::new();
    let mut handles = HashMap::new();
    prepend(module, |module| {
        for (handle, function) in own.functions.iter().filter(|(handle, _)| wanted[handle.index()]) {
            let mut copy = moved(function, &types, &handles);
            let name = copy.name.clone().unwrap_or_default();
            copy.name = Some(format!("fencepost_{name}"));
            let new = module.functions.append(copy, Span::UNDEFINED);
            handles.insert(handle, new);
            helpers.insert(name, new);
        }
    });
    helpers
}

/// Returns the types that a function mentions.
fn types_of(function: &Function) -> Vec<Handle<Type>> {
    let arguments = function.arguments.iter().map(|argument| argument.ty);
    let locals = function.local_variables.iter().map(|(_, local)| local.ty);
    let expressions = function.expressions.iter().filter_map(|(_, expression)| match expression {
        Expression::ZeroValue(ty) | Expression::Compose { ty, .. } => Some(*ty),
        _ => None,
    });
    let result = function.result.iter().map(|result| result.ty);
    arguments.chain(locals).chain(expressions).chain(result).collect()
}

/// Returns a function with its handles mapped to another module.
fn moved(
    function: &Function,
    types: &HashMap<Handle<Type>, Handle<Type>>,
    functions: &HashMap<Handle<Function>, Handle<Function>>,
) -> Function {
    let mut copy = function.clone();
    copy.diagnostic_filter_leaf = None;
    for argument in &mut copy.arguments {
        argument.ty = types[&argument.ty];
    }
    if let Some(result) = &mut copy.result {
        result.ty = types[&result.ty];
    }
    for (_, local) in copy.local_variables.iter_mut() {
        local.ty = types[&local.ty];
    }
    for (_, expression) in copy.expressions.iter_mut() {
        match expression {
            Expression::ZeroValue(ty) | Expression::Compose { ty, .. } => *ty = types[ty],
            Expression::CallResult(called) => *called = functions[called],
            _ => {}
        }
    }
    for_each_statement(&mut copy.body, &mut |statement| {
        if let Statement::Call { function: called, .. } = statement {
            *called = functions[called];
        }
    });
    copy
}

/// Replaces expressions of a function by calls.
fn replace(module: &Module, function: &mut Function, helpers: &BTreeMap<Name, Handle<Function>>) {
    let mut calls = HashMap::new();
    for (handle, name) in found(module, function) {
        let called = helpers[&name];
        let arguments = operands(&mut function.expressions[handle]).unwrap_or_default();
        let arguments: Vec<_> = arguments.into_iter().map(|argument| *argument).collect();
        function.expressions[handle] = Expression::CallResult(called);
        calls.insert(handle, (called, arguments));
    }
    call(&mut function.body, &calls);
}
