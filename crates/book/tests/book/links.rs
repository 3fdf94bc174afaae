//! Checks that the links of the pages in the book and at the root have a target.

use crate::pages::{Page, all, book, plain, root};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Web addresses of the repository, by which pages link to files outside the book, and the README shows a picture.
const REPOSITORY: [&str; 3] = [
    "https://github.com/fencepost-rs/fencepost/blob/main/",
    "https://github.com/fencepost-rs/fencepost/tree/main/",
    "https://raw.githubusercontent.com/fencepost-rs/fencepost/main/",
];

/// Folder of the results of machines. Only its first page belongs to the book.
const PROOFS: &str = "docs/proofs";

#[test]
fn every_page_is_in_the_summary_and_the_summary_names_no_other() {
    let (summary, pages): (Vec<Page>, Vec<Page>) =
        book().into_iter().partition(|page| page.path == Path::new("docs/SUMMARY.md"));
    let listed: BTreeSet<PathBuf> =
        summary[0].links().iter().map(|link| Path::new("docs").join(link)).collect();
    let is_result = |path: &PathBuf| path.starts_with(PROOFS) && !path.ends_with("README.md");
    let pages = pages.into_iter().map(|page| page.path).filter(|path| !is_result(path));
    assert_eq!(listed, pages.collect());
}

#[test]
fn every_link_has_a_target() {
    let pages = all();
    let dead = |page: &Page| -> Vec<String> {
        let links = page.links().into_iter().filter(|link| !leads_somewhere(page, link, &pages));
        links.map(|link| format!("{}: {link}", page.name())).collect()
    };
    assert_eq!(pages.iter().flat_map(dead).collect::<Vec<_>>(), [""; 0]);
}

/// Checks a link. A link to the web passes, unless it points into this repository.
fn leads_somewhere(page: &Page, link: &str, pages: &[Page]) -> bool {
    let ours = REPOSITORY.iter().find_map(|start| link.strip_prefix(start));
    match ours {
        Some(path) => find(Path::new(path.split('#').next().unwrap_or_default()), link, pages),
        None if link.contains("://") => true,
        None => relative(page, link).is_some_and(|target| find(&target, link, pages)),
    }
}

/// Returns the target of a relative link; `None` for a link out of the book, which contains only its own pages.
fn relative(page: &Page, link: &str) -> Option<PathBuf> {
    let path = link.split('#').next().unwrap_or_default();
    if path.is_empty() {
        return Some(page.path.clone());
    }
    let target = plain(&page.path.parent()?.join(path))?;
    (!page.path.starts_with("docs") || target.starts_with("docs")).then_some(target)
}

/// Returns `true` if the file or folder exists and, in a page, the heading.
fn find(target: &Path, link: &str, pages: &[Page]) -> bool {
    let page = pages.iter().find(|page| page.path == target);
    let anchor = link.split_once('#').map(|(_, anchor)| anchor.to_owned());
    match (page, anchor) {
        (Some(page), Some(anchor)) => page.anchors().contains(&anchor),
        _ => root().join(target).exists(),
    }
}

#[test]
fn a_dead_link_is_found() {
    let pages = all();
    let page = pages.iter().find(|page| page.path == Path::new("docs/testing.md")).expect("it is there");
    let is_dead = |link: &str| !leads_somewhere(page, link, &pages);
    let good = ["semantics.md#queues", "#adapters", "https://example.org/x", "../docs/semantics.md"];
    assert!(!good.into_iter().any(is_dead));
    let repository = format!("{}docs/nothing.md", REPOSITORY[0]);
    let dead = ["semantics.md#nothing", "nothing.md", "#nothing", "../README.md", &repository];
    assert!(dead.into_iter().all(is_dead));
}
