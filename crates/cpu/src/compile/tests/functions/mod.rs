//! Every built-in function of naga: the interpreter and the machine code for 1, 4, 8 and 16 invocations have equal
//! results, which are within the bounds of WGSL around a reference on `f64`.

mod bits;
mod floats;
mod geometry;
mod integers;
mod packing;
mod reference;
mod rows;

use super::Test;
use crate::arith::tests::edges::{floats, integers};
use naga::MathFunction as Fun;
use reference::{Bound, Reference};
use std::collections::HashSet;

/// Counts the calls of each expression.
const CALLS: usize = 256;

/// Is a call of a built-in function.
struct Row {
    /// Is the expression of the arguments `a`, `b`, `c` and `d`.
    text: &'static str,
    /// Lists the types of the arguments, and that of the result behind an arrow. A type is a letter, and a `*`, which
    /// stands for each number of components, or the number of components, or those of columns and of rows.
    types: &'static str,
    reference: Reference,
    bound: Bound,
}

/// Is a type of a row. The letters are:
/// - `f`: any `f32`; `m`: an `f32` of moderate size
/// - `i`, `u`: any integer
/// - `o`: a `u32` that counts or numbers bits; `e`: an `i32` that is an exponent
#[derive(Clone, Copy)]
struct Type {
    letter: u8,
    columns: usize,
    rows: usize,
}

impl Type {
    /// Reads a type, with a number of components for `*`.
    fn new(text: &str, size: usize) -> Self {
        let number = |byte: u8| if byte == b'*' { size } else { usize::from(byte - b'0') };
        let (columns, rows) = match text.as_bytes()[1..] {
            [] => (1, 1),
            [rows] => (1, number(rows)),
            [columns, rows] => (number(columns), number(rows)),
            _ => panic!("{text} is no type"),
        };
        Self { letter: text.as_bytes()[0], columns, rows }
    }

    fn components(self) -> usize {
        self.columns * self.rows
    }

    fn scalar(self) -> &'static str {
        match self.letter {
            b'f' | b'm' => "f32",
            b'i' | b'e' => "i32",
            _ => "u32",
        }
    }

    fn wgsl(self) -> String {
        match (self.columns, self.rows) {
            (1, 1) => self.scalar().into(),
            (1, rows) => format!("vec{rows}<{}>", self.scalar()),
            (columns, rows) => format!("mat{columns}x{rows}<{}>", self.scalar()),
        }
    }

    /// Returns the index of a component as WGSL.
    fn index(self, component: usize) -> String {
        match (self.columns, self.rows) {
            (1, 1) => String::new(),
            (1, _) => format!("[{component}]"),
            (_, rows) => format!("[{}][{}]", component / rows, component % rows),
        }
    }

    /// Returns the bits of the values of its components.
    fn values(self) -> Vec<u32> {
        let mut rng = fastrand::Rng::with_seed(11);
        let integers = |ty| integers(ty).into_iter().map(|value| value as u32).collect();
        match self.letter {
            b'f' => floats().into_iter().map(f32::to_bits).collect(),
            b'm' => {
                let few = [0.0, -0.0, 0.5, 1.0, -1.0, 2.0, 3.0, -4.0, 0.25, 1e-3, -100.0];
                let random: Vec<f32> = (0..200).map(|_| (rng.f32() - 0.5) * 20.0).collect();
                few.into_iter().chain(random).map(f32::to_bits).collect()
            }
            b'i' => integers(naga::Scalar::I32),
            b'u' => integers(naga::Scalar::U32),
            b'o' => (0..41).chain([u32::MAX, 1 << 31]).collect(),
            b'e' => (-160..140).map(i32::cast_unsigned).collect(),
            other => panic!("{other} is no letter of a type"),
        }
    }

    /// Returns the number that is held by a component.
    fn number(self, bits: u32) -> f64 {
        match self.scalar() {
            "f32" => f32::from_bits(bits).into(),
            "i32" => bits.cast_signed().into(),
            _ => bits.into(),
        }
    }
}

/// Returns the text of a kernel that evaluates an expression in each invocation.
fn kernel(text: &str, arguments: &[Type], result: Type) -> String {
    let width: usize = arguments.iter().map(|argument| argument.components()).sum();
    let (mut body, mut at) = (String::new(), 0);
    for (name, argument) in ["a", "b", "c", "d"].into_iter().zip(arguments) {
        let component =
            |component| format!("bitcast<{}>(words[i * {width}u + {component}u])", argument.scalar());
        let components: Vec<String> = (at..at + argument.components()).map(component).collect();
        body += &format!("let {name} = {}({});\n", argument.wgsl(), components.join(", "));
        at += argument.components();
    }
    body += &format!("let result: {} = {text};\n", result.wgsl());
    for component in 0..result.components() {
        let (count, index) = (result.components(), result.index(component));
        body += &format!("out[i * {count}u + {component}u] = bitcast<u32>(result{index});\n");
    }
    format!(
        "@group(0) @binding(0) var<storage, read> words: array<u32>;
        @group(0) @binding(1) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(32)
        fn calls(@builtin(global_invocation_id) id: vec3<u32>) {{ let i = id.x; {body} }}"
    )
}

