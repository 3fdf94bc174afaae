//! The types of the values of messages.

use std::fmt::Write as _;

use naga::{Scalar, ScalarKind, Type, TypeInner};

/// Type of a component of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Component {
    Bool,
    I32,
    U32,
    F32,
    F16,
}

impl Component {
    /// Returns the name of the type in WGSL.
    fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::F32 => "f32",
            Self::F16 => "f16",
        }
    }
}

/// Type of a value: a number, a bool, or a vector of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueType {
    component: Component,
    /// Number of components. Each is one word of a record.
    pub(crate) len: u32,
}

impl ValueType {
    /// Returns the type of a value, or `None` for a type that messages do not support.
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

    /// Returns `true` for floats of 32 bits.
    pub(crate) fn is_float(self) -> bool {
        self.component == Component::F32
    }

    /// Returns a WGSL expression for word `at` of a value. `words` is the expression for all words of the value, as
    /// [`conversion`](Self::conversion) returns them.
    pub(crate) fn word(self, words: &str, at: u32) -> String {
        match self.len {
            1 => words.to_owned(),
            _ => format!("{words}.{}", ["x", "y", "z", "w"][at as usize]),
        }
    }

    /// Returns the name and the text of a WGSL function that returns the words of a value, if they differ from the
    /// value itself. In a separate function, no local name of the program can hide a WGSL name.
    pub(crate) fn conversion(self, prefix: &str) -> Option<(String, String)> {
        let of = |component: &str| match self.len {
            1 => component.to_owned(),
            len => format!("vec{len}<{component}>"),
        };
        let words = of("u32");
        let word = match self.component {
            Component::U32 => return None,
            Component::Bool => format!("{words}(value)"),
            Component::I32 | Component::F32 => format!("bitcast<{words}>(value)"),
            Component::F16 => format!("bitcast<{words}>({}(value))", of("f32")),
        };
        let component = self.component.name();
        let name = format!("{prefix}words_of_{}_{component}", self.len);
        let text = format!("fn {name}(value: {}) -> {words} {{ return {word}; }}", of(component));
        Some((name, text))
    }

    /// Appends a value, given by its words, to a text.
    pub(crate) fn write(self, words: &[u32], text: &mut String) {
        if self.len > 1 {
            text.push('(');
        }
        for (at, &word) in words.iter().enumerate() {
            text.push_str(if at == 0 { "" } else { ", " });
            // Writing to a `String` does not fail.
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
