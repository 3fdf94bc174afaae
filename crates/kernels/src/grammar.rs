//! Finds operators that need brackets in WGSL's grammar, but that naga's parser accepts without them.

use crate::tokens::{Token, Tokens};
use crate::wording::Diagnostic;

/// A kind of binary operators.
#[derive(Clone, Copy, PartialEq, Debug)]
enum OperatorKind {
    Arithmetic,
    Shift,
    Relational,
    Bitwise,
    Logical,
}

/// The binary operators of an expression, up to the brackets around it.
type Operators<'a> = Vec<(OperatorKind, Token<'a>)>;

/// Returns the places where two operators need parentheses.
pub(crate) fn findings(text: &str) -> Vec<Diagnostic> {
    let tokens = split(text);
    let brackets = templates(&tokens);
    let mut levels: Vec<Operators<'_>> = vec![Vec::new()];
    let mut findings = Vec::new();
    let mut after_operand = false;
    let mut at = 0;
    while let Some(&token) = tokens.get(at) {
        let is_template = brackets[at];
        let next = tokens.get(at + 1);
        let is_double = matches!(token.text, "+" | "-")
            && next.is_some_and(|next| next.text == token.text && next.at == token.end());
        if is_double {
            at += 2;
            continue;
        }
        at += 1;
        match token.text {
            "<" if is_template => {
                levels.push(Vec::new());
                after_operand = false;
            }
            ">" if is_template => {
                close(&mut levels, &mut findings);
                after_operand = true;
            }
            "(" | "[" => {
                levels.push(Vec::new());
                after_operand = false;
            }
            ")" | "]" => {
                close(&mut levels, &mut findings);
                after_operand = true;
            }
            text if text.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '"') => {
                after_operand = !["return", "if", "while", "switch", "case", "else", "for"].contains(&text);
                if !after_operand {
                    end(&mut levels, &mut findings);
                }
            }
            "." => after_operand = false,
            text => {
                match kind(text).filter(|_| after_operand) {
                    Some(kind) => levels.last_mut().into_iter().for_each(|level| level.push((kind, token))),
                    None if matches!(text, "!" | "~" | "-" | "&" | "*") => {}
                    None => end(&mut levels, &mut findings),
                }
                after_operand = false;
            }
        }
    }
    while levels.len() > 1 {
        close(&mut levels, &mut findings);
    }
    end(&mut levels, &mut findings);
    findings
}

fn kind(operator: &str) -> Option<OperatorKind> {
    Some(match operator {
        "+" | "-" | "*" | "/" | "%" => OperatorKind::Arithmetic,
        "<<" | ">>" => OperatorKind::Shift,
        "<" | ">" | "<=" | ">=" | "==" | "!=" => OperatorKind::Relational,
        "&" | "|" | "^" => OperatorKind::Bitwise,
        "&&" | "||" => OperatorKind::Logical,
        _ => return None,
    })
}

/// Ends the innermost bracket and the expression in it.
fn close(levels: &mut Vec<Operators<'_>>, findings: &mut Vec<Diagnostic>) {
    end(levels, findings);
    if levels.len() > 1 {
        levels.pop();
    }
}

/// Ends an expression: the next one begins in the same brackets.
fn end(levels: &mut [Operators<'_>], findings: &mut Vec<Diagnostic>) {
    let Some(level) = levels.last_mut() else { return };
    findings.extend(conflict(&std::mem::take(level)));
}

/// Returns the first operator that needs parentheses next to another one.
fn conflict(operators: &Operators<'_>) -> Option<Diagnostic> {
    let mut compared = None;
    for (at, &(kind, token)) in operators.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| operators[before]);
        let other = match kind {
            // The operands of a shift have no operators without brackets.
            OperatorKind::Shift => {
                before.filter(|(kind, _)| matches!(kind, OperatorKind::Arithmetic | OperatorKind::Shift))
            }
            OperatorKind::Arithmetic => before.filter(|(kind, _)| *kind == OperatorKind::Shift),
            OperatorKind::Relational => compared,
            OperatorKind::Logical => {
                let of_other_kind = |(kind, other): &&(OperatorKind, Token<'_>)| {
                    *kind == OperatorKind::Logical && other.text != token.text
                };
                operators[..at].iter().find(of_other_kind).copied()
            }
            OperatorKind::Bitwise => None,
        };
        let of_bits = |(kind, _): &&(OperatorKind, Token<'_>)| *kind == OperatorKind::Bitwise;
        // A bitwise operator may only be next to the same operator.
        let other = other.or_else(|| {
            let first = operators[..at].iter().find(of_bits)?;
            (first.1.text != token.text).then_some(*first)
        });
        let other = other.or_else(|| {
            before.filter(|_| kind == OperatorKind::Bitwise && before.map(|b| b.1.text) != Some(token.text))
        });
        if let Some((_, other)) = other {
            let message = format!(
                "`{}` and `{}` stand in one expression, and WGSL has no order for the two: put brackets around one of them",
                other.text, token.text
            );
            return Some(Diagnostic { message, span: naga::Span::new(token.at as u32, token.end() as u32) });
        }
        match kind {
            OperatorKind::Relational => compared = Some((kind, token)),
            OperatorKind::Logical => compared = None,
            _ => {}
        }
    }
    None
}

/// Splits a text into tokens; `>>` and `>=` are split where they may end template lists.
fn split(text: &str) -> Vec<Token<'_>> {
    let tokens: Vec<_> = Tokens::of(text).collect();
    let ends = |at: usize, opened: &[bool]| opened[at];
    let mut opened = vec![false; tokens.len()];
    for (at, is_end) in template_ends(&tokens).into_iter().enumerate() {
        opened[at] = is_end;
    }
    let mut apart = Vec::with_capacity(tokens.len());
    for (at, &token) in tokens.iter().enumerate() {
        if ends(at, &opened) && token.text.len() == 2 {
            apart.push(Token { at: token.at, text: &token.text[..1] });
            apart.push(Token { at: token.at + 1, text: &token.text[1..] });
        } else {
            apart.push(token);
        }
    }
    apart
}

