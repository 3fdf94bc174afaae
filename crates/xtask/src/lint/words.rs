//! Finds refused words: in prose, at the beginning of sentences, and in identifiers.

use super::code::{Prose, code_only, is_word, prose};
use super::rules::Finding;

/// The list, one word a line.
const LIST: &str = include_str!("words.txt");

/// The words of the list, grouped by their kind.
pub(super) struct Words {
    prose: Vec<&'static str>,
    heads: Vec<&'static str>,
    /// Refused parts of identifiers, each with the term to use.
    names: Vec<(&'static str, &'static str)>,
}

impl Words {
    /// # Panics
    /// If a line of the list is malformed, which is a bug.
    pub(super) fn new() -> Self {
        let mut words = Self { prose: Vec::new(), heads: Vec::new(), names: Vec::new() };
        for line in LIST.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["prose", word] => words.prose.push(word),
                ["head", word] => words.heads.push(word),
                ["name", part, term] => words.names.push((part, term)),
                _ => panic!("bug: `{line}` in words.txt"),
            }
        }
        words
    }

    /// Returns the refused words of a Rust file or a shader.
    pub(super) fn of_code(&self, path: &str, source: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut block = Sentences::default();
        for prose in prose(source) {
            self.check(&prose, &mut block, &mut findings);
        }
        let code = code_only(source);
        findings.extend(self.definitions(&code));
        if ["crates/core/src/", "crates/graph-file/src/", "crates/sync/src/", "crates/profile/src/"]
            .iter()
            .any(|of| path.starts_with(of))
        {
            findings.extend(self.identifiers(&code));
        }
        findings
    }

    /// Returns the refused words of a page. Code, even in backticks, is left out.
    pub(super) fn of_page(&self, source: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut in_code = false;
        let mut sentences = Sentences::default();
        for (at, line) in source.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                in_code = !in_code;
            }
            let has_sentences = !in_code && !line.starts_with('#') && !line.trim_start().starts_with('|');
            if !has_sentences || line.trim().is_empty() {
                sentences.end();
            }
            if in_code {
                continue;
            }
            let text = without_code(line);
            findings.extend(self.in_prose(&text).map(|what| Finding { line: at + 1, what }));
            if !has_sentences {
                continue;
            }
            let text = text.trim_start().trim_start_matches([
                '-', '*', '>', ' ', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '.',
            ]);
            findings.extend(sentences.heads(text, &self.heads).map(|what| Finding { line: at + 1, what }));
        }
        findings
    }

    fn check(&self, prose: &Prose<'_>, block: &mut Sentences, findings: &mut Vec<Finding>) {
        if !prose.is_comment {
            findings.extend(self.in_prose(prose.text).map(|what| Finding { line: prose.line, what }));
            return;
        }
        for (at, line) in prose.text.lines().enumerate() {
            let text = line.trim_start().trim_start_matches(['/', '!', '*']).trim_start();
            if text.is_empty()
                || text.starts_with('#')
                || text.starts_with("```")
                || !block.continues(prose.line + at)
            {
                block.end();
            }
            block.line = prose.line + at;
            let text = without_code(text);
            findings.extend(self.in_prose(&text).map(|what| Finding { line: prose.line + at, what }));
            findings
                .extend(block.heads(&text, &self.heads).map(|what| Finding { line: prose.line + at, what }));
            // The sentence below a heading does not continue the heading.
            if text.starts_with('#') {
                block.end();
            }
        }
    }

    fn in_prose<'a>(&'a self, text: &'a str) -> impl Iterator<Item = String> + 'a {
        // A possessive is refused with its word.
        let words = text.split(|c: char| !is_word(c));
        words
            .filter(|word| self.prose.iter().any(|out| word.eq_ignore_ascii_case(out)))
            .map(|word| format!("`{word}` is out: name the thread, the call or the thing"))
    }

    /// Returns the functions and types whose names have a refused word.
    fn definitions(&self, code: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (at, line) in code.lines().enumerate() {
            let words: Vec<&str> = line.split(|c| !is_word(c)).filter(|word| !word.is_empty()).collect();
            for pair in words.windows(2) {
                let keyword = pair[0];
                let name = pair[1];
                if !matches!(keyword, "fn" | "struct" | "enum" | "union" | "trait" | "type") {
                    continue;
                }
                let parts = parts(name);
                let out = parts.iter().find(|part| self.prose.contains(&part.as_str()));
                findings.extend(out.map(|part| Finding {
                    line: at + 1,
                    what: format!(
                        "`{part}` in the name of `{name}` is out: name the thread, the call or the thing"
                    ),
                }));
            }
        }
        findings
    }

    fn identifiers(&self, code: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (at, line) in code.lines().enumerate() {
            for identifier in line.split(|c| !is_word(c)).filter(|word| !word.is_empty()) {
                let parts = parts(identifier);
                let out = self.names.iter().find(|(part, _)| parts.iter().any(|own| own == part));
                findings.extend(out.map(|(part, term)| Finding {
                    line: at + 1,
                    what: format!("`{part}` in `{identifier}` is out: the term is `{term}`"),
                }));
            }
        }
        findings
    }
}

