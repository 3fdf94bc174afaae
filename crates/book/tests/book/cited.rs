//! Checks that the tests named in `peers-tests.md` exist.

use crate::pages::{book, root};
use pulldown_cmark::Event;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Name of a case, with its file in `tests/conformance` or without one.
struct Citation {
    file: Option<String>,
    test: String,
}

/// Returns the citation in a span of code, if it is one: `queues/ends.rs::q04_...` or `q04_...`, but not a pattern with
/// dots or stars.
fn citation(code: &str) -> Option<Citation> {
    let (file, test) = match code.split_once("::") {
        Some((file, test)) if file.ends_with(".rs") => (Some(file.to_owned()), test),
        Some(_) => return None,
        None => (None, code),
    };
    let is_name = test.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let bytes = test.as_bytes();
    let is_of_rule = matches!(bytes, [b'a'..=b'z', b'0'..=b'9', b'0'..=b'9', b'_', _, ..]);
    (is_name && (is_of_rule || file.is_some())).then(|| Citation { file, test: test.to_owned() })
}

/// Collects the texts of the Rust files below a folder, by their paths.
fn sources(folder: &Path, found: &mut BTreeMap<PathBuf, String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)?;
            found.insert(path, text);
        }
    }
    Ok(())
}

fn is_there(citation: &Citation, sources: &BTreeMap<PathBuf, String>) -> bool {
    let name = format!("\"{}\"", citation.test);
    let file = citation.file.as_ref().map(|file| root().join("tests/conformance").join(file));
    let candidates = sources.iter().filter(|(path, _)| file.as_ref().is_none_or(|file| file == *path));
    candidates.into_iter().any(|(_, text)| text.contains(&name))
}

fn all_sources() -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    sources(&root().join("tests"), &mut found).expect("the tests can be read");
    found
}

#[test]
fn the_tests_that_the_book_names_exist() {
    let sources = all_sources();
    let page =
        book().into_iter().find(|page| page.path == Path::new("docs/peers-tests.md")).expect("it is there");
    let codes = page.events().filter_map(|event| match event {
        Event::Code(code) => Some(code.into_string()),
        _ => None,
    });
    let citations: Vec<Citation> = codes.filter_map(|code| citation(&code)).collect();
    assert!(citations.len() > 100, "{}", citations.len());
    let missing: Vec<&str> = citations
        .iter()
        .filter(|cited| !is_there(cited, &sources))
        .map(|cited| cited.test.as_str())
        .collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn a_name_that_does_not_exist_or_is_in_another_file_is_found() {
    let sources = all_sources();
    let found = |code: &str| is_there(&citation(code).expect("it is a citation"), &sources);
    let real = "q02_launches_copies_fills_and_uploads_run_in_the_order_of_enqueueing";
    assert!(found(real) && found(&format!("queues/order.rs::{real}")));
    assert!(!found(&format!("queues/ends.rs::{real}")));
    assert!(!found("q02_commands_run_in_an_order_of_their_own"));
    let none = ["d01_...", "m04_random_regions_*", "Diagnostics::state_dump", "q04", "test_stream_set"];
    assert!(none.into_iter().all(|code| citation(code).is_none()));
}
