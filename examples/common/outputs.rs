//! Parses the output files of an example that draws a picture.

use std::path::PathBuf;

#[path = "trace.rs"]
mod trace;

/// Runs one example of the tutorial, on the best adapter of the machine, and draws a picture.
#[derive(clap::Parser)]
pub(crate) struct Outputs {
    /// Write the picture here; without this, it goes into the system's folder of temporary files
    #[arg(long, value_name = "FILE.png", value_parser = png, default_value_os_t = temporary())]
    pub(crate) picture: PathBuf,
    /// Write what every queue did, and when, to a `.html` timeline or a `.json` trace for Perfetto
    #[arg(long, value_name = "FILE", value_parser = trace::file)]
    pub(crate) trace: Option<PathBuf>,
}

fn png(name: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(name);
    let is_png = path.extension().is_some_and(|ending| ending == "png");
    if is_png { Ok(path) } else { Err("it must end in .png".into()) }
}

fn temporary() -> PathBuf {
    std::env::temp_dir().join(concat!(env!("CARGO_BIN_NAME"), ".png"))
}
