//! Finds refused words in prose, at the beginning of sentences, and at the beginning of the docs of nouns.

use super::Found;
use super::code::{Prose, Source, identifier, is_word, prose};

/// The list, one word a line.
const LIST: &str = include_str!("words.txt");

/// Words that mark a preceding word as a plural noun, although it looks like a verb.
const AFTER_NOUNS: [&str; 4] = ["between", "in", "of", "that"];

/// Keywords of the items whose docs are noun phrases.
const NOUNS: [&str; 6] = ["struct", "enum", "union", "const", "static", "type"];

/// The words of the list, grouped by their kind.
pub(super) struct Words {
    prose: Vec<&'static str>,
    heads: Vec<&'static str>,
    verbs: Vec<&'static str>,
}

impl Words {
    pub(super) fn new() -> Self {
        let kinds = ["prose ", "head ", "verb ", "#"];
        let is_known = |line: &str| line.is_empty() || kinds.iter().any(|kind| line.starts_with(kind));
        assert!(LIST.lines().all(is_known), "bug: a line of words.txt has no kind");
        let of = |kind: &str| -> Vec<&'static str> {
            LIST.lines().filter_map(|line| line.strip_prefix(kind)?.strip_prefix(' ')).collect()
        };
        Self { prose: of("prose"), heads: of("head"), verbs: of("verb") }
    }

    /// Returns the refused words of a Rust file or a shader.
    pub(super) fn of_code(&self, source: &Source) -> Vec<Found> {
        let mut found = Vec::new();
        let mut block = Sentences::default();
        for prose in prose(&source.text) {
            self.check(&prose, &mut block, &mut found);
        }
        found.extend(source.code.lines().enumerate().filter_map(|(at, line)| {
            let name = identifier(line.split_once("fn ")?.1);
            let part = name.split('_').find(|part| self.is_out(part))?;
            Some((at + 1, format!("`{part}` in the name of `{name}` is out: name the call or the thing")))
        }));
        found.extend(self.nouns(&source.text));
        found
    }

    /// Returns the refused words of a page. Code, even in backticks, is left out.
    pub(super) fn of_page(&self, source: &str) -> Vec<Found> {
        let mut found = Vec::new();
        let mut in_code = false;
        let mut sentences = Sentences::default();
        for (at, line) in source.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                in_code = !in_code;
            }
            let has_sentences = !in_code && !line.starts_with('#') && !line.trim_start().starts_with('|');
            if !has_sentences || line.trim().is_empty() {
                sentences.inside = false;
            }
            if in_code {
                continue;
            }
            let text = without_code(line);
            let mut what: Vec<String> = self.in_prose(&text).collect();
            if has_sentences {
                let text = text.trim_start_matches(|c: char| "-*> .".contains(c) || c.is_ascii_digit());
                what.extend(sentences.heads(text, &self.heads));
            }
            found.extend(what.into_iter().map(|what| (at + 1, what)));
        }
        found
    }

    fn check(&self, prose: &Prose<'_>, block: &mut Sentences, found: &mut Vec<Found>) {
        if !prose.is_comment {
            found.extend(self.in_prose(prose.text).map(|what| (prose.line, what)));
            return;
        }
        for (at, line) in prose.text.lines().enumerate() {
            let at = prose.line + at;
            let text = line.trim_start().trim_start_matches(['/', '!', '*']).trim_start();
            let is_heading = text.starts_with('#');
            if text.is_empty() || is_heading || text.starts_with("```") || at > block.line + 1 {
                block.inside = false;
            }
            block.line = at;
            let text = without_code(text);
            let heads = block.heads(&text, &self.heads);
            found.extend(self.in_prose(&text).chain(heads).map(|what| (at, what)));
            // The sentence below a heading does not continue the heading.
            block.inside &= !is_heading;
        }
    }

    fn is_out(&self, word: &str) -> bool {
        self.prose.iter().any(|out| word.eq_ignore_ascii_case(out))
    }

    fn in_prose<'a>(&'a self, text: &'a str) -> impl Iterator<Item = String> + 'a {
        // A possessive is refused with its word.
        let words = text.split(|c: char| !is_word(c)).filter(|word| self.is_out(word));
        words.map(|word| format!("`{word}` is out: name the thread, the call or the thing"))
    }

    /// Returns the docs of types, fields, variants and constants that begin with a verb. The docs in a file that uses
    /// clap are help texts of a program.
    fn nouns(&self, text: &str) -> Vec<Found> {
        let mut found = Vec::new();
        let mut doc = None;
        if text.contains("clap::") {
            return found;
        }
        for (at, line) in text.lines().map(str::trim).enumerate() {
            if let Some(first) = line.strip_prefix("///") {
                doc.get_or_insert((at + 1, first.trim_start()));
            } else if !line.starts_with("#[") {
                let of_noun = doc.take().filter(|_| is_noun(line));
                found.extend(of_noun.and_then(|(at, first)| Some((at, self.verb_of_noun(first)?))));
            }
        }
        found
    }

    fn verb_of_noun(&self, doc: &str) -> Option<String> {
        let doc = doc.trim_start_matches(['*', '`', '[']);
        let word = &doc[..doc.find(|c: char| !c.is_alphabetic()).unwrap_or(doc.len())];
        let rest = &doc[word.len()..];
        let next = identifier(rest.trim_start_matches(|c: char| !is_word(c)));
        // `Points of a queue` is a noun phrase, `Points to a queue` is not.
        let is_plural = rest.starts_with(',') || AFTER_NOUNS.contains(&next);
        let what = || format!("the doc of a noun begins with the verb `{word}`: write a noun phrase");
        (!is_plural && self.verbs.contains(&word)).then(what)
    }
}

