//! The command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Parser;

/// Runs random WGSL programs on several engines and compares their results.
///
/// Each program runs in the interpreter and as machine code of each width, with the same bits. Some programs run on the adapters
/// too: integers and exact floats must be equal; results of functions that round may differ as WGSL allows. The smallest
/// program on which engines differ is stored below target/wgsl-fuzz. Exits with 1 if engines differ.
#[derive(Parser)]
#[command(name = "cargo xtask fuzz-wgsl", bin_name = "cargo xtask fuzz-wgsl")]
#[command(
    after_help = "Examples:\n  cargo xtask fuzz-wgsl\n  cargo xtask fuzz-wgsl --minutes 10 --seed 50000\n  \
    cargo xtask fuzz-wgsl --adapter llvmpipe --adapter swiftshader --count 200\n  \
    cargo xtask fuzz-wgsl --seed 17 --print\n  cargo xtask fuzz-wgsl --features"
)]
pub(crate) struct Arguments {
    /// Number of programs; without, 1000, or as many as the minutes allow
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// First seed
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// A part of an adapter's name and backend, or `recorder`; may be given several times. Without, every adapter but those of
    /// GL, and the recorder of the CPU
    #[arg(long)]
    pub(crate) adapter: Vec<String>,
    /// Run the programs whose seed is a multiple of this number on the adapters too; 0 runs none there
    #[arg(long, default_value_t = 32)]
    pub(crate) drivers_every: u64,
    /// Number of threads; without, one for each processor
    #[arg(long)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Minutes to run at most
    #[arg(long)]
    pub(crate) minutes: Option<f64>,
    /// Stop after this many programs on which engines differ
    #[arg(long, default_value_t = 1)]
    pub(crate) differences: usize,
    /// Number of smaller programs that are tried for each difference
    #[arg(long, default_value_t = 600)]
    pub(crate) tries: usize,
    /// Allow zero vectors and clamps that a compiler knows, which SwiftShader computes wrongly
    #[arg(long)]
    pub(crate) known_zeros: bool,
    /// Allow indices into uniform vectors that differ between invocations, which lavapipe 22.3 takes from one invocation
    #[arg(long)]
    pub(crate) uniform_indices: bool,
    /// Print the program of the seed, and run nothing
    #[arg(long)]
    pub(crate) print: bool,
    /// Print the share of the programs that use each part of the language, and run nothing
    #[arg(long)]
    pub(crate) features: bool,
    /// Folder for the programs on which engines differ
    #[arg(long, default_value = "target/wgsl-fuzz")]
    pub(crate) folder: PathBuf,
}
