//! Appends to a shader what its `//#use` lines ask for.
//!
//! WGSL does not care for the order of declarations: what is used comes behind the text that uses it, so that line numbers stay
//! those of the file.

use std::borrow::Cow;
use std::collections::HashMap;

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

/// The `//#use` lines of a text, each with its number from 1; a line inside of `/* */` is a comment.
pub(crate) fn uses<'a>(label: &str, text: &'a str) -> impl Iterator<Item = Result<(usize, Use<'a>)>> {
    let mut depth = 0;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let inside = depth > 0;
        depth = comments(line, depth);
        if inside {
            return None;
        }
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

/// The number of block comments that are open behind a line, with that before it: they stand in each other.
fn comments(line: &str, mut depth: usize) -> usize {
    let mut rest = line.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail.first()) {
            (b'/', Some(b'/')) if depth == 0 => break,
            (b'/', Some(b'*')) => depth += 1,
            (b'*', Some(b'/')) if depth > 0 => depth -= 1,
            _ => continue,
        }
        rest = &tail[1..];
    }
    depth
}

/// Whether a text is nothing but comments that end in it.
fn is_comment(text: &str) -> bool {
    let text = text.trim();
    if text.is_empty() || text.starts_with("//") {
        return true;
    }
    if !text.starts_with("/*") {
        return false;
    }
    let mut ends = text.match_indices("*/").map(|(at, _)| at + 2);
    ends.find(|end| comments(&text[..*end], 0) == 0).is_some_and(|end| is_comment(&text[end..]))
}

