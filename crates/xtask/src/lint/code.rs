//! Blanks out comments, strings and characters of Rust source, so that rules see only code.

/// Replaces every comment, string and character literal by spaces; lines and columns stay where they are.
pub(super) fn code_only(source: &str) -> String {
    let mut blanker = Blanker { rest: source, out: String::with_capacity(source.len()) };
    while !blanker.rest.is_empty() {
        blanker.step();
    }
    blanker.out
}

/// A comment or a string literal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Prose<'a> {
    /// Line on which it starts.
    pub(super) line: usize,
    pub(super) is_comment: bool,
    /// Text with its `//`, `/*` or quotes.
    pub(super) text: &'a str,
}

/// Returns every comment and every string of `source`, in order.
pub(super) fn prose(source: &str) -> Vec<Prose<'_>> {
    let mut found = Vec::new();
    let mut rest = source;
    let mut line = 1;
    while !rest.is_empty() {
        let (is_comment, text) = match (comment(rest), raw_string(rest).or_else(|| string(rest))) {
            (Some(length), _) => (true, Some(&rest[..length])),
            (None, Some(length)) => (false, Some(&rest[..length])),
            (None, None) => (false, None),
        };
        found.extend(text.map(|text| Prose { line, is_comment, text }));
        let length = text.map_or_else(|| character(rest).unwrap_or_else(|| word(rest)), str::len);
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    found
}

struct Blanker<'a> {
    rest: &'a str,
    out: String,
}

impl Blanker<'_> {
    /// Removes one literal, comment, word or character from the front.
    fn step(&mut self) {
        let rest = self.rest;
        let literal =
            comment(rest).or_else(|| raw_string(rest)).or_else(|| string(rest)).or_else(|| character(rest));
        match literal {
            Some(length) => self.blank(length),
            None => self.keep(word(rest)),
        }
    }

    fn blank(&mut self, length: usize) {
        let (taken, rest) = self.rest.split_at(length);
        self.out.extend(taken.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        self.rest = rest;
    }

    fn keep(&mut self, length: usize) {
        let (taken, rest) = self.rest.split_at(length);
        self.out.push_str(taken);
        self.rest = rest;
    }
}

/// Returns the length of the word, or the single character, that `rest` starts with.
fn word(rest: &str) -> usize {
    let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
    let first = rest.chars().next().map_or(0, char::len_utf8);
    end.max(first)
}

/// Returns `true` for the characters of identifiers and keywords.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length of a comment at the start; block comments nest.
fn comment(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if !rest.starts_with("/*") {
        return None;
    }
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest[at..];
        let (deeper, step) = match () {
            () if here.starts_with("/*") => (1, 2),
            () if here.starts_with("*/") => (-1, 2),
            () => (0, here.chars().next().map_or(1, char::len_utf8)),
        };
        depth += deeper;
        at += step;
        if depth == 0 {
            break;
        }
    }
    Some(at)
}

/// Returns the length of `r"…"`, `r#"…"#`, `br"…"` or `cr"…"` at the start.
fn raw_string(rest: &str) -> Option<usize> {
    let prefix = ["r", "br", "cr"].into_iter().find(|prefix| {
        let after = rest.strip_prefix(prefix).unwrap_or_default();
        after.trim_start_matches('#').starts_with('"')
    })?;
    let after = &rest[prefix.len()..];
    let hashes = after.len() - after.trim_start_matches('#').len();
    let opened = prefix.len() + hashes + 1;
    let close = format!("\"{}", "#".repeat(hashes));
    let length = rest[opened..].find(&close).map_or(rest.len(), |at| opened + at + close.len());
    Some(length)
}

/// Returns the length of `"…"`, `b"…"` or `c"…"` at the start.
fn string(rest: &str) -> Option<usize> {
    let opened = ["\"", "b\"", "c\""].into_iter().find(|open| rest.starts_with(open))?.len();
    Some(opened + quoted_length(&rest[opened..], '"').unwrap_or(rest.len() - opened))
}

/// Returns the length of a literal such as `'x'` or `b'x'` at the start; `None` for a lifetime.
fn character(rest: &str) -> Option<usize> {
    let opened = ["'", "b'"].into_iter().find(|open| rest.starts_with(open))?.len();
    let body = &rest[opened..];
    let is_escape = body.starts_with('\\');
    let is_one = body.chars().nth(1) == Some('\'');
    (is_escape || is_one).then(|| quoted_length(body, '\'')).flatten().map(|length| opened + length)
}

/// Returns the length up to and including the closing quote.
fn quoted_length(body: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return Some(at + c.len_utf8()),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<String> {
        code_only(source).split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn comments_vanish_and_nest() {
        assert_eq!(words("a // unsafe\nb /* x /* unsafe */ y */ c"), ["a", "b", "c"]);
        assert_eq!(words("a /* never closed"), ["a"]);
    }

    #[test]
    fn strings_of_every_kind_vanish() {
        assert_eq!(words(r##"a "un\"safe" b"x" c"x" r"\" br#"" x"# z"##), ["a", "z"]);
    }

    #[test]
    fn a_word_that_ends_in_a_prefix_is_no_string() {
        assert_eq!(words(r#"for"x" bar"#), ["for", "bar"]);
    }

    #[test]
    fn characters_vanish_but_lifetimes_stay() {
        assert_eq!(
            words(r"let x: &'a str = ['{', '\'', b'}', 'é'];"),
            ["let", "x:", "&'a", "str", "=", "[", ",", ",", ",", "];"]
        );
    }

    #[test]
    fn prose_is_every_comment_and_string_with_its_line() {
        let found = prose("// one\nlet a = \"two // no comment\"; 'x' /* three\n four */ r#\"five\"#");
        let found: Vec<_> = found.iter().map(|prose| (prose.line, prose.is_comment, prose.text)).collect();
        let three = "/* three\n four */";
        let expected = [
            (1, true, "// one"),
            (2, false, "\"two // no comment\""),
            (2, true, three),
            (3, false, "r#\"five\"#"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn lines_and_columns_stay() {
        let source = "a \"x\ny\" b\n/* é\n */ c";
        let code = code_only(source);
        assert_eq!(code.lines().count(), source.lines().count());
        assert_eq!(code.lines().nth(1).and_then(|l| l.find('b')), Some(3));
    }
}
