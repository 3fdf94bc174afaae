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
#[derive(Debug)]
pub(crate) enum Use<'a> {
    /// `lib/NAME.wgsl` beside the main file, or a built-in snippet.
    Snippet(&'a str),
    /// A path from the folder of the file that has the line.
    File(&'a str),
}

/// The `//#use` lines of a text, each with its number from 1.
pub(crate) fn uses<'a>(label: &str, text: &'a str) -> impl Iterator<Item = Result<(usize, Use<'a>)>> {
    text.lines().enumerate().filter_map(move |(at, line)| {
        let asked = line.trim_start().strip_prefix("//#use")?;
        // `//#used to be faster` is a comment.
        if asked.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            return None;
        }
        let used = Use::read(asked.trim()).map_err(|remedy| Error::Use {
            label: label.into(),
            line: at + 1,
            text: line.trim().into(),
            remedy,
        });
        Some(used.map(|used| (at + 1, used)))
    })
}

impl<'a> Use<'a> {
    /// Reads what stands behind `//#use`; `Err` says what to write instead.
    fn read(asked: &'a str) -> std::result::Result<Self, String> {
        let (used, rest) = if let Some(path) = asked.strip_prefix('"') {
            let (path, rest) = path.split_once('"').ok_or("the closing `\"` is missing")?;
            check_path(path)?;
            (Self::File(path), rest)
        } else {
            let end = asked.find(|c: char| c.is_whitespace()).unwrap_or(asked.len());
            let (name, rest) = asked.split_at(end);
            let name = name.split("//").next().unwrap_or(name);
            check_name(name)?;
            (Self::Snippet(name), asked.strip_prefix(name).unwrap_or(rest))
        };
        match rest.trim() {
            "" => Ok(used),
            rest if rest.starts_with("//") => Ok(used),
            rest => Err(format!("nothing but a comment may come behind the name, and there is `{rest}`")),
        }
    }

    /// The path of the program's file that is meant, if there is such a file.
    pub(crate) fn path(&self, main: &str, label: &str) -> String {
        match self {
            Self::Snippet(name) => beside(main, &format!("lib/{name}.wgsl")),
            Self::File(path) => beside(label, path),
        }
    }

    /// The label and the text of the built-in snippet of this name.
    pub(crate) fn built_in(&self) -> Option<(String, &'static str)> {
        let Self::Snippet(name) = self else { return None };
        let (name, text) = SNIPPETS.iter().find(|(known, _)| known == name)?;
        Some((format!("{name} (built-in)"), text))
    }

    /// The error of a source that has no such file.
    ///
    /// # Errors
    /// Always.
    pub(crate) fn missing<T>(&self, label: &str, line: usize, path: String, known: Names) -> Result<T> {
        let label = label.to_owned();
        Err(match self {
            Use::Snippet(name) => Error::UnknownSnippet {
                label,
                line,
                name: (*name).into(),
                path,
                known: SNIPPETS.iter().map(|(known, _)| *known).collect::<Names>(),
            },
            Use::File(_) => Error::UnknownFile { label, line, path, known },
        })
    }
}

fn check_path(path: &str) -> std::result::Result<(), String> {
    if path.trim().is_empty() {
        return Err("write the path of a file between the quotes".into());
    }
    if path.contains('\\') {
        let right = path.replace('\\', "/");
        return Err(format!("folders of a path have `/` between them on every system: write `\"{right}\"`"));
    }
    if path.starts_with('/') || path.contains(':') {
        return Err(
            "the path is absolute: write the one that begins in the folder of the file with this line".into(),
        );
    }
    Ok(())
}

fn check_name(name: &str) -> std::result::Result<(), String> {
    if name.is_empty() {
        return Err("write the name of a snippet, or the path of a file in quotes".into());
    }
    if name.contains(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')) {
        let path = name.trim_matches(['\'', '"', '<', '>', '`', ';']);
        return Err(format!("a path stands in quotes: write `//#use \"{path}\"`"));
    }
    Ok(())
}

/// A path that begins in the folder of a file, without `.` and `..` where that is possible.
fn beside(file: &str, path: &str) -> String {
    match file.rsplit_once('/') {
        Some((folder, _)) => plain(&format!("{folder}/{path}")),
        None => plain(path),
    }
}

/// A path without `.` and `..` where that is possible.
pub(crate) fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
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
    /// The byte of the whole where it begins.
    start: usize,
}

impl Spliced {
    /// A text behind a `head` of its first line, with all that it uses of `files` and of the built-in snippets, each once.
    ///
    /// # Errors
    /// [`Error::UnknownSnippet`], [`Error::UnknownFile`], [`Error::Use`], [`Error::Cycle`].
    pub(crate) fn new(label: &str, head: &str, text: &str, files: &[File]) -> Result<Self> {
        let mut spliced = Self { text: head.into(), parts: Vec::new() };
        spliced.add(label, text, files, &mut Vec::new())?;
        Ok(spliced)
    }

    fn add(&mut self, label: &str, text: &str, files: &[File], chain: &mut Vec<String>) -> Result<()> {
        self.push(label, text);
        chain.push(label.into());
        for used in uses(label, text) {
            let (line, used) = used?;
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

    /// The place in its file of a byte of the whole.
    pub(crate) fn origin(&self, byte: usize) -> Origin<'_> {
        let byte = byte.min(self.text.len());
        let part = self.parts.iter().rfind(|part| part.start <= byte).unwrap_or(&self.parts[0]);
        let line_start = self.text[..byte].rfind('\n').map_or(self.parts[0].start, |at| at + 1);
        let line = self.text[part.start..byte.max(part.start)].matches('\n').count() + 1;
        let text = self.text[line_start..].lines().next().unwrap_or_default();
        Origin { label: &part.label, line, column: byte.saturating_sub(line_start) + 1, text }
    }

    /// The main file's label.
    pub(crate) fn label(&self) -> &str {
        &self.parts[0].label
    }

    /// The texts that it is made of, and where each begins.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (usize, &str)> {
        let ends = self.parts.iter().skip(1).map(|part| part.start).chain([self.text.len()]);
        self.parts.iter().zip(ends).map(|(part, end)| (part.start, &self.text[part.start..end]))
    }

