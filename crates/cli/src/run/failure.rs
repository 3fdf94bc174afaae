//! The error of a launch, without the line of this program that launches it.

use anyhow::{Error, anyhow};
use fencepost::ErrorDetail;

/// Returns an error without the line of the launch, which the shader's author does not know.
pub(super) fn without_line(error: Error) -> Error {
    let Some(launch) = line_of_launch(&error) else { return error };
    let launched = format!(", launched at {launch}");
    anyhow!(format!("{error:#}").replace(&format!("{launched},"), "").replace(&launched, ""))
}

/// Returns what the library says of an error; `None` for an error of this program.
pub(super) fn detail(error: &Error) -> Option<&ErrorDetail> {
    error.downcast_ref::<fencepost::Error>().map(fencepost::Error::detail)
}

/// Returns the line of the launch that an error names.
fn line_of_launch(error: &Error) -> Option<String> {
    match detail(error)? {
        ErrorDetail::AssertionFailed { launch, .. } | ErrorDetail::PrintOverdue { launch, .. } => {
            Some(launch.to_string())
        }
        ErrorDetail::LaunchTooLong { launch, .. } | ErrorDetail::LaunchFailed { launch, .. } => {
            launch.map(|launch| launch.to_string())
        }
        ErrorDetail::KernelMistakes { launch, .. } => Some(launch.clone()),
        _ => None,
    }
}
