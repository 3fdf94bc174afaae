//! Tests every built-in function of naga with each supported width of numbers: the results are within WGSL's bounds
//! around a reference, and are equal in the interpreter and in machine code for 1, 4, 8 and 16 invocations.
//!
//! If machine code does not support a 16-bit or 64-bit type, only the interpreter is checked.

mod bits;
mod engines;
mod floats;
mod geometry;
mod integers;
mod packing;
mod reference;
mod rows;
mod types;

use crate::arith::TABLE;
use crate::arith::tests::accuracy::Format;
use crate::arith::tests::edges::nearest_half;
use crate::arith::tests::types::check_functions;
use crate::interpret::Interpreter;
use crate::program::Program;
use naga::MathFunction as Fun;
use reference::{Bound, Integers, Place, Reference};
use std::collections::HashSet;
use types::{Type, Width};

/// Number of calls of an expression with several components, and minimum number of calls of others.
const CALLS: usize = 256;

/// A call of a built-in function.
struct Row {
    /// Expression of the arguments `a`, `b`, `c` and `d`.
    text: &'static str,
    /// Types of the arguments, an arrow, and the type of the result. A type is a letter followed by the number of
    /// components, the numbers of columns and rows, or `*` for every number of components.
    types: &'static str,
    /// Widths of the numbers.
    widths: &'static [Width],
    expected: Expected,
}

/// Expected result of a call.
enum Expected {
    Real(Reference, Bound),
    Integers(Integers),
}

/// A row with a chosen width of the numbers and a number of components for `*`.
struct Call<'a> {
    row: &'a Row,
    width: Width,
    arguments: Vec<Type>,
    result: Type,
    /// Name of the call in messages.
    what: String,
}

impl<'a> Call<'a> {
    fn new(row: &'a Row, width: Width, size: usize) -> Self {
        let (arguments, result) = row.types.split_once(" -> ").expect("a row has a result");
        let what = format!("{} of {} with {size} components, {width:?}", row.text, row.types);
        let arguments = arguments.split(' ').map(|text| Type::new(text, size, width)).collect();
        Self { row, width, arguments, result: Type::new(result, size, width), what }
    }

    /// Returns the bits of the components of each argument of each call: all values if there is a single component,
    /// otherwise a random choice.
    fn inputs(&self) -> Vec<Vec<u64>> {
        let mut rng = fastrand::Rng::with_seed(5);
        let values: Vec<Vec<u64>> = self.arguments.iter().map(|argument| argument.values()).collect();
        let is_single = self.arguments.iter().map(|argument| argument.components()).sum::<usize>() == 1;
        let calls = if is_single { values[0].len().next_multiple_of(32).max(CALLS) } else { CALLS };
        let pick = |(argument, values): (&Type, &Vec<u64>)| {
            let at = |at| if is_single { at % values.len() } else { rng.usize(..values.len()) };
            (0..calls * argument.components()).map(at).map(|at| values[at]).collect()
        };
        self.arguments.iter().zip(&values).map(pick).collect()
    }

    /// Checks the results of calls with any inputs.
    fn check(&self) {
        let inputs = self.inputs();
        let calls = inputs[0].len() / self.arguments[0].components();
        let results = engines::results(self, &inputs, calls);
        let mut checked = 0;
        for (call, found) in results.chunks(self.result.components()).enumerate() {
            let parts = self.arguments.iter().zip(&inputs);
            let parts: Vec<(Type, &[u64])> = parts
                .map(|(&ty, input)| (ty, &input[call * ty.components()..(call + 1) * ty.components()]))
                .collect();
            checked += match &self.row.expected {
                Expected::Real(reference, bound) => self.check_real(&parts, found, reference, bound),
                Expected::Integers(reference) => self.check_integers(&parts, found, reference),
            };
        }
        assert!(checked * 16 >= calls, "{}: {checked} results have a bound", self.what);
    }

    /// Compares result components with a reference on exact integers. Returns the number of components.
    fn check_integers(&self, parts: &[(Type, &[u64])], found: &[u64], reference: &Integers) -> usize {
        let values: Vec<Vec<i128>> =
            parts.iter().map(|(ty, input)| input.iter().map(|&bits| ty.integer(bits)).collect()).collect();
        let exact = reference(&values, 8 * self.arguments[0].bytes() as u32);
        let expected: Vec<u64> = exact.into_iter().map(|exact| self.result.wrapped(exact)).collect();
        assert_eq!(found, expected, "{} of {values:?}", self.what);
        found.len()
    }

