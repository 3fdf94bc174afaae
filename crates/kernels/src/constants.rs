//! Overrides and the workgroup size that depends on them.

use naga::{BinaryOperator, EntryPoint, Expression, Handle, Literal, ScalarKind, TypeInner, UnaryOperator};

use crate::interface::Override;
use crate::override_mistake::KnownOverride;
use crate::{Error, Result, types};

/// Returns the module's overrides as declared.
pub(crate) fn declared(module: &naga::Module) -> Vec<Override> {
    let defaults = Constants { module, kernel: "", given: Vec::new() };
    let overrides = module.overrides.iter().map(|(_, declared)| Override {
        name: key(declared),
        text: types::text(module, declared.ty),
        default: declared.init.and_then(|init| defaults.evaluate(init).ok()),
    });
    overrides.collect()
}

/// Holds the values of one pipeline's overrides.
pub(crate) struct Constants<'a> {
    module: &'a naga::Module,
    kernel: &'a str,
    given: Vec<(Handle<naga::Override>, f64)>,
}

impl<'a> Constants<'a> {
    /// Checks that every name exists, that every value fits its type, and that every override has a value.
    pub(crate) fn new(module: &'a naga::Module, kernel: &'a str, values: &[(&str, f64)]) -> Result<Self> {
        let mut constants = Self { module, kernel, given: Vec::new() };
        for (name, value) in values {
            let handle = constants.find(name)?;
            constants.check_value(handle, *value)?;
            if constants.given.iter().any(|(known, _)| *known == handle) {
                return Err(constants.error(&module.overrides[handle], "is given two values".into()));
            }
            constants.given.push((handle, *value));
        }
        for (handle, declared) in module.overrides.iter() {
            let given = constants.given.iter().any(|(h, _)| *h == handle);
            if !given && declared.init.is_none() {
                return Err(constants.error(declared, "has no default and was given no value".into()));
            }
        }
        Ok(constants)
    }

    /// Returns each override that has a name, with its value.
    pub(crate) fn known(&self) -> Vec<KnownOverride> {
        let named = |(handle, declared): (Handle<naga::Override>, &naga::Override)| {
            let given = self.given.iter().find(|(known, _)| *known == handle).map(|&(_, value)| value);
            let (ty, value) = (types::text(self.module, declared.ty), self.value(handle).ok());
            Some(KnownOverride { name: declared.name.clone()?, ty, given, value })
        };
        self.module.overrides.iter().filter_map(named).collect()
    }

    /// Returns the entry point's workgroup size.
    pub(crate) fn workgroup(&self, entry: &EntryPoint) -> Result<[u32; 3]> {
        let mut size = entry.workgroup_size;
        for (axis, expression) in entry.workgroup_size_overrides.iter().flatten().enumerate() {
            if let Some(expression) = expression {
                size[axis] = self.workgroup_axis(axis, *expression)?;
            }
        }
        if size.contains(&0) {
            return Err(self.workgroup_error(format!("{size:?} has a zero in it")));
        }
        Ok(size)
    }

    /// Returns the bytes of a variable of workgroup memory, whose length may depend on an override.
    pub(crate) fn bytes(&self, ty: Handle<naga::Type>) -> Result<u64> {
        let TypeInner::Array { size: naga::ArraySize::Pending(length), stride, .. } =
            self.module.types[ty].inner
        else {
            return Ok(u64::from(types::size(self.module, ty)));
        };
        let elements = self.value(length).map_err(|what| self.workgroup_error(what))?;
        Ok(elements as u64 * u64::from(stride))
    }

    fn workgroup_axis(&self, axis: usize, expression: Handle<Expression>) -> Result<u32> {
        let value = self.evaluate(expression);
        let value = value.map_err(|what| self.workgroup_error(format!("along axis {axis}: {what}")))?;
        if value < 1.0 || value > f64::from(u32::MAX) {
            return Err(self.workgroup_error(format!("along axis {axis} is {value}, it must be at least 1")));
        }
        Ok(value as u32)
    }

    fn find(&self, name: &str) -> Result<Handle<naga::Override>> {
        let found = self.module.overrides.iter().find(|(_, declared)| key(declared) == name);
        found.map(|(handle, _)| handle).ok_or_else(|| Error::UnknownOverride {
            kernel: self.kernel.into(),
            name: name.into(),
            known: self.module.overrides.iter().map(|(_, declared)| key(declared)).collect(),
        })
    }

