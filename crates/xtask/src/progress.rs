//! The progress bar of a long run.

use indicatif::{ProgressBar, ProgressStyle};

/// Makes a progress bar of `length` pieces, which is visible only on a terminal.
pub(crate) fn bar(length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:9} {wide_bar} {pos}/{len} {eta}");
    ProgressBar::new(length).with_style(style.expect("bug: the template is valid"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_counts_pieces() {
        let bar = bar(3);
        bar.inc(2);
        assert_eq!((bar.position(), bar.length()), (2, Some(3)));
    }
}
