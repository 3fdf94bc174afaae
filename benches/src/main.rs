//! `fencepost-benches` prints the cost of launches and transfers, next to wgpu's and Vulkan's.

use clap::Parser;

fn main() -> anyhow::Result<()> {
    if std::env::var("FENCEPOST_VALIDATION").is_ok_and(|value| value == "1") {
        eprintln!(
            "warning: FENCEPOST_VALIDATION=1 makes Fencepost slower than the others; unset it for rows that compare"
        );
    }
    fencepost_benches::run(&fencepost_benches::Options::parse(), &mut std::io::stdout().lock())
}
