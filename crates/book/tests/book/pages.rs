//! The pages of the repository, as files and as parsed text.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

/// A page: its path below the root of the repository, and its text.
pub(crate) struct Page {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns every page of the book, including its summary.
pub(crate) fn book() -> Vec<Page> {
    below(Path::new("docs"))
}

/// Returns the pages of the book, and those at the root.
pub(crate) fn all() -> Vec<Page> {
    let at_root =
        files(Path::new("")).expect("the root can be read").into_iter().filter(|path| is_page(path));
    book().into_iter().chain(at_root.map(Page::read)).collect()
}

fn below(folder: &Path) -> Vec<Page> {
    let (folders, files): (Vec<_>, Vec<_>) =
        files(folder).expect("it can be read").into_iter().partition(|path| root().join(path).is_dir());
    let pages = files.into_iter().filter(|path| is_page(path)).map(Page::read);
    pages.chain(folders.iter().flat_map(|folder| below(folder))).collect()
}

/// Returns the entries of a folder, as paths relative to the root, sorted.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(root().join(folder))?;
    let mut files =
        entries.map(|entry| Ok(folder.join(entry?.file_name()))).collect::<io::Result<Vec<_>>>()?;
    files.sort();
    Ok(files)
}

fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

/// Removes `.` and `..` from a path; `None` if the path leaves its start.
pub(crate) fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => plain.pop().then_some(())?,
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    Some(plain)
}

impl Page {
    fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(root().join(&path)).expect("a page is text");
        Self { path, text }
    }

    /// Returns its name in messages.
    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    pub(crate) fn events(&self) -> impl Iterator<Item = Event<'_>> {
        Parser::new_ext(&self.text, Options::ENABLE_TABLES)
    }

    /// Returns the targets of its links.
    pub(crate) fn links(&self) -> Vec<String> {
        let target = |event| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Some(dest_url.into_string())
            }
            _ => None,
        };
        self.events().filter_map(target).collect()
    }

    /// Returns the texts after the fences of its blocks.
    pub(crate) fn fences(&self) -> Vec<String> {
        let info = |event| match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => Some(info.into_string()),
            _ => None,
        };
        self.events().filter_map(info).collect()
    }

    /// Returns the anchors of its headings, as GitHub and mdBook make them.
    pub(crate) fn anchors(&self) -> Vec<String> {
        let mut anchors = Vec::new();
        let mut seen = HashMap::new();
        let mut heading = None::<String>;
        for event in self.events() {
            match (event, &mut heading) {
                (Event::Start(Tag::Heading { .. }), _) => heading = Some(String::new()),
                (Event::Text(text) | Event::Code(text), Some(words)) => *words += &text,
                (Event::End(TagEnd::Heading(_)), words) => {
                    let anchor = anchor(&words.take().unwrap_or_default());
                    let times = seen.entry(anchor.clone()).and_modify(|times| *times += 1).or_insert(0);
                    anchors.push(if *times == 0 { anchor } else { format!("{anchor}-{times}") });
                }
                _ => {}
            }
        }
        anchors
    }
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[test]
fn an_anchor_is_the_heading_without_the_characters_that_anchors_do_not_allow() {
    assert_eq!(anchor("Policies, and how to find a missing wait"), "policies-and-how-to-find-a-missing-wait");
    assert_eq!(anchor("2026-11-21, lavapipe"), "2026-11-21-lavapipe");
}

#[test]
fn equal_headings_have_anchors_with_numbers() {
    let text = "# Of `a`\n\n## Same\n\n## Same\n".to_owned();
    assert_eq!(Page { path: PathBuf::new(), text }.anchors(), ["of-a", "same", "same-1"]);
}

#[test]
fn a_path_may_go_up_but_not_leave_its_start() {
    assert_eq!(plain(Path::new("docs/guide/../semantics.md")), Some(PathBuf::from("docs/semantics.md")));
    assert_eq!(plain(Path::new("docs/../../elsewhere.md")), None);
}