/// Returns for each token if it ends a template list, by the algorithm in section 3.9 of the specification.
fn template_ends(tokens: &[Token<'_>]) -> Vec<bool> {
    let mut ends = vec![false; tokens.len()];
    discover(tokens, |_, end| ends[end] = true);
    ends
}

/// For each token, returns if it begins or ends a template list.
fn templates(tokens: &[Token<'_>]) -> Vec<bool> {
    let mut brackets = vec![false; tokens.len()];
    discover(tokens, |start, end| {
        brackets[start] = true;
        brackets[end] = true;
    });
    brackets
}

/// Calls a function with the first and the last token of each template list.
fn discover(tokens: &[Token<'_>], mut found: impl FnMut(usize, usize)) {
    let mut open = Vec::<(usize, usize)>::new();
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        let is_name = |token: &Token<'_>| token.text.starts_with(|c: char| c.is_alphabetic() || c == '_');
        match token.text {
            "<" if at > 0 && is_name(&tokens[at - 1]) => open.push((at, depth)),
            ">" | ">>" | ">=" => {
                let most = if token.text == ">>" { 2 } else { 1 };
                for _ in 0..most {
                    if open.last().is_some_and(|&(_, inside)| inside == depth) {
                        let (start, _) = open.pop().expect("bug: the list is open");
                        found(start, at);
                    }
                }
            }
            "(" | "[" => depth += 1,
            ")" | "]" => {
                open.retain(|&(_, inside)| inside < depth);
                depth = depth.saturating_sub(1);
            }
            ";" | "{" | ":" | "=" | "+=" | "-=" | "*=" | "/=" | "%=" | "&=" | "|=" | "^=" => {
                (depth, open) = (0, Vec::new());
            }
            "&&" | "||" => open.retain(|&(_, inside)| inside < depth),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(expression: &str) -> Vec<String> {
        let text = format!("fn f() {{ let x = {expression}; }}");
        findings(&text).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn operators_that_need_brackets_are_found() {
        for expression in [
            "a << b + c",
            "a + b << c",
            "a * b >> c",
            "a << b << c",
            "a >> b * c",
            "a & b | c",
            "a & b + c",
            "a + b & c",
            "a == b & c",
            "a & b == c",
            "a && b || c",
            "a || b && c",
            "a < b < c",
            "a == b == c",
            "a | b && c",
            "f(a << b + c)",
            "x[a & b ^ c]",
            "(a << b + c) * 2",
            "a ^ b << c",
            "-a << b - 1u",
            "vec2<u32>(a & b + c, 1)",
            "array<u32, 4>(a << 1 + 2)[0]",
            "select(a, b, c && d || e)",
        ] {
            assert_eq!(found(expression).len(), 1, "{expression}: {:?}", found(expression));
        }
    }

    #[test]
    fn expressions_of_the_grammar_are_not_found() {
        for expression in [
            "a << (b + c)",
            "(a + b) << c",
            "a << b",
            "a << b < c << d",
            "a + b < c * d && e > f && !g",
            "-a + ~b",
            "a & b & c",
            "a | (b & c)",
            "(a & b) == 0u",
            "a < b || c < d || e",
            "a + b * c - d / e % f",
            "-a * -b",
            "vec2<f32>(a, b) + array<vec4<u32>, 2>(c, d)[0].xy",
            "array<array<u32, 2>, 3>()",
            "f(a < b, c > (d))",
            "x.y << z[1 + 2]",
            "&x",
            "*p + 1",
            "a && b && (c || d)",
            "bitcast<u32>(a) >> 3u",
            "a - -b",
            "!a == b",
            "ptr<function, u32>(x)",
            "a >= b",
            "vec3<bool>(a > b)",
            "1u << 2u",
            "x < (y << 2)",
            "a.b & 3u",
            "select(a & b, c | d, e < f)",
            "x[i + 1] << 2u",
            "f(a) & g(b)",
            "0x1Fu & (1u << i)",
            "(a) & (b)",
        ] {
            assert_eq!(found(expression), Vec::<String>::new(), "{expression}");
        }
    }

    #[test]
    fn statements_and_declarations_are_no_operators() {
        let text = "enable f16;
            const a = 1 << 3; override b: u32 = 4 & 3; alias T = vec2<f32>;
            struct S { @align(16) a: array<vec4<f32>, 4>, b: u32, }
            @group(0) @binding(0) var<storage, read_write> out: array<atomic<u32>>;
            var<workgroup> w: array<u32, 64>;
            fn f(p: ptr<function, u32>, x: u32) -> array<u32, 2> {
                *p = *p + 1; (*p)++; out[x & 1u] += 3 & x; x--;
                for (var i = 0u; i < x && i >= 2; i++) { if i < 3 { continue; } else if (x > 2) { break; } }
                loop { continuing { break if x > 3 && x < 4; } }
                switch x & 3u { case 1, 2: { return array<u32, 2>(1 << x, 2); } default: {} }
                while x < 4 { x += 1; } var y: u32 = x; let z = &y; y <<= 2; y >>= 1; y |= x & 3;
                if (x & 1u) != 0u { y ^= 1; }
                return array(a, b);
            }
            @compute @workgroup_size(8, 8, 1 << 2) fn k(@builtin(global_invocation_id) id: vec3<u32>) { f(); }";
        assert_eq!(findings(text).into_iter().map(|f| f.message).collect::<Vec<_>>(), Vec::<String>::new());
    }
}
