//! The errors of a program and of its runs.

use std::fmt;

/// Names a place in a WGSL text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Names the file, or the label of the text.
    pub label: String,
    /// Is the number of the line, from 1.
    pub line: usize,
    /// Is the number of the column, from 1.
    pub column: usize,
    /// Holds the line.
    pub text: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.label, self.line, self.column)
    }
}

/// Says why a kernel cannot run on the CPU.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel uses something that this crate does not run.
    #[error("{}kernel `{kernel}`: {what} does not run on the CPU", at(.place))]
    Unsupported {
        /// Names the entry point.
        kernel: String,
        /// Names what the kernel uses.
        what: String,
        /// Is the place in the text, if it is known.
        place: Option<Place>,
    },
    /// The variables of the invocations need more memory than a thread may take.
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
        /// Bytes of that variable in an invocation.
        bytes: u64,
        /// Invocations that a thread holds at once.
        invocations: u64,
        /// Bytes of all variables of these invocations.
        needed: u64,
        /// Most bytes.
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
        /// Names the entry point.
        kernel: String,
        /// Counts the invocations that execute together.
        lanes: u32,
        /// Names what the compiler does not translate.
        reason: String,
        /// Is the place in the text, if it is known.
        place: Option<Place>,
    },
}

impl Error {
    /// Describes the problem without the name of the kernel, for a message that has the name already.
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

/// Is the result of the calls that make a program.
pub type Result<T> = std::result::Result<T, Error>;

/// Says why a run ended before its grid was done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The caller stopped the run.
    #[error("the run was stopped")]
    Stopped,
    /// Not all invocations of a workgroup came to the same barrier.
    #[error("{place}: only some invocations of workgroup {workgroup:?} reach this barrier")]
    Barrier {
        /// Is the place of the barrier, as text.
        place: String,
        /// Names the workgroup.
        workgroup: [u32; 3],
    },
}
