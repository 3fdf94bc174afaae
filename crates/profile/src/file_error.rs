//! The error of a file that a profile was not written to.

/// A profile was not written to a file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("file `{path}` was not written: {reason}")]
#[non_exhaustive]
pub struct FileError {
    /// Holds the path of the file.
    pub path: String,
    /// Says why the file was not written.
    pub reason: String,
}
