//! The values of overrides. naga evaluates every expression that depends on an override; nothing is computed here.

use naga::back::PipelineConstants;
use naga::back::pipeline_constants::{PipelineConstantError, process_overrides};
use naga::valid::ModuleInfo;
use naga::{
    Block, EntryPoint, Expression, Function, Handle, Literal, LocalVariable, Range, ScalarKind, ShaderStage,
    Span, Statement, Type, TypeInner,
};

use crate::interface::Override;
use crate::naga_guard::{NagaPanic, catch_naga_panic, said};
use crate::override_mistake::OverrideValue;
use crate::parser_words::of_constant;
use crate::{Error, Result, types};

/// Maximum number of invocations along an axis that naga's validator accepts.
const MAX_ALONG_AN_AXIS: u32 = 0x4000;

/// Name of the override that [`Overrides::evaluate`] adds. No shader can declare it, because it contains a space.
const RESULT: &str = "the result";

/// Returns the module's overrides as declared.
pub(crate) fn declared(module: &naga::Module) -> Vec<Override> {
    let defaults = Overrides { module, kernel: "", given: PipelineConstants::default() };
    let named = module.overrides.iter().filter(|(_, declared)| is_declared(declared));
    let overrides = named.map(|(handle, declared)| Override {
        name: key(declared),
        text: types::text(module, declared.ty),
        default: declared.init.and_then(|_| defaults.value(handle)),
    });
    overrides.collect()
}

/// Reason why naga did not apply overrides.
enum OverrideFailure {
    Mistake(Box<PipelineConstantError>),
    Panic(NagaPanic),
}

/// Values of the overrides of one pipeline.
pub(crate) struct Overrides<'a> {
    module: &'a naga::Module,
    kernel: &'a str,
    given: PipelineConstants,
}

impl<'a> Overrides<'a> {
    /// Checks that every name exists, and that every value fits its type.
    pub(crate) fn new(module: &'a naga::Module, kernel: &'a str, values: &[(&str, f64)]) -> Result<Self> {
        let mut overrides = Self { module, kernel, given: PipelineConstants::default() };
        for (name, value) in values {
            let declared = &module.overrides[overrides.find(name)?];
            overrides.check_value(declared, *value)?;
            if overrides.given.insert((*name).to_owned(), *value).is_some() {
                return Err(overrides.error(declared, "is given two values".into()));
            }
        }
        Ok(overrides)
    }

    /// Returns a module with only this entry point, in which expressions of overrides are replaced by constants. The
    /// inner error is naga's reason, whose place [`override_mistake`](crate::override_mistake) finds.
    ///
    /// # Errors
    /// [`Error::Override`] for a used override without a value, and [`Error::Workgroup`].
    pub(crate) fn applied(&self, info: &ModuleInfo) -> Result<Result<(naga::Module, ModuleInfo), String>> {
        let stage = Some((ShaderStage::Compute, self.kernel));
        let apply = |module: &naga::Module| {
            catch_naga_panic(|| process_overrides(module, info, stage, &self.given).map_err(Box::new))
                .map_err(OverrideFailure::Panic)?
                .map(|(module, info)| (module.into_owned(), info.into_owned()))
                .map_err(OverrideFailure::Mistake)
        };
        let applied = if self.module.overrides.is_empty() {
            apply(self.module)
        } else {
            let mut module = self.module.clone();
            name_lengths(&mut module);
            // In a divided module, naga may evaluate a vector twice, and then refuse it. The undivided one is tried then.
            apply(&divided(&module)).or_else(|_| apply(&module))
        };
        match applied {
            Ok(applied) => Ok(Ok(applied)),
            Err(error) => {
                if let OverrideFailure::Mistake(mistake) = &error
                    && let PipelineConstantError::MissingValue(name) = &**mistake
                {
                    let declared = &self.module.overrides[self.find(name)?];
                    return Err(self.error(declared, "has no default and was given no value".into()));
                }
                let sizes = self.module.entry_points.iter().find(|entry| entry.name == self.kernel);
                sizes.map_or(Ok(()), |entry| self.check_workgroup(entry, info))?;
                Ok(Err(match error {
                    OverrideFailure::Mistake(error) => {
                        let said = error.to_string();
                        of_constant(&said).unwrap_or(said)
                    }
                    OverrideFailure::Panic(panic) => said(&panic),
                }))
            }
        }
    }

