//! Which mistakes a check looks for.

/// Chooses what a check looks for besides races, barriers, indices and unwritten buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// Finds operands that have a result in WGSL and are rarely meant: divisions of integers by zero or of the least integer
    /// by -1, shifts by the width or more, and conversions of floats to integers that are out of range.
    pub operands: bool,
    /// Finds operations that make a NaN from operands that are none. Each operation on floats is computed twice then.
    pub nan: bool,
    /// Finds reads of variables of the workgroup that no invocation wrote. WGSL sets them to zero, so this is no mistake
    /// of the kernel by itself.
    pub unwritten_workgroup: bool,
    /// Counts a store to a component of a vector as a store to the whole vector, as WGSL allows it to be. GPUs store to the
    /// component only.
    pub whole_vectors: bool,
    /// Limits the list of findings.
    pub most: usize,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self { operands: true, nan: false, unwritten_workgroup: false, whole_vectors: false, most: 100 }
    }
}
