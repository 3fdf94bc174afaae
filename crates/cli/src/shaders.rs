//! `fencepost shaders`: lists the built-in shaders and snippets, or prints the text of one.

use anyhow::{Context, Result};
use serde::Serialize;

use crate::table::Columns;
use crate::{Outcome, cli, output};

/// Snippets for programs; the others belong to the shaders of the library's verbs.
const SNIPPETS: [&str; 5] = ["atomic_f32", "blake3", "lcg", "linear", "packed"];

/// A group of the list: its heading, the heading of its names on a page, and the entries in it.
type Group = (&'static str, &'static str, fn(&Entry) -> bool);

const GROUPS: [Group; 4] = [
    ("Shaders", "Shader", |entry| !entry.internal && entry.kind == Kind::Shader),
    ("Snippets", "Snippet", |entry| !entry.internal && entry.kind == Kind::Snippet),
    ("Shaders of the verbs", "Shader", |entry| entry.internal && entry.kind == Kind::Shader),
    ("Snippets of the verbs", "Snippet", |entry| entry.internal && entry.kind == Kind::Snippet),
];

const VERBS: &str =
    "The shaders and snippets of the verbs belong to `fencepost::algorithms`, and may change in any version.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// Shader with an entry point.
    Shader,
    /// Functions for other shaders, which a line `//#use` appends.
    Snippet,
}

/// A built-in shader or snippet.
#[derive(Serialize)]
struct Entry {
    /// File name of a shader, or the name in a line `//#use`.
    name: &'static str,
    kind: Kind,
    /// `true` if it belongs to a verb of the library.
    internal: bool,
    /// First sentence of its header.
    description: String,
    /// Text, which the list leaves out.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'static str>,
}

#[derive(Serialize)]
struct List {
    shaders: Vec<Entry>,
}

/// Prints the list, or the text of one.
pub(crate) fn shaders(options: &cli::Shaders) -> Result<Outcome> {
    let entries = entries();
    match &options.name {
        Some(name) => {
            let entry = find(entries, name)?;
            if options.json {
                output::json(&entry)?;
            } else {
                output::print(entry.text.unwrap_or_default().as_bytes())?;
            }
        }
        None if options.json => {
            let shaders = entries.into_iter().map(|entry| Entry { text: None, ..entry }).collect();
            output::json(&List { shaders })?;
        }
        None if options.markdown => output::print(page(&entries).as_bytes())?,
        None => output::print(table(&entries).as_bytes())?,
    }
    Ok(Outcome::Good)
}

/// Returns every built-in shader and snippet, with its text.
fn entries() -> Vec<Entry> {
    let shaders = fencepost::builtins().iter().map(|&(name, text)| {
        let stem = name.trim_end_matches(".wgsl");
        let internal = fencepost::reference(stem).is_none(); // the function of a verb is its reference
        Entry { name, kind: Kind::Shader, internal, description: description(text), text: Some(text) }
    });
    let snippets = fencepost::snippets().map(|(name, text)| {
        let internal = !SNIPPETS.contains(&name);
        Entry { name, kind: Kind::Snippet, internal, description: description(text), text: Some(text) }
    });
    let mut entries: Vec<Entry> = shaders.chain(snippets).collect();
    entries.sort_by_key(|entry| entry.name);
    entries
}

/// Returns the entry of a name; a shader is also found without `.wgsl`.
fn find(entries: Vec<Entry>, name: &str) -> Result<Entry> {
    let is_named = |entry: &Entry| {
        entry.name == name || entry.name.strip_suffix(".wgsl").is_some_and(|stem| stem == name)
    };
    entries.into_iter().find(is_named).with_context(|| {
        format!("there is no built-in shader or snippet `{name}`: `fencepost shaders` lists them")
    })
}

/// Returns the first sentence of a header, without the name before it. A line that starts with a capital letter begins
/// another sentence.
fn description(text: &str) -> String {
    let header = text.lines().map_while(|line| line.strip_prefix("//")).map(str::trim);
    let is_part = |&(at, line): &(usize, &str)| at == 0 || line.starts_with(|c: char| !c.is_uppercase());
    let lines: Vec<&str> = header.enumerate().take_while(is_part).map(|(_, line)| line).collect();
    let sentence = lines.join(" ");
    sentence.split_once(": ").map_or(sentence.as_str(), |(_, rest)| rest).to_owned()
}