    fn push(&mut self, label: &str, text: &str) {
        if !self.parts.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.parts.push(Part { label: label.into(), start: self.text.len() });
        self.text.push_str(text);
    }
}

/// A place in a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Origin<'a> {
    pub(crate) label: &'a str,
    /// From 1.
    pub(crate) line: usize,
    /// In bytes, from 1.
    pub(crate) column: usize,
    /// The line's text.
    pub(crate) text: &'a str,
}

/// The label and the text of what a line asks for: a file of the program comes before a built-in snippet.
fn find<'a>(
    main: &str,
    (label, line): (&str, usize),
    used: &Use<'_>,
    files: &'a [File],
) -> Result<(String, &'a str)> {
    let path = used.path(main, label);
    if let Some((path, text)) = files.iter().find(|(known, _)| *known == path) {
        return Ok((path.clone(), text));
    }
    match used.built_in() {
        Some(built_in) => Ok(built_in),
        None => used.missing(label, line, path, files.iter().map(|(known, _)| known.as_str()).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spliced(text: &str, files: &[(&str, &'static str)]) -> Result<Spliced> {
        let files: Vec<File> = files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect();
        Spliced::new("a.wgsl", "", text, &files)
    }

    fn refused(text: &str, files: &[(&str, &'static str)]) -> String {
        spliced(text, files).unwrap_err().to_string()
    }

    #[test]
    fn a_snippet_is_appended_once_and_keeps_line_numbers() {
        let spliced = spliced("//#use lcg\n//#use lcg\nconst a = 1;", &[]).unwrap();
        assert_eq!(spliced.text.matches("fn lcg(").count(), 1);
        let at = |what: &str| spliced.origin(spliced.text.find(what).unwrap());
        assert_eq!(at("a = 1"), Origin { label: "a.wgsl", line: 3, column: 7, text: "const a = 1;" });
        assert_eq!((at("// lcg").label, at("// lcg").line), ("lcg (built-in)", 1));
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
        let at = spliced.origin(spliced.text.find("const e").unwrap());
        assert_eq!((at.label, at.line, at.column), ("e.wgsl", 2, 1));
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

    #[test]
    fn a_file_of_the_program_comes_before_a_built_in_snippet_of_its_name() {
        let own = [("lib/linear.wgsl", "const own = 1;")];
        let text = spliced("//#use linear\n//#use lcg", &own).unwrap().text;
        assert!(
            text.contains("const own = 1;") && !text.contains("fn linear_id(") && text.contains("fn lcg(")
        );
        let both = spliced("//#use linear\n//#use \"b.wgsl\"", &[("b.wgsl", "const own = 1;")]).unwrap();
        assert!(both.text.contains("const own = 1;") && both.text.contains("fn linear_id("));
    }

    #[test]
    fn tabs_and_comments_may_stand_in_the_line() {
        let files = [("b.wgsl", "const b = 1;")];
        for line in [
            "//#use\t\"b.wgsl\"",
            "\t//#use   \"./x/../b.wgsl\"\r",
            "//#use \"b.wgsl\" // the tools",
            "//#use\"b.wgsl\"// the tools",
        ] {
            assert!(spliced(line, &files).unwrap().text.contains("const b = 1;"), "{line:?}");
        }
        for line in ["//#use\tlcg", "//#use lcg // random", "//#use lcg// random"] {
            assert!(spliced(line, &[]).unwrap().text.contains("fn lcg("), "{line:?}");
        }
        assert_eq!(spliced("//#used to be lcg", &[]).unwrap().text, "//#used to be lcg");
    }

    #[test]
    fn a_line_that_cannot_be_read_is_an_error_that_says_what_to_write() {
        let remedies = [
            ("//#use", "write the name of a snippet, or the path of a file in quotes"),
            ("//#use \"\"", "write the path of a file between the quotes"),
            ("//#use \"b.wgsl", "the closing `\"` is missing"),
            ("//#use b.wgsl", "a path stands in quotes: write `//#use \"b.wgsl\"`"),
            ("//#use 'x/b.wgsl'", "a path stands in quotes: write `//#use \"x/b.wgsl\"`"),
            (
                "//#use \"x\\b.wgsl\"",
                "folders of a path have `/` between them on every system: write `\"x/b.wgsl\"`",
            ),
            (
                "//#use \"/b.wgsl\"",
                "the path is absolute: write the one that begins in the folder of the file with this line",
            ),
            (
                "//#use \"C:/b.wgsl\"",
                "the path is absolute: write the one that begins in the folder of the file with this line",
            ),
            ("//#use lcg linear", "nothing but a comment may come behind the name, and there is `linear`"),
            ("//#use \"b.wgsl\";", "nothing but a comment may come behind the name, and there is `;`"),
        ];
        for (line, remedy) in remedies {
            let files = [("b.wgsl", ""), ("x/b.wgsl", "")];
            assert_eq!(refused(&format!("\n{line}"), &files), format!("a.wgsl:2: `{line}`: {remedy}"));
        }
    }
}