    /// Returns each override that has a name, with its value.
    pub(crate) fn known(&self) -> Vec<OverrideValue> {
        let named = |(handle, declared): (Handle<naga::Override>, &naga::Override)| {
            let given = self.given.get(&key(declared)).copied();
            let ty = types::text(self.module, declared.ty);
            Some(OverrideValue { name: declared.name.clone()?, ty, given, value: self.value(handle) })
        };
        self.module.overrides.iter().filter_map(named).collect()
    }

    /// Checks the workgroup size of an entry point that naga refuses.
    fn check_workgroup(&self, entry: &EntryPoint, info: &ModuleInfo) -> Result<()> {
        let kernel = || self.kernel.to_owned();
        let mut found = entry.workgroup_size;
        for (axis, expression) in entry.workgroup_size_overrides.iter().flatten().enumerate() {
            let Some(expression) = *expression else { continue };
            let ty = info[expression].inner_with(&self.module.types);
            let Some(size) = self.evaluate(expression, ty).map(number) else { continue };
            if size < 1.0 {
                let reason = format!("along axis {axis} is {size}, it must be at least 1");
                return Err(Error::Workgroup { kernel: kernel(), reason });
            }
            found[axis] = size as u32;
        }
        if found.iter().any(|&size| size > MAX_ALONG_AN_AXIS) {
            return Err(Error::WorkgroupTooLarge { kernel: kernel(), found, limit: MAX_ALONG_AN_AXIS });
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Result<Handle<naga::Override>> {
        let mut declared = self.module.overrides.iter().filter(|(_, declared)| is_declared(declared));
        let found = declared.find(|(_, declared)| key(declared) == name);
        found.map(|(handle, _)| handle).ok_or_else(|| Error::UnknownOverride {
            kernel: self.kernel.into(),
            name: name.into(),
            known: self
                .module
                .overrides
                .iter()
                .filter(|(_, d)| is_declared(d))
                .map(|(_, declared)| key(declared))
                .collect(),
        })
    }

    fn check_value(&self, declared: &naga::Override, value: f64) -> Result<()> {
        let TypeInner::Scalar(scalar) = self.module.types[declared.ty].inner else { return Ok(()) };
        let (what, low, high) = match (scalar.kind, scalar.width) {
            (ScalarKind::Uint, width) => {
                ("whole numbers", 0.0, f64::from(2).powi(8 * i32::from(width)) - 1.0)
            }
            (ScalarKind::Sint, width) => {
                let high = f64::from(2).powi(8 * i32::from(width) - 1);
                ("whole numbers", -high, high - 1.0)
            }
            _ if !value.is_finite() => {
                return Err(self.error(declared, format!("{value} is not a finite number")));
            }
            (ScalarKind::Float, 2) => ("numbers", -f64::from(half::f16::MAX), f64::from(half::f16::MAX)),
            (ScalarKind::Float, 4) => ("numbers", -f64::from(f32::MAX), f64::from(f32::MAX)),
            _ => return Ok(()),
        };
        let text = types::text(self.module, declared.ty);
        if scalar.width == 8 && scalar.kind != ScalarKind::Float {
            return Err(
                self.error(declared, format!("a pipeline gives no value to an override of type {text}"))
            );
        }
        if (what == "numbers" || value.fract() == 0.0) && (low..=high).contains(&value) {
            return Ok(());
        }
        let [value, low, high] = [value, low, high].map(short);
        let reason = format!("{value} is not a value of {text}, which has {what} from {low} to {high}");
        Err(self.error(declared, reason))
    }

    /// Returns the value of an override; `None` if it has none, or if its default cannot be evaluated.
    fn value(&self, handle: Handle<naga::Override>) -> Option<f64> {
        let declared = &self.module.overrides[handle];
        if let Some(value) = self.given.get(&key(declared)) {
            return Some(*value);
        }
        let init = declared.init?;
        let plain = literal(self.module, init);
        let ty = &self.module.types[declared.ty].inner;
        plain.or_else(|| self.evaluate(init, ty)).map(number)
    }

    /// Returns the value of an expression that depends on overrides: naga evaluates a module with only this expression.
    fn evaluate(&self, expression: Handle<Expression>, ty: &TypeInner) -> Option<Literal> {
        let mut module = naga::Module {
            types: self.module.types.clone(),
            constants: self.module.constants.clone(),
            overrides: self.module.overrides.clone(),
            global_expressions: self.module.global_expressions.clone(),
            ..Default::default()
        };
        let ty = module.types.insert(Type { name: None, inner: ty.clone() }, Span::UNDEFINED);
        let result = naga::Override { name: Some(RESULT.into()), id: None, ty, init: Some(expression) };
        let result = module.overrides.append(result, Span::UNDEFINED);
        name_lengths(&mut module);
        // naga keeps only used expressions, so this function stores the result in a variable.
        let mut function = Function::default();
        let variable = LocalVariable { name: None, ty, init: None };
        let variable = function.local_variables.append(variable, Span::UNDEFINED);
        let mut append = |expression| function.expressions.append(expression, Span::UNDEFINED);
        let pointer = append(Expression::LocalVariable(variable));
        let value = append(Expression::Override(result));
        function.body.push(Statement::Store { pointer, value }, Span::UNDEFINED);
        module.entry_points.push(EntryPoint {
            name: RESULT.into(),
            stage: ShaderStage::Compute,
            early_depth_test: None,
            workgroup_size: [1; 3],
            workgroup_size_overrides: None,
            function,
            mesh_info: None,
            task_payload: None,
            incoming_ray_payload: None,
        });
        let nothing_known = ModuleInfo::default(); // naga returns it only without overrides; here there is one
        let applied = catch_naga_panic(|| process_overrides(&module, &nothing_known, None, &self.given).ok());
        let (applied, _) = applied.ok()??;
        let (_, result) =
            applied.overrides.iter().find(|(_, known)| known.name.as_deref() == Some(RESULT))?;
        literal(&applied, result.init?)
    }

    fn error(&self, declared: &naga::Override, reason: String) -> Error {
        Error::Override { kernel: self.kernel.into(), name: key(declared), reason }
    }
}

/// Returns `false` for an override that naga's parser creates for the length of an array.
fn is_declared(declared: &naga::Override) -> bool {
    declared.name.is_some() || declared.id.is_some()
}

/// Returns the key by which a pipeline sets the override: its `@id` if it has one, otherwise its name.
fn key(declared: &naga::Override) -> String {
    match declared.id {
        Some(id) => id.to_string(),
        None => declared.name.clone().unwrap_or_default(),
    }
}

/// Writes a large number in exponent form, without dozens of zeros.
pub(crate) fn short(value: f64) -> String {
    if value.abs() < 1e15 { value.to_string() } else { format!("{value:?}") }
}

/// Returns the value of an expression that naga has evaluated.
fn literal(module: &naga::Module, expression: Handle<Expression>) -> Option<Literal> {
    match module.global_expressions[expression] {
        Expression::Literal(literal) => Some(literal),
        Expression::Constant(constant) => literal(module, module.constants[constant].init),
        Expression::ZeroValue(ty) => match module.types[ty].inner {
            TypeInner::Scalar(scalar) => Literal::zero(scalar),
            _ => None,
        },
        _ => None,
    }
}

fn number(literal: Literal) -> f64 {
    match literal {
        Literal::F64(v) | Literal::AbstractFloat(v) => v,
        Literal::F32(v) => f64::from(v),
        Literal::F16(v) => f64::from(v),
        Literal::U16(v) => f64::from(v),
        Literal::I16(v) => f64::from(v),
        Literal::U32(v) => f64::from(v),
        Literal::I32(v) => f64::from(v),
        Literal::U64(v) => v as f64,
        Literal::I64(v) | Literal::AbstractInt(v) => v as f64,
        Literal::Bool(v) => f64::from(u8::from(v)),
    }
}

/// Returns the module in a form that naga evaluates correctly.
///
/// A statement stores the two ends of the range of expressions that it evaluates. naga 30 moves expressions that
/// overrides make constant; if an end is moved, the range is wrong. In the returned module, each statement evaluates a
/// single expression.
fn divided(module: &naga::Module) -> naga::Module {
    let mut module = module.clone();
    let functions = module.functions.iter_mut().map(|(_, function)| function);
    let entries = module.entry_points.iter_mut().map(|entry| &mut entry.function);
    functions.chain(entries).for_each(|function| divide_block(&mut function.body));
    module
}

/// Gives the length of an array a name, because naga panics for an override without one that precedes a used override.
fn name_lengths(module: &mut naga::Module) {
    let nameless = module.overrides.iter_mut().filter(|(_, declared)| !is_declared(declared));
    for (at, (_, declared)) in nameless.enumerate() {
        declared.name = Some(format!("length {at}"));
    }
}

fn divide_block(block: &mut Block) {
    let whole = std::mem::take(block);
    for (mut statement, span) in whole.span_into_iter() {
        match &mut statement {
            Statement::Emit(range) => {
                for expression in range.clone() {
                    let one = Range::new_from_bounds(expression, expression);
                    block.push(Statement::Emit(one), span);
                }
                continue;
            }
            Statement::Block(inner) => divide_block(inner),
            Statement::If { accept, reject, .. } => {
                divide_block(accept);
                divide_block(reject);
            }
            Statement::Switch { cases, .. } => cases.iter_mut().for_each(|case| divide_block(&mut case.body)),
            Statement::Loop { body, continuing, .. } => {
                divide_block(body);
                divide_block(continuing);
            }
            _ => {}
        }
        block.push(statement, span);
    }
}

#[cfg(test)]
mod tests {
    use crate::{Interface, Module, Result, ShaderSource};

    /// Returns the interface of an entry point `k` with a workgroup size, in a shader with some declarations.
    fn sized(declarations: &str, size: &str, values: &[(&str, f64)]) -> Result<Interface> {
        let text = format!("{declarations}\n@compute @workgroup_size({size}) fn k() {{ _ = used(); }}");
        let used = if text.contains("fn used") { "" } else { "fn used() -> u32 { return 0; }" };
        Module::parse(&ShaderSource::text("k.wgsl", text + used))?.interface("k", values)
    }

    #[test]
    fn a_workgroup_size_is_any_expression_that_wgsl_allows() {
        let cases = [
            ("override f: f32 = -0.5;", "u32(f) + 4u", 4),
            ("override W: u32 = 128u;", "clamp(W, 1, 9)", 9),
            ("override big = false;", "select(8, 16, big || true)", 16),
            ("override a: f32 = 0.7;", "u32(a * 10.0)", 7),
            ("override a = 0.1f;", "u32(a * 3.0 / 0.3)", (0.1_f32 * 3.0 / 0.3) as u32),
            ("override n = 7i;", "n % 4 + n / 2", 6),
            ("override n = 0xF0u;", "(n >> 4) ^ 3u", 12),
            ("override n = 5u; const v = vec3(1u, 2u, 3u);", "v.z * n", 15),
            ("override n = 2; override m = n * n + 1; override l = m * m;", "l", 25),
        ];
        for (declarations, size, expected) in cases {
            let found = sized(declarations, size, &[]).map(|found| found.workgroup[0]);
            assert_eq!(found, Ok(expected), "{declarations} {size}");
        }
    }

    #[test]
    fn given_values_are_rounded_to_their_types_before_they_are_used() {
        let found = sized("override a: f32 = 0.5;", "u32(a * 10.0)", &[("a", 0.7)]);
        assert_eq!(
            found.map(|found| found.workgroup[0]),
            Ok(7),
            "0.7f is less than 0.7, and 0.7f * 10f is 7f"
        );
    }

    #[test]
    fn workgroup_memory_is_counted_with_the_lengths_that_naga_computes() {
        let text = "override W: u32 = 100u; override Z = 3u;
            var<workgroup> a: array<vec4u, max(W, 4u)>; var<workgroup> b: array<u32, W * W>;
            fn used() -> u32 { return a[0].x + b[0] + Z; }";
        let bytes = |w: f64| sized(text, "1", &[("W", w)]).map(|found| found.workgroup_memory);
        assert_eq!(bytes(100.0), Ok(100 * 16 + 40_000));
        assert_eq!(bytes(2.0), Ok(4 * 16 + 16));
        assert_eq!(bytes(10_000.0), Ok(160_000 + 400_000_000));
        let many =
            "override W: u32 = 4; var<workgroup> a: array<vec4u, W>; fn used() -> u32 { return a[0].x; }";
        let all = sized(many, "1", &[("W", 4_294_967_295.0)]).map(|found| found.workgroup_memory);
        assert!(all.is_err() || all == Ok(16 * 4_294_967_295), "{all:?}");
    }

    #[test]
    fn an_override_that_the_entry_point_does_not_use_needs_no_value() {
        let text = "override a: u32; override b: f32; fn used() -> u32 { return 1u; }";
        assert_eq!(sized(text, "1", &[]).map(|found| found.workgroup), Ok([1; 3]));
        assert_eq!(sized(text, "1", &[("a", 4.0)]).map(|found| found.workgroup), Ok([1; 3]));
        let used = sized("override a: u32; fn used() -> u32 { return a; }", "1", &[]).unwrap_err();
        assert_eq!(used.to_string(), "kernel `k`, override `a`: has no default and was given no value");
    }

    #[test]
    fn a_function_that_naga_does_not_evaluate_has_its_name_and_a_remedy_that_works() {
        let functions = [
            ("ldexp", "u32(ldexp(f, 1i))"),
            ("faceForward", "u32(faceForward(vec2(f), vec2(1f), vec2(1f)).x)"),
            ("reflect", "u32(reflect(vec2(f), vec2(1f)).x)"),
            ("refract", "u32(refract(vec2(f), vec2(1f), 1f).x)"),
            ("mix", "u32(mix(1f, f, 0.5f))"),
            ("smoothstep", "u32(smoothstep(0f, 2f, f))"),
            ("determinant", "u32(determinant(mat2x2(f, 0f, 0f, 1f)))"),
            ("transpose", "u32(transpose(mat2x2(f, 0f, 0f, 1f))[0].x)"),
            ("quantizeToF16", "u32(quantizeToF16(f))"),
            ("extractBits", "extractBits(n, 0u, 4u)"),
            ("insertBits", "insertBits(n, 3u, 0u, 2u)"),
            ("pack4x8snorm", "pack4x8snorm(vec4(f))"),
            ("pack4x8unorm", "pack4x8unorm(vec4(f))"),
            ("pack2x16snorm", "pack2x16snorm(vec2(f))"),
            ("pack2x16unorm", "pack2x16unorm(vec2(f))"),
            ("pack2x16float", "pack2x16float(vec2(f))"),
            ("pack4xI8", "pack4xI8(vec4(i32(n)))"),
            ("pack4xU8", "pack4xU8(vec4(n))"),
            ("pack4xI8Clamp", "pack4xI8Clamp(vec4(i32(n)))"),
            ("pack4xU8Clamp", "pack4xU8Clamp(vec4(n))"),
            ("unpack4x8snorm", "u32(unpack4x8snorm(n).x)"),
            ("unpack4x8unorm", "u32(unpack4x8unorm(n).x)"),
            ("unpack2x16snorm", "u32(unpack2x16snorm(n).x)"),
            ("unpack2x16unorm", "u32(unpack2x16unorm(n).x)"),
            ("unpack2x16float", "u32(unpack2x16float(n).x)"),
            ("unpack4xI8", "u32(unpack4xI8(n).x)"),
            ("unpack4xU8", "unpack4xU8(n).x"),
            ("bitcast", "bitcast<u32>(f)"),
        ];
        for (name, size) in functions {
            for keyword in ["const", "override"] {
                let declared = format!("{keyword} f = 1.5f; {keyword} n = 5u;");
                for place in ["size", "length", "default"] {
                    let (declarations, size) = match place {
                        "size" => (declared.clone(), size),
                        "length" => (
                            format!(
                                "{declared} var<workgroup> w: array<u32, {size}>; fn used() -> u32 {{ return w[0]; }}"
                            ),
                            "1",
                        ),
                        _ => (
                            format!("{declared} {keyword} d: u32 = {size}; fn used() -> u32 {{ return d; }}"),
                            "1",
                        ),
                    };
                    let error = sized(&declarations, size, &[]).expect_err(&declarations).to_string();
                    let words =
                        format!("the compiler does not evaluate `{name}` where WGSL needs a constant");
                    assert!(
                        error.contains(&words) && error.contains("give it to an `override`"),
                        "{keyword} {place}: {error}"
                    );
                }
            }
        }
        let remedy = sized("override given: u32;", "given", &[("given", 5.0)]).expect("the remedy works");
        assert_eq!(remedy.workgroup, [5, 1, 1]);
    }

    #[test]
    fn a_size_that_is_none_has_its_axis_and_its_value() {
        let message = |text: &str, size: &str| sized(text, size, &[]).unwrap_err().to_string();
        assert_eq!(
            message("override n: i32 = -3;", "4, n"),
            "kernel `k`: workgroup size along axis 1 is -3, it must be at least 1"
        );
        assert_eq!(
            message("override n = 4u;", "n - 4"),
            "kernel `k`: workgroup size along axis 0 is 0, it must be at least 1"
        );
        assert_eq!(
            message("override n = 4u;", "n * 10000"),
            "kernel `k`: its workgroup size [40000, 1, 1] is over the limit of naga, 16384 along each axis"
        );
        let divides = message("override n = 0u;", "8 / n");
        assert!(divides.contains("override `n` = 0: k.wgsl:2:") && divides.contains("divisor"), "{divides}");
        let wrapped = message("override n = 4u;", "n - 5u");
        assert!(wrapped.contains("workgroup size [4294967295, 1, 1]"), "{wrapped}");
    }

    #[test]
    fn defaults_that_depend_on_others_are_listed_with_their_values() {
        let text = "override a = 3u; override b = max(a, 2u) * 4u; override c: u32; override d = c + 1u;
            override e = 1u / (a - 3u); override f = -1.5; var<workgroup> w: array<u32, a + b>;
            fn used() -> u32 { return w[0]; }";
        let found = sized(text, "1", &[]).expect("valid").overrides;
        let listed: Vec<_> = found.iter().map(|known| (known.name.as_str(), known.default)).collect();
        let expected =
            [("a", Some(3.0)), ("b", Some(12.0)), ("c", None), ("d", None), ("e", None), ("f", Some(-1.5))];
        assert_eq!(listed, expected);
    }
}