impl<'a> Use<'a> {
    /// Reads what stands behind `//#use`; `Err` says what to write instead.
    fn read(asked: &'a str) -> std::result::Result<Self, String> {
        if let Some(name) = asked.strip_prefix([':', '=']) {
            return Err(format!(
                "nothing stands between `//#use` and the name: write `//#use {}`",
                name.trim()
            ));
        }
        let (used, rest) = if let Some(path) = asked.strip_prefix('"') {
            let (path, rest) = path.split_once('"').ok_or("the closing `\"` is missing")?;
            check_path(path)?;
            (Self::File(path), rest)
        } else {
            let end = asked.find(|c: char| c.is_whitespace()).unwrap_or(asked.len());
            let (name, rest) = asked.split_at(end);
            let name = name.split("//").next().unwrap_or(name);
            let name = name.split("/*").next().unwrap_or(name);
            check_name(name)?;
            (Self::Snippet(name), asked.strip_prefix(name).unwrap_or(rest))
        };
        if is_comment(rest) {
            return Ok(used);
        }
        Err(format!("nothing but a comment may come behind the name, and there is `{}`", rest.trim()))
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
        let files = Files::new(label, text, files);
        // Whether each file is on the way to the line that is read, by its path.
        let mut open = HashMap::from([(plain(label), true)]);
        let mut chain = vec![Step::new(label.into(), text)];
        spliced.push(label, text);
        while let Some(step) = chain.last_mut() {
            let Some(used) = step.uses.next() else {
                open.insert(plain(&step.label), false);
                chain.pop();
                continue;
            };
            let (line, used) = used?;
            let (next, text) = files.find((&step.label, line), &used)?;
            match open.get(&next) {
                Some(true) => return Err(cycle(&chain, line, next)),
                Some(false) => {}
                None => {
                    spliced.push(&next, text);
                    open.insert(next.clone(), true);
                    chain.push(Step::new(next, text));
                }
            }
        }
        Ok(spliced)
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

/// A file on the way to the line that is read, and its lines that are not read yet.
struct Step<'a> {
    label: String,
    uses: std::vec::IntoIter<Result<(usize, Use<'a>)>>,
}

impl<'a> Step<'a> {
    fn new(label: String, text: &'a str) -> Self {
        let uses = uses(&label, text).collect::<Vec<_>>().into_iter();
        Self { label, uses }
    }
}

/// The error of a line of the last file of `chain` that asks for `next`, which is in it.
fn cycle(chain: &[Step<'_>], line: usize, next: String) -> Error {
    let label = chain.last().map(|step| step.label.clone()).unwrap_or_default();
    let first = chain.iter().position(|step| plain(&step.label) == next).unwrap_or_default();
    let files: Vec<_> = chain[first..].iter().map(|step| plain(&step.label)).chain([next]).collect();
    Error::Cycle { label, line, files: Names(shortened(files)) }
}

/// Names of a long way without those in its middle.
fn shortened(mut names: Vec<String>) -> Vec<String> {
    const ENDS: usize = 5;
    if names.len() > 2 * ENDS + 1 {
        let last = names.len() - ENDS;
        names.splice(ENDS..last, ["...".to_owned()]);
    }
    names
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

/// The files that a text is made of, the main one too, by their paths.
struct Files<'a> {
    main: &'a str,
    texts: HashMap<String, &'a str>,
    names: &'a [File],
}

impl<'a> Files<'a> {
    fn new(main: &'a str, text: &'a str, files: &'a [File]) -> Self {
        let texts = files.iter().map(|(path, text)| (path.clone(), &**text));
        Self { main, texts: texts.chain([(plain(main), text)]).collect(), names: files }
    }

    /// The path and the text of what a line asks for: a file of the program comes before a built-in snippet.
    fn find(&self, (label, line): (&str, usize), used: &Use<'_>) -> Result<(String, &'a str)> {
        let path = used.path(self.main, label);
        if let Some(text) = self.texts.get(&path) {
            return Ok((path, text));
        }
        match used.built_in() {
            Some(built_in) => Ok(built_in),
            None => {
                used.missing(label, line, path, self.names.iter().map(|(path, _)| path.as_str()).collect())
            }
        }
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
            "c.wgsl:1: files use each other: `b.wgsl`, `c.wgsl`, `b.wgsl`"
        );
    }

    #[test]
    fn a_way_round_through_the_main_file_is_found_by_its_plain_path() {
        assert_eq!(refused("//#use \"a.wgsl\"", &[]), "a.wgsl:1: files use each other: `a.wgsl`, `a.wgsl`");
        let back: [File; 1] = [("b.wgsl".into(), "\n//#use \"a.wgsl\"".into())];
        for label in ["a.wgsl", "./a.wgsl", "x/../a.wgsl"] {
            let error = Spliced::new(label, "", "//#use \"b.wgsl\"", &back).unwrap_err().to_string();
            assert_eq!(error, "b.wgsl:2: files use each other: `a.wgsl`, `b.wgsl`, `a.wgsl`", "{label}");
        }
    }

    #[test]
    fn a_chain_of_many_files_needs_no_more_of_the_stack_and_a_long_circle_is_told_short() {
        let files = |last: &'static str| -> Vec<File> {
            let text = |i: usize| match i {
                20_000 => last.into(),
                _ => format!("//#use \"{}.wgsl\"", i + 1).into(),
            };
            (1..=20_000).map(|i| (format!("{i}.wgsl"), text(i))).collect()
        };
        let whole = Spliced::new("0.wgsl", "", "//#use \"1.wgsl\"", &files("const last = 1;")).unwrap();
        assert!(whole.text.ends_with("\nconst last = 1;"));
        let error = Spliced::new("0.wgsl", "", "//#use \"1.wgsl\"", &files("//#use \"0.wgsl\"")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "20000.wgsl:1: files use each other: `0.wgsl`, `1.wgsl`, `2.wgsl`, `3.wgsl`, `4.wgsl`, `...`, `19997.wgsl`, \
             `19998.wgsl`, `19999.wgsl`, `20000.wgsl`, `0.wgsl`"
        );
    }

    #[test]
    fn a_line_inside_of_a_block_comment_asks_for_nothing() {
        for text in [
            "/*\n//#use lcg\n*/",
            "/* /* */\n//#use lcg\n*/",
            "const a = 1; /* // \n//#use lcg\n//*/",
            "/*/\n//#use lcg\n*/",
        ] {
            assert_eq!(spliced(text, &[]).unwrap().text, text);
        }
        for text in
            ["/* */\n//#use lcg", "// /*\n//#use lcg", "/*\n*/ // /*\n//#use lcg", "/*/ /**/*/\n//#use lcg"]
        {
            assert!(spliced(text, &[]).unwrap().text.contains("fn lcg("), "{text:?}");
        }
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
        for line in [
            "//#use\tlcg",
            "//#use lcg // random",
            "//#use lcg// random",
            "//#use lcg /* random */",
            "//#use lcg/* /* a */ b *//*c*/ // d",
        ] {
            assert!(spliced(line, &[]).unwrap().text.contains("fn lcg("), "{line:?}");
        }
        assert_eq!(spliced("//#used to be lcg", &[]).unwrap().text, "//#used to be lcg");
    }

    #[test]
    fn a_line_that_cannot_be_read_is_an_error_that_says_what_to_write() {
        let remedies = [
            ("//#use", "write the name of a snippet, or the path of a file in quotes"),
            ("//#use: lcg", "nothing stands between `//#use` and the name: write `//#use lcg`"),
            (
                "//#use = \"b.wgsl\"",
                "nothing stands between `//#use` and the name: write `//#use \"b.wgsl\"`",
            ),
            (
                "//#use lcg /* a */ b",
                "nothing but a comment may come behind the name, and there is `/* a */ b`",
            ),
            ("//#use lcg /* a", "nothing but a comment may come behind the name, and there is `/* a`"),
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
