//! Completions for a shell, and manual pages.

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::cli::Cli;
use crate::{Outcome, output};

/// Name of the program.
const NAME: &str = "fencepost";

/// Prints the completions of a shell.
pub(crate) fn completions(shell: Shell) -> Result<Outcome> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), NAME, &mut text);
    output::print(&text)?;
    Ok(Outcome::Good)
}

/// Prints the manual page of the program, or of one of its commands.
pub(crate) fn man(command: Option<&str>) -> Result<Outcome> {
    let mut program = Cli::command();
    program.build();
    let page = match command {
        None => Man::new(program),
        Some(name) => {
            let found = program.find_subcommand(name).context("bug: the command line has no such command")?;
            Man::new(found.clone())
        }
    };
    let mut text = Vec::new();
    page.render(&mut text).context("cannot write the manual page")?;
    output::print(&text)?;
    Ok(Outcome::Good)
}
