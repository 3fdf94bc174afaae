//! Runs a program under callgrind, and reads callgrind's output files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::packages::Manager;
use crate::shell::{line, which};

const VALGRIND: &str = "valgrind";

/// The counted program, run under callgrind.
pub(super) struct Callgrind {
    pub(super) program: PathBuf,
    /// Files that callgrind writes.
    pub(super) dumps: PathBuf,
}

/// Makes sure that valgrind can be used, and installs it if `may_install`.
pub(super) fn ensure(may_install: bool) -> Result<()> {
    if which(VALGRIND).is_some() {
        return Ok(());
    }
    if !cfg!(target_os = "linux") {
        bail!("instructions are counted by valgrind, which this program sets up on Linux only");
    }
    let Some(manager) = Manager::find() else {
        bail!("there is no valgrind, and no package manager this program knows: install it by hand");
    };
    if !may_install {
        bail!("there is no valgrind, and --no-install was given: install {VALGRIND}");
    }
    eprintln!("xtask: there is no valgrind: installing it");
    manager.install(&[VALGRIND])?;
    ensure!(which(VALGRIND).is_some(), "valgrind was installed, but is not in PATH");
    Ok(())
}

impl Callgrind {
    /// Returns the contestants that can be counted.
    pub(super) fn contestants(&self) -> Result<Vec<String>> {
        Ok(line(&self.program).read()?.lines().map(str::to_owned).collect())
    }

    /// Counts the instructions of a launch, for each row.
    pub(super) fn count(&self, contestant: &str) -> Result<BTreeMap<String, f64>> {
        let rows = self.run(contestant)?;
        let dumps = self.dumps_of(contestant);
        let counted = rows.lines().enumerate().map(|(row, text)| per_launch(text, &part(&dumps, row + 1)));
        counted.collect()
    }

    fn dumps_of(&self, contestant: &str) -> PathBuf {
        self.dumps.join(contestant.replace(' ', "-"))
    }

    /// Runs all rows of a contestant under callgrind. Returns one line for each row.
    fn run(&self, contestant: &str) -> Result<String> {
        let dumps = self.dumps_of(contestant);
        remove_dumps(&dumps)?;
        let run = line(VALGRIND)
            .args(["--tool=callgrind", "--quiet", "--toggle-collect=*count_until_done*"])
            .arg("--dump-before=*row_is_counted*")
            .arg(format!("--callgrind-out-file={}", dumps.display()))
            .arg(&self.program)
            .arg(contestant);
        eprintln!("+ {run}");
        run.read()
    }
}

/// Returns the file that callgrind writes at the end of the `number`th row.
fn part(dumps: &Path, number: usize) -> PathBuf {
    let mut name = dumps.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// Parses a line of the program: the row, and its instructions per launch.
fn per_launch(line: &str, dump: &Path) -> Result<(String, f64)> {
    let row: serde_json::Value = serde_json::from_str(line).with_context(|| format!("`{line}`"))?;
    let name = row["row"].as_str().with_context(|| format!("no row in `{line}`"))?;
    let launches = row["launches"].as_f64().with_context(|| format!("no launches in `{line}`"))?;
    let text = fs::read_to_string(dump).with_context(|| format!("cannot read {}", dump.display()))?;
    let instructions = total(&text).with_context(|| format!("row `{name}`, {}", dump.display()))?;
    Ok((name.to_owned(), instructions / launches))
}

/// Returns the total that callgrind counted in one of its files.
fn total(text: &str) -> Result<f64> {
    ensure!(text.lines().any(|line| line == "events: Ir"), "callgrind did not count instructions alone");
    let total = text.lines().find_map(|line| line.strip_prefix("totals: ")).context("no total")?;
    let total: f64 = total.trim().parse().with_context(|| format!("`{total}` is not a count"))?;
    ensure!(total > 0.0, "nothing was counted: is there a function `count_until_done`?");
    Ok(total)
}

/// Removes the files of an earlier run, so that they cannot be mistaken for this run's.
fn remove_dumps(dumps: &Path) -> Result<()> {
    for number in 1.. {
        let old = part(dumps, number);
        if !old.exists() {
            break;
        }
        fs::remove_file(&old).with_context(|| format!("cannot remove {}", old.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMP: &str = "# callgrind format\nversion: 1\npart: 1\n\n\npositions: line\nevents: Ir\n\
        summary: 5051600\n\n\nfl=(1) ???\nfn=(0) 0x1ab70\n0 5051600\n\ntotals: 5051600\n";

    #[test]
    fn the_total_of_a_file_is_found() {
        assert_eq!(total(DUMP).expect("a total"), 5_051_600.0);
    }

    #[test]
    fn a_file_without_instructions_or_of_other_events_is_an_error() {
        let refused = |text: &str| total(text).expect_err("it is refused").to_string();
        assert!(refused(&DUMP.replace("totals: 5051600", "totals: 0")).contains("nothing was counted"));
        assert!(refused(&DUMP.replace("totals: 5051600", "")).contains("no total"));
        assert!(refused(&DUMP.replace("events: Ir", "events: Ir Dr")).contains("instructions alone"));
    }

    #[test]
    fn a_row_counts_for_each_of_its_launches() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let dump = part(&dir.path().join("expert"), 1);
        fs::write(&dump, DUMP).expect("written");
        let (row, count) = per_launch(r#"{"row":"launch 1","launches":200}"#, &dump).expect("a count");
        assert_eq!((&*row, count), ("launch 1", 25_258.0));
    }

    #[test]
    fn files_of_an_earlier_run_are_removed() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let dumps = dir.path().join("expert");
        (1..4).for_each(|number| fs::write(part(&dumps, number), DUMP).expect("written"));
        remove_dumps(&dumps).expect("removed");
        assert_eq!(fs::read_dir(dir.path()).expect("readable").count(), 0);
    }
}