/// Writes the list as tables for a terminal.
fn table(entries: &[Entry]) -> String {
    let mut text = String::new();
    for (heading, _, is_in) in GROUPS {
        let mut columns = Columns::new();
        for entry in entries.iter().filter(|entry| is_in(entry)) {
            columns.row([entry.name, &entry.description]);
        }
        text += &format!("{heading}\n{}\n", columns.text());
    }
    text + VERBS + "\n"
}

/// Writes the list as a page of the book.
fn page(entries: &[Entry]) -> String {
    let mut text = format!(
        "# Built-in shaders\n\n\
         This page is made by `fencepost shaders --markdown`, and a test compares the two. `fencepost shaders NAME` prints a\n\
         text, `fencepost run NAME` runs a shader ([from a shell](guide/cli.md)), and `#[kernel(source = \"NAME\")]` uses one in\n\
         a program. A line `//#use NAME` appends a snippet to a shader ([kernels](guide/kernels.md#several-files)).\n\n\
         {}\n",
        wrapped(VERBS)
    );
    for (heading, name, is_in) in GROUPS {
        text += &format!("\n## {heading}\n\n| {name} | Description |\n|---|---|\n");
        for entry in entries.iter().filter(|entry| is_in(entry)) {
            text += &format!("| `{}` | {} |\n", entry.name, escaped(&entry.description));
        }
    }
    text
}

/// Breaks a sentence into lines of at most 120 characters.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + 1 + word.len() <= 120 => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// Writes characters that would mean something else in a table of Markdown.
fn escaped(text: &str) -> String {
    text.chars().flat_map(|c| ['\\'].into_iter().filter(move |_| "|*<[]_".contains(c)).chain([c])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shader_and_snippet_has_a_name_of_its_own_and_a_description() {
        let entries = entries();
        let stems: Vec<&str> = entries.iter().map(|entry| entry.name.trim_end_matches(".wgsl")).collect();
        for (at, (entry, stem)) in entries.iter().zip(&stems).enumerate() {
            assert!(!stems[..at].contains(stem), "{stem} is there twice");
            let text = entry.text.expect("each has a text");
            assert!(text.starts_with(&format!("// {stem}: ")), "{stem}");
            assert!(entry.description.len() > 10 && !entry.description.contains('\n'), "{stem}");
        }
        let internal =
            |name: &str| entries.iter().find(|entry| entry.name == name).map(|entry| entry.internal);
        assert_eq!(
            ["saxpy.wgsl", "linear", "scan.wgsl", "keyed"].map(internal),
            [false, false, true, true].map(Some)
        );
        let known = SNIPPETS.iter().all(|name| entries.iter().any(|entry| entry.name == *name));
        assert!(known, "a name of SNIPPETS is not a snippet");
    }

    #[test]
    fn each_entry_is_in_one_group() {
        for entry in entries() {
            assert_eq!(GROUPS.iter().filter(|(_, _, is_in)| is_in(&entry)).count(), 1, "{}", entry.name);
        }
    }

    #[test]
    fn a_description_is_the_first_sentence_of_the_header() {
        assert_eq!(description("// add: z = x + y\n//\n// Shape  n\n"), "z = x + y");
        let two_lines = "// arg: the index; the lowest if\n// several are equal\n//\n";
        assert_eq!(description(two_lines), "the index; the lowest if several are equal");
        assert_eq!(description("// scan: out: all\n// If REVERSED, each.\n"), "out: all");
        assert_eq!(description("// lcg: one step\nfn lcg() {}\n"), "one step");
    }

    #[test]
    fn a_name_is_found_with_and_without_its_ending() {
        for name in ["saxpy.wgsl", "saxpy"] {
            assert_eq!(find(entries(), name).expect("it is built in").name, "saxpy.wgsl");
        }
        assert_eq!(find(entries(), "linear").expect("it is built in").name, "linear");
        let error = find(entries(), "daxpy").map(|entry| entry.name).unwrap_err().to_string();
        assert_eq!(error, "there is no built-in shader or snippet `daxpy`: `fencepost shaders` lists them");
    }

    #[test]
    fn characters_of_tables_and_emphasis_are_escaped() {
        assert_eq!(escaped("a * b | c_d[i] < 2"), "a \\* b \\| c\\_d\\[i\\] \\< 2");
        assert_eq!(wrapped("one two"), "one two");
        assert!(wrapped(&"word ".repeat(60)).lines().all(|line| line.len() <= 120));
    }
}
