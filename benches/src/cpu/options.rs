use clap::Parser;

/// Measures kernels on the CPU device, on the software drivers of Vulkan, on PoCL (OpenCL), and in plain Rust with rayon.
#[derive(Clone, Debug, Default, Parser)]
#[command(
    name = "cpu",
    version,
    after_help = "Examples:\n  cargo xtask bench --cpu\n  cargo xtask bench --cpu --rows matmul --json\n  \
    cargo xtask bench --cpu --processors 1 --only cpu\n\n\
    Each row is measured in rounds in which all contestants take turns. The table has medians.\n\
    `x` is the median ratio to the first contestant's time, and `compile` includes what the first launch takes longer.\n\
    PoCL takes part if it is installed: on Debian, `apt-get install pocl-opencl-icd ocl-icd-libopencl1` installs it."
)]
pub struct SimulatorOptions {
    /// Print one JSON object a line instead of a table
    #[arg(long)]
    pub json: bool,
    /// Measure small problems in few rounds: shows that all works, says little about speed
    #[arg(long)]
    pub quick: bool,
    /// Measure only the rows whose name contains PATTERN
    #[arg(long, value_name = "PATTERN", default_value = "", hide_default_value = true)]
    pub rows: String,
    /// Measure only the contestants whose name contains PATTERN
    #[arg(long, value_name = "PATTERN", default_value = "", hide_default_value = true)]
    pub only: String,
    /// Use this number of processors, by `taskset`; 0 uses all
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub processors: usize,
    /// Print the names of the rows and measure nothing
    #[arg(long)]
    pub list: bool,
    /// Print the first result of this contestant and end
    #[arg(long, hide = true, value_name = "NAME")]
    pub first_result: Option<String>,
}
