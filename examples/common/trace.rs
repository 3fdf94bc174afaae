//! Parses the option `--trace` of every example.

use std::path::PathBuf;

/// Returns the path of a file for a profile. The extension selects the format.
///
/// # Errors
/// Fails if the extension is neither `html` nor `json`.
pub(crate) fn file(name: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(name);
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("html" | "json") => Ok(path),
        _ => Err("it must end in .html, for a timeline, or in .json, for a trace".into()),
    }
}
