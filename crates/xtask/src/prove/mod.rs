//! `cargo xtask prove`: runs everything that the machine can run, and writes one file with the results.

mod adapters;
mod machine;
mod page;
mod private;
mod rounds;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use self::adapters::Adapter;
use self::machine::Machine;
use self::private::Private;
use self::rounds::Rounds;
use crate::environment::missing_runtime_dir;
use crate::shell;
use crate::suite;
use crate::tally::{Failure, Tally};
use crate::workspace::Workspace;

/// Folder of the files.
const FOLDER: &str = "docs/proofs";
/// Maximum length of an adapter's part of a file's name.
const LONGEST_NAME: usize = 60;

/// Arguments of the command `prove`.
pub(crate) struct Options {
    pub(crate) modes: Vec<String>,
    pub(crate) json: bool,
    /// `true` if the benchmarks run too.
    pub(crate) measures: bool,
}

/// Results of a machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Proof {
    machine: Machine,
    adapters: Vec<Adapter>,
    modes: Vec<String>,
    /// Checks of `fencepost doctor` that failed.
    checks: Vec<Failure>,
    tally: Tally,
    rounds: Rounds,
}

impl Proof {
    fn failures(&self) -> impl Iterator<Item = &Failure> {
        self.checks.iter().chain(&self.tally.failures).chain(&self.rounds.failures)
    }
}

/// Builds the tests, runs them on every adapter of the machine and on the CPU, and writes the file. Installs nothing.
/// Returns `false` if something failed.
///
/// # Errors
/// A program does not build, or the file cannot be written.
pub(crate) fn prove(workspace: &Workspace, options: &Options) -> Result<bool> {
    let modes = suite::modes_named(&options.modes)?;
    let machine = Machine::here(workspace)?;
    let mut vars = missing_runtime_dir(workspace)?;
    eprintln!("\n== build");
    let cargo = |subcommand: &str| shell::cargo().arg(subcommand).dir(workspace.root());
    let built = suite::build_for_devices(cargo)?;
    eprintln!("\n== doctor");
    let (adapters, checks) = adapters::examine(&built.command, &vars)?;
    let all = if adapters.iter().any(Adapter::has_driver) { "all" } else { "cpu" };
    vars.push(("FENCEPOST_TEST_ADAPTERS".to_owned(), all.to_owned()));
    eprintln!("\n== tests");
    let tally = Tally::run(workspace, "prove", &built.programs, (&vars, &modes, &[]))?;
    eprintln!("\n== benchmarks");
    let rounds = match options.measures {
        true => Rounds::measure(workspace, &adapters, &vars),
        false => Rounds::default(),
    };
    let modes = modes.iter().map(|mode| mode.name.to_owned()).collect();
    let proof = Proof { machine, adapters, modes, checks, tally, rounds };
    let proof = Private::here(workspace).removed_from(&proof)?;
    let file = write(&workspace.path(FOLDER), &proof, options.json)?;
    let failures = proof.failures().count();
    println!("\n{}{failures} failures; the results are in {}", proof.tally.table(), file.display());
    Ok(failures == 0)
}

/// Writes the page, and the same as JSON if that was requested. Returns the path of the page.
fn write(folder: &Path, proof: &Proof, json: bool) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let name = format!("{}-{}-{}", proof.machine.date, env::consts::OS, slug(&page::title(proof)));
    let file = folder.join(format!("{name}.md"));
    let written = |file: &Path, text: String| {
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
    };
    written(&file, page::page(proof))?;
    if json {
        written(&folder.join(format!("{name}.json")), serde_json::to_string_pretty(proof)? + "\n")?;
    }
    Ok(file)
}

/// Returns a name as a part of a file's name: small letters, digits and hyphens.
fn slug(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let text: String = name.chars().map(plain).collect();
    let text = text.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    let text = text[..text.len().min(LONGEST_NAME)].trim_end_matches('-');
    if text.is_empty() { "adapter".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a proof with a failed check, and the results of `tally::tests` and of `rounds::tests`.
    pub(super) fn crafted() -> Proof {
        let text = |text: &str| text.to_owned();
        let machine = Machine {
            date: text("2026-11-30"),
            commit: text("0123456789ab"),
            system: text("A system 1, arm"),
            processor: text("A processor, 8 threads"),
            rust: text("rustc 1.95.0"),
        };
        let check =
            Failure { test: text("fencepost doctor: map"), mode: text("default"), message: text("it broke") };
        Proof {
            machine,
            adapters: vec![adapters::tests::card()],
            modes: vec![text("default")],
            checks: vec![check],
            tally: crate::tally::tests::crafted(),
            rounds: rounds::tests::crafted(),
        }
    }

    #[test]
    fn the_files_are_named_after_the_date_the_system_and_the_adapter() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let page = write(&dir.path().join("proofs"), &crafted(), true).expect("written");
        let name = format!("2026-11-30-{}-a-card-7", env::consts::OS);
        assert_eq!(page, dir.path().join(format!("proofs/{name}.md")));
        let json = fs::read_to_string(page.with_extension("json")).expect("it is there");
        let read: Proof = serde_json::from_str(&json).expect("a proof");
        assert_eq!((read.tally, read.rounds), (crafted().tally, crafted().rounds));
        write(&dir.path().join("other"), &crafted(), false).expect("written");
        assert!(!dir.path().join(format!("other/{name}.json")).exists());
    }

    #[test]
    fn the_name_of_an_adapter_becomes_a_part_of_a_file_name() {
        assert_eq!(slug("NVIDIA GeForce RTX 4090 (Vulkan)"), "nvidia-geforce-rtx-4090-vulkan");
        assert_eq!(slug("../../etc"), "etc");
        assert_eq!(slug("\u{7269}"), "adapter");
        assert!(slug(&"long name ".repeat(20)).len() <= LONGEST_NAME);
    }

    #[test]
    fn no_text_of_a_written_proof_has_a_path_or_the_name_of_the_user() {
        let workspace = Workspace::at(Path::new("/secret/folder/fencepost"));
        let path = "at /secret/folder/fencepost/tests/a.rs:3, and /opt/hidden/driver.so".to_owned();
        let mut proof = crafted();
        proof.checks[0].message.clone_from(&path);
        proof.tally.failures[0].message.clone_from(&path);
        proof.adapters[0].driver.clone_from(&path);
        proof.rounds.left_out.push(path);
        let proof = Private::here(&workspace).removed_from(&proof).expect("it is plain");
        let texts = [page::page(&proof), serde_json::to_string(&proof).expect("it is plain")];
        for text in texts {
            assert!(!text.contains("secret") && !text.contains("/opt") && !text.contains("hidden"), "{text}");
            assert_eq!(text.matches("at <checkout>/tests/a.rs:3, and <path>/driver.so").count(), 4, "{text}");
        }
    }
}
