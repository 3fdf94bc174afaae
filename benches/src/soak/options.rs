use clap::Parser;

/// Holds the options of the command line.
#[derive(Parser, Clone, Debug)]
#[command(
    name = "soak",
    about = "Runs the double buffer for minutes, and checks that every block is correct and memory stays flat",
    after_help = "Examples:\n  soak --minutes 1 --adapter swiftshader --seed 7 --json\n  soak --cpu --minutes 0.1"
)]
pub struct Options {
    /// Minutes to run
    #[arg(long, default_value_t = 10.0, value_parser = minutes)]
    pub minutes: f64,
    /// A part of the adapter's name and back end, or its number; without it the best adapter
    #[arg(long, default_value = "")]
    pub adapter: String,
    /// Use the CPU recorder instead of an adapter
    #[arg(long, conflicts_with = "adapter")]
    pub cpu: bool,
    /// The seed of the sizes, drops and waits
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes: f64 = text.parse().map_err(|error: std::num::ParseFloatError| error.to_string())?;
    if (0.0..=1e6).contains(&minutes) { Ok(minutes) } else { Err("it must be from 0 to 1000000".into()) }
}
