//! `fencepost-benches` prints the cost of launches and transfers, beside that of wgpu and Vulkan.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match fencepost_benches::run(&fencepost_benches::Options::parse(), &mut std::io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
