//! Makes integer edge cases give WGSL's results on GLSL, which leaves them undefined: divisions by 0, remainders of
//! negative numbers, and floats out of an integer's range.
//!
//! naga 30 writes these operators to GLSL unchanged. Here each becomes a call of a function that computes the result
//! with operators that GLSL defines. naga also writes `abs` of an unsigned number as `abs` of a signed one; here it is
//! replaced by the number itself. naga writes `pack4xU8` and `pack4xU8Clamp` without the parentheses that operator
//! precedence requires; here they become calls too.

use naga::front::Typifier;
use naga::proc::ResolveContext;
use naga::{
    AtomicFunction, BinaryOperator, Block, Expression, Function, FunctionArgument, FunctionResult, Handle,
    Literal, MathFunction, Module, Range, Scalar, ScalarKind, Span, Statement, Type, TypeInner,
    UnaryOperator, VectorSize,
};
use std::collections::{BTreeMap, HashMap};

use crate::visit::{emitted, for_each_function, for_each_statement, inner_blocks};

/// A function that is added to the module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Polyfill {
    Quotient {
        signed: bool,
    },
    Remainder {
        signed: bool,
    },
    /// Conversion of an `f32` to an integer.
    Whole {
        signed: bool,
    },
    /// Packing of four unsigned numbers into a word.
    Packed {
        clamps: bool,
    },
}

/// A function for scalars, or for vectors with this number of components.
type Key = (Polyfill, Option<u8>);

/// Replaces operators whose results GLSL leaves undefined.
pub(crate) fn polyfill_integers(module: &mut Module) {
    for_each_function(module, 0, |module, function| drop_unsigned_abs(module, function));
    let needed = needed(module);
    if needed.is_empty() {
        return;
    }
    let helpers = add(module, &needed);
    for_each_function(module, helpers.len(), |module, function| replace(module, function, &helpers));
}

/// Replaces atomic subtractions of signed numbers by additions of the negated numbers. In GLSL and HLSL, naga 30 writes
/// a minus before the number, which gives `--` if the number itself begins with a minus.
pub(crate) fn lower_atomic_subtractions(module: &mut Module) {
    for_each_function(module, 0, |module, function| {
        let Some(types) = types(module, function) else { return };
        let is_signed = |value| {
            scalar(types.get(value, &module.types)).is_some_and(|(of, _)| of.kind == ScalarKind::Sint)
        };
        let mut body = std::mem::take(&mut function.body);
        negate(&mut body, &mut function.expressions, &is_signed);
        function.body = body;
    });
}

fn negate(
    block: &mut Block,
    expressions: &mut naga::Arena<Expression>,
    is_signed: &impl Fn(Handle<Expression>) -> bool,
) {
    let old = std::mem::take(block);
    for (mut statement, span) in old.span_into_iter() {
        inner_blocks(&mut statement).into_iter().for_each(|inner| negate(inner, expressions, is_signed));
        if let Statement::Atomic { fun: fun @ AtomicFunction::Subtract, value, .. } = &mut statement
            && is_signed(*value)
        {
            let negative = Expression::Unary { op: UnaryOperator::Negate, expr: *value };
            *value = expressions.append(negative, span);
            *fun = AtomicFunction::Add;
            block.push(Statement::Emit(Range::new_from_bounds(*value, *value)), span);
        }
        block.push(statement, span);
    }
}

/// Replaces `abs` of unsigned numbers by the numbers.
fn drop_unsigned_abs(module: &Module, function: &mut Function) {
    let is_unsigned =
        |inner: &TypeInner| scalar(inner).is_some_and(|(scalar, _)| scalar.kind == ScalarKind::Uint);
    let Some(types) = types(module, function) else { return };
    for (_, expression) in function.expressions.iter_mut() {
        if let Expression::Math { fun: MathFunction::Abs, arg, .. } = *expression
            && is_unsigned(types.get(arg, &module.types))
        {
            *expression = Expression::As { expr: arg, kind: ScalarKind::Uint, convert: None };
        }
    }
}

/// Returns the types of a function's expressions; `None` if the module is invalid, which the validator of the device reports.
fn types(module: &Module, function: &Function) -> Option<Typifier> {
    let context = ResolveContext::with_locals(module, &function.local_variables, &function.arguments);
    let mut types = Typifier::new();
    let (last, _) = function.expressions.iter().next_back()?;
    types.grow(last, &function.expressions, &context).ok()?;
    Some(types)
}

