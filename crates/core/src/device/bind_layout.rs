//! The names of bind group layouts, and how parameters reach a shader.

use std::sync::atomic::{AtomicU32, Ordering};

/// Names a bind group layout for as long as the process lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LayoutId(u32);

impl LayoutId {
    /// Names none.
    #[cfg(native)]
    pub(crate) fn none() -> Self {
        Self(u32::MAX)
    }

    pub(crate) fn next() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    #[cfg(test)]
    pub(crate) fn for_test(id: u32) -> Self {
        Self(id)
    }
}

/// How the values of a launch reach the shader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ParameterPath {
    Nothing,
    Immediates,
    /// By the uniform ring, at this binding; so many bytes, rounded up to 16.
    Uniform {
        index: u32,
        size: u32,
    },
}