    fn check_value(&self, handle: Handle<naga::Override>, value: f64) -> Result<()> {
        let declared = &self.module.overrides[handle];
        let (what, low, high) = match &self.module.types[declared.ty].inner {
            TypeInner::Scalar(naga::Scalar { kind: ScalarKind::Uint, .. }) => {
                ("whole numbers", 0.0, f64::from(u32::MAX))
            }
            TypeInner::Scalar(naga::Scalar { kind: ScalarKind::Sint, .. }) => {
                ("whole numbers", f64::from(i32::MIN), f64::from(i32::MAX))
            }
            TypeInner::Scalar(naga::Scalar { kind: ScalarKind::Float, width }) if value.is_finite() => {
                let high = match width {
                    2 => f64::from(half::f16::MAX),
                    4 => f64::from(f32::MAX),
                    _ => f64::MAX,
                };
                ("numbers", -high, high)
            }
            _ if value.is_finite() => return Ok(()),
            _ => return Err(self.error(declared, format!("{value} is not a finite number"))),
        };
        if (what == "numbers" || value.fract() == 0.0) && (low..=high).contains(&value) {
            return Ok(());
        }
        let text = types::text(self.module, declared.ty);
        Err(self.error(
            declared,
            format!(
                "{} is not a value of {text}, which has {what} from {} to {}",
                short(value),
                short(low),
                short(high)
            ),
        ))
    }

    // Evaluates an override expression, which is arithmetic on numbers; `Err` names the part that is not.
    fn evaluate(&self, expression: Handle<Expression>) -> Result<f64, String> {
        match &self.module.global_expressions[expression] {
            Expression::Literal(literal) => Ok(number(*literal)),
            Expression::Constant(constant) => self.evaluate(self.module.constants[*constant].init),
            Expression::Override(handle) => self.value(*handle),
            Expression::As { expr, kind, .. } => {
                let value = self.evaluate(*expr)?;
                Ok(if matches!(kind, ScalarKind::Float) { value } else { value.trunc() })
            }
            Expression::Unary { op: UnaryOperator::Negate, expr } => Ok(-self.evaluate(*expr)?),
            Expression::Binary { op, left, right } => {
                let whole = self.is_integer(*left);
                binary(*op, self.evaluate(*left)?, self.evaluate(*right)?, whole)
            }
            _ => Err("is not a number, an override, or arithmetic on them".into()),
        }
    }

    fn value(&self, handle: Handle<naga::Override>) -> Result<f64, String> {
        if let Some((_, value)) = self.given.iter().find(|(h, _)| *h == handle) {
            return Ok(*value);
        }
        let declared = &self.module.overrides[handle];
        let init = declared.init.ok_or_else(|| format!("override `{}` has no value", key(declared)))?;
        self.evaluate(init)
    }

    fn is_integer(&self, expression: Handle<Expression>) -> bool {
        let integer = |ty| match self.module.types[ty].inner {
            TypeInner::Scalar(scalar) => matches!(scalar.kind, ScalarKind::Sint | ScalarKind::Uint),
            _ => false,
        };
        match &self.module.global_expressions[expression] {
            Expression::Literal(literal) => !matches!(
                literal,
                Literal::F16(_) | Literal::F32(_) | Literal::F64(_) | Literal::AbstractFloat(_)
            ),
            Expression::Constant(constant) => integer(self.module.constants[*constant].ty),
            Expression::Override(handle) => integer(self.module.overrides[*handle].ty),
            Expression::As { kind, .. } => matches!(kind, ScalarKind::Sint | ScalarKind::Uint),
            Expression::Unary { expr, .. } => self.is_integer(*expr),
            Expression::Binary { left, .. } => self.is_integer(*left),
            _ => false,
        }
    }

    fn error(&self, declared: &naga::Override, reason: String) -> Error {
        Error::Override { kernel: self.kernel.into(), name: key(declared), reason }
    }

    fn workgroup_error(&self, reason: String) -> Error {
        Error::Workgroup { kernel: self.kernel.into(), reason }
    }
}

// Returns the key by which a pipeline sets an override: its `@id` if it has one, else its name.
fn key(declared: &naga::Override) -> String {
    match declared.id {
        Some(id) => id.to_string(),
        None => declared.name.clone().unwrap_or_default(),
    }
}

// Writes a large number in exponent form, without dozens of zeros.
pub(crate) fn short(value: f64) -> String {
    if value.abs() < 1e15 { value.to_string() } else { format!("{value:?}") }
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

fn binary(op: BinaryOperator, left: f64, right: f64, whole: bool) -> Result<f64, String> {
    let value = match op {
        BinaryOperator::Add => left + right,
        BinaryOperator::Subtract => left - right,
        BinaryOperator::Multiply => left * right,
        BinaryOperator::Divide | BinaryOperator::Modulo if whole && right == 0.0 => {
            return Err("divides by zero".into());
        }
        BinaryOperator::Divide if whole => (left / right).trunc(),
        BinaryOperator::Divide => left / right,
        BinaryOperator::Modulo => left % right,
        BinaryOperator::ShiftLeft => left * right.exp2(),
        BinaryOperator::ShiftRight => (left / right.exp2()).floor(),
        _ => return Err("uses an operator other than + - * / % << >>".into()),
    };
    Ok(value)
}
