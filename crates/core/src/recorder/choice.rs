//! Which recorder a context has.

use crate::error::{Kind, Result};
use std::env;

const VARIABLE: &str = "FENCEPOST_RECORDER";

/// Who turns the batches of a context into calls of its device. The results are the same.
///
/// # Example
/// ```no_run
/// use fencepost_core::{Context, ContextOptions, RecorderChoice};
/// let options = ContextOptions { recorder: RecorderChoice::Hal, ..ContextOptions::default() };
/// let ctx = Context::with_options(options).wait()?;
/// assert!(ctx.state_dump().contains("recorder hal"));   // where it can be
/// # Ok::<(), fencepost_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecorderChoice {
    /// What `FENCEPOST_RECORDER` says, `wgpu` or `hal`; without it wgpu.
    #[default]
    Auto,
    /// wgpu: safe, and everywhere.
    Wgpu,
    /// wgpu-hal, with the fewest barriers that keep the order: on Vulkan devices whose memory the host reaches. Elsewhere,
    /// and with `native: false`, wgpu.
    Hal,
}

impl RecorderChoice {
    /// Whether wgpu-hal is wanted.
    ///
    /// # Errors
    /// `Setting` if the variable names no recorder.
    pub(crate) fn wants_hal(self) -> Result<bool> {
        match self {
            Self::Wgpu => Ok(false),
            Self::Hal => Ok(true),
            Self::Auto => match &*env::var_os(VARIABLE).unwrap_or_default().to_string_lossy() {
                "" | "wgpu" => Ok(false),
                "hal" => Ok(true),
                other => Err(unknown(other)),
            },
        }
    }
}

fn unknown(value: &str) -> crate::Error {
    Kind::Setting { name: VARIABLE, value: value.into(), needed: "`wgpu` or `hal`" }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorder_that_does_not_exist_is_named() {
        assert!(unknown("cuda").to_string().contains("`cuda`"));
        assert_eq!(
            [RecorderChoice::Wgpu, RecorderChoice::Hal].map(|c| c.wants_hal().ok()),
            [Some(false), Some(true)]
        );
    }
}
