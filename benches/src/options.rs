use clap::Parser;

/// Measures the host cost of launches and the speed of transfers, beside raw wgpu and bare Vulkan.
#[derive(Clone, Debug, Default, Parser)]
#[command(name = "fencepost-benches", version)]
pub struct Options {
    /// Print one JSON object a line instead of tables
    #[arg(long)]
    pub json: bool,
    /// Use the adapter whose name, driver or back end contains NAME (case does not matter)
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub adapter: String,
    /// Take few samples and leave out the longest rows: shows that all works, says little about speed
    #[arg(long)]
    pub quick: bool,
    /// Measure only the rows whose name contains PATTERN
    #[arg(long, value_name = "PATTERN", default_value = "", hide_default_value = true)]
    pub rows: String,
    /// Print the names of the rows and measure nothing
    #[arg(long)]
    pub list: bool,
}