/// Returns `true` for the first line of a type, a constant, a field or a variant.
fn is_noun(line: &str) -> bool {
    let line = match line.strip_prefix("pub(") {
        Some(rest) => rest.split_once(") ").map_or(rest, |(_, rest)| rest),
        None => line.strip_prefix("pub ").unwrap_or(line),
    };
    let name = identifier(line);
    let rest = &line[name.len()..];
    let is_item = NOUNS.contains(&name) && !rest.starts_with(" fn ");
    let is_field = !name.is_empty() && rest.starts_with(": ");
    let ends = rest.is_empty() || rest.starts_with([',', '(', ' ']);
    let is_variant = name.starts_with(char::is_uppercase) && ends;
    is_item || is_field || is_variant
}

/// Replaces code in backticks by spaces.
fn without_code(line: &str) -> String {
    let mut inside = false;
    let blank = |c: char| {
        if c == '`' {
            inside = !inside;
        }
        if inside || c == '`' { ' ' } else { c }
    };
    line.chars().map(blank).collect()
}

/// Finder of the beginnings of sentences in the lines of a block.
#[derive(Default)]
struct Sentences {
    line: usize,
    /// `true` if the block continues inside a sentence.
    inside: bool,
}

impl Sentences {
    /// Returns the refused words that begin a sentence on this line. A question may begin with them.
    fn heads(&mut self, text: &str, out: &[&str]) -> Vec<String> {
        let mut found = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let end = rest
                .find(['.', '?', '!'])
                .filter(|&at| rest[at + 1..].starts_with([' ', ')', '*']) || at + 1 == rest.len());
            let (sentence, after) = end.map_or((rest, ""), |at| rest.split_at(at + 1));
            let begins =
                |head: &str| sentence.strip_prefix(head).is_some_and(|rest| !rest.starts_with(is_word));
            if !self.inside && !sentence.ends_with('?') {
                let head = out.iter().find(|head| begins(head));
                let what = |head| format!("`{head}` begins a sentence: begin with the thing or the verb");
                found.extend(head.map(what));
            }
            self.inside = end.is_none();
            rest = after.trim_start();
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(text: &str) -> Vec<usize> {
        let source = Source::new("crates/core/src/a.rs".to_owned(), text.to_owned());
        Words::new().of_code(&source).into_iter().map(|(line, _)| line).collect()
    }

    fn person() -> String {
        ["wh", "oever"].concat()
    }

    #[test]
    fn a_word_is_out_of_comments_strings_and_names_of_functions() {
        let person = person();
        assert_eq!(
            lines_of(&format!("// {person} waits\nlet a = \"{person}\";\nfn {person}_waits() {{}}")),
            [1, 2, 3]
        );
        assert!(lines_of(&format!("// `{person}` is quoted\nlet {person} = 1;")).is_empty());
    }

    #[test]
    fn a_headless_clause_is_found_wherever_the_sentence_begins() {
        let head = ["Whe", "ther"].concat();
        assert_eq!(lines_of(&format!("/// {head} it is idle.\nfn a() {{}}")), [1]);
        assert_eq!(lines_of(&format!("// One sentence\n// ends here. {head} it is idle.\n")), [2]);
        assert_eq!(lines_of("/// # Errors\n/// Those of the step.\nfn a() {}"), [2]);
        assert!(lines_of(&format!("// The caller asks\n// {head} or not.\n")).is_empty());
        assert!(lines_of(&format!("// {head} it is idle?\n")).is_empty());
    }

    #[test]
    fn a_possessive_is_out() {
        let person = person();
        assert_eq!(lines_of(&format!("// It is {person}'s turn.\n// It is {person}\u{2019}s turn.")), [1, 2]);
    }

    #[test]
    fn each_kind_of_noun_is_seen() {
        let source = "/// Holds a.\nstruct A {\n    /// Is `true`.\n    a: bool,\n}\n/// Names b.\n#[derive(Debug)]\n\
                      pub enum B {\n    /// Says c.\n    C,\n}\n/// Counts d.\npub(crate) const D: u8 = 0;\n\
                      /// Maps e.\ntype E = u8;\nimpl A {\n    /// Limits f.\n    const F: u8 = 0;\n}";
        assert_eq!(lines_of(source), [1, 3, 6, 9, 12, 14, 17]);
    }

    #[test]
    fn noun_phrases_functions_and_help_texts_pass() {
        let source = "/// Number of a.\nstruct A {\n    /// `true` if b.\n    b: bool,\n    /// Points, of c.\n    c: u8,\n}\n\
                      /// Returns d.\nfn d() {}\n/// Returns e.\nconst fn e() {}";
        assert!(lines_of(source).is_empty());
        assert!(lines_of("#[derive(clap::Subcommand)]\nenum E {\n    /// Runs f\n    F,\n}").is_empty());
    }

    #[test]
    fn pages_are_read_without_code_and_their_headings_and_tables_for_words() {
        let person = person();
        let head = ["Wh", "at"].concat();
        let page = format!(
            "# {head} there is\n\n{head} is small waits.\n\n```rust\n// {person}\n```\n| {head} |\n\nA {person}.\n\n\
             ## A {person}\n\n| {person} |\n|---|\n| `{person}` |\n"
        );
        let lines: Vec<_> = Words::new().of_page(&page).into_iter().map(|(line, _)| line).collect();
        assert_eq!(lines, [3, 10, 12, 14]);
    }
}
