//! Tests that results have the types that naga declares.

use crate::arith::{Operand, Outcome, Scalar, binary_whole, convert, math, relational};
use naga::valid::{Capabilities, FunctionInfo, ValidationFlags, Validator};
use naga::{Expression, Function, Handle, MathFunction, Module, TypeInner};
use std::collections::HashSet;

/// Returns a scalar type and its vectors.
fn shapes(scalar: &str) -> Vec<String> {
    let vectors = (2..=4).map(|size| format!("vec{size}<{scalar}>"));
    std::iter::once(scalar.to_owned()).chain(vectors).collect()
}

/// Returns a WGSL function that computes an expression of its parameters `a`, `b`, `c` and `d`.
fn function(number: usize, types: &[String], expression: &str) -> String {
    let names = ["a", "b", "c", "d"].into_iter().zip(types);
    let parameters: Vec<String> = names.map(|(name, ty)| format!("{name}: {ty}")).collect();
    format!("fn call{number}({}) {{ let r = {expression}; }}\n", parameters.join(", "))
}

/// Returns the module of functions with these types of parameters and these expressions.
fn module(expressions: &[(Vec<String>, String)]) -> Module {
    let functions = expressions.iter().enumerate();
    let text: String = functions.map(|(number, (types, text))| function(number, types, text)).collect();
    let text = format!("enable f16;\n{text}");
    naga::front::wgsl::parse_str(&text).unwrap_or_else(|error| panic!("{}", error.emit_to_string(&text)))
}

/// Returns the components of a value of a type. All of them are 1.
fn ones(inner: &TypeInner) -> Vec<Scalar> {
    let (columns, rows) = Operand::shape(inner);
    let scalar = inner.scalar().expect("an operand has components");
    vec![convert(Scalar::U32(1), scalar.kind, Some(scalar.width)); columns.max(1) * rows.max(1)]
}

fn operand<'a>(inner: &TypeInner, values: &'a [Scalar]) -> Operand<'a> {
    let (columns, rows) = Operand::shape(inner);
    Operand::new(columns, rows, values)
}

/// Checks that a result has a type of a module.
fn check(module: &Module, inner: &TypeInner, outcome: &Outcome, what: &str) {
    let scalars = |values: &[Scalar], expected| values.iter().all(|value| value.ty() == expected);
    let same = match (inner, outcome) {
        (&TypeInner::Scalar(scalar), Outcome::Scalar(value)) => value.ty() == scalar,
        (&TypeInner::Vector { size, scalar }, Outcome::Vector(values)) => {
            values.len() == size as usize && scalars(values, scalar)
        }
        (
            &TypeInner::Matrix { columns, rows, scalar },
            Outcome::Matrix { columns: width, rows: height, values },
        ) => {
            (*width, *height) == (columns as usize, rows as usize)
                && values.len() == width * height
                && scalars(values, scalar)
        }
        (TypeInner::Struct { members, .. }, Outcome::Pair(pair)) => {
            for (member, outcome) in members.iter().zip(pair.iter()) {
                check(module, &module.types[member.ty].inner, outcome, what);
            }
            members.len() == 2
        }
        _ => false,
    };
    assert!(same, "{what} gives {outcome:?}, whose type is not {inner:?}");
}

/// Calls a check for each expression of a module except parameters.
fn each(module: &Module, mut check: impl FnMut(&Function, &FunctionInfo, Handle<Expression>)) {
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
    let info = validator.validate(module).expect("the module is valid");
    for (handle, function) in module.functions.iter() {
        for (expression, value) in function.expressions.iter() {
            if !matches!(value, Expression::FunctionArgument(_)) {
                check(function, &info[handle], expression);
            }
        }
    }
}

