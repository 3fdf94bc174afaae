//! Parses the command line.

use std::path::PathBuf;

/// Shows waves on water in a window. Drops fall by themselves, and where the mouse is pressed.
#[derive(Clone, clap::Parser)]
#[command(
    after_help = "Examples:\n  cargo run --release\n  cargo run --release -- --frames 600 --compare\n  \
    cargo run --release -- --frames 100 --screenshot waves.png"
)]
pub(crate) struct Options {
    /// End after this number of frames, which do not wait for the display, and print the frame rate
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) frames: Option<u32>,
    /// Use the default options of a context, with which threads submit the commands
    #[arg(long)]
    pub(crate) threads: bool,
    /// Compute the waves with wgpu alone
    #[arg(long)]
    pub(crate) plain: bool,
    /// Compute the frames with Fencepost and with wgpu alone, in turns, and print the ratio of the frame rates
    #[arg(long, requires = "frames", conflicts_with_all = ["plain", "screenshot"])]
    pub(crate) compare: bool,
    /// Write the picture of the last frame
    #[arg(long, value_name = "FILE.png", requires = "frames")]
    pub(crate) screenshot: Option<PathBuf>,
    /// Change the size of the window every 16 frames
    #[arg(long, requires = "frames")]
    pub(crate) resize: bool,
    /// Number of cells of the water
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = size, default_value = "256x192")]
    pub(crate) size: [u32; 2],
    /// Number of pixels of the window for each cell, along each side
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(crate) scale: u32,
}

fn size(text: &str) -> Result<[u32; 2], String> {
    let side = |text: &str| text.parse().ok().filter(|side| (16..=1024).contains(side));
    let sides = text.split_once('x').and_then(|(width, height)| Some([side(width)?, side(height)?]));
    sides.ok_or_else(|| "it must be two numbers from 16 to 1024, such as 640x480".into())
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Options::command().debug_assert();
    }

    #[test]
    fn a_wrong_command_line_is_an_error_that_names_the_option() {
        for (args, option) in [
            (&["--frames", "0"][..], "--frames"),
            (&["--compare"][..], "--frames"),
            (&["--frames", "9", "--compare", "--plain"][..], "--plain"),
            (&["--screenshot", "waves.png"][..], "--frames"),
            (&["--size", "15x16"][..], "--size"),
            (&["--size", "1024"][..], "--size"),
        ] {
            let error = Options::try_parse_from(["window"].iter().chain(args)).err().expect("it is wrong");
            assert!(error.to_string().contains(option), "{error}");
        }
    }

    #[test]
    fn the_size_of_the_water_has_a_width_and_a_height() {
        let options = Options::try_parse_from(["window", "--size", "128x96"]).expect("it is right");
        assert_eq!(options.size, [128, 96]);
    }
}
