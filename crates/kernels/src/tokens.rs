//! Splits a text of WGSL into tokens and declarations.

/// Operators of two characters.
const PAIRS: &[&str] =
    &["&&", "||", "<<", ">>", "==", "!=", "<=", ">=", "->", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="];

/// A part of a text of WGSL: a name, a number, a bracket, a separator or an operator. A text in quotes, which only
/// messages contain, is one token; without a closing quote, it ends with its line.
#[derive(Clone, Copy)]
pub(crate) struct Token<'a> {
    /// Byte at which the token begins.
    pub(crate) at: usize,
    pub(crate) text: &'a str,
}

impl Token<'_> {
    /// Returns the byte after the token.
    pub(crate) fn end(self) -> usize {
        self.at + self.text.len()
    }
}

/// A declaration of a module.
#[derive(Clone, Copy)]
pub(crate) struct Declaration<'t, 'a> {
    /// Byte at which the attributes, or otherwise the keyword, begin.
    pub(crate) start: usize,
    /// Tokens of the attributes.
    pub(crate) attributes: &'t [Token<'a>],
    pub(crate) keyword: Token<'a>,
    pub(crate) name: Token<'a>,
    /// Tokens between the keyword and the last one.
    pub(crate) rest: &'t [Token<'a>],
    /// Byte after the declaration.
    pub(crate) end: usize,
}

/// Returns the declarations of a module, except for `const_assert` and directives.
pub(crate) fn declarations<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<Declaration<'t, 'a>> {
    let mut declarations = Vec::new();
    let mut open = 0_usize;
    let mut first = 0;
    let mut keyword = None;
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "fn" | "struct" | "const" | "override" | "alias" | "var" if open == 0 => keyword = Some(at),
            "(" | "[" | "{" => open += 1,
            ")" | "]" | "}" => open = open.saturating_sub(1),
            _ => {}
        }
        if open == 0 && matches!(token.text, ";" | "}") {
            let first = std::mem::replace(&mut first, at + 1);
            let Some(keyword) = keyword.take() else { continue };
            let attributes = &tokens[first..keyword];
            let rest = &tokens[keyword + 1..at];
            let start = tokens[first].at;
            let end = token.end();
            let declared =
                |name| Declaration { start, attributes, keyword: tokens[keyword], name, rest, end };
            declarations.extend(name(rest).map(declared));
        }
    }
    declarations
}

/// Returns the name of a declaration. The address space of a variable comes before it.
pub(crate) fn name<'a>(rest: &[Token<'a>]) -> Option<Token<'a>> {
    let has_space = rest.first().is_some_and(|token| token.text == "<");
    let before = if has_space { rest.iter().position(|token| token.text == ">")? + 1 } else { 0 };
    rest.get(before).copied()
}

/// The names, numbers, brackets, separators and operators of a text, without comments.
pub(crate) struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        Self { text, at: 0 }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let rest = &self.text[self.at..];
            let first = rest.chars().next()?;
            if let Some(length) = comment(rest) {
                self.at += length;
            } else if is_blank(first) {
                self.at += first.len_utf8();
            } else {
                let token = Token { at: self.at, text: &rest[..length(rest, first)] };
                self.at += token.text.len();
                return Some(token);
            }
        }
    }
}

/// Counts the bytes of the token at the beginning of a text.
fn length(rest: &str, first: char) -> usize {
    if first == '"' {
        quoted(rest)
    } else if first.is_ascii_digit() {
        rest.find(|c: char| !is_word(c) && c != '.').unwrap_or(rest.len())
    } else if is_word(first) {
        rest.find(|c: char| !is_word(c)).unwrap_or(rest.len())
    } else if PAIRS.iter().any(|pair| rest.starts_with(pair)) {
        2
    } else {
        first.len_utf8()
    }
}

/// Returns `true` for a character of a name. Outside of comments and texts, WGSL has non-ASCII characters only in
/// names, including combining accents, and as blanks.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || !(c.is_ascii() || is_blank(c))
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{200e}' | '\u{200f}')
}

/// Returns `true` for a character that ends a line, and a comment in it.
fn ends_line(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Counts the bytes of the text in quotes at the beginning of a text.
fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            c if ends_line(c) => return at,
            '"' if !escaped => return at + 1,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    rest.len()
}

/// Counts the bytes of a comment, if the text begins with one. Block comments nest.
fn comment(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find(ends_line).unwrap_or(rest.len()));
    }
    if !rest.starts_with("/*") {
        return None;
    }
    let bytes = rest.as_bytes();
    let mut open = 0_usize;
    let mut at = 0;
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => open += 1,
            [b'*', b'/', ..] => open -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if open == 0 {
            break;
        }
    }
    Some(at)
}
