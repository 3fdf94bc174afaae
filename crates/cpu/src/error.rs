//! The errors of a program and of its runs.

use std::fmt;

/// A place in a WGSL shader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// File, or label of the text.
    pub label: String,
    /// Line, counted from 1.
    pub line: usize,
    /// Column, counted from 1.
    pub column: usize,
    /// Text of the line.
    pub text: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.label, self.line, self.column)
    }
}

/// Reason why a kernel cannot run on the CPU.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel uses something that this crate does not support.
    #[error("{}kernel `{kernel}`: {what} does not run on the CPU", at(.place))]
    Unsupported {
        /// Name of the entry point.
        kernel: String,
        /// Feature that the kernel uses.
        what: String,
        /// Place in the text, if it is known.
        place: Option<Place>,
    },
    /// The variables of the invocations need more memory than a thread may use.
    #[error(
        "{}kernel `{kernel}`: the variables of {invocations} invocations need {needed} bytes, `{variable}` alone {bytes} bytes \
         in each, and the limit on the CPU is {limit} bytes: use a smaller array or workgroup, or a storage buffer",
        at(.place)
    )]
    TooMuchMemory {
        /// Name of the entry point.
        kernel: String,
        /// Name of the largest variable.
        variable: String,
        /// Size of that variable in each invocation, in bytes.
        bytes: u64,
        /// Number of invocations that a thread runs at once.
        invocations: u64,
        /// Size of all variables of these invocations, in bytes.
        needed: u64,
        /// Maximum number of bytes.
        limit: u64,
        /// Place of that variable in the text.
        place: Option<Box<Place>>,
    },
    /// The compiler does not translate the kernel for a number of invocations that execute together.
    #[error(
        "{}kernel `{kernel}` does not compile for {lanes} invocations together: {reason}; the interpreter runs it",
        at(.place)
    )]
    NotCompiled {
        /// Name of the entry point.
        kernel: String,
        /// Number of invocations that execute together.
        lanes: u32,
        /// Feature that the compiler does not translate.
        reason: String,
        /// Place in the text, if it is known.
        place: Option<Place>,
    },
}

impl Error {
    /// Describes the problem without the kernel's name, for messages that already contain the name.
    pub fn problem(&self) -> String {
        match self {
            Self::Unsupported { what, place, .. } => format!("{}{what} does not run on the CPU", at(place)),
            Self::TooMuchMemory { variable, bytes, invocations, needed, limit, place, .. } => format!(
                "{}the variables of {invocations} invocations need {needed} bytes, `{variable}` alone {bytes} bytes in each, \
                 and the limit on the CPU is {limit} bytes: use a smaller array or workgroup, or a storage buffer",
                at(place)
            ),
            Self::NotCompiled { lanes, reason, place, .. } => {
                format!("{}{reason}, so {lanes} invocations do not run together", at(place))
            }
        }
    }
}

fn at(place: &Option<impl fmt::Display>) -> String {
    place.as_ref().map_or_else(String::new, |place| format!("{place}: "))
}

/// Result of the calls that create a program.
pub type Result<T> = std::result::Result<T, Error>;

/// Reason why a run ended before its grid was done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The caller stopped the run.
    #[error("the run was stopped")]
    Stopped,
    /// Not all invocations of a workgroup reached the same barrier.
    #[error("{place}: only some invocations of workgroup {workgroup:?} reach this barrier")]
    Barrier {
        /// Place of the barrier, as text.
        place: String,
        /// Index of the workgroup along each axis.
        workgroup: [u32; 3],
    },
}
