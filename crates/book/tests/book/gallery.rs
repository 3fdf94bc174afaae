//! Checks that the gallery shows each picture of the book, and each example with its number of lines.

use crate::pages::{Page, book, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Length of a program, in lines of Rust and of WGSL.
type Lengths = [usize; 2];

fn gallery() -> Page {
    book().into_iter().find(|page| page.path == Path::new("docs/gallery.md")).expect("it is there")
}

/// Returns the paths in a folder; none if the folder does not exist.
fn paths(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.expect("a folder can be listed").path()).collect()
}

/// Counts the lines of the files with an ending.
fn lines(files: &[PathBuf], ending: &str) -> usize {
    let count = |file: &PathBuf| length(&fs::read_to_string(file).expect("a program is text"));
    files.iter().filter(|file| file.extension().is_some_and(|found| found == ending)).map(count).sum()
}

/// Counts the lines of a text that are neither blank nor comments, up to its unit tests.
fn length(text: &str) -> usize {
    let lines = text.lines().map(str::trim).take_while(|line| *line != "#[cfg(test)]");
    lines.filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

/// Counts the lines of each example. The modules and shaders of `06_nbody.rs` are in the folder `nbody`; `b3sum` is a
/// folder with a `main.rs`.
fn counted() -> BTreeMap<String, Lengths> {
    let examples = root().join("examples");
    let mut programs = BTreeMap::new();
    for path in paths(&examples) {
        let name = path.file_stem().expect("a program has a name").to_string_lossy().into_owned();
        let folder = examples.join(name.split_once('_').map_or(&*name, |(_, folder)| folder));
        let mut files = paths(&folder);
        if path.is_file() {
            files.push(path);
        } else if !folder.join("main.rs").is_file() {
            continue;
        }
        programs.insert(name, [lines(&files, "rs"), lines(&files, "wgsl")]);
    }
    programs
}

/// Returns the rows of the table of lengths.
fn listed(page: &str) -> BTreeMap<String, Lengths> {
    let row = |row: &str| {
        let name = row.split('`').nth(1).expect("a row names a program").to_owned();
        let numbers: Vec<usize> = row.split('|').filter_map(|cell| cell.trim().parse().ok()).collect();
        let lengths: Lengths = numbers.try_into().expect("a row has two numbers");
        (name, lengths)
    };
    page.lines().filter(|line| line.starts_with("| [`")).map(row).collect()
}

#[test]
fn the_gallery_has_each_example_with_its_number_of_lines() {
    assert_eq!(listed(&gallery().text), counted());
}

#[test]
fn blank_lines_comments_and_unit_tests_do_not_count_as_length() {
    let text = "//! A module.\n\nfn a() {} // a\n    // b\n}\n\n#[cfg(test)]\nmod tests {\n}\n";
    assert_eq!(length(text), 2);
}

#[test]
fn the_gallery_shows_each_picture_of_the_book() {
    let links = gallery().links();
    let shown: BTreeSet<PathBuf> = links
        .iter()
        .filter(|link| link.starts_with("images/"))
        .map(|link| root().join("docs").join(link))
        .collect();
    assert_eq!(shown, paths(&root().join("docs/images")).into_iter().collect());
}