/// Returns the operators of a function to replace, each with the replacement.
fn found(module: &Module, function: &Function) -> HashMap<Handle<Expression>, Key> {
    let mut found = HashMap::new();
    let Some(types) = types(module, function) else { return found };
    let emitted = emitted(&function.body);
    for (handle, expression) in function.expressions.iter().filter(|(handle, _)| emitted.contains(handle)) {
        if let Some(key) = packed(expression) {
            found.insert(handle, key);
            continue;
        }
        let is_signed =
            |of| scalar(types.get(of, &module.types)).is_some_and(|(kind, _)| kind == Scalar::I32);
        let (operand, helper): (_, fn(bool) -> Polyfill) = match *expression {
            Expression::Binary { op: BinaryOperator::Divide, left, right }
                if !is_plain(module, function, right) =>
            {
                (left, |signed| Polyfill::Quotient { signed })
            }
            Expression::Binary { op: BinaryOperator::Modulo, left, right }
                if is_signed(left) || !is_plain(module, function, right) =>
            {
                (left, |signed| Polyfill::Remainder { signed })
            }
            Expression::As { expr, kind: ScalarKind::Sint, convert: Some(4) } => {
                (expr, |_| Polyfill::Whole { signed: true })
            }
            Expression::As { expr, kind: ScalarKind::Uint, convert: Some(4) } => {
                (expr, |_| Polyfill::Whole { signed: false })
            }
            _ => continue,
        };
        let Some((kind, size)) = scalar(types.get(operand, &module.types)) else { continue };
        let wanted = if matches!(expression, Expression::As { .. }) {
            [Scalar::F32; 2]
        } else {
            [Scalar::I32, Scalar::U32]
        };
        if wanted.contains(&kind) {
            found.insert(handle, (helper(kind == Scalar::I32), size));
        }
    }
    found
}

/// Returns the function for an operation that packs unsigned numbers.
fn packed(expression: &Expression) -> Option<Key> {
    match *expression {
        Expression::Math { fun: MathFunction::Pack4xU8, .. } => {
            Some((Polyfill::Packed { clamps: false }, None))
        }
        Expression::Math { fun: MathFunction::Pack4xU8Clamp, .. } => {
            Some((Polyfill::Packed { clamps: true }, None))
        }
        _ => None,
    }
}

/// Returns the scalar of a type and the number of its components, if it is a scalar or a vector.
pub(crate) fn scalar(inner: &TypeInner) -> Option<(Scalar, Option<u8>)> {
    match *inner {
        TypeInner::Scalar(scalar) => Some((scalar, None)),
        TypeInner::Vector { size, scalar } => Some((scalar, Some(size as u8))),
        _ => None,
    }
}

/// Returns `true` if GLSL defines quotients by this divisor: it is a constant other than 0 and -1.
fn is_plain(module: &Module, function: &Function, divisor: Handle<Expression>) -> bool {
    let of_constant = |literal: &Literal| match *literal {
        Literal::I32(number) => number != 0 && number != -1,
        Literal::U32(number) => number != 0,
        _ => false,
    };
    match function.expressions[divisor] {
        Expression::Literal(ref literal) => of_constant(literal),
        Expression::Constant(constant) => match &module.global_expressions[module.constants[constant].init] {
            Expression::Literal(literal) => of_constant(literal),
            _ => false,
        },
        Expression::Splat { value, .. } => is_plain(module, function, value),
        _ => false,
    }
}

/// Returns `true` for an expression made only of constants.
pub(crate) fn is_constant(function: &Function, handle: Handle<Expression>) -> bool {
    let constant = |handle: Handle<Expression>| is_constant(function, handle);
    match function.expressions[handle] {
        Expression::Literal(_)
        | Expression::Constant(_)
        | Expression::Override(_)
        | Expression::ZeroValue(_) => true,
        Expression::Compose { ref components, .. } => components.iter().copied().all(constant),
        Expression::Splat { value: one, .. }
        | Expression::Swizzle { vector: one, .. }
        | Expression::AccessIndex { base: one, .. }
        | Expression::Unary { expr: one, .. }
        | Expression::Relational { argument: one, .. }
        | Expression::As { expr: one, .. } => constant(one),
        Expression::Access { base: one, index: two } | Expression::Binary { left: one, right: two, .. } => {
            constant(one) && constant(two)
        }
        Expression::Select { condition, accept, reject } => {
            [condition, accept, reject].into_iter().all(constant)
        }
        Expression::Math { arg, arg1, arg2, arg3, .. } => {
            [Some(arg), arg1, arg2, arg3].into_iter().flatten().all(constant)
        }
        _ => false,
    }
}

