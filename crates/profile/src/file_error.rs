//! The error of a profile that could not be written to a file.

/// A profile could not be written to a file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("file `{path}` was not written: {reason}")]
#[non_exhaustive]
pub struct FileError {
    /// Path of the file.
    pub path: String,
    /// Reason why the file was not written.
    pub reason: String,
}

impl FileError {
    /// Returns the error of a file that was not written.
    pub fn new(path: String, reason: String) -> Self {
        Self { path, reason }
    }
}
