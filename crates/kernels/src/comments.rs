//! Finds the ends of comments in WGSL.

/// Returns the number of block comments that are open after a line, if `depth` are open before it. Block comments nest.
/// There are no comments inside quotes.
pub(crate) fn comments(line: &str, mut depth: usize) -> usize {
    let mut rest = line.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail.first()) {
            (b'/', Some(b'/')) if depth == 0 => break,
            (b'/', Some(b'*')) => depth += 1,
            (b'*', Some(b'/')) if depth > 0 => depth -= 1,
            (b'"', _) if depth == 0 => {
                rest = after_quotes(tail);
                continue;
            }
            _ => continue,
        }
        rest = &tail[1..];
    }
    depth
}

/// Returns what follows the closing quote of a text, or nothing if it has none. A backslash escapes a quote.
fn after_quotes(text: &[u8]) -> &[u8] {
    let mut escaped = false;
    let end = text.iter().position(|&byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    });
    end.map_or(&[], |end| &text[end + 1..])
}

/// Returns `true` if a text consists only of complete comments.
pub(crate) fn is_comment(text: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_begins_outside_of_texts_and_of_other_comments() {
        assert_eq!(comments("a /* b /* c */", 0), 1);
        assert_eq!(comments("c */ d // /*", 1), 0);
        assert_eq!(comments(r#"print("a /* b"); /* c"#, 0), 1);
        assert_eq!(comments(r#"print("a \" /* b");"#, 0), 0);
        assert_eq!(comments(r#"" */ /* ""#, 1), 1);
        assert_eq!(comments(r#"print("not closed /*"#, 0), 0);
    }
}