/// Returns the functions that a module needs, a scalar one before the vector ones that call it.
fn needed(module: &Module) -> Vec<Key> {
    let functions = module.functions.iter().map(|(_, function)| function);
    let functions = functions.chain(module.entry_points.iter().map(|entry| &entry.function));
    let mut needed: Vec<Key> = functions.flat_map(|function| found(module, function).into_values()).collect();
    needed.extend(needed.clone().into_iter().map(|(helper, _)| (helper, None)));
    needed.sort_unstable();
    needed.dedup();
    needed
}

/// Adds the functions that a module needs.
fn add(module: &mut Module, needed: &[Key]) -> BTreeMap<Key, Handle<Function>> {
    prepend(module, |module| {
        let mut helpers = BTreeMap::new();
        for &key in needed {
            let function = function(module, key, &helpers);
            helpers.insert(key, module.functions.append(function, Span::UNDEFINED));
        }
        helpers
    })
}

/// Adds functions before those of the module, because a function calls only functions before it.
pub(crate) fn prepend<T>(module: &mut Module, add: impl FnOnce(&mut Module) -> T) -> T {
    let old: Vec<_> = module.functions.drain().map(|(_, function, span)| (function, span)).collect();
    let added = add(module);
    // A function calls functions before it, so their new handles are known.
    let mut moved = Vec::new();
    for (mut function, span) in old {
        move_calls(&mut function, &moved);
        moved.push(module.functions.append(function, span));
    }
    module.entry_points.iter_mut().for_each(|entry| move_calls(&mut entry.function, &moved));
    added
}

/// Replaces the handles of called functions.
fn move_calls(function: &mut Function, moved: &[Handle<Function>]) {
    for (_, expression) in function.expressions.iter_mut() {
        if let Expression::CallResult(called) = expression {
            *called = moved[called.index()];
        }
    }
    for_each_statement(&mut function.body, &mut |statement| {
        if let Statement::Call { function: called, .. } = statement {
            *called = moved[called.index()];
        }
    });
}

/// Replaces the operators of a function by calls.
fn replace(module: &Module, function: &mut Function, helpers: &BTreeMap<Key, Handle<Function>>) {
    let found = found(module, function);
    let mut calls = HashMap::new();
    for (handle, key) in found {
        let called = helpers[&key];
        keep_divisor(function, handle);
        let expression = &mut function.expressions[handle];
        let arguments = match *expression {
            Expression::Binary { left, right, .. } => vec![left, right],
            Expression::As { expr, .. } => vec![expr],
            Expression::Math { arg, .. } => vec![arg],
            _ => continue,
        };
        *expression = Expression::CallResult(called);
        calls.insert(handle, (called, arguments));
    }
    call(&mut function.body, &calls);
}

/// Adds an operation with a divisor that depends on overrides, because naga refuses a 0 only as the divisor of an
/// operator. naga evaluates this operation before it writes the shader; no statement uses the result.
fn keep_divisor(function: &mut Function, operator: Handle<Expression>) {
    let Expression::Binary { op, right, .. } = function.expressions[operator] else { return };
    let is_number = matches!(function.expressions[right], Expression::Literal(_));
    if is_number || !is_constant(function, right) {
        return;
    }
    let by_itself = Expression::Binary { op, left: right, right };
    let kept = function.expressions.append(by_itself, Span::UNDEFINED);
    function.named_expressions.insert(kept, "fencepost_divisor".into());
}

/// Function and arguments that replace each operator.
pub(crate) type Calls = HashMap<Handle<Expression>, (Handle<Function>, Vec<Handle<Expression>>)>;

