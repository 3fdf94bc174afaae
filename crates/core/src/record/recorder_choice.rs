//! Which recorder a context has.

use crate::device::wgpu_device::SubmitPath;
use crate::error::{Kind, Result};
use std::env;

const VARIABLE: &str = "FENCEPOST_RECORDER";

/// Who turns the batches of a context into calls of its device. The results are the same.
///
/// # Example
/// ```no_run
/// use fencepost::{Context, ContextOptions, RecorderChoice};
/// let options = ContextOptions { recorder: RecorderChoice::Hal, ..ContextOptions::default() };
/// let ctx = Context::with_options(options).wait()?;
/// assert!(ctx.state_dump().contains("recorder hal"));   // where it can be
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecorderChoice {
    /// What `FENCEPOST_RECORDER` says, `wgpu`, `hal` or `direct`. Without it [`Direct`](Self::Direct) on Vulkan, where
    /// it is proved, and [`Wgpu`](Self::Wgpu) elsewhere and on devices that are adopted.
    #[default]
    Auto,
    /// wgpu: safe, and everywhere.
    Wgpu,
    /// wgpu-hal, with the fewest barriers that keep the order, in submissions of wgpu's. With `native: false`, and in
    /// the browser, wgpu.
    Hal,
    /// wgpu-hal, and submissions past wgpu: the cheapest. On a device that others submit to, as [`Hal`](Self::Hal).
    Direct,
}

impl RecorderChoice {
    /// As the variable says, if nothing else is wanted.
    ///
    /// # Errors
    /// `Setting` if the variable names no recorder.
    pub(crate) fn or_variable(self) -> Result<Self> {
        match self {
            Self::Auto => named(&env::var_os(VARIABLE).unwrap_or_default().to_string_lossy()),
            chosen => Ok(chosen),
        }
    }
}

impl RecorderChoice {
    /// The way of a batch on a device of this adapter.
    pub(crate) fn way(self, adapter: &wgpu::AdapterInfo) -> SubmitPath {
        match self {
            Self::Auto if adapter.backend == wgpu::Backend::Vulkan => SubmitPath::Direct,
            Self::Auto | Self::Wgpu => SubmitPath::Wgpu,
            Self::Hal => SubmitPath::Hal,
            Self::Direct => SubmitPath::Direct,
        }
    }
}

fn named(value: &str) -> Result<RecorderChoice> {
    match value {
        "" => Ok(RecorderChoice::Auto),
        "wgpu" => Ok(RecorderChoice::Wgpu),
        "hal" => Ok(RecorderChoice::Hal),
        "direct" => Ok(RecorderChoice::Direct),
        other => Err(unknown(other)),
    }
}

fn unknown(value: &str) -> crate::error::Error {
    Kind::Setting { name: VARIABLE, value: value.into(), needed: "`wgpu`, `hal` or `direct`" }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorder_is_known_by_its_name() {
        assert_eq!(named("hal").ok(), Some(RecorderChoice::Hal));
        assert_eq!(named("").ok(), Some(RecorderChoice::Auto));
        assert_eq!(RecorderChoice::Direct.or_variable().ok(), Some(RecorderChoice::Direct));
        let error = named("cuda").expect_err("there is no such recorder");
        assert_eq!(
            error.to_string(),
            "variable `FENCEPOST_RECORDER` is `cuda`; it must be `wgpu`, `hal` or `direct`"
        );
    }
}