/// Splits an identifier in `snake_case` or `CamelCase` into lowercase parts.
fn parts(identifier: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut small = false;
    for c in identifier.chars() {
        if c == '_' || (c.is_uppercase() && small) {
            parts.push(String::new());
        }
        small = c.is_lowercase() || c.is_numeric();
        if c != '_' {
            parts.last_mut().expect("there is one").extend(c.to_lowercase());
        }
    }
    parts
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
    fn end(&mut self) {
        self.inside = false;
    }

    fn continues(&self, line: usize) -> bool {
        line == self.line + 1 || line == self.line
    }

    /// Returns the refused words that begin a sentence on this line. A question may begin with them.
    fn heads<'a>(&mut self, text: &'a str, out: &'a [&str]) -> impl Iterator<Item = String> + 'a {
        let mut found = Vec::new();
        let mut rest = text.trim_end();
        while !rest.is_empty() {
            let end = rest
                .find(['.', '?', '!'])
                .filter(|&at| rest[at + 1..].starts_with([' ', ')', '*']) || at + 1 == rest.len());
            let (sentence, after) = end.map_or((rest, ""), |at| rest.split_at(at + 1));
            let first = sentence.trim_start().split(|c| !is_word(c)).next().unwrap_or_default();
            if !self.inside && out.contains(&first) && !sentence.ends_with('?') {
                found.push(format!("`{first}` begins a sentence: begin with the thing or the verb"));
            }
            if !self.inside {
                found.extend(headless(sentence.trim_start()));
            }
            self.inside = end.is_none();
            rest = after.trim_start();
        }
        found.into_iter()
    }
}

/// Returns a finding if a sentence has no verb: if it begins with `Those of`, or consists only of `As [..].`
fn headless(sentence: &str) -> Option<String> {
    if sentence.starts_with("Those of ") {
        return Some("`Those of` begins a sentence: write `Fails as ..` or name the thing".to_owned());
    }
    let link = sentence.strip_prefix("As [")?;
    let (_, after) = link.split_once(']')?;
    let after =
        after.strip_prefix('(').and_then(|target| target.split_once(')')).map_or(after, |(_, after)| after);
    let is_all = matches!(after.trim(), "." | ":" | ";" | "");
    is_all.then(|| "`As [..]` is no sentence: write `Fails as [..] does`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(source: &str) -> Vec<usize> {
        Words::new().of_code("crates/core/src/a.rs", source).iter().map(|finding| finding.line).collect()
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
        assert!(lines_of(&format!("// The caller asks\n// {head} or not.\n")).is_empty());
        assert!(lines_of(&format!("// {head} it is idle?\n")).is_empty());
    }

    #[test]
    fn identifiers_are_split_into_their_parts() {
        assert_eq!(parts("snake_case"), ["snake", "case"]);
        assert_eq!(parts("CamelCase2"), ["camel", "case2"]);
        let out = ["do", "ze"].concat();
        assert_eq!(lines_of(&format!("self.{out}_while_held();")), [1]);
        assert!(lines_of(&format!("self.{out}n();")).is_empty());
    }

    #[test]
    fn a_word_is_out_of_the_names_of_types() {
        let name = ["Wh", "oeverWaits"].concat();
        for keyword in ["struct", "pub enum", "trait", "pub(crate) type", "union"] {
            assert_eq!(lines_of(&format!("{keyword} {name}<'a> {{}}")), [1], "{keyword}");
        }
        assert!(lines_of("struct Wholesale {}").is_empty());
    }

    #[test]
    fn a_possessive_is_out() {
        let person = person();
        assert_eq!(lines_of(&format!("// It is {person}'s turn.\n// It is {person}\u{2019}s turn.")), [1, 2]);
    }

    #[test]
    fn a_sentence_without_a_verb_is_found() {
        let those = ["Those", " of"].concat();
        let link = ["As", " ["].concat();
        for sentence in [
            format!("{those} the step; or it fails."),
            format!("{link}`read`](Self::read)."),
            format!("{link}`read`]."),
            format!("{link}`read`](https://a.b/c.html#d):\n/// the text has to be valid."),
        ] {
            assert_eq!(lines_of(&format!("/// {sentence}\nfn a() {{}}")), [1], "{sentence}");
            let below_a_heading = format!("/// # Errors\n/// {sentence}\nfn a() {{}}");
            assert_eq!(lines_of(&below_a_heading), [2], "{sentence}");
        }
        for sentence in
            [format!("{link}`read`](Self::read), it blocks."), "Fails as [`read`] does.".to_owned()]
        {
            assert!(lines_of(&format!("/// {sentence}\nfn a() {{}}")).is_empty(), "{sentence}");
        }
    }

    #[test]
    fn pages_are_read_without_code_and_their_headings_and_tables_for_words() {
        let person = person();
        let head = ["Wh", "at"].concat();
        let page = format!(
            "# {head} there is\n\n{head} is small waits.\n\n```rust\n// {person}\n```\n| {head} |\n\nA {person}.\n\n\
             ## A {person}\n\n| {person} |\n|---|\n| `{person}` |\n"
        );
        let lines: Vec<_> = Words::new().of_page(&page).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [3, 10, 12, 14]);
    }
}