/// Splits the statements that compute replaced operators, and inserts the calls.
pub(crate) fn call(block: &mut Block, calls: &Calls) {
    let old = std::mem::take(block);
    for (mut statement, span) in old.span_into_iter() {
        inner_blocks(&mut statement).into_iter().for_each(|inner| call(inner, calls));
        let Statement::Emit(range) = statement else {
            block.push(statement, span);
            continue;
        };
        let mut part: Option<(Handle<Expression>, Handle<Expression>)> = None;
        let emit = |block: &mut Block, part: &mut Option<_>| {
            if let Some((first, last)) = part.take() {
                block.push(Statement::Emit(Range::new_from_bounds(first, last)), span);
            }
        };
        for handle in range {
            let Some((function, arguments)) = calls.get(&handle) else {
                part = Some((part.map_or(handle, |(first, _)| first), handle));
                continue;
            };
            emit(block, &mut part);
            let call =
                Statement::Call { function: *function, arguments: arguments.clone(), result: Some(handle) };
            block.push(call, span);
        }
        emit(block, &mut part);
    }
}

/// A function under construction.
struct Writer<'a> {
    module: &'a mut Module,
    function: Function,
}

impl Writer<'_> {
    fn push(&mut self, expression: Expression) -> Handle<Expression> {
        self.function.expressions.append(expression, Span::UNDEFINED)
    }

    /// Adds an expression that the function computes.
    fn compute(&mut self, expression: Expression) -> Handle<Expression> {
        let handle = self.push(expression);
        let range = Range::new_from_bounds(handle, handle);
        self.function.body.push(Statement::Emit(range), Span::UNDEFINED);
        handle
    }

    fn binary(
        &mut self,
        op: BinaryOperator,
        left: Handle<Expression>,
        right: Handle<Expression>,
    ) -> Handle<Expression> {
        self.compute(Expression::Binary { op, left, right })
    }

    fn select(
        &mut self,
        condition: Handle<Expression>,
        accept: Handle<Expression>,
        reject: Handle<Expression>,
    ) -> Handle<Expression> {
        self.compute(Expression::Select { condition, accept, reject })
    }

    fn literal(&mut self, literal: Literal) -> Handle<Expression> {
        self.push(Expression::Literal(literal))
    }

    fn argument(&mut self, scalar: Scalar, size: Option<u8>) -> Handle<Expression> {
        let ty = type_of(self.module, scalar, size);
        let index = self.function.arguments.len();
        self.function.arguments.push(FunctionArgument {
            name: Some(["a", "b"][index].into()),
            ty,
            binding: None,
        });
        self.push(Expression::FunctionArgument(index as u32))
    }
}

fn type_of(module: &mut Module, scalar: Scalar, size: Option<u8>) -> Handle<Type> {
    let inner = match size {
        None => TypeInner::Scalar(scalar),
        Some(2) => TypeInner::Vector { size: VectorSize::Bi, scalar },
        Some(3) => TypeInner::Vector { size: VectorSize::Tri, scalar },
        Some(_) => TypeInner::Vector { size: VectorSize::Quad, scalar },
    };
    module.types.insert(Type { name: None, inner }, Span::UNDEFINED)
}

/// Writes a function.
fn function(module: &mut Module, (helper, size): Key, helpers: &BTreeMap<Key, Handle<Function>>) -> Function {
    let (stem, given, signed) = match helper {
        Polyfill::Quotient { signed } => ("quotient", None, signed),
        Polyfill::Remainder { signed } => ("remainder", None, signed),
        Polyfill::Whole { signed } => ("whole", Some((Scalar::F32, size)), signed),
        Polyfill::Packed { clamps: false } => ("packed", Some((Scalar::U32, Some(4))), false),
        Polyfill::Packed { clamps: true } => ("packed_clamped", Some((Scalar::U32, Some(4))), false),
    };
    let result = if signed { Scalar::I32 } else { Scalar::U32 };
    let name = format!("fencepost_{stem}_{}{}", if signed { "i" } else { "u" }, size.unwrap_or(1));
    let ty = type_of(module, result, size);
    let function = Function {
        name: Some(name),
        result: Some(FunctionResult { ty, binding: None }),
        ..Function::default()
    };
    let mut writer = Writer { module, function };
    let (of_a, size_of_a) = given.unwrap_or((result, size));
    let a = writer.argument(of_a, size_of_a);
    let b = if given.is_none() { Some(writer.argument(result, size)) } else { None };
    let value = match (size, helper, b) {
        (Some(size), ..) => each_component(&mut writer, helpers[&(helper, None)], [Some(a), b], (ty, size)),
        (None, Polyfill::Quotient { .. }, Some(b)) => {
            let divisor = divisor(&mut writer, signed, a, b);
            writer.binary(BinaryOperator::Divide, a, divisor)
        }
        (None, _, Some(b)) => {
            let divisor = divisor(&mut writer, signed, a, b);
            let quotient = writer.binary(BinaryOperator::Divide, a, divisor);
            let product = writer.binary(BinaryOperator::Multiply, quotient, divisor);
            writer.binary(BinaryOperator::Subtract, a, product)
        }
        (None, Polyfill::Packed { clamps }, None) => {
            let fun = if clamps { MathFunction::Pack4xU8Clamp } else { MathFunction::Pack4xU8 };
            writer.compute(Expression::Math { fun, arg: a, arg1: None, arg2: None, arg3: None })
        }
        (None, _, None) => whole(&mut writer, signed, a),
    };
    writer.function.body.push(Statement::Return { value: Some(value) }, Span::UNDEFINED);
    writer.function
}

