//! The reason why the compiler leaves a program to the interpreter.

use naga::Span;

/// A part of a program that the compiler does not translate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NotCompiled {
    /// Feature that the program uses.
    pub(crate) reason: String,
    /// Place in the shader, which may be undefined.
    pub(crate) span: Span,
}

impl NotCompiled {
    /// Creates a refusal without a place.
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), span: Span::UNDEFINED }
    }

    /// Adds a place to an error that has none.
    pub(super) fn at(mut self, span: Span) -> Self {
        if !self.span.is_defined() {
            self.span = span;
        }
        self
    }
}

/// Result of translating a part of a program.
pub(super) type Result<T> = std::result::Result<T, NotCompiled>;

/// Refuses a part of a program.
pub(super) fn refuse<T>(reason: impl Into<String>) -> Result<T> {
    Err(NotCompiled::new(reason))
}
