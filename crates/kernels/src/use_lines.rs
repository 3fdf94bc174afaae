//! The `//#use` lines of a shader, and the paths and snippets in them.

use std::borrow::Cow;

use crate::comments::{comments, is_comment};
use crate::snippets::{SNIPPETS, SNIPPETS_FOR_A_VARIABLE, with_variable};
use crate::{Error, Names, Result};

/// Target of a `//#use` line.
#[derive(Debug)]
pub(crate) enum UseTarget<'a> {
    /// `lib/NAME.wgsl` next to the main file, or a built-in snippet.
    Snippet(&'a str),
    /// Built-in snippet for a variable of the shader. It is appended separately for each variable.
    ForVariable { snippet: &'a str, variable: &'a str },
    /// Path relative to the folder of the line's file.
    File(&'a str),
}

/// Returns the `//#use` lines of a text, each with its number from 1; a line inside of `/* */` is a comment.
pub(crate) fn uses<'a>(label: &str, text: &'a str) -> impl Iterator<Item = Result<(usize, UseTarget<'a>)>> {
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
        if is_prose(asked) {
            return None;
        }
        let used = UseTarget::read(asked.trim()).map_err(|remedy| Error::Use {
            label: label.into(),
            line: at + 1,
            text: line.trim().into(),
            remedy,
        });
        Some(used.map(|used| (at + 1, used)))
    })
}

/// Returns `true` if the text after `//#use` is a sentence, not a target: the first word is not a snippet, and more
/// words follow.
fn is_prose(asked: &str) -> bool {
    let mut words = asked.split_whitespace();
    let is_word = |word: &str| word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ','));
    let Some(first) = words.next().filter(|first| is_word(first)) else { return false };
    let known = SNIPPETS.iter().chain(SNIPPETS_FOR_A_VARIABLE).any(|(known, _)| *known == first);
    !known && words.next().is_some_and(|next| !next.starts_with("//") && !next.starts_with("/*"))
}

impl<'a> UseTarget<'a> {
    /// Parses the text after `//#use`; `Err` describes a valid line.
    fn read(asked: &'a str) -> std::result::Result<Self, String> {
        if let Some(name) = asked.strip_prefix([':', '=']) {
            return Err(format!(
                "no character may come between `//#use` and the name: write `//#use {}`",
                name.trim()
            ));
        }
        let (used, rest) = if let Some(path) = asked.strip_prefix('"') {
            let (path, rest) = path.split_once('"').ok_or("the closing `\"` is missing")?;
            check_path(path)?;
            (Self::File(path), rest)
        } else {
            let word = asked.find(|c: char| c.is_whitespace()).unwrap_or(asked.len());
            // Spaces are allowed in the parentheses around a variable.
            let closing = asked.find(')').filter(|_| asked[..word].contains('('));
            let end = closing.map_or(word, |closing| closing + 1);
            let (name, rest) = asked.split_at(end);
            let name = name.split("//").next().unwrap_or(name);
            let name = name.split("/*").next().unwrap_or(name);
            (Self::named(name)?, asked.strip_prefix(name).unwrap_or(rest))
        };
        if is_comment(rest) {
            return Ok(used);
        }
        Err(format!("only a comment may follow the name, found `{}`", rest.trim()))
    }

