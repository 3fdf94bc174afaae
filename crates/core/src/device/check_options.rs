//! The choice of what a check of kernels looks for.

/// Chooses what the checks of kernels look for, besides races between invocations, barriers that only some invocations
/// reach, indices out of range and reads of device memory that nothing wrote.
///
/// # Example
/// ```
/// use fencepost::{AdapterChoice, CheckOptions, Context, ContextOptions};
/// let check = Some(CheckOptions { nan: true, ..CheckOptions::default() });
/// let options = ContextOptions { adapter: AdapterChoice::Cpu, check, ..ContextOptions::default() };
/// let ctx = Context::with_options(options).wait()?;
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// Finds integer divisions by zero, divisions of the least integer by -1, shifts by too many bits, and conversions
    /// of floats that the integer type lacks. WGSL gives all of them a result, which is rarely meant.
    pub operands: bool,
    /// Finds operations that make a NaN of operands that are none. Such a kernel computes each float twice.
    pub nan: bool,
    /// Finds reads of variables of the workgroup that no invocation wrote. WGSL sets the variables to zero, so such a
    /// read is no mistake by itself.
    pub unwritten_workgroup: bool,
    /// Counts a store to a component of a vector as a store to the whole vector, which WGSL allows a device to do.
    pub whole_vectors: bool,
    /// Fails the queue of a launch that has mistakes, with [`Kind::KernelMistakes`](crate::Kind::KernelMistakes). The
    /// commands of the queue behind the launch are not executed. The contents of the arrays that the launch writes are undefined then.
    pub fail_queue: bool,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self {
            operands: true,
            nan: false,
            unwritten_workgroup: false,
            whole_vectors: false,
            fail_queue: false,
        }
    }
}
