//! Limits how long a text is and how deep it nests, before naga reads it (rule R09). naga calls itself for each part of a
//! chain of operators, for each `else if`, and for each declaration that needs another one, and it takes a time that rises
//! with the square of the number of expressions: two or three seconds at the limit.

use std::collections::HashMap;

use crate::tokens::{Declaration, Token, Tokens, declarations};
use crate::wording::Finding;

/// Most bytes of a text, with the snippets and files that it uses.
const MOST_TEXT_BYTES: usize = 1 << 20;

/// Most words, numbers and signs of a text, without comments.
const MOST_TOKENS: usize = 150_000;

/// Limits the operators, indices and members of an expression, together with those around it.
const MOST_OPERATORS: usize = 1000;

/// Limits the `else if` of one chain, together with those of the chains around it.
const MOST_BRANCHES: usize = 500;

/// Limits the declarations of a chain in which each needs the next one.
const MOST_NEEDED: usize = 2000;

/// Is the remedy for a part of a text that nests too deeply. An expression of a verb, which has no statement, needs another
/// one.
#[doc(hidden)]
pub const NAME_PARTS: &str = "give parts of it a name";

/// Counts what is open inside one pair of brackets.
#[derive(Default)]
struct Level {
    operators: usize,
    branches: usize,
}

/// Returns the place and the description of the first part of a text that nests too deeply.
pub(crate) fn too_deep(text: &str) -> Option<Finding> {
    if text.len() > MOST_TEXT_BYTES {
        let at = (0..=MOST_TEXT_BYTES).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let message = format!(
            "the text has {} bytes with all that it uses, and the limit is {MOST_TEXT_BYTES}: divide it into several texts",
            text.len()
        );
        return Some(Finding { message, span: naga::Span::new(at as u32, at as u32 + 1) });
    }
    let tokens: Vec<Token<'_>> = Tokens::of(text).collect();
    if let Some(&first) = tokens.get(MOST_TOKENS) {
        let message = format!(
            "the text has {} words, numbers and signs with all that it uses, and the limit is {MOST_TOKENS}: use loops and \
             buffers, or divide it into several texts",
            tokens.len()
        );
        return Some(finding(first, message));
    }
    deep_statement(&tokens).or_else(|| deep_declaration(&tokens))
}

/// Returns the place inside the most brackets.
pub(crate) fn deepest(text: &str) -> naga::Span {
    let (mut open, mut most, mut place) = (0_usize, 0, naga::Span::default());
    for token in Tokens::of(text) {
        match token.text {
            "(" | "[" | "{" => open += 1,
            ")" | "]" | "}" => open = open.saturating_sub(1),
            _ => {}
        }
        if open > most {
            most = open;
            place = naga::Span::new(token.at as u32, (token.at + token.text.len()) as u32);
        }
    }
    place
}

fn finding(token: Token<'_>, message: String) -> Finding {
    let start = token.at as u32;
    Finding { message, span: naga::Span::new(start, start + token.text.len() as u32) }
}

