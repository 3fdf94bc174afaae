//! A progress bar on standard error, if that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Makes a bar of `steps` steps. It is not drawn if standard error is not a terminal.
pub(crate) fn bar(steps: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len}  {elapsed}  {msg}");
    let style = style.expect("bug: the template of the bar does not parse");
    ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr()).with_style(style)
}
