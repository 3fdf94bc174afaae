//! The option `--trace` of every example.

use std::path::PathBuf;

/// A file that a profile can be written to: its name says as what.
///
/// # Errors
/// What its name must end in.
pub(crate) fn file(name: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(name);
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("html" | "json") => Ok(path),
        _ => Err("it must end in .html, for a timeline, or in .json, for a trace".into()),
    }
}
