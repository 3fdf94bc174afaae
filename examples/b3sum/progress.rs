//! Shows a progress bar on a terminal, and removes it when the file is done.

use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Starts the bar of a file. Without a known length it only counts.
pub(crate) fn start(path: &Path, length: Option<u64>) -> ProgressBar {
    let text = match length {
        Some(_) => "{msg} {wide_bar} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta}",
        None => "{msg} {spinner} {decimal_bytes} {decimal_bytes_per_sec}",
    };
    let style = ProgressStyle::with_template(text).expect("bug: the template is valid");
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    // The bar draws nothing if standard error is not a terminal.
    ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr()).with_style(style).with_message(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_bar_count_bytes() {
        for length in [None, Some(10)] {
            let bar = start(Path::new("a/b"), length);
            bar.inc(7);
            assert_eq!((bar.position(), bar.length()), (7, length));
            assert_eq!(bar.message(), "b");
        }
    }
}