/// Finds an expression with too many operators, or a chain with too many branches.
fn deep_statement(tokens: &[Token<'_>]) -> Option<Finding> {
    let mut levels = vec![Level::default()];
    let (mut operators, mut branches) = (0, 0);
    for (at, &token) in tokens.iter().enumerate() {
        let level = levels.last_mut()?;
        match token.text {
            "," | ";" | "{" => {
                operators -= level.operators;
                level.operators = 0;
            }
            "else" if tokens.get(at + 1).is_some_and(|next| next.text == "if") => {
                level.branches += 1;
                branches += 1;
            }
            ")" | "]" | "}" => {}
            text if text.starts_with(|c: char| c.is_alphanumeric() || c == '_') => {}
            _ => {
                level.operators += 1;
                operators += 1;
            }
        }
        match token.text {
            "(" | "[" | "{" => levels.push(Level::default()),
            ")" | "]" | "}" if levels.len() > 1 => {
                let closed = levels.pop()?;
                operators -= closed.operators;
                branches -= closed.branches;
            }
            _ => {}
        }
        // A block ends its statement, unless an `else` follows.
        if token.text == "}" && tokens.get(at + 1).is_none_or(|next| next.text != "else") {
            let level = levels.last_mut()?;
            branches -= level.branches;
            level.branches = 0;
        }
        if operators > MOST_OPERATORS {
            let mistake = format!("the expression nests or chains more than {MOST_OPERATORS} operators");
            return Some(finding(token, format!("{mistake}: {NAME_PARTS} with `let`")));
        }
        if branches > MOST_BRANCHES {
            let remedy = "use `switch`";
            return Some(finding(
                token,
                format!("the `if` has more than {MOST_BRANCHES} branches with `else if`: {remedy}"),
            ));
        }
    }
    None
}

/// Finds a declaration that needs too many others, one after the other.
fn deep_declaration(tokens: &[Token<'_>]) -> Option<Finding> {
    let declarations = declarations(tokens);
    if declarations.len() <= MOST_NEEDED {
        return None;
    }
    let names: HashMap<&str, usize> =
        declarations.iter().enumerate().map(|(at, declared)| (declared.name.text, at)).collect();
    let needed = |declared: &Declaration<'_, '_>| {
        let others = declared.rest.iter().filter(|token| token.at != declared.name.at);
        others.filter_map(|token| names.get(token.text).copied()).collect()
    };
    let needs: Vec<Vec<usize>> = declarations.iter().map(needed).collect();
    let depths = depths(&needs);
    let deep = depths.iter().position(|&depth| depth > MOST_NEEDED)?;
    let name = declarations[deep].name;
    Some(finding(
        name,
        format!("`{}` needs a chain of more than {MOST_NEEDED} declarations: use fewer", name.text),
    ))
}

/// Returns for each declaration the length of the longest chain that begins with it. A cycle counts once; naga refuses it.
fn depths(needs: &[Vec<usize>]) -> Vec<usize> {
    let (mut depths, mut begun) = (vec![0; needs.len()], vec![false; needs.len()]);
    for first in 0..needs.len() {
        // Holds the declarations of the path, each with the number of its needs that were visited.
        let mut path = vec![(first, 0)];
        while let Some((at, visited)) = path.pop() {
            begun[at] = true;
            if depths[at] > 0 {
                continue;
            }
            match needs[at].get(visited) {
                Some(&next) => {
                    path.push((at, visited + 1));
                    if !begun[next] {
                        path.push((next, 0));
                    }
                }
                None => depths[at] = 1 + needs[at].iter().map(|&next| depths[next]).max().unwrap_or(0),
            }
        }
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Option<String> {
        too_deep(text).map(|finding| finding.message)
    }

    #[test]
    fn an_expression_may_have_as_many_operators_as_the_limit() {
        let sum = |count: usize| format!("fn f() {{ x = 1{}; }}", " + 1".repeat(count));
        // The sign of the assignment counts too.
        assert_eq!(message(&sum(MOST_OPERATORS - 1)), None);
        assert!(message(&sum(MOST_OPERATORS)).is_some_and(|text| text.contains("`let`")));
    }

    #[test]
    fn operators_of_other_statements_arguments_and_comments_do_not_count() {
        for part in
            ["x = -1 + 2;", "x = a[i] + b.c;", "f(-1);", "/* + + */", "// + +\n", "if a < b { x = -y; }"]
        {
            assert_eq!(message(&format!("fn f() {{ {} }}", part.repeat(2000))), None, "{part}");
        }
        assert_eq!(message(&format!("const a = array({}1);", "-1 + 2, ".repeat(2000))), None);
    }

    #[test]
    fn operators_around_an_expression_count_with_its_own() {
        let text =
            |inner: usize| format!("fn f() {{ x = {}1{}; }}", "1 + (".repeat(200), " + 1".repeat(inner));
        assert_eq!(message(&text(500)), None);
        assert!(message(&text(700)).is_some());
    }

    #[test]
    fn branches_of_one_chain_count_and_those_of_another_do_not() {
        let chain = |count: usize| format!("if a {{ }} {} else {{ }}", "else if b { x = 1; }".repeat(count));
        let two = format!("fn f() {{ {0} {0} }}", chain(MOST_BRANCHES));
        assert_eq!(message(&two), None);
        let one = format!("fn f() {{ {} }}", chain(MOST_BRANCHES + 1));
        assert!(message(&one).is_some_and(|text| text.contains("`switch`")));
        let inside =
            format!("fn f() {{ {} else if b {{ {} }} }}", chain(300).replace("else { }", ""), chain(300));
        assert!(message(&inside).is_some());
    }

    #[test]
    fn a_chain_of_declarations_counts_in_both_directions_and_many_declarations_alone_do_not() {
        let chain = |count: usize| (1..count).map(|n| format!("const c{n} = c{};", n - 1));
        let up: String = chain(MOST_NEEDED + 2).collect();
        let down: String = chain(MOST_NEEDED + 2).collect::<Vec<_>>().into_iter().rev().collect();
        for text in [up, down] {
            assert!(message(&format!("const c0 = 1;{text}")).is_some_and(|text| text.contains("chain")));
        }
        let short: String = chain(MOST_NEEDED).collect();
        let flat: String = (0..3 * MOST_NEEDED).map(|n| format!("fn f{n}() {{ return c0; }}")).collect();
        assert_eq!(message(&format!("const c0 = 1;{short}{flat}")), None);
    }

    #[test]
    fn a_text_may_have_as_many_bytes_and_words_as_the_limits() {
        let statements = |count: usize| format!("fn f() {{ {} }}", "x = 1;".repeat(count));
        assert_eq!(message(&statements((MOST_TOKENS - 6) / 4)), None);
        let long = message(&statements(MOST_TOKENS / 4)).expect("it has too many words");
        assert!(long.contains("150006 words") && long.contains("limit is 150000"), "{long}");
        let comment = |bytes: usize| format!("/*{}*/", "é".repeat(bytes / 2 - 2));
        assert_eq!(message(&comment(MOST_TEXT_BYTES)), None);
        let wide = message(&comment(MOST_TEXT_BYTES + 2)).expect("it has too many bytes");
        assert!(wide.contains("1048578 bytes") && wide.contains("limit is 1048576"), "{wide}");
    }

    #[test]
    fn a_cycle_of_declarations_is_left_to_naga() {
        let cycle: String = (0..3000).map(|n| format!("fn f{n}() {{ f{}(); }}", (n + 1) % 3000)).collect();
        too_deep(&cycle);
    }
}
