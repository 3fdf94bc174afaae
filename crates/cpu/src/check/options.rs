//! Mistakes that a check looks for.

/// Options of a check: mistakes to report besides races, barriers, indices and unwritten buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// `true` to report operands that have a result in WGSL but are rarely meant: divisions of integers by zero or of
    /// the least integer by -1, shifts by the width or more, and conversions of floats to integers that are out of
    /// range.
    pub operands: bool,
    /// `true` to report operations that make a NaN from operands that are not NaN. Each operation on floats is then
    /// computed twice.
    pub nan: bool,
    /// `true` to report reads of variables of the workgroup that no invocation wrote. WGSL sets them to zero, so this
    /// is not a mistake of the kernel by itself.
    pub unwritten_workgroup: bool,
    /// `true` to treat a store to a component of a vector as a store to the whole vector, which WGSL allows. GPUs store
    /// the component only.
    pub whole_vectors: bool,
    /// Maximum number of findings in the list.
    pub most: usize,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self { operands: true, nan: false, unwritten_workgroup: false, whole_vectors: false, most: 100 }
    }
}
