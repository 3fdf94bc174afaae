//! The choice of a context's recorder.

use crate::device::wgpu_device::SubmitPath;
use crate::error::{Kind, Result};
use std::env;

const VARIABLE: &str = "FENCEPOST_RECORDER";

/// The recorder that turns the batches of a context into calls of its device. Every choice gives the same results.
///
/// # Example
/// ```no_run
/// use fencepost::{Context, ContextOptions, RecorderChoice};
/// let options = ContextOptions { recorder: RecorderChoice::Hal, ..ContextOptions::default() };
/// let ctx = Context::with_options(options).wait()?;
/// assert!(ctx.state_dump().contains("recorder hal"));   // if the device supports it
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecorderChoice {
    /// The recorder that `FENCEPOST_RECORDER` names: `wgpu`, `hal` or `direct`. Without the variable, this is
    /// [`Direct`](Self::Direct) on Vulkan, where it is proved, and [`Wgpu`](Self::Wgpu) on other backends and on
    /// adopted devices.
    #[default]
    Auto,
    /// Recording and submission through wgpu. This is safe Rust and works on every device.
    Wgpu,
    /// Recording through wgpu-hal, with the fewest barriers that keep the order, and submission through wgpu. In the
    /// browser, this is [`Wgpu`](Self::Wgpu).
    Hal,
    /// Recording and submission through wgpu-hal. This costs the least. On a device to which other code submits, this
    /// is [`Hal`](Self::Hal).
    Direct,
}

impl RecorderChoice {
    /// Returns `self`, or for `Auto` the choice that the variable names.
    ///
    /// # Errors
    /// Returns `Setting` if the variable names no recorder.
    pub(crate) fn or_variable(self) -> Result<Self> {
        match self {
            Self::Auto => named(&env::var_os(VARIABLE).unwrap_or_default().to_string_lossy()),
            chosen => Ok(chosen),
        }
    }

    /// Returns the path by which batches reach a device of this adapter.
    pub(crate) fn submit_path(self, adapter: &wgpu::AdapterInfo) -> SubmitPath {
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
    fn the_variable_names_a_recorder_or_is_an_error() {
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
