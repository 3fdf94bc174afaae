//! The table of functions, and the page that shows it.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::run::{Form, Outcome};

/// Known faults that the library does not work around: part of the adapter's name, function, type and reason.
const KNOWN: &[(&str, &str, &str, &str)] = &[];

/// Markers of the part of the page that the table replaces.
const MARKS: [&str; 2] = ["<!-- table -->", "<!-- end of the table -->"];

/// Returns the reason of a known fault.
pub(crate) fn known(adapter: &str, form: &Form) -> Option<&'static str> {
    let fits = |(part, name, ty, _): &&(&str, &str, &str, &str)| {
        adapter.contains(*part) && form.call.name == *name && form.ty == *ty
    };
    KNOWN.iter().find(fits).map(|(.., reason)| *reason)
}

/// Writes the table: a row for each function, and a column for each adapter.
pub(crate) fn table(forms: &[Form], columns: &[(String, Vec<Outcome>)]) -> String {
    let mut rows: Vec<(&str, Vec<&str>)> = Vec::new();
    for form in forms {
        match rows.iter_mut().find(|(name, _)| *name == form.call.name) {
            Some((_, types)) if types.contains(&form.ty) => {}
            Some((_, types)) => types.push(form.ty),
            None => rows.push((form.call.name, vec![form.ty])),
        }
    }
    let mut table = String::from("| | types |");
    columns.iter().for_each(|(name, _)| table += &format!(" {name} |"));
    table += "\n|---|---|";
    columns.iter().for_each(|_| table += "---|");
    table += "\n| | types of the adapter |";
    let mut all: Vec<&str> = Vec::new();
    for (_, types) in &rows {
        all.extend(types.iter().filter(|ty| !all.contains(ty)).copied().collect::<Vec<_>>());
    }
    for (_, outcomes) in columns {
        let is_there = |ty: &&str| {
            let mut of = forms.iter().zip(outcomes).filter(|(form, _)| form.ty == *ty);
            of.any(|(_, outcome)| matches!(outcome, Outcome::Right))
        };
        let there: Vec<_> = all.iter().copied().filter(is_there).collect();
        let _ = write!(table, " {} |", there.join(" "));
    }
    table += "\n";
    for (name, types) in &rows {
        let _ = write!(table, "| `{}` | {} |", name.replace('|', "\\|"), types.join(" "));
        for (_, outcomes) in columns {
            let _ = write!(table, " {} |", cell(forms, outcomes, name, types));
        }
        table += "\n";
    }
    table
}

/// Describes a function on an adapter.
fn cell(forms: &[Form], outcomes: &[Outcome], name: &str, types: &[&str]) -> String {
    let mut right = Vec::new();
    let mut others = Vec::new();
    for &ty in types {
        let of = forms.iter().zip(outcomes).filter(|(form, _)| form.call.name == name && form.ty == ty);
        let rank = |outcome: &Outcome| match outcome {
            Outcome::Right => 0,
            Outcome::Lacking => 1,
            Outcome::Refused(_) => 2,
            Outcome::Wrong(_) => 3,
            Outcome::Crash(_) => 4,
        };
        match of.map(|(_, outcome)| outcome).max_by_key(|outcome| rank(outcome)) {
            Some(Outcome::Right) => right.push(ty),
            Some(Outcome::Refused(_)) => others.push(format!("{ty} refused")),
            Some(Outcome::Wrong(_)) => others.push(format!("**{ty} wrong**")),
            Some(Outcome::Crash(_)) => others.push(format!("**{ty} crash**")),
            Some(Outcome::Lacking) | None => {}
        }
    }
    match (right.is_empty(), others.is_empty()) {
        (false, true) => "right".into(),
        (true, true) => "–".into(),
        (true, false) => others.join(", "),
        (false, false) => format!("right; {}", others.join(", ")),
    }
}

/// Puts the table into a page.
pub(crate) fn write(page: &Path, table: &str) -> Result<()> {
    let text = std::fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
    let (before, rest) = text.split_once(MARKS[0]).context("the page has no place for the table")?;
    let (_, after) = rest.split_once(MARKS[1]).context("the page has no end of the table")?;
    let text = format!("{before}{}\n\n{table}\n{}{after}", MARKS[0], MARKS[1]);
    std::fs::write(page, text).with_context(|| format!("cannot write {}", page.display()))
}
