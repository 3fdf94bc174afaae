//! Appends to a shader the files and snippets that its `//#use` lines name.
//!
//! WGSL allows declarations in any order. The used texts follow the text that uses them, so line numbers stay those of
//! the file.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::messages::rewrite::{Edit, EditMap, rewrite};
use crate::use_lines::{UseTarget, plain, uses};
use crate::{Error, Names, Result};

/// Path and text of a file of the program. The path is relative to the same folder as the main file's path.
pub(crate) type File = (String, Cow<'static, str>);

/// A text made of several files, with the origin of each line.
#[derive(Clone, Debug)]
pub(crate) struct SplicedText {
    pub(crate) text: String,
    parts: Vec<Part>,
    /// Map to the original text, if this text was edited.
    places: Option<EditMap>,
}

#[derive(Clone, Debug)]
struct Part {
    label: String,
    /// Offset of the part in the whole text.
    start: usize,
    /// Variable named in the `//#use` line, if the part is a snippet for a variable.
    variable: Option<SnippetArgument>,
}

/// Variable that is named for a snippet in a `//#use` line.
#[derive(Clone, Debug)]
struct SnippetArgument {
    snippet: String,
    name: String,
    /// Offset of the name in the whole text.
    at: usize,
}

/// Variable of a `//#use` line, and its place.
pub(crate) struct LocatedArgument<'a> {
    pub(crate) snippet: &'a str,
    pub(crate) name: &'a str,
    pub(crate) origin: SourceLocation<'a>,
}

impl SplicedText {
    /// Joins `head`, the text, and the files and built-in snippets that it uses, each once.
    ///
    /// # Errors
    /// [`Error::UnknownSnippet`], [`Error::UnknownFile`], [`Error::Use`], [`Error::Cycle`].
    pub(crate) fn new(label: &str, head: &str, text: &str, files: &[File]) -> Result<Self> {
        let mut spliced = Self { text: head.into(), parts: Vec::new(), places: None };
        let files = Files::new(label, text, files);
        // `true` for the path of a file in the chain that leads to the current line.
        let mut open = HashMap::from([(plain(label), true)]);
        let mut chain = vec![OpenFile::new(label.into(), text)];
        spliced.push(label, text, None);
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
                    let variable = spliced.variable(&step.label, line, &used);
                    spliced.push(&next, &used.text(text), variable);
                    open.insert(next.clone(), true);
                    chain.push(OpenFile::new(next, text));
                }
            }
        }
        Ok(spliced)
    }

    /// Returns the text with edits; places still refer to the files.
    pub(crate) fn rewritten(written: &Arc<Self>, edits: &[Edit]) -> Self {
        let (text, places) = rewrite(written, edits);
        let parts = vec![Part { label: written.label().into(), start: 0, variable: None }];
        Self { text, parts, places: Some(places) }
    }

    /// Returns the place in its file of a byte of the whole text.
    pub(crate) fn origin(&self, byte: usize) -> SourceLocation<'_> {
        if let Some(places) = &self.places {
            return places.origin(byte);
        }
        let byte = byte.min(self.text.len());
        let part = self.part(byte);
        let line_start = self.text[..byte].rfind('\n').map_or(self.parts[0].start, |at| at + 1);
        let line = self.text[part.start..byte.max(part.start)].matches('\n').count() + 1;
        let text = self.text[line_start..].lines().next().unwrap_or_default();
        SourceLocation { label: &part.label, line, column: byte.saturating_sub(line_start) + 1, text }
    }

    /// Returns the variable of the `//#use` line to which a byte of the whole text belongs, if the line names a snippet
    /// for a variable.
    pub(crate) fn used_variable(&self, byte: usize) -> Option<LocatedArgument<'_>> {
        if let Some(places) = &self.places {
            return places.written.used_variable(places.written_byte(byte));
        }
        let SnippetArgument { snippet, name, at } = self.part(byte).variable.as_ref()?;
        Some(LocatedArgument { snippet, name, origin: self.origin(*at) })
    }

    /// Returns the part that contains a byte of the whole text.
    fn part(&self, byte: usize) -> &Part {
        self.parts.iter().rfind(|part| part.start <= byte).unwrap_or(&self.parts[0])
    }

    /// Returns the variable that a line of the part `label` names, if it names one.
    fn variable(&self, label: &str, line: usize, used: &UseTarget<'_>) -> Option<SnippetArgument> {
        let UseTarget::ForVariable { snippet, variable } = used else { return None };
        let start = self.parts.iter().find(|part| part.label == label)?.start;
        let mut lines = self.text[start..].split_inclusive('\n');
        let before: usize = lines.by_ref().take(line - 1).map(str::len).sum();
        let line = lines.next()?;
        let bracket = line.find('(')? + 1;
        let at = start + before + bracket + line[bracket..].find(variable)?;
        Some(SnippetArgument { snippet: (*snippet).into(), name: (*variable).into(), at })
    }

    /// Returns the main file's label.
    pub(crate) fn label(&self) -> &str {
        &self.parts[0].label
    }

    /// Returns the parts of the text, and the offset of each.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (usize, &str)> {
        let ends = self.parts.iter().skip(1).map(|part| part.start).chain([self.text.len()]);
        self.parts.iter().zip(ends).map(|(part, end)| (part.start, &self.text[part.start..end]))
    }

    fn push(&mut self, label: &str, text: &str, variable: Option<SnippetArgument>) {
        if !self.parts.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.parts.push(Part { label: label.into(), start: self.text.len(), variable });
        self.text.push_str(text);
    }
}

