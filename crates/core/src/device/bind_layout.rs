//! The ids of bind group layouts, and the path of parameters to a shader.

use std::sync::atomic::{AtomicU32, Ordering};

/// Identifies a bind group layout. No two layouts of a process share an id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LayoutId(u32);

impl LayoutId {
    /// Returns an id that no layout has.
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

/// Names the path of a launch's parameters to the shader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ParameterPath {
    Nothing,
    Immediates,
    /// The uniform ring holds the parameters. They are bound at `index`, and `size` is their bytes rounded up to 16.
    Uniform {
        index: u32,
        size: u32,
    },
}
