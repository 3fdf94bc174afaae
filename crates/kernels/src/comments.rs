//! Finds the ends of comments in WGSL.

/// Counts the block comments that are open after a line, starting from `depth` before it: block comments nest.
pub(crate) fn comments(line: &str, mut depth: usize) -> usize {
    let mut rest = line.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail.first()) {
            (b'/', Some(b'/')) if depth == 0 => break,
            (b'/', Some(b'*')) => depth += 1,
            (b'*', Some(b'/')) if depth > 0 => depth -= 1,
            _ => continue,
        }
        rest = &tail[1..];
    }
    depth
}

/// Returns `true` if a text is only comments that end in it.
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