/// A file in the chain that leads to the current line, and its unread lines.
struct OpenFile<'a> {
    label: String,
    uses: std::vec::IntoIter<Result<(usize, UseTarget<'a>)>>,
}

impl<'a> OpenFile<'a> {
    fn new(label: String, text: &'a str) -> Self {
        let uses = uses(&label, text).collect::<Vec<_>>().into_iter();
        Self { label, uses }
    }
}

/// Returns the error for a line of the last file in `chain` that uses `next`, which is in the chain too.
fn cycle(chain: &[OpenFile<'_>], line: usize, next: String) -> Error {
    let label = chain.last().map(|step| step.label.clone()).unwrap_or_default();
    let first = chain.iter().position(|step| plain(&step.label) == next).unwrap_or_default();
    let files: Vec<_> = chain[first..].iter().map(|step| plain(&step.label)).chain([next]).collect();
    Error::Cycle { label, line, files: Names(shortened(files)) }
}

/// Replaces the middle of a long list of names by `...`.
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
pub(crate) struct SourceLocation<'a> {
    pub(crate) label: &'a str,
    /// Line, from 1.
    pub(crate) line: usize,
    /// Column in bytes, from 1.
    pub(crate) column: usize,
    /// Text of the line.
    pub(crate) text: &'a str,
}

