//! Appends to a shader what its `//#use` lines ask for.
//!
//! WGSL does not care for the order of declarations: what is used comes behind the text that uses it, so that line numbers stay
//! those of the file.

use std::borrow::Cow;

use crate::{Error, Names, Result};

/// The snippets of `shaders/lib`, by the name that `//#use` gives them.
const SNIPPETS: &[(&str, &str)] = &[
    ("blake3", include_str!("../shaders/lib/blake3.wgsl")),
    ("lcg", include_str!("../shaders/lib/lcg.wgsl")),
    ("linear", include_str!("../shaders/lib/linear.wgsl")),
    ("packed", include_str!("../shaders/lib/packed.wgsl")),
];

/// A file of the program, by its path from where the main file's path begins.
pub(crate) type File = (String, Cow<'static, str>);

/// What a `//#use` line asks for.
pub(crate) enum Use<'a> {
    /// A built-in snippet, or `lib/NAME.wgsl` beside the main file.
    Snippet(&'a str),
    /// A path from the folder of the file that has the line.
    File(&'a str),
}

/// The `//#use` lines of a text, each with its number from 1.
pub(crate) fn uses(text: &str) -> impl Iterator<Item = (usize, Use<'_>)> {
    text.lines().enumerate().filter_map(|(at, line)| {
        let name = line.trim_start().strip_prefix("//#use ")?.trim();
        let file = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
        Some((at + 1, file.map_or(Use::Snippet(name), Use::File)))
    })
}

impl Use<'_> {
    /// The path of the program's file that is meant, if none of the built-in snippets is.
    pub(crate) fn path(&self, main: &str, label: &str) -> Option<String> {
        match self {
            Self::Snippet(name) if SNIPPETS.iter().any(|(known, _)| known == name) => None,
            Self::Snippet(name) => Some(beside(main, &snippet_label(name))),
            Self::File(path) => Some(beside(label, path)),
        }
    }
}

/// A path that begins in the folder of a file, without `.` and `..` where that is possible.
fn beside(file: &str, path: &str) -> String {
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').filter(|part| !part.is_empty()).chain(path.split('/')) {
        match part {
            "." | "" => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let root = if file.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

fn snippet_label(name: &str) -> String {
    format!("lib/{name}.wgsl")
}

/// A text made of several files, which knows where each of its lines comes from.
#[derive(Clone, Debug)]
pub(crate) struct Spliced {
    pub(crate) text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    label: String,
    first_line: usize,
}

impl Spliced {
    /// A text with all that it uses of the built-in snippets and of `files`, each once.
    ///
    /// # Errors
    /// [`Error::UnknownSnippet`], [`Error::UnknownFile`], [`Error::Cycle`].
    pub(crate) fn new(label: &str, text: &str, files: &[File]) -> Result<Self> {
        let mut spliced = Self { text: String::new(), parts: Vec::new() };
        spliced.add(label, text, files, &mut Vec::new())?;
        Ok(spliced)
    }

    fn add(&mut self, label: &str, text: &str, files: &[File], chain: &mut Vec<String>) -> Result<()> {
        self.push(label, text);
        chain.push(label.into());
        for (line, used) in uses(text) {
            let (next, text) = find(&chain[0], (label, line), &used, files)?;
            if chain.contains(&next) {
                let files = chain.iter().cloned().chain([next]).collect();
                return Err(Error::Cycle { label: label.into(), line, files });
            }
            if self.parts.iter().all(|part| part.label != next) {
                self.add(&next, text, files, chain)?;
            }
        }
        chain.pop();
        Ok(())
    }

    /// The file and line of a line of the whole; all count from 1.
    pub(crate) fn origin(&self, line: usize) -> (&str, usize) {
        let part = self.parts.iter().rev().find(|part| part.first_line <= line);
        part.map_or(("", line), |part| (&part.label, line - part.first_line + 1))
    }

    /// The main file's label.
    pub(crate) fn label(&self) -> &str {
        &self.parts[0].label
    }

    fn push(&mut self, label: &str, text: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.parts.push(Part { label: label.into(), first_line: self.text.lines().count() + 1 });
        self.text.push_str(text);
    }
}

/// The label and the text of what a line asks for.
fn find<'a>(
    main: &str,
    (label, line): (&str, usize),
    used: &Use<'_>,
    files: &'a [File],
) -> Result<(String, &'a str)> {
    if let Use::Snippet(name) = used
        && let Some((_, text)) = SNIPPETS.iter().find(|(known, _)| known == name)
    {
        return Ok((snippet_label(name), text));
    }
    let path = used.path(main, label).unwrap_or_default();
    if let Some((path, text)) = files.iter().find(|(known, _)| *known == path) {
        return Ok((path.clone(), text));
    }
    let label = label.to_owned();
    Err(match used {
        Use::Snippet(name) => Error::UnknownSnippet {
            label,
            line,
            name: (*name).into(),
            path,
            known: SNIPPETS.iter().map(|(known, _)| *known).collect::<Names>(),
        },
        Use::File(_) => Error::UnknownFile {
            label,
            line,
            path,
            known: files.iter().map(|(known, _)| known.as_str()).collect(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spliced(text: &str, files: &[(&str, &'static str)]) -> Result<Spliced> {
        let files: Vec<File> = files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect();
        Spliced::new("a.wgsl", text, &files)
    }

    fn refused(text: &str, files: &[(&str, &'static str)]) -> String {
        spliced(text, files).unwrap_err().to_string()
    }

    #[test]
    fn a_snippet_is_appended_once_and_keeps_line_numbers() {
        let spliced = spliced("//#use lcg\n//#use lcg\nconst a = 1;", &[]).unwrap();
        assert_eq!(spliced.text.matches("fn lcg(").count(), 1);
        assert_eq!(spliced.origin(3), ("a.wgsl", 3));
        assert_eq!(spliced.origin(4), ("lib/lcg.wgsl", 1));
    }

    #[test]
    fn files_are_found_from_the_folder_of_the_file_that_uses_them_and_appended_once() {
        let files = [
            ("b.wgsl", "//#use \"deep/c.wgsl\"\nconst b = 1;"),
            ("deep/c.wgsl", "//#use \"./d.wgsl\"\n//#use \"../e.wgsl\"\nconst c = 1;"),
            ("deep/d.wgsl", "const d = 1;"),
            ("e.wgsl", "//#use mine\nconst e = 1;"),
            ("lib/mine.wgsl", "const mine = 1;"),
        ];
        let spliced = spliced("//#use \"b.wgsl\"\n//#use \"e.wgsl\"\n  //#use mine", &files).unwrap();
        for name in ["b", "c", "d", "e", "mine"] {
            assert_eq!(spliced.text.matches(&format!("const {name} = 1;")).count(), 1, "{name}");
        }
        let line = spliced.text.lines().position(|line| line == "const e = 1;").unwrap() + 1;
        assert_eq!(spliced.origin(line), ("e.wgsl", 2));
    }

    #[test]
    fn what_is_not_there_is_an_error_with_its_line() {
        assert_eq!(
            refused("\n//#use nothing", &[]),
            "a.wgsl:2: there is no snippet `nothing`; there are `blake3`, `lcg`, `linear`, `packed`, and no file `lib/nothing.wgsl`"
        );
        assert_eq!(
            refused("//#use \"b.wgsl\"", &[("c/b.wgsl", "")]),
            "a.wgsl:1: there is no file `b.wgsl`; there are `c/b.wgsl`: a shader that is a file finds others beside it, a text is given them by `with_file`"
        );
    }

    #[test]
    fn files_that_use_each_other_are_an_error_with_the_way_round() {
        let files = [("b.wgsl", "\n//#use \"c.wgsl\""), ("c.wgsl", "//#use \"b.wgsl\"")];
        assert_eq!(
            refused("//#use \"b.wgsl\"", &files),
            "c.wgsl:1: files use each other: `a.wgsl`, `b.wgsl`, `c.wgsl`, `b.wgsl`"
        );
        assert_eq!(
            refused("//#use \"a.wgsl\"", &[]),
            "a.wgsl:1: there is no file `a.wgsl`; there are none: a shader that is a file finds others beside it, a text is given them by `with_file`"
        );
    }

    #[test]
    fn paths_lose_their_dots() {
        let beside = |file: &str, path: &str| super::beside(file, path);
        assert_eq!(beside("x/y/a.wgsl", "../b.wgsl"), "x/b.wgsl");
        assert_eq!(beside("a.wgsl", "../b.wgsl"), "../b.wgsl");
        assert_eq!(beside("../x/a.wgsl", "../../b.wgsl"), "../../b.wgsl");
        assert_eq!(beside("/x/a.wgsl", "./b.wgsl"), "/x/b.wgsl");
    }
}