/// Returns the bits of the arguments of each call: each value of a single component, and a random choice of several.
fn inputs(arguments: &[Type]) -> Vec<u32> {
    let mut rng = fastrand::Rng::with_seed(5);
    let columns: Vec<Vec<u32>> =
        arguments.iter().flat_map(|argument| vec![argument.values(); argument.components()]).collect();
    let is_single = columns.len() == 1;
    let value = |rng: &mut fastrand::Rng, column: &[u32], call: usize| {
        column[if is_single { call % column.len() } else { rng.usize(..column.len()) }]
    };
    (0..CALLS)
        .flat_map(|call| columns.iter().map(|column| value(&mut rng, column, call)).collect::<Vec<_>>())
        .collect()
}

/// Checks the calls with one number of components for `*`.
fn check(row: &Row, size: usize) {
    let (arguments, result) = row.types.split_once(" -> ").expect("a row has a result");
    let arguments: Vec<Type> = arguments.split(' ').map(|text| Type::new(text, size)).collect();
    let result = Type::new(result, size);
    let words = inputs(&arguments);
    let what = format!("{} of {} with {size} components", row.text, row.types);
    let test = Test::new(&kernel(row.text, &arguments, result));
    assert!(test.vector.is_ok() && test.wider.len() == 2, "{what} has machine code of each width");
    let test = test.buffer(&words).buffer(&vec![0_u32; CALLS * result.components()]);
    let found = test.run([(CALLS / 32) as u32, 1, 1]).get::<u32>(1);
    let (mut words, mut checked) = (words.into_iter(), 0);
    for found in found.chunks(result.components()) {
        let of = |argument: &Type| {
            (&mut words).take(argument.components()).map(|bits| argument.number(bits)).collect()
        };
        let values: Vec<Vec<f64>> = arguments.iter().map(of).collect();
        if values.iter().flatten().any(|value| !value.is_finite()) {
            continue; // WGSL gives no bound
        }
        let exact = (row.reference)(&values);
        assert_eq!(exact.len(), found.len(), "{what}");
        for (at, (&found, &exact)) in found.iter().zip(&exact).enumerate() {
            if exact.is_nan() || result.letter == b'f' && exact.abs() > f32::MAX.into() {
                continue;
            }
            let (found, bound) = (result.number(found), (row.bound)(&values, at, exact));
            let is_close = found == exact || (found - exact).abs() <= bound;
            assert!(is_close, "{what}: {values:?} gives {found:e}, not {exact:e}; the bound is {bound:e}");
            checked += 1;
        }
    }
    assert!(checked * 16 >= CALLS, "{what}: {checked} results have a bound");
}

/// Checks all calls of a function.
fn check_function(fun: Fun) {
    for row in rows::rows(fun) {
        let sizes = if row.types.contains('*') { 1..=4 } else { 1..=1 };
        sizes.for_each(|size| check(&row, size));
    }
}

/// Is the last function of naga's list. `rows` has an arm for each, so a new function of naga is an error of the compiler.
const LAST: Fun = Fun::Unpack4xU8;

/// Checks a part of the functions, which runs beside the others.
fn check_part(part: usize) {
    rows::ALL.into_iter().skip(part).step_by(4).for_each(check_function);
}

#[test]
fn the_list_of_functions_has_each_function_of_naga_once() {
    let listed: HashSet<usize> = rows::ALL.iter().map(|&fun| fun as usize).collect();
    assert_eq!(listed, (0..=LAST as usize).collect());
    assert_eq!(listed.len(), rows::ALL.len());
    let without: Vec<Fun> = rows::ALL.into_iter().filter(|&fun| rows::rows(fun).is_empty()).collect();
    assert_eq!(without, [Fun::Outer, Fun::Inverse], "WGSL has no names for these alone");
}

#[test]
fn a_first_part_of_the_functions_is_within_the_bounds_of_wgsl_at_each_width() {
    check_part(0);
}

#[test]
fn a_second_part_of_the_functions_is_within_the_bounds_of_wgsl_at_each_width() {
    check_part(1);
}

#[test]
fn a_third_part_of_the_functions_is_within_the_bounds_of_wgsl_at_each_width() {
    check_part(2);
}

#[test]
fn a_fourth_part_of_the_functions_is_within_the_bounds_of_wgsl_at_each_width() {
    check_part(3);
}
