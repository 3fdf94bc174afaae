//! The texts in quotes of `print` and `assert`.

/// Splits a text in quotes, with the quotes, at each `{}`.
///
/// # Errors
/// Returns the mistake, and its place in the text: the first byte and the number of bytes.
pub(crate) fn pieces(quoted: &str) -> Result<Vec<String>, (String, usize, usize)> {
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let Some(inner) = inner.filter(|_| quoted.len() > 1 && !ends_escaped(quoted)) else {
        return Err(("the closing `\"` of this text is missing in its line".into(), 0, quoted.len()));
    };
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let mut chars = inner.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|&(_, next)| next);
        match (c, next) {
            ('\\', Some(escaped)) => {
                piece.push(unescaped(escaped).ok_or_else(|| unknown_escape(escaped, at + 1))?)
            }
            ('{', Some('{')) | ('}', Some('}')) => piece.push(c),
            ('{', Some('}')) => pieces.push(std::mem::take(&mut piece)),
            ('{' | '}', _) => return Err((BRACE.into(), at + 1, 1)),
            _ => {
                piece.push(c);
                continue;
            }
        }
        chars.next();
    }
    pieces.push(piece);
    Ok(pieces)
}

/// Message for a brace that is not part of `{}`.
const BRACE: &str = "`{}` stands for a value, without a name and a format: write `{{` or `}}` for a brace";

/// Returns `true` if the last quote belongs to the text, because it follows an odd number of backslashes.
fn ends_escaped(quoted: &str) -> bool {
    let before = &quoted[..quoted.len() - 1];
    (before.len() - before.trim_end_matches('\\').len()) % 2 == 1
}

fn unescaped(c: char) -> Option<char> {
    match c {
        'n' => Some('\n'),
        't' => Some('\t'),
        '"' | '\\' => Some(c),
        _ => None,
    }
}

fn unknown_escape(c: char, at: usize) -> (String, usize, usize) {
    let known = "there are `\\n`, `\\t`, `\\\"` and `\\\\`";
    (format!("a text has no character `\\{c}`; {known}"), at, 1 + c.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split_at_its_values() {
        let split = |text: &str| pieces(text).unwrap();
        assert_eq!(split(r#""""#), [""]);
        assert_eq!(split(r#""{}""#), ["", ""]);
        assert_eq!(split(r#""x = {} at {}!""#), ["x = ", " at ", "!"]);
        assert_eq!(split(r#""{{{}}} }}""#), ["{", "} }"]);
        assert_eq!(split(r#""é\n\t\"\\""#), ["é\n\t\"\\"]);
    }

    #[test]
    fn a_mistake_names_its_bytes() {
        let mistake = |text: &str| {
            let (message, at, len) = pieces(text).unwrap_err();
            (message, text[at..at + len].to_owned())
        };
        for text in ["\"", "\"a", r#""a\""#, r#""\\\""#] {
            assert!(mistake(text).0.starts_with("the closing `\"`"), "{text}");
        }
        for (text, part) in [("\"a {x}\"", "{"), ("\"a }\"", "}"), ("\"{\"", "{"), ("\"{:?}\"", "{")] {
            assert_eq!(mistake(text), (BRACE.into(), part.into()), "{text}");
        }
        let (message, part) = mistake(r#""é \q""#);
        assert!(message.contains("no character `\\q`; there are `\\n`") && part == "\\q", "{message}");
    }
}
