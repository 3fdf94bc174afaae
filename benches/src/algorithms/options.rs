use clap::Parser;

/// Measures the verbs of the algorithms on the devices of this machine, and the same work in plain Rust with rayon.
#[derive(Clone, Debug, Default, Parser)]
#[command(
    name = "algorithms",
    version,
    after_help = "Examples:\n  cargo xtask bench --algorithms\n  cargo xtask bench --algorithms --rows sort --json\n  \
    cargo xtask bench --algorithms --only gpu --log-elements 26\n\n\
    Each row is measured in rounds in which all contestants take turns. The table has medians.\n\
    `x` is the median ratio to the first contestant's time. The rows `copy kernel` and `read kernel` show what the memory\n\
    of a device allows."
)]
pub struct AlgorithmsOptions {
    /// Print one JSON object a line instead of a table
    #[arg(long)]
    pub json: bool,
    /// Measure small problems in few rounds: shows that all works, says little about speed
    #[arg(long)]
    pub quick: bool,
    /// Measure rows of 2 to the power EXPONENT elements: 22 in an ordinary run, 14 in a quick one
    #[arg(long, value_name = "EXPONENT", value_parser = clap::value_parser!(u32).range(14..=30))]
    pub log_elements: Option<u32>,
    /// Measure only the rows whose name contains PATTERN
    #[arg(long, value_name = "PATTERN", default_value = "", hide_default_value = true)]
    pub rows: String,
    /// Measure only the contestants whose name contains PATTERN
    #[arg(long, value_name = "PATTERN", default_value = "", hide_default_value = true)]
    pub only: String,
    /// Print the names of the rows and measure nothing
    #[arg(long)]
    pub list: bool,
}

impl AlgorithmsOptions {
    /// Returns the number of elements of a row that the user chose.
    pub(super) fn elements(&self) -> Option<usize> {
        self.log_elements.map(|exponent| 1 << exponent)
    }
}