    /// Parses the name of a snippet; `Err` describes a valid line.
    fn named(name: &'a str) -> std::result::Result<Self, String> {
        let takes = |snippet: &str| SNIPPETS_FOR_A_VARIABLE.iter().any(|(known, _)| *known == snippet);
        let Some((snippet, variable)) =
            name.split_once('(').filter(|(snippet, variable)| takes(snippet) || variable.ends_with(')'))
        else {
            check_name(name)?;
            return Ok(Self::Snippet(name));
        };
        check_name(snippet)?;
        if !takes(snippet) {
            let known: Names = SNIPPETS_FOR_A_VARIABLE.iter().map(|(known, _)| *known).collect();
            return Err(format!("only {known} takes a variable: write `//#use {snippet}`"));
        }
        let variable = variable.strip_suffix(')').unwrap_or_default().trim();
        let is_word = variable.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !is_word || variable.is_empty() || variable.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(format!("write the name of one variable of the shader: `//#use {snippet}(totals)`"));
        }
        Ok(Self::ForVariable { snippet, variable })
    }

    /// Returns the contents `text` of the target, with the line's variable inserted.
    pub(crate) fn text<'b>(&self, text: &'b str) -> Cow<'b, str> {
        match self {
            Self::ForVariable { variable, .. } => with_variable(text, variable).into(),
            Self::Snippet(_) | Self::File(_) => text.into(),
        }
    }

    /// Returns the path at which the program could have a file for the target. A snippet for a variable is never a
    /// file.
    pub(crate) fn path(&self, main: &str, label: &str) -> String {
        match self {
            Self::Snippet(name) => beside(main, &format!("lib/{name}.wgsl")),
            Self::ForVariable { snippet, variable } => format!("{snippet}({variable}) (built-in)"),
            Self::File(path) => beside(label, path),
        }
    }

    /// Returns the label and the text of the built-in snippet of this name.
    pub(crate) fn built_in(&self) -> Option<(String, &'static str)> {
        let (name, list, variable) = match self {
            Self::Snippet(name) => (name, SNIPPETS, String::new()),
            Self::ForVariable { snippet, variable } => {
                (snippet, SNIPPETS_FOR_A_VARIABLE, format!("({variable})"))
            }
            Self::File(_) => return None,
        };
        let (name, text) = list.iter().find(|(known, _)| known == name)?;
        Some((format!("{name}{variable} (built-in)"), text))
    }

    /// Returns the error of a source that has no such file.
    ///
    /// # Errors
    /// Always.
    pub(crate) fn missing<T>(&self, label: &str, line: usize, path: String, known: Names) -> Result<T> {
        let label = label.to_owned();
        let for_a_variable = SNIPPETS_FOR_A_VARIABLE.iter().map(|(known, _)| *known);
        Err(match self {
            UseTarget::Snippet(name) if for_a_variable.clone().any(|known| known == *name) => Error::Use {
                label,
                line,
                text: format!("//#use {name}"),
                remedy: format!("the snippet takes a variable of the shader: write `//#use {name}(totals)`"),
            },
            UseTarget::Snippet(name) | UseTarget::ForVariable { snippet: name, .. } => {
                Error::UnknownSnippet {
                    label,
                    line,
                    name: (*name).into(),
                    path,
                    known: for_a_variable.chain(SNIPPETS.iter().map(|(known, _)| *known)).collect(),
                }
            }
            UseTarget::File(_) => Error::UnknownFile { label, line, path, known },
        })
    }
}

fn check_path(path: &str) -> std::result::Result<(), String> {
    if path.trim().is_empty() {
        return Err("write the path of a file between the quotes".into());
    }
    if path.contains('\\') {
        let right = path.replace('\\', "/");
        return Err(format!("separate the folders by `/` on every system: write `\"{right}\"`"));
    }
    if path.starts_with('/') || path.contains(':') {
        return Err(
            "the path is absolute: write a path relative to the folder of the file with this line".into()
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
        return Err(format!("put the path in quotes: write `//#use \"{path}\"`"));
    }
    Ok(())
}

/// Joins a path to the folder of a file, and removes `.` and `..` where that is possible.
fn beside(file: &str, path: &str) -> String {
    match file.rsplit_once('/') {
        Some((folder, _)) => plain(&format!("{folder}/{path}")),
        None => plain(path),
    }
}

/// Removes `.` and `..` from a path where that is possible.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_after_the_mark_is_a_comment_and_a_mistake_in_a_line_is_not() {
        let read = |line: &str| uses("k.wgsl", line).next().map(|used| used.is_ok());
        for comment in [
            "//#use is a comment here, WGSL says",
            "//#use of the array: see below",
            "//#used",
            "//#use a, b",
        ] {
            assert_eq!(read(comment), None, "{comment}");
        }
        for line in [
            "//#use linear",
            "//#use mine",
            "//#use \"a.wgsl\"",
            "//#use linear // why",
            "//#use mine /* why */",
        ] {
            assert_eq!(read(line), Some(true), "{line}");
        }
        for mistake in
            ["//#use", "//#use linear twice", "//#use lib/mine.wgsl", "//#use: linear", "//#use \"a.wgsl"]
        {
            assert_eq!(read(mistake), Some(false), "{mistake}");
        }
    }

    #[test]
    fn paths_lose_their_dots() {
        assert_eq!(beside("x/y/a.wgsl", "../b.wgsl"), "x/b.wgsl");
        assert_eq!(beside("a.wgsl", "../b.wgsl"), "../b.wgsl");
        assert_eq!(beside("../x/a.wgsl", "../../b.wgsl"), "../../b.wgsl");
        assert_eq!(beside("/x/a.wgsl", "./b.wgsl"), "/x/b.wgsl");
    }
}