/// Texts of the files of a shader, including the main file, by path.
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

    /// Returns the path and the text of a line's target: a file of the program takes precedence over a built-in
    /// snippet.
    fn find(&self, (label, line): (&str, usize), used: &UseTarget<'_>) -> Result<(String, &'a str)> {
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

    fn spliced(text: &str, files: &[(&str, &'static str)]) -> Result<SplicedText> {
        let files: Vec<File> = files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect();
        SplicedText::new("a.wgsl", "", text, &files)
    }

    fn refused(text: &str, files: &[(&str, &'static str)]) -> String {
        spliced(text, files).unwrap_err().to_string()
    }

    #[test]
    fn a_snippet_is_appended_once_and_keeps_line_numbers() {
        let spliced = spliced("//#use lcg\n//#use lcg\nconst a = 1;", &[]).unwrap();
        assert_eq!(spliced.text.matches("fn lcg(").count(), 1);
        let at = |what: &str| spliced.origin(spliced.text.find(what).unwrap());
        assert_eq!(at("a = 1"), SourceLocation { label: "a.wgsl", line: 3, column: 7, text: "const a = 1;" });
        assert_eq!((at("// lcg").label, at("// lcg").line), ("lcg (built-in)", 1));
    }

    #[test]
    fn a_snippet_for_a_variable_is_appended_once_for_each_variable() {
        let text = "//#use atomic_f32(sums)\n//#use atomic_f32(least) // a comment\n//#use atomic_f32(sums)\nconst a = 1;";
        let spliced = spliced(text, &[]).unwrap();
        for function in ["fn sums_add(", "fn sums_min(", "fn least_max(", "fn number_key("] {
            assert_eq!(spliced.text.matches(function).count(), 1, "{function}");
        }
        assert!(!spliced.text.contains("VARIABLE"));
        let at = spliced.origin(spliced.text.find("fn least_add").unwrap());
        assert_eq!(
            (at.label, at.text),
            ("atomic_f32(least) (built-in)", "fn least_add(least_at: u32, least_value: f32) -> f32 {")
        );
    }

    #[test]
    fn a_missing_or_wrong_variable_is_an_error_with_the_valid_line() {
        for (text, remedy) in [
            (
                "//#use atomic_f32",
                "the snippet takes a variable of the shader: write `//#use atomic_f32(totals)`",
            ),
            (
                "//#use atomic_f32()",
                "write the name of one variable of the shader: `//#use atomic_f32(totals)`",
            ),
            (
                "//#use atomic_f32(a.b)",
                "write the name of one variable of the shader: `//#use atomic_f32(totals)`",
            ),
            (
                "//#use atomic_f32(a, b)",
                "write the name of one variable of the shader: `//#use atomic_f32(totals)`",
            ),
            (
                "//#use atomic_f32(a",
                "write the name of one variable of the shader: `//#use atomic_f32(totals)`",
            ),
            ("//#use lcg(totals)", "only `atomic_f32` takes a variable: write `//#use lcg`"),
        ] {
            assert_eq!(refused(text, &[]), format!("a.wgsl:1: `{text}`: {remedy}"));
        }
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
    fn a_missing_snippet_or_file_is_an_error_with_its_line() {
        let error = refused("\n//#use nothing", &[]);
        let list =
            error.strip_prefix("a.wgsl:2: there is no snippet `nothing`; there are `atomic_f32`, ").unwrap();
        let list = list.strip_suffix(", and no file `lib/nothing.wgsl`").unwrap();
        for name in ["`finish`, ", "`philox`, ", "`reduce_groups`, "] {
            assert_eq!(list.matches(name).count(), 1, "{name}: {list}");
        }
        assert_eq!(
            refused("//#use \"b.wgsl\"", &[("c/b.wgsl", "")]),
            "a.wgsl:1: there is no file `b.wgsl`; there are `c/b.wgsl`: a shader file uses files beside it, and `with_file` adds files to a text"
        );
    }

    #[test]
    fn files_that_use_each_other_are_an_error_that_lists_the_cycle() {
        let files = [("b.wgsl", "\n//#use \"c.wgsl\""), ("c.wgsl", "//#use \"b.wgsl\"")];
        assert_eq!(
            refused("//#use \"b.wgsl\"", &files),
            "c.wgsl:1: files use each other: `b.wgsl`, `c.wgsl`, `b.wgsl`"
        );
    }

    #[test]
    fn a_cycle_through_the_main_file_is_found_by_its_plain_path() {
        assert_eq!(refused("//#use \"a.wgsl\"", &[]), "a.wgsl:1: files use each other: `a.wgsl`, `a.wgsl`");
        let back: [File; 1] = [("b.wgsl".into(), "\n//#use \"a.wgsl\"".into())];
        for label in ["a.wgsl", "./a.wgsl", "x/../a.wgsl"] {
            let error = SplicedText::new(label, "", "//#use \"b.wgsl\"", &back).unwrap_err().to_string();
            assert_eq!(error, "b.wgsl:2: files use each other: `a.wgsl`, `b.wgsl`, `a.wgsl`", "{label}");
        }
    }

    #[test]
    fn a_long_chain_of_files_does_not_recurse_and_a_long_cycle_is_shortened() {
        let files = |last: &'static str| -> Vec<File> {
            let text = |i: usize| match i {
                20_000 => last.into(),
                _ => format!("//#use \"{}.wgsl\"", i + 1).into(),
            };
            (1..=20_000).map(|i| (format!("{i}.wgsl"), text(i))).collect()
        };
        let whole = SplicedText::new("0.wgsl", "", "//#use \"1.wgsl\"", &files("const last = 1;")).unwrap();
        assert!(whole.text.ends_with("\nconst last = 1;"));
        let error =
            SplicedText::new("0.wgsl", "", "//#use \"1.wgsl\"", &files("//#use \"0.wgsl\"")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "20000.wgsl:1: files use each other: `0.wgsl`, `1.wgsl`, `2.wgsl`, `3.wgsl`, `4.wgsl`, `...`, `19997.wgsl`, \
             `19998.wgsl`, `19999.wgsl`, `20000.wgsl`, `0.wgsl`"
        );
    }

    #[test]
    fn a_use_line_inside_a_block_comment_is_ignored() {
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
    fn a_file_of_the_program_takes_precedence_over_a_built_in_snippet() {
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
    fn an_invalid_use_line_is_an_error_that_shows_a_valid_one() {
        let remedies = [
            ("//#use", "write the name of a snippet, or the path of a file in quotes"),
            ("//#use: lcg", "no character may come between `//#use` and the name: write `//#use lcg`"),
            (
                "//#use = \"b.wgsl\"",
                "no character may come between `//#use` and the name: write `//#use \"b.wgsl\"`",
            ),
            ("//#use lcg /* a */ b", "only a comment may follow the name, found `/* a */ b`"),
            ("//#use lcg /* a", "only a comment may follow the name, found `/* a`"),
            ("//#use \"\"", "write the path of a file between the quotes"),
            ("//#use \"b.wgsl", "the closing `\"` is missing"),
            ("//#use b.wgsl", "put the path in quotes: write `//#use \"b.wgsl\"`"),
            ("//#use 'x/b.wgsl'", "put the path in quotes: write `//#use \"x/b.wgsl\"`"),
            ("//#use \"x\\b.wgsl\"", "separate the folders by `/` on every system: write `\"x/b.wgsl\"`"),
            (
                "//#use \"/b.wgsl\"",
                "the path is absolute: write a path relative to the folder of the file with this line",
            ),
            (
                "//#use \"C:/b.wgsl\"",
                "the path is absolute: write a path relative to the folder of the file with this line",
            ),
            ("//#use lcg linear", "only a comment may follow the name, found `linear`"),
            ("//#use \"b.wgsl\";", "only a comment may follow the name, found `;`"),
        ];
        for (line, remedy) in remedies {
            let files = [("b.wgsl", ""), ("x/b.wgsl", "")];
            assert_eq!(refused(&format!("\n{line}"), &files), format!("a.wgsl:2: `{line}`: {remedy}"));
        }
    }
}
