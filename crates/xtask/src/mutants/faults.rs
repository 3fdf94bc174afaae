//! The list of faults, and the lookup of their places in the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::semantics::rules::rule_of;
use crate::workspace::text_of;

/// Path of the list.
pub(super) const LIST: &str = "tests/faults.json";

/// A small edit of the library that breaks a promise.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fault {
    pub(super) name: String,
    /// Path of the file, relative to the root. In the list, it stands once before all faults of the file.
    #[serde(skip)]
    pub(super) file: String,
    /// Text that comes before `find`, needed if `find` occurs more than once.
    #[serde(default)]
    pub(super) after: Option<String>,
    /// Text to replace: an expression, or statements up to a semicolon.
    pub(super) find: String,
    /// Replacement.
    pub(super) with: String,
    /// The broken promise.
    pub(super) breaks: String,
    /// Reason why no quick test can detect the fault, if none can.
    #[serde(default)]
    pub(super) explained: Option<String>,
}

impl Fault {
    /// Returns the broken rule, which is the start of the promise: `Q08: ...`.
    pub(super) fn rule(&self) -> Option<&str> {
        let (rule, _) = self.breaks.split_once(':')?;
        rule_of(&format!("{rule}_")).is_some().then_some(rule)
    }
}

/// A fault and the place of the text that it replaces.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) fault: Fault,
    /// Bytes of the text in the file.
    pub(super) range: Range<usize>,
    /// Lines of the text in the file, counted from 1.
    pub(super) lines: Range<usize>,
}

impl Placed {
    /// Returns `file:line`.
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.fault.file, self.lines.start)
    }
}

/// Reads the list.
pub(super) fn read(path: &Path) -> Result<Vec<Fault>> {
    let text = text_of(path)?;
    let faults = listed(&text).with_context(|| path.display().to_string())?;
    let mut names = BTreeSet::new();
    for fault in &faults {
        if !names.insert(&fault.name) {
            bail!("two faults are called `{}`", fault.name);
        }
    }
    Ok(faults)
}

/// Parses a list with the faults of each file.
fn listed(text: &str) -> Result<Vec<Fault>> {
    let files: BTreeMap<String, Vec<Fault>> = serde_json::from_str(text)?;
    let of_file = |(file, faults): (String, Vec<Fault>)| {
        faults.into_iter().map(move |fault| Fault { file: file.clone(), ..fault })
    };
    Ok(files.into_iter().flat_map(of_file).collect())
}

/// Finds all faults below `root`; an error names the faults whose text no longer exists.
pub(super) fn place_all(root: &Path, faults: Vec<Fault>) -> Result<Vec<Placed>> {
    let mut placed = Vec::new();
    let mut lost = Vec::new();
    for fault in faults {
        let text = fs::read_to_string(root.join(&fault.file)).unwrap_or_default();
        match place(&text, &fault) {
            Ok((range, lines)) => placed.push(Placed { fault, range, lines }),
            Err(why) => lost.push(format!("fault `{}`: {why:#}", fault.name)),
        }
    }
    if lost.is_empty() { Ok(placed) } else { bail!("{}", lost.join("\n")) }
}

/// Returns the bytes and lines of `fault` in `text`.
fn place(text: &str, fault: &Fault) -> Result<(Range<usize>, Range<usize>)> {
    let from = match &fault.after {
        Some(after) => text.find(after).with_context(|| format!("{} has no `{after}`", fault.file))?,
        None => 0,
    };
    let mut found = text[from..].match_indices(&fault.find).map(|(at, _)| from + at);
    let start = found.next().with_context(|| format!("{} has no `{}`", fault.file, fault.find))?;
    if fault.after.is_none() && found.next().is_some() {
        bail!("{} has `{}` in several places: `after` has to name one", fault.file, fault.find);
    }
    if fault.find.starts_with("let ") {
        bail!(
            "it replaces a `let`, whose name would end with the block of the fault: replace its expression"
        );
    }
    let range = start..start + fault.find.len();
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    let lines = line(range.start)..line(range.end) + 1;
    Ok((range, lines))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn fault(name: &str, find: &str, with: &str) -> Fault {
        let [name, find, with] = [name, find, with].map(str::to_owned);
        let file = "a.rs".to_owned();
        Fault { name, file, after: None, find, with, breaks: "all".into(), explained: None }
    }

    #[test]
    fn a_list_has_the_faults_of_each_file() {
        let text = r#"{"a.rs": [{"name": "f", "find": "x", "with": "y", "breaks": "all"}]}"#;
        let faults = listed(text).expect("well formed");
        assert_eq!((faults[0].file.as_str(), faults[0].name.as_str()), ("a.rs", "f"));
        assert!(listed(&text.replace("find", "fnd")).is_err());
    }

    #[test]
    fn the_faults_of_this_workspace_are_where_the_list_says() {
        let workspace = crate::workspace::Workspace::find().expect("cargo runs this test inside it");
        let faults = read(&workspace.path(LIST)).expect("the list is well formed");
        let placed = place_all(workspace.root(), faults).expect("each is there");
        let files: BTreeSet<&str> = placed.iter().map(|placed| placed.fault.file.as_str()).collect();
        for file in files {
            let own: Vec<&Placed> = placed.iter().filter(|placed| placed.fault.file == file).collect();
            let text = fs::read_to_string(workspace.path(file)).expect("it is there");
            let woven = super::super::weave::weave(&text, &own).expect("no two overlap");
            // Faults can replace expressions and statements, but not arms of a match.
            assert!(syn::parse_file(&woven).is_ok(), "{file} is not Rust with its faults");
        }
    }

    #[test]
    fn a_fault_is_found_with_its_lines() {
        let (range, lines) = place("one\ntwo\nthree\n", &fault("f", "two", "2")).expect("it is there");
        assert_eq!((range, lines), (4..7, 2..3));
    }

    #[test]
    fn a_text_that_occurs_twice_needs_the_text_before_it() {
        let text = "fn a() { x() }\nfn b() { x() }\n";
        let twice = fault("f", "x()", "y()");
        assert!(place(text, &twice).expect_err("twice").to_string().contains("several"));
        let second = Fault { after: Some("fn b".into()), ..twice };
        assert_eq!(place(text, &second).expect("the second").1, 2..3);
    }

    #[test]
    fn the_error_names_a_fault_whose_text_is_gone() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::write(dir.path().join("a.rs"), "one").expect("written");
        let error = place_all(dir.path(), vec![fault("lost", "two", "2"), fault("there", "one", "1")]);
        let error = error.expect_err("one is gone").to_string();
        assert!(error.contains("`lost`") && error.contains("`two`") && !error.contains("there`"), "{error}");
    }
}