    /// Checks the result components for which WGSL has a bound. Returns their number.
    fn check_real(
        &self,
        parts: &[(Type, &[u64])],
        found: &[u64],
        reference: &Reference,
        bound: &Bound,
    ) -> usize {
        let arguments: Vec<Vec<f64>> =
            parts.iter().map(|(ty, input)| input.iter().map(|&bits| ty.number(bits)).collect()).collect();
        if arguments.iter().flatten().any(|value| !value.is_finite()) {
            return 0; // WGSL gives no bound
        }
        let expected = reference(&arguments);
        assert_eq!(expected.len(), found.len(), "{}", self.what);
        let mut checked = 0;
        for (at, (&found, &exact)) in found.iter().zip(&expected).enumerate() {
            let place = Place { width: self.width, arguments: &arguments, at, exact };
            let found = self.result.number(found);
            if self.has_bound(exact) {
                let (nearest, bound) = self.nearest(&place, bound);
                let is_close = found == nearest || (found - exact).abs() <= bound;
                assert!(
                    is_close,
                    "{}: {arguments:?} gives {found:e}, not {exact:e}; the bound is {bound:e}",
                    self.what
                );
                checked += 1;
            }
        }
        checked
    }

    /// Returns `true` if WGSL has a bound for an exact result, which it does not if the number is too large. Functions
    /// of `f16` return an infinity for such a number.
    fn has_bound(&self, exact: f64) -> bool {
        let most = match self.width {
            Width::Half => f64::INFINITY,
            Width::Word => f32::MAX.into(),
            Width::Double => f64::MAX,
        };
        !exact.is_nan() && (!self.result.is_float() || exact.abs() <= most)
    }

    /// Returns the nearest representable result, and the error that other results may have.
    ///
    /// Functions of `f16` round once, which adds half a unit in the last place to the error of a computation with
    /// `f64`. For `f16`, WGSL allows at least the two neighbours of the exact result, and more for most functions.
    fn nearest(&self, place: &Place<'_>, bound: &Bound) -> (f64, f64) {
        let bound = bound(place);
        match self.width {
            Width::Half if self.result.is_float() => {
                let rounding = if bound == 0.0 { 0.0 } else { 0.5 * Format::F16.ulp(place.exact) };
                (nearest_half(place.exact).to_f64(), rounding + bound)
            }
            _ => (place.exact, bound),
        }
    }
}

/// Visits all calls of a function.
fn each_call(fun: Fun, mut visit: impl FnMut(&Call<'_>)) {
    for row in rows::rows(fun) {
        let sizes = if row.types.contains('*') { 1..=4 } else { 1..=1 };
        for width in row.widths {
            sizes.clone().for_each(|size| visit(&Call::new(&row, *width, size)));
        }
    }
}

/// Last function of naga's list. `rows` has an arm for each function, so a new one is a compile error.
const LAST: Fun = Fun::Unpack4xU8;

fn all() -> impl Iterator<Item = Fun> {
    TABLE.iter().map(|row| row.0)
}

/// Checks a part of the functions. The parts run in parallel.
fn check_part(part: usize) {
    all().skip(part).step_by(4).for_each(|fun| each_call(fun, |call| call.check()));
}

#[test]
fn the_table_of_functions_has_each_function_of_naga_once() {
    let listed: HashSet<usize> = all().map(|fun| fun as usize).collect();
    assert_eq!(listed, (0..=LAST as usize).collect());
    assert_eq!(listed.len(), all().count());
    let without: Vec<Fun> = all().filter(|&fun| rows::rows(fun).is_empty()).collect();
    assert_eq!(without, [Fun::Outer, Fun::Inverse], "WGSL has no names for these alone");
}

#[test]
fn every_function_gives_the_type_that_naga_declares() {
    let mut calls = Vec::new();
    for fun in all() {
        each_call(fun, |call| {
            let types = call.arguments.iter().map(|argument| argument.wgsl()).collect();
            calls.push((types, call.row.text.to_owned()));
        });
    }
    let mut seen = check_functions(&calls);
    seen.extend([Fun::Outer, Fun::Inverse]);
    assert_eq!(seen, all().collect());
}

#[test]
fn frexp_of_f16_is_refused_as_naga_declares_its_exponent_with_16_bits() {
    for statement in
        ["x[0] = frexp(x[0]).fract;", "let f = frexp(vec2(x[0])); x[0] = f.fract.y;", "var f = frexp(x[0]);"]
    {
        let text = format!(
            "enable f16;
            @group(0) @binding(0) var<storage, read_write> x: array<f16>;
            @compute @workgroup_size(1) fn parts() {{
                {statement}
            }}"
        );
        let refused =
            Interpreter::new(Program::of_text(text)).err().expect("the exponent has 16 bits").to_string();
        let what = "`frexp` of `f16`, whose exponent is an integer of 16 bits, does not run on the CPU";
        assert!(refused.starts_with("test.wgsl:4:") && refused.ends_with(what), "{refused}");
    }
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
