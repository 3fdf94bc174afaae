//! Parses the command line, and draws the path of the mouse.

use std::path::PathBuf;

use clap::Parser;

#[path = "../common/trace.rs"]
mod trace;

/// Draws waves on water, with their source at the mouse: a PNG file for each frame, and the graph of a frame as SVG.
#[derive(Parser)]
pub(crate) struct Options {
    /// A position of the mouse, in parts of the width and of the height; repeated, the frames follow the lines between
    /// the positions
    #[arg(long, value_name = "X,Y", value_parser = point, default_values = ["0.2,0.3", "0.8,0.4", "0.4,0.8"])]
    mouse: Vec<[f32; 2]>,
    /// The number of frames
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    frames: u32,
    /// The number of cells, which are the pixels of a frame
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = size, default_value = "128x96")]
    pub(crate) size: [u32; 2],
    /// Write the files here; without this, they go into the system's folder of temporary files
    #[arg(long, default_value_os_t = std::env::temp_dir().join(env!("CARGO_BIN_NAME")))]
    pub(crate) folder: PathBuf,
    /// Write what every queue did, and when, to a `.html` timeline or a `.json` trace for Perfetto
    #[arg(long, value_name = "FILE", value_parser = trace::file)]
    pub(crate) trace: Option<PathBuf>,
}

impl Options {
    /// Returns the position of the mouse in each frame, in cells.
    pub(crate) fn path(&self) -> Vec<[f32; 2]> {
        let lines = self.mouse.len() - 1;
        let position = |frame: u32| {
            let along = frame as f32 / (self.frames - 1).max(1) as f32 * lines as f32;
            let from = (along as usize).min(lines);
            let start = self.mouse[from];
            let end = self.mouse[(from + 1).min(lines)];
            let between = |axis: usize| start[axis] + along.fract() * (end[axis] - start[axis]);
            [0, 1].map(|axis| between(axis) * self.size[axis] as f32)
        };
        (0..self.frames).map(position).collect()
    }
}

fn point(text: &str) -> Result<[f32; 2], String> {
    let part = |text: &str| text.trim().parse().ok().filter(|part| (0.0..=1.0).contains(part));
    let parts = text.split_once(',').and_then(|(x, y)| Some([part(x)?, part(y)?]));
    parts.ok_or_else(|| "it must be two numbers from 0 to 1, such as 0.5,0.25".into())
}

fn size(text: &str) -> Result<[u32; 2], String> {
    let side = |text: &str| text.parse().ok().filter(|side| (16..=4096).contains(side));
    let sides = text.split_once('x').and_then(|(width, height)| Some([side(width)?, side(height)?]));
    sides.ok_or_else(|| "it must be two numbers from 16 to 4096, such as 640x480".into())
}