/// Returns the divisor, or 1 where the quotient is undefined: for 0, and for -1 with the least number.
fn divisor(
    writer: &mut Writer<'_>,
    signed: bool,
    a: Handle<Expression>,
    b: Handle<Expression>,
) -> Handle<Expression> {
    let number = |number: i32| if signed { Literal::I32(number) } else { Literal::U32(number as u32) };
    let zero = writer.literal(number(0));
    let one = writer.literal(number(1));
    let mut none = writer.binary(BinaryOperator::Equal, b, zero);
    if signed {
        let least = writer.literal(Literal::I32(i32::MIN));
        let minus_one = writer.literal(Literal::I32(-1));
        let is_least = writer.binary(BinaryOperator::Equal, a, least);
        let is_minus_one = writer.binary(BinaryOperator::Equal, b, minus_one);
        let wraps = writer.binary(BinaryOperator::And, is_least, is_minus_one);
        none = writer.binary(BinaryOperator::InclusiveOr, none, wraps);
    }
    writer.select(none, one, b)
}

/// Converts an `f32` to an integer, clamped to the range of the type.
fn whole(writer: &mut Writer<'_>, signed: bool, x: Handle<Expression>) -> Handle<Expression> {
    // The limits are the least and the greatest f32 inside the range of the integer type.
    let (least, greatest) = if signed { (-2_147_483_648.0, 2_147_483_520.0) } else { (0.0, 4_294_967_040.0) };
    let least = writer.literal(Literal::F32(least));
    let greatest = writer.literal(Literal::F32(greatest));
    let below = writer.binary(BinaryOperator::Less, x, least);
    let raised = writer.select(below, least, x);
    let above = writer.binary(BinaryOperator::Greater, x, greatest);
    let inside = writer.select(above, greatest, raised);
    let kind = if signed { ScalarKind::Sint } else { ScalarKind::Uint };
    writer.compute(Expression::As { expr: inside, kind, convert: Some(4) })
}

/// Calls a function for each component, and returns the results as a vector.
fn each_component(
    writer: &mut Writer<'_>,
    called: Handle<Function>,
    vectors: [Option<Handle<Expression>>; 2],
    (ty, size): (Handle<Type>, u8),
) -> Handle<Expression> {
    let mut components = Vec::new();
    for index in 0..u32::from(size) {
        let part = |vector: Handle<Expression>| Expression::AccessIndex { base: vector, index };
        let arguments = vectors.into_iter().flatten().map(|vector| writer.compute(part(vector))).collect();
        let result = writer.push(Expression::CallResult(called));
        let call = Statement::Call { function: called, arguments, result: Some(result) };
        writer.function.body.push(call, Span::UNDEFINED);
        components.push(result);
    }
    writer.compute(Expression::Compose { ty, components })
}

#[cfg(test)]
mod tests {
    use super::*;
    use naga::valid::{Capabilities, ValidationFlags, Validator};

    /// Parses a shader, replaces the operators, and validates the module.
    fn defined(text: &str) -> Module {
        let mut module = naga::front::wgsl::parse_str(text).unwrap();
        polyfill_integers(&mut module);
        let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
        validator.validate(&module).unwrap_or_else(|error| panic!("{error:?}\n{module:#?}"));
        module
    }

    fn names(module: &Module) -> Vec<&str> {
        module.functions.iter().filter_map(|(_, function)| function.name.as_deref()).collect()
    }

