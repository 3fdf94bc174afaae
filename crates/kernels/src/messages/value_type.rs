//! The types of the values of messages.

use std::fmt::Write as _;

use naga::{Scalar, ScalarKind, Type, TypeInner};

/// Names the form of a component of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Component {
    Bool,
    I32,
    U32,
    F32,
    F16,
}

/// Is the type of a value: a number, a truth value, or a vector of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueType {
    component: Component,
    /// Counts the components. Each is one word of a record.
    pub(crate) len: u32,
}

impl ValueType {
    /// Returns the type of a value, or `None` for a type that messages do not have.
    pub(crate) fn of(ty: &Type) -> Option<Self> {
        let (scalar, len) = match ty.inner {
            TypeInner::Scalar(scalar) => (scalar, 1),
            TypeInner::Vector { size, scalar } => (scalar, size as u32),
            _ => return None,
        };
        let component = match scalar {
            Scalar { kind: ScalarKind::Bool, .. } => Component::Bool,
            Scalar { kind: ScalarKind::Sint, width: 4 } => Component::I32,
            Scalar { kind: ScalarKind::Uint, width: 4 } => Component::U32,
            Scalar { kind: ScalarKind::Float, width: 4 } => Component::F32,
            Scalar { kind: ScalarKind::Float, width: 2 } => Component::F16,
            _ => return None,
        };
        Some(Self { component, len })
    }

    /// Returns the expression of the word of component `at` of a value in WGSL.
    pub(crate) fn word(self, value: &str, at: u32) -> String {
        let of = match self.len {
            1 => value.to_owned(),
            _ => format!("{value}.{}", ["x", "y", "z", "w"][at as usize]),
        };
        match self.component {
            Component::Bool => format!("u32({of})"),
            Component::U32 => of,
            Component::I32 | Component::F32 => format!("bitcast<u32>({of})"),
            Component::F16 => format!("bitcast<u32>(f32({of}))"),
        }
    }

    /// Adds a value, of which these are the words, to a text.
    pub(crate) fn write(self, words: &[u32], text: &mut String) {
        if self.len > 1 {
            text.push('(');
        }
        for (at, &word) in words.iter().enumerate() {
            text.push_str(if at == 0 { "" } else { ", " });
            // A write to a text does not fail.
            let _ = match self.component {
                Component::Bool => write!(text, "{}", word != 0),
                Component::I32 => write!(text, "{}", word.cast_signed()),
                Component::U32 => write!(text, "{word}"),
                Component::F32 | Component::F16 => write!(text, "{:?}", f32::from_bits(word)),
            };
        }
        if self.len > 1 {
            text.push(')');
        }
    }
}
