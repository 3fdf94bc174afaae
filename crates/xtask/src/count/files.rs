//! Source files of which a launch executes at least one instruction.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// The contestant whose files are listed. Its row `ROW` measures one launch on one queue, and the wait for it.
pub(super) const CONTESTANT: &str = "fencepost direct";
pub(super) const ROW: &str = "launch independent 1";

/// Instructions that one launch executes in each source file of the library. Inlined code counts for the file in which
/// it is written. An instruction without a source line counts for no file.
pub(super) type Files = BTreeMap<String, f64>;

/// Reads the files below `root/crates` from the text of a callgrind file with the counts of `launches` launches.
///
/// # Errors
/// Fails if the text names no file of the library: the program was built without line tables.
pub(super) fn of(text: &str, root: &Path, launches: f64) -> Result<Files> {
    let own = root.join("crates");
    let mut files = Files::new();
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    let mut current = "";
    let mut is_call = false;
    let mut at = 0;
    for line in text.lines() {
        if let Some((key, file)) = line.split_once('=') {
            match key {
                "fl" | "fi" | "fe" => current = resolve(&mut names, file),
                "cfi" | "cfl" => drop(resolve(&mut names, file)),
                "calls" => is_call = true,
                _ => {}
            }
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let (position, count) = line.split_once(' ').with_context(|| format!("no count in `{line}`"))?;
            at = source_line(position, at).with_context(|| format!("`{position}` is no line"))?;
            if std::mem::take(&mut is_call) || at == 0 {
                continue; // the lines of a called function count its instructions
            }
            let count: f64 = count.parse().with_context(|| format!("`{count}` is no count"))?;
            if let Ok(path) = PathBuf::from(current).strip_prefix(&own) {
                *files.entry(path.display().to_string()).or_default() += count / launches;
            }
        }
    }
    ensure!(!files.is_empty(), "no instruction of a file below {} was counted", own.display());
    Ok(files)
}

/// Returns the source line at a position: `7` is line 7, `+2` and `-2` are relative to the previous line, `*` repeats
/// it.
fn source_line(position: &str, before: i64) -> Option<i64> {
    match position.split_at_checked(1)? {
        ("*", "") => Some(before),
        ("+", more) => Some(before + more.parse::<i64>().ok()?),
        ("-", less) => Some(before - less.parse::<i64>().ok()?),
        _ => position.parse().ok(),
    }
}

/// Returns the file that callgrind names `(7) path` the first time, and `(7)` from then on.
fn resolve<'a>(names: &mut BTreeMap<&'a str, &'a str>, file: &'a str) -> &'a str {
    let (number, name) = file.split_once(' ').unwrap_or((file, ""));
    if !name.is_empty() {
        names.insert(number, name);
    }
    names.get(number).copied().unwrap_or("")
}

/// Writes one line for each file, with the most instructions first.
pub(super) fn table(files: &Files) -> String {
    let mut rows: Vec<(&String, &f64)> = files.iter().collect();
    rows.sort_by(|one, other| other.1.total_cmp(one.1));
    let lines = rows.into_iter().map(|(file, count)| format!("{count:>10.1}  crates/{file}\n"));
    let head = format!("{CONTESTANT}, {ROW}: {} files\ninstructions  file\n", files.len());
    head + &lines.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "events: Ir\nfl=(1) /src/crates/core/src/a.rs\nfn=(1) one\n10 30\nfi=(2) /rust/option.rs\n+2 40\n\
        fe=(1)\n-12 7\ncfi=(3) /src/crates/core/src/b.rs\ncfn=(2) two\ncalls=1 5\n12 900\n* 10\n\
        fl=(3)\nfn=(2)\n5 8\ntotals: 88\n";

    #[test]
    fn a_file_counts_its_own_lines_and_not_those_of_called_functions() {
        let files = of(TEXT, Path::new("/src"), 2.0).expect("two files");
        let found: Vec<_> = files.iter().map(|(file, count)| (file.as_str(), *count)).collect();
        assert_eq!(found, [("core/src/a.rs", 20.0), ("core/src/b.rs", 4.0)]);
        let table = table(&files);
        assert!(table.contains(": 2 files\n") && table.contains("20.0  crates/core/src/a.rs\n"), "{table}");
    }

    #[test]
    fn a_program_without_line_tables_is_an_error() {
        let error = of("fl=(1) ???\n0 9\n", Path::new("/src"), 1.0).expect_err("no file of the library");
        assert!(error.to_string().contains("/src/crates"), "{error}");
    }
}
