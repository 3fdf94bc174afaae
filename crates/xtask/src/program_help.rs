//! The help texts of programs to which commands pass their arguments, printed without building the program.

use anyhow::Result;
use clap::{Command, CommandFactory};

use crate::cli::Cli;

#[path = "../../../benches/src/algorithms/options.rs"]
#[allow(dead_code, unreachable_pub, reason = "the help alone is used")]
mod algorithms;
#[path = "../../../crates/wgsl-fuzz/src/arguments.rs"]
#[allow(dead_code, reason = "the help alone is used")]
mod arguments;
#[path = "../../../benches/src/cpu/options.rs"]
#[allow(dead_code, unreachable_pub, reason = "the help alone is used")]
mod cpu;
#[path = "../../../benches/src/options.rs"]
#[allow(dead_code, unreachable_pub, reason = "the help alone is used")]
mod launches;
#[path = "../../../benches/src/soak/options.rs"]
#[allow(dead_code, unreachable_pub, reason = "the help alone is used")]
mod soak;

/// Prints the help of a command's program if the arguments request it, and then returns `true`.
pub(crate) fn print_if_requested(command: &str, args: &[String]) -> Result<bool> {
    let Some(request) = args.iter().find(|arg| matches!(arg.as_str(), "-h" | "--help")) else {
        return Ok(false);
    };
    let mut help = help(command, args);
    if request == "-h" {
        help.print_help()?
    } else {
        help.print_long_help()?
    }
    Ok(true)
}

/// Returns the command line of the program. The demo's example is a separate program; the help of the demo names the
/// command that prints its help.
fn help(command: &str, args: &[String]) -> Command {
    let chosen = |name: &str| args.iter().any(|arg| arg == name);
    match command {
        "bench" if chosen("--cpu") => cpu::SimulatorOptions::command().bin_name("cargo xtask bench --cpu"),
        "bench" if chosen("--algorithms") => {
            algorithms::AlgorithmsOptions::command().bin_name("cargo xtask bench --algorithms")
        }
        "bench" => launches::Options::command().bin_name("cargo xtask bench"),
        "soak" => soak::Options::command().bin_name("cargo xtask soak"),
        "fuzz-wgsl" => arguments::Arguments::command().bin_name("cargo xtask fuzz-wgsl"),
        other => {
            let mut own = Cli::command();
            own.build();
            own.find_subcommand(other).expect("bug: no such command").clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(command: &str, args: &[&str]) -> String {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        help(command, &args).render_long_help().to_string()
    }

    #[test]
    fn each_command_has_the_help_of_its_program() {
        for (command, args, option) in [
            ("bench", &[][..], "--adapter"),
            ("bench", &["--cpu"], "--processors"),
            ("bench", &["--algorithms", "--quick"], "--log-elements"),
            ("soak", &[], "--minutes"),
            ("fuzz-wgsl", &[], "--uniform-indices"),
            ("demo", &[], "cargo run --example b3sum"),
        ] {
            let text = text(command, args);
            assert!(
                text.contains(option) && text.contains(&format!("Usage: cargo xtask {command}")),
                "{text}"
            );
        }
    }

    #[test]
    fn other_arguments_print_nothing() {
        let args = ["--json".to_owned(), "--rows".to_owned(), "help".to_owned()];
        assert!(!print_if_requested("bench", &args).expect("nothing is printed"));
    }
}