/// Checks the types of the results of functions, each with its types of arguments and the text of its call. Returns the
/// functions.
pub(crate) fn check_functions(calls: &[(Vec<String>, String)]) -> HashSet<MathFunction> {
    let module = module(calls);
    let mut seen = HashSet::new();
    each(&module, |function, info, handle| {
        let Expression::Math { fun, arg, arg1, arg2, arg3 } = function.expressions[handle] else { return };
        let types = [Some(arg), arg1, arg2, arg3].into_iter().flatten();
        let types: Vec<&TypeInner> = types.map(|arg| info[arg].ty.inner_with(&module.types)).collect();
        let values: Vec<Vec<Scalar>> = types.iter().map(|inner| ones(inner)).collect();
        let args: Vec<Operand<'_>> =
            types.iter().zip(&values).map(|(inner, values)| operand(inner, values)).collect();
        let result = info[handle].ty.inner_with(&module.types);
        check(&module, result, &math(fun, &args), &format!("{fun:?} of {types:?}"));
        seen.insert(fun);
    });
    seen
}

#[test]
fn every_operator_and_conversion_gives_the_type_that_naga_declares() {
    let mut expressions = Vec::new();
    let mut add = |types: [&str; 2], text: &str| {
        expressions.push((types.map(str::to_owned).to_vec(), text.to_owned()));
    };
    for scalar in ["f16", "f32", "f64", "i32", "u32", "i64", "u64"] {
        for ty in shapes(scalar) {
            for op in ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">="] {
                add([&ty, &ty], &format!("a {op} b"));
            }
            add([&ty, scalar], "a * b");
            add([scalar, &ty], "a * b");
        }
    }
    for scalar in ["i32", "u32", "i64", "u64"] {
        for (ty, amount) in shapes(scalar).iter().zip(shapes("u32")) {
            ["&", "|", "^"].iter().for_each(|op| add([ty, ty], &format!("a {op} b")));
            ["<<", ">>"].iter().for_each(|op| add([ty, &amount], &format!("a {op} b")));
        }
    }
    for (columns, rows) in (0..9).map(|i| (2 + i / 3, 2 + i % 3)) {
        for scalar in ["f16", "f32", "f64"] {
            let matrix = format!("mat{columns}x{rows}<{scalar}>");
            ["+", "-"].iter().for_each(|op| add([&matrix, &matrix], &format!("a {op} b")));
            add([&matrix, scalar], "a * b");
            add([scalar, &matrix], "a * b");
            add([&matrix, &format!("vec{columns}<{scalar}>")], "a * b");
            add([&format!("vec{rows}<{scalar}>"), &matrix], "a * b");
            (2..=4).for_each(|other| add([&matrix, &format!("mat{other}x{columns}<{scalar}>")], "a * b"));
        }
    }
    for size in 2..=4 {
        let vector = format!("vec{size}<bool>");
        ["all(a)", "any(b)", "a & b", "a | b", "a == b"]
            .iter()
            .for_each(|text| add([&vector, &vector], text));
    }
    for from in ["bool", "f16", "f32", "f64", "i32", "u32", "i64", "u64"] {
        for to in ["bool", "f16", "f32", "f64", "i32", "u32", "i64", "u64"] {
            add([from, to], &format!("{to}(a)"));
        }
    }
    for (a, b) in [("f32", "u32"), ("f32", "i32"), ("i32", "u32")] {
        add([a, b], &format!("bitcast<{b}>(a)"));
        add([a, b], &format!("bitcast<{a}>(b)"));
    }
    let module = module(&expressions);
    let mut checked = 0;
    each(&module, |function, info, handle| {
        let inner = |handle: Handle<Expression>| info[handle].ty.inner_with(&module.types);
        let (outcome, what) = match function.expressions[handle] {
            Expression::Binary { op, left, right } => {
                let a = ones(inner(left));
                let b = ones(inner(right));
                let outcome = binary_whole(op, operand(inner(left), &a), operand(inner(right), &b));
                (outcome, format!("{:?} {op:?} {:?}", inner(left), inner(right)))
            }
            Expression::Relational { fun, argument } => {
                (relational(fun, &ones(inner(argument))), format!("{fun:?} of {:?}", inner(argument)))
            }
            Expression::As { expr, kind, convert: width } => {
                let outcome = Outcome::Scalar(convert(ones(inner(expr))[0], kind, width));
                (outcome, format!("a conversion of {:?}", inner(expr)))
            }
            _ => return,
        };
        check(&module, inner(handle), &outcome, &what);
        checked += 1;
    });
    // A conversion to the same type makes no expression.
    assert!(checked >= expressions.len() - 8, "{checked} of {}", expressions.len());
}
