//! Finds the statements `print` and `assert` in the tokens of a text.

use naga::Span;
use std::ops::Range;

use crate::messages::format;
use crate::tokens::Token;
use crate::wording::Diagnostic;

/// A statement `print("text", values...);` or `assert(condition, "text", values...);`.
#[derive(Debug)]
pub(crate) struct MessageStatement {
    /// Range of its bytes, with the semicolon.
    pub(crate) range: Range<usize>,
    /// Range of the condition of an `assert`.
    pub(crate) condition: Option<Range<usize>>,
    /// Texts before, between and after the values.
    pub(crate) pieces: Vec<String>,
    /// Ranges of the values.
    pub(crate) values: Vec<Range<usize>>,
}

/// Returns the statements of a text, which are not nested. A `print` or `assert` that the text itself declares as a
/// function or a type is not such a statement.
///
/// # Errors
/// Returns the first mistake.
pub(crate) fn statements(tokens: &[Token<'_>]) -> Result<Vec<MessageStatement>, Diagnostic> {
    let declares = |name: &str| {
        tokens
            .windows(2)
            .any(|pair| matches!(pair[0].text, "fn" | "struct" | "alias") && pair[1].text == name)
    };
    let [print, assert] = ["print", "assert"].map(|name| !declares(name));
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let opens = tokens.get(at + 1).is_some_and(|next| next.text == "(");
        match token.text {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            "print" | "assert" if opens && !(if token.text == "print" { print } else { assert }) => {
                let arguments = arguments(tokens, at + 2).map(|(arguments, _)| arguments).unwrap_or_default();
                if arguments.iter().any(|argument| is_text(tokens, argument)) {
                    let name = token.text;
                    let message = format!(
                        "`{name}` is the declaration of this shader with that name, which takes no text: give the declaration \
                         another name"
                    );
                    return Err(mistake(token.at..token.end(), message));
                }
            }
            "print" | "assert" if opens => {
                let before = at.checked_sub(1).map(|before| tokens[before].text);
                let (statement, end) = statement(tokens, at)?;
                let begins = depth > 0 && matches!(before, Some("{" | "}" | ";"));
                let ends = tokens.get(end).is_some_and(|next| next.text == ";");
                if !begins || !ends {
                    let name = token.text;
                    return Err(mistake(
                        token.at..token.end(),
                        format!(
                            "`{name}` is a statement of a function, which ends with `;`: it has no value, and is not \
                             part of another statement"
                        ),
                    ));
                }
                let range = statement.range.start..tokens[end].end();
                found.push(MessageStatement { range, ..statement });
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    Ok(found)
}

/// Reads the statement at token `at`, and returns the token after its closing bracket.
fn statement(tokens: &[Token<'_>], at: usize) -> Result<(MessageStatement, usize), Diagnostic> {
    let name = tokens[at];
    let is_assert = name.text == "assert";
    let Some((arguments, end)) = arguments(tokens, at + 2) else {
        return Err(mistake(
            name.at..name.end(),
            format!("the closing `)` of this `{}` is missing", name.text),
        ));
    };
    let mut rest = arguments.into_iter();
    let condition = if is_assert { rest.next() } else { None };
    if is_assert && condition.as_ref().is_none_or(|condition| is_text(tokens, condition)) {
        let message = "`assert` takes a condition first: `assert(x > 0.0, \"x = {}\", x);`";
        return Err(mistake(name.at..name.end(), message.into()));
    }
    let text = rest.next();
    let pieces = match &text {
        Some(text) if is_text(tokens, text) => text_pieces(&tokens[text.start])?,
        None if is_assert => vec![String::new()],
        _ => return Err(no_text(tokens, name, text)),
    };
    let bytes = |tokens_of: Range<usize>| tokens[tokens_of.start].at..tokens[tokens_of.end - 1].end();
    let values: Vec<Range<usize>> = rest.map(bytes).collect();
    let wanted = pieces.len() - 1;
    if values.len() != wanted {
        let at = text.map_or(name.at..name.end(), bytes);
        let message = format!(
            "this text has {} for values, and {}",
            counted(wanted, "`{}`", "`{}`"),
            follow(values.len())
        );
        return Err(mistake(at, message));
    }
    let condition = condition.map(bytes);
    Ok((MessageStatement { range: name.at..name.end(), condition, pieces, values }, end))
}

/// Returns the ranges of the tokens of the arguments after an opening bracket, and the token after the closing one.
pub(crate) fn arguments(tokens: &[Token<'_>], first: usize) -> Option<(Vec<Range<usize>>, usize)> {
    let mut commas: Vec<usize> = Vec::new();
    // Each `<` that may begin a list of types, with the number of brackets around it.
    let mut lists: Vec<(usize, usize)> = Vec::new();
    let mut depth = 0_usize;
    let mut at = first;
    loop {
        match tokens.get(at)?.text {
            "(" | "[" => depth += 1,
            ")" | "]" if depth > 0 => {
                depth -= 1;
                lists.retain(|&(_, around)| around <= depth);
            }
            ")" => break,
            "," if depth == 0 => commas.push(at),
            "<" if is_name(tokens[at - 1].text) => lists.push((at, depth)),
            close @ (">" | ">>") => {
                for _ in 0..close.len() {
                    if let Some((open, _)) = lists.pop_if(|&mut (_, around)| around == depth) {
                        commas.retain(|&comma| comma < open);
                    }
                }
            }
            "&&" | "||" => lists.retain(|&(_, around)| around < depth),
            ";" | "{" | "}" => return None,
            // A list of types contains no text in quotes.
            text if text.starts_with('"') => lists.clear(),
            _ => {}
        }
        at += 1;
    }
    let starts = std::iter::once(first).chain(commas.iter().map(|comma| comma + 1));
    let ends = commas.iter().copied().chain([at]);
    // A comma may follow the last argument.
    Some((
        starts.zip(ends).filter(|(start, end)| start < end).map(|(start, end)| start..end).collect(),
        at + 1,
    ))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_' || !c.is_ascii())
}

/// Returns `true` if an argument is a text in quotes.
fn is_text(tokens: &[Token<'_>], argument: &Range<usize>) -> bool {
    argument.len() == 1 && tokens[argument.start].text.starts_with('"')
}

fn text_pieces(text: &Token<'_>) -> Result<Vec<String>, Diagnostic> {
    format::pieces(text.text).map_err(|(message, at, len)| mistake(text.at + at..text.at + at + len, message))
}

/// Returns the mistake of a statement without a text in quotes.
fn no_text(tokens: &[Token<'_>], name: Token<'_>, found: Option<Range<usize>>) -> Diagnostic {
    let at = found.map_or(name.at..name.end(), |found| tokens[found.start].at..tokens[found.end - 1].end());
    let message = match name.text {
        "assert" => {
            "a text in quotes comes after the condition of `assert`: `assert(x > 0.0, \"x = {}\", x);`"
        }
        _ => "`print` takes a text in quotes first: `print(\"x = {}\", x);`",
    };
    mistake(at, message.into())
}

fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

fn follow(values: usize) -> String {
    match values {
        1 => "1 value follows it".into(),
        values => format!("{values} values follow it"),
    }
}

/// Returns a mistake in these bytes.
pub(crate) fn mistake(bytes: Range<usize>, message: String) -> Diagnostic {
    Diagnostic { message, span: Span::new(bytes.start as u32, bytes.end as u32) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Tokens;

    /// Returns the conditions, the pieces and the values of the statements of a function.
    fn found(body: &str) -> Vec<(Option<String>, Vec<String>, Vec<String>)> {
        let text = format!("fn f() {{ {body} }}");
        let tokens: Vec<_> = Tokens::of(&text).collect();
        let of = |range: &Range<usize>| text[range.clone()].to_owned();
        let statements = statements(&tokens).unwrap_or_else(|finding| panic!("{}", finding.message));
        let parts = |it: &MessageStatement| {
            assert!(of(&it.range).ends_with(';'));
            (it.condition.as_ref().map(of), it.pieces.clone(), it.values.iter().map(of).collect())
        };
        statements.iter().map(parts).collect()
    }

    fn values(arguments: &str) -> Vec<String> {
        let braces = (0..10).map(|count| format!("print(\"{}\", {arguments});", "{}".repeat(count)));
        let text = braces.into_iter().find(|text| {
            let text = format!("fn f() {{ {text} }}");
            statements(&Tokens::of(&text).collect::<Vec<_>>()).is_ok()
        });
        found(&text.expect("some number of values fits")).remove(0).2
    }

    #[test]
    fn commas_in_brackets_and_in_lists_of_types_separate_no_values() {
        assert_eq!(values("a, b"), ["a", "b"]);
        assert_eq!(values("f(a, b)[c, d], e,"), ["f(a, b)[c, d]", "e"]);
        assert_eq!(values("array<u32, 2>(1, 2)[i], b"), ["array<u32, 2>(1, 2)[i]", "b"]);
        assert_eq!(values("array<vec2<u32>, 2>(a, b)[0].x"), ["array<vec2<u32>, 2>(a, b)[0].x"]);
        assert_eq!(
            values("array<array<u32, 2>, 2>(a, b)[0][1], c"),
            ["array<array<u32, 2>, 2>(a, b)[0][1]", "c"]
        );
        assert_eq!(values("a < b, c"), ["a < b", "c"]);
        assert_eq!(values("(a < b), c > d"), ["(a < b)", "c > d"]);
        assert_eq!(values("a < b && true, c > d"), ["a < b && true", "c > d"]);
        assert_eq!(values("1 < b, c > d"), ["1 < b", "c > d"]);
        assert_eq!(
            found("assert(i < n, \"{} of {}\", i, n >> 1u);")[0],
            (
                Some("i < n".into()),
                vec!["".into(), " of ".into(), "".into()],
                vec!["i".into(), "n >> 1u".into()]
            )
        );
    }

    #[test]
    fn statements_are_found_outside_of_comments_and_texts() {
        let all = found("print(\"a // b\"); // print(\"c\")\n/* assert(x); */ assert(x /* , y */ > 0, /**/ \"{ } print(\", );".replace("{ }", "{{ }}").as_str());
        assert_eq!(all.len(), 2);
        assert_eq!(all[0], (None, vec!["a // b".into()], vec![]));
        assert_eq!(all[1], (Some("x /* , y */ > 0".into()), vec!["{ } print(".into()], vec![]));
        assert_eq!(found("assert(a);")[0], (Some("a".into()), vec![String::new()], vec![]));
        assert!(found("blueprint(a); const_assert(b); x.print = 1;").is_empty());
    }

    #[test]
    fn a_function_or_a_type_of_the_text_keeps_its_name() {
        for text in [
            "fn print(x: u32) {} fn f() { print(1u); }",
            "fn assert(x: bool) {} fn f() { assert(true); }",
            "struct assert { x: u32 } fn f() { let a = assert(1u); }",
            "alias print = vec2<u32>; fn f() { let a = print(1u, 2u); }",
        ] {
            let tokens: Vec<_> = Tokens::of(text).collect();
            assert!(statements(&tokens).is_ok_and(|found| found.is_empty()), "{text}");
        }
        for text in [
            "fn print(x: u32) {} fn f() { print(\"a\"); }",
            "struct assert { x: u32 } fn f() { assert(true, \"a\"); }",
        ] {
            let found = statements(&Tokens::of(text).collect::<Vec<_>>()).expect_err(text).message;
            assert!(found.contains("is the declaration of this shader"), "{found}");
        }
    }

    #[test]
    fn a_mistake_names_its_part_and_the_remedy() {
        for (body, part, message) in [
            ("print(x);", "x", "`print` takes a text in quotes first"),
            ("print();", "print", "`print` takes a text in quotes first"),
            ("print(\"{}\");", "\"{}\"", "this text has 1 `{}` for values, and 0 values follow it"),
            ("print(\"{}{}\", x);", "\"{}{}\"", "this text has 2 `{}` for values, and 1 value follows it"),
            ("assert();", "assert", "`assert` takes a condition first"),
            ("assert(\"x\");", "assert", "`assert` takes a condition first"),
            ("assert(a, b);", "b", "a text in quotes comes after the condition"),
            ("assert(a, \"m\", b);", "\"m\"", "this text has 0 `{}` for values, and 1 value follows it"),
            ("print(\"a;", "print", "the closing `)` of this `print` is missing"),
            ("print(\"{\");", "{", "`{}` stands for a value"),
            ("let x = print(\"a\");", "print", "`print` is a statement of a function"),
            ("for (;; print(\"a\")) {}", "print", "`print` is a statement of a function"),
            ("for (;; assert(a)) {}", "assert", "`assert` is a statement of a function"),
            ("print(\"a\")", "print", "`print` is a statement of a function"),
        ] {
            let text = format!("fn f() {{ {body} }}");
            let Diagnostic { message: found, span } =
                statements(&Tokens::of(&text).collect::<Vec<_>>()).expect_err(body);
            assert!(found.starts_with(message), "{body}: {found}");
            assert_eq!(&text[span.to_range().unwrap()], part, "{body}");
        }
        let outside = "print(\"a\");";
        assert!(statements(&Tokens::of(outside).collect::<Vec<_>>()).is_err());
    }
}