    const BUFFERS: &str = "@group(0) @binding(0) var<storage, read_write> y: array<i32>;
        @group(0) @binding(1) var<storage, read_write> x: array<vec3f>;";

    #[test]
    fn a_module_gets_the_functions_that_it_needs_before_its_own() {
        let module = defined(&format!(
            "{BUFFERS}
            fn own(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {{ return a % b; }}
            fn outer(a: i32) -> u32 {{ return own(vec2(u32(a)), vec2(3)).x; }}
            @compute @workgroup_size(1) fn main() {{ y[0] /= y[1]; y[2] = vec3<i32>(x[0]).y + i32(outer(y[3])); }}"
        ));
        let added = ["quotient_i1", "remainder_u1", "remainder_u2", "whole_i1", "whole_i3"];
        let added = added.map(|name| format!("fencepost_{name}"));
        assert_eq!(names(&module), [added.as_slice(), &["own".into(), "outer".into()]].concat());
    }

    #[test]
    fn an_override_of_zero_stays_a_mistake_as_a_divisor() {
        for operator in ["x / N", "x % N", "(vec2(x) % vec2(7, N)).y", "x / (N - 1)"] {
            let module = defined(&format!(
                "{BUFFERS}
                override N: i32 = 7;
                fn one(x: i32) -> i32 {{ return {operator}; }}
                @compute @workgroup_size(1) fn main() {{ y[0] = one(y[1]); }}"
            ));
            let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
            let info = validator.validate(&module).expect("it is valid");
            for (number, is_valid) in [(2.0, true), (-1.0, true), (f64::from(operator.contains('1')), false)]
            {
                let constants = [("N".to_owned(), number)].into_iter().collect();
                let entry = Some((naga::ShaderStage::Compute, "main"));
                let found =
                    naga::back::pipeline_constants::process_overrides(&module, &info, entry, &constants);
                assert_eq!(found.is_ok(), is_valid, "{operator} with {number}: {found:?}");
            }
        }
    }

    #[test]
    fn packed_numbers_are_those_of_a_function() {
        let module = defined(&format!(
            "{BUFFERS}
            @compute @workgroup_size(1) fn main() {{
                let v = vec4<u32>(vec4(y[0], y[1], y[2], y[3]));
                y[4] = i32(pack4xU8(v) + 1u + pack4xU8Clamp(v) + pack4xI8(vec4<i32>(v)));
            }}"
        ));
        assert_eq!(names(&module), ["fencepost_packed_u1", "fencepost_packed_clamped_u1"]);
    }

    #[test]
    fn operators_in_loops_and_branches_are_replaced() {
        let module = defined(&format!(
            "{BUFFERS}
            @compute @workgroup_size(1) fn main() {{
                var i = 0;
                loop {{
                    if y[i] % y[1] > 2 {{ y[i] = y[2] / (y[3] % 7) / 5; }} else {{ switch y[i] / y[4] {{
                        case 1 {{ y[1] = i / y[0]; }}
                        default {{ {{ y[1] = i % -3; }} }}
                    }} }}
                    continuing {{ i += 1; break if i % y[5] == 9; }}
                }}
            }}"
        ));
        assert_eq!(names(&module), ["fencepost_quotient_i1", "fencepost_remainder_i1"]);
        let left = |expression: &Expression| match *expression {
            Expression::Binary { op: BinaryOperator::Divide, .. } => 1,
            Expression::Binary { op: BinaryOperator::Modulo, .. } => 10,
            _ => 0,
        };
        let main = &module.entry_points[0].function;
        assert_eq!(main.expressions.iter().map(|(_, e)| left(e)).sum::<i32>(), 1, "the quotient by 5 alone");
    }

    #[test]
    fn a_module_without_such_operators_stays_as_it_is() {
        let text = format!(
            "{BUFFERS}
            override N: u32 = 7;
            const M = 9 % 4;
            @compute @workgroup_size(1) fn main() {{
                var first = N % 3u;
                y[0] = i32(y[1] < 2) + i32(N / 2u) + M + y[3] / 4 + i32(u32(y[2]) % 5u + first);
                x[0] = x[1] / x[2] + vec3(x[3].x % 3.0);
            }}"
        );
        let module = naga::front::wgsl::parse_str(&text).unwrap();
        assert_eq!(format!("{:?}", defined(&text)), format!("{module:?}"));
    }
}
