//! Tests help texts, completions and manual pages.

use anyhow::{Result, ensure};

use crate::Once;
use crate::program::fencepost;

pub(crate) const ONCE: [Once; 5] = [
    ("every_help_text_has_examples_and_exit_codes", help),
    ("the_help_of_the_program_names_every_command", commands),
    ("completions_of_every_shell_name_every_command", completions),
    ("the_manual_page_names_every_command", page),
    ("every_command_has_a_manual_page", pages),
];

const COMMANDS: [&str; 8] = ["info", "doctor", "run", "bench", "tune", "shaders", "completions", "man"];

fn help() -> Result<()> {
    for command in COMMANDS {
        let text = fencepost([command, "--help"])?.good()?;
        let (_, after) = text.split_once("Examples:\n").unwrap_or_default();
        let example = format!("  fencepost {command}");
        ensure!(after.lines().any(|line| line.starts_with(&example)), "{command} has no example:\n{text}");
        for code in ["Exit codes:\n  0  ", "\n  1  ", "\n  2  "] {
            ensure!(after.contains(code), "{command} does not say `{code}`:\n{text}");
        }
    }
    Ok(())
}

fn commands() -> Result<()> {
    let text = fencepost(["--help"])?.good()?;
    names_all(&text, |command| format!("\n  {command} "))
}

fn completions() -> Result<()> {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = fencepost(["completions", shell])?.good()?;
        names_all(&text, str::to_owned)?;
        ensure!(text.contains("fencepost") && text.contains("quick"), "{shell}:\n{text}");
    }
    Ok(())
}

fn page() -> Result<()> {
    let text = fencepost(["man"])?.good()?;
    ensure!(text.contains(".TH fencepost 1"), "{text}");
    names_all(&text, |command| format!("fencepost\\-{command}(1)"))
}

fn pages() -> Result<()> {
    for command in COMMANDS {
        let text = fencepost(["man", command])?.good()?;
        ensure!(text.contains(&format!(".TH fencepost-{command} 1")), "{text}");
        ensure!(text.contains("Examples:") && text.contains("Exit codes:"), "{text}");
    }
    fencepost(["man", "nothing"])?.refused(2, &["`nothing`", "`run`"])
}

fn names_all(text: &str, name: impl Fn(&str) -> String) -> Result<()> {
    for command in COMMANDS {
        ensure!(text.contains(&name(command)), "no `{}` in\n{text}", name(command));
    }
    Ok(())
}
