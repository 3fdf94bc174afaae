//! Splits Rust source into code, comments and literals, so that a rule sees only the part that it is about.

/// A file of the workspace, and its code without comments and literals.
pub(super) struct Source {
    /// Path from the root, with forward slashes.
    pub(super) path: String,
    pub(super) text: String,
    /// Text in which spaces replace comments and literals. Each other byte stays where it is.
    pub(super) code: String,
}

impl Source {
    pub(super) fn new(path: String, text: String) -> Self {
        let code = code_only(&text);
        Self { path, text, code }
    }

    /// Returns `true` if the file consists of tests or models.
    pub(super) fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("tests.rs") || self.path.contains("loom_")
    }
}

/// Kind of a piece of source.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Comment,
    Text,
    Character,
    Code,
}

/// Returns the pieces of a source: comments, literals, words, and other characters one by one.
fn pieces(source: &str) -> impl Iterator<Item = (Kind, &str)> {
    let mut rest = source;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (kind, length) = if let Some(length) = comment(rest) {
            (Kind::Comment, length)
        } else if let Some(length) = raw_string(rest).or_else(|| string(rest)) {
            (Kind::Text, length)
        } else if let Some(length) = character(rest) {
            (Kind::Character, length)
        } else {
            (Kind::Code, word(rest))
        };
        let (piece, after) = rest.split_at(length);
        rest = after;
        Some((kind, piece))
    })
}

/// Replaces every comment, string and character literal by spaces.
fn code_only(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    for (kind, piece) in pieces(source) {
        match kind {
            Kind::Code => code.push_str(piece),
            _ => blank(piece, &mut code),
        }
    }
    code
}

/// Writes a space for each byte, except for the ends of lines.
fn blank(piece: &str, out: &mut String) {
    out.extend(piece.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
}

/// Replaces the items that exist only in test builds by spaces: those with `#[cfg(test)]` or `#[cfg(all(test, ..))]`.
pub(super) fn without_tests(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find("#[cfg(") {
        let (before, item) = rest.split_at(at);
        out.push_str(before);
        let condition = &item["#[cfg(".len()..];
        let condition = condition.strip_prefix("all(").unwrap_or(condition);
        let is_test = condition.strip_prefix("test").is_some_and(|after| after.starts_with([',', ')']));
        let (part, after) = item.split_at(if is_test { item_length(item) } else { "#[cfg(".len() });
        if is_test {
            blank(part, &mut out);
        } else {
            out.push_str(part);
        }
        rest = after;
    }
    out + rest
}

/// Returns the length of the item at the start of `code`, which ends with a semicolon or the brace that closes it.
pub(super) fn item_length(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return at,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 && (c == '}' || c == ';') {
            return at + 1;
        }
    }
    code.len()
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
    let mut line = 1;
    for (kind, text) in pieces(source) {
        if matches!(kind, Kind::Comment | Kind::Text) {
            found.push(Prose { line, is_comment: kind == Kind::Comment, text });
        }
        line += text.matches('\n').count();
    }
    found
}

/// Returns each position of `text` in `code` that is not a part of a longer word.
pub(super) fn whole<'a>(code: &'a str, text: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_whole = move |at: &usize| {
        let before = code[..*at].chars().next_back().is_some_and(is_word);
        let after = code[at + text.len()..].starts_with(is_word) && text.ends_with(is_word);
        !before && !after
    };
    code.match_indices(text).map(|(at, _)| at).filter(is_whole)
}

/// Returns the number of the line at a position.
pub(super) fn line_at(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count() + 1
}

/// Returns the identifier at the start of `code`, which may be empty.
pub(super) fn identifier(code: &str) -> &str {
    &code[..code.find(|c| !is_word(c)).unwrap_or(code.len())]
}

/// Returns the length of the word, or the single character, that `rest` starts with.
fn word(rest: &str) -> usize {
    let first = rest.chars().next().map_or(0, char::len_utf8);
    identifier(rest).len().max(first)
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

    #[test]
    fn only_the_condition_test_leaves_code_out() {
        let rest = |code: &str| without_tests(code).split_whitespace().collect::<Vec<_>>().join(" ");
        for cfg in ["test", "all(test, unix)", "all(test)"] {
            let function = format!("a;\n#[cfg({cfg})]\nfn b(c: [u8; 2]) {{ d; {{}} }}\ne;");
            assert_eq!(rest(&function), "a; e;", "{cfg}");
            assert_eq!(rest(&format!("#[cfg({cfg})]\nmod b;\nmod c;")), "mod c;", "{cfg}");
        }
        for cfg in ["all(testing, unix)", "all(test_only)", "not(test)", "any(test, unix)"] {
            assert!(rest(&format!("#[cfg({cfg})]\nmod b;")).ends_with("mod b;"), "{cfg}");
        }
    }

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
        assert_eq!((code.len(), code.lines().count()), (source.len(), source.lines().count()));
        assert_eq!(code.lines().nth(1).and_then(|l| l.find('b')), Some(3));
    }
}
