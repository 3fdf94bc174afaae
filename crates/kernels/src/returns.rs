//! Repairs the ends of functions that return a value.
//!
//! naga 30 adds a `return` without a value at the end of each block that might end without one, even after a loop that can
//! only be left by `return`, and then refuses it. On the other hand, it accepts a function whose end is reached by a
//! `break` out of a `switch`.

use naga::{Block, Expression, Function, Handle, Module, Span, Statement, SwitchCase};

use crate::tokens::{Token, Tokens, declarations};
use crate::visit::for_each_function;

/// Gives a value to `return` statements that naga has added in unreachable places. Adds a `return` without a value at
/// the reachable end of a function, so that the validator refuses it.
pub(crate) fn complete(module: &mut Module) {
    for_each_function(module, 0, |_, function| complete_function(function));
}

fn complete_function(function: &mut Function) {
    let Some(result) = &function.result else { return };
    if exits(&function.body).next {
        function.body.push(Statement::Return { value: None }, Span::UNDEFINED);
        return;
    }
    if has_added_return(&function.body) {
        let zero = function.expressions.append(Expression::ZeroValue(result.ty), Span::UNDEFINED);
        give_values(&mut function.body, zero);
    }
}

/// Returns a text in which functions that have a loop, and end with another statement than `return`, end with the `return`
/// of a zero, which is never reached. The text is valid without it, but not for a browser that contains naga. No line
/// moves.
///
/// Aliases at the end of the text name the types of the results, because inside of a function another name may hide that
/// of a type.
pub fn with_final_returns(text: &str) -> String {
    let tokens: Vec<Token<'_>> = Tokens::of(text).collect();
    let is_free = |prefix: &String| !tokens.iter().any(|token| token.text.starts_with(prefix.as_str()));
    let prefix = (0..).map(|number| format!("result{number}_")).find(is_free);
    let prefix = prefix.expect("a text has fewer words than there are numbers");
    let mut aliases = String::new();
    let mut number = 0;
    let mut changed = String::with_capacity(text.len());
    let mut from = 0;
    for function in declarations(&tokens).into_iter().filter(|declared| declared.keyword.text == "fn") {
        let Some(result) = unended(function.rest) else { continue };
        let end = function.end - 1;
        changed += &text[from..end];
        changed += &format!(" return {prefix}{number}(); ");
        aliases += &format!("\nalias {prefix}{number} = {result};");
        number += 1;
        from = end;
    }
    changed + &text[from..] + &aliases
}

/// Returns the type of a function's result, if the function has a loop and does not end with `return`. `rest` are the tokens
/// between `fn` and the closing bracket.
fn unended(rest: &[Token<'_>]) -> Option<String> {
    let open = rest.iter().position(|token| token.text == "{")?;
    let arrow = rest[..open].iter().position(|token| token.text == "->")?;
    let result = &rest[arrow + 1..open];
    let body = &rest[open + 1..];
    let has_loop = body.iter().any(|token| ["loop", "for", "while"].contains(&token.text));
    let is_ended = last_statement(body).is_some_and(|first| first.text == "return");
    // The result of an entry point of another stage may begin with an attribute.
    let is_type = result.first().is_some_and(|token| token.text != "@");
    let result = result.iter().map(|token| token.text).collect::<Vec<_>>().join(" ");
    (has_loop && !is_ended && is_type).then_some(result)
}

/// Returns the first token of the last statement of a body.
fn last_statement<'a>(body: &[Token<'a>]) -> Option<Token<'a>> {
    let mut depth = 0_usize;
    let mut first = None;
    let mut last = None;
    for token in body {
        if depth == 0 && first.is_none() && token.text != ";" {
            first = Some(*token);
            last = first;
        }
        match token.text {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && matches!(token.text, ";" | "}") {
            first = None;
        }
    }
    last
}

/// Ways in which a block ends.
#[derive(Clone, Copy, Default)]
struct BlockExits {
    /// `true` if the statement after the block may run.
    next: bool,
    /// `true` if a `break` may leave the loop or `switch` around the block.
    leaves: bool,
}

/// Returns the ways in which a block ends. Conditions may have any value.
fn exits(block: &Block) -> BlockExits {
    let mut all = BlockExits { next: true, leaves: false };
    for statement in block {
        let exits = statement_exits(statement);
        all.leaves |= exits.leaves;
        if !exits.next {
            return BlockExits { next: false, ..all };
        }
    }
    all
}

fn statement_exits(statement: &Statement) -> BlockExits {
    match statement {
        Statement::Return { .. } | Statement::Kill | Statement::Continue => BlockExits::default(),
        Statement::Break => BlockExits { next: false, leaves: true },
        Statement::Block(block) => exits(block),
        Statement::If { accept, reject, .. } => {
            let [accept, reject] = [exits(accept), exits(reject)];
            BlockExits { next: accept.next || reject.next, leaves: accept.leaves || reject.leaves }
        }
        Statement::Switch { cases, .. } => {
            let falls = |case: &SwitchCase| !case.fall_through && exits(&case.body).next;
            let next = cases.iter().any(|case| falls(case) || exits(&case.body).leaves);
            BlockExits { next, leaves: false }
        }
        Statement::Loop { body, break_if, .. } => {
            BlockExits { next: break_if.is_some() || exits(body).leaves, leaves: false }
        }
        _ => BlockExits { next: true, leaves: false },
    }
}

fn is_added(statement: &Statement, span: Span) -> bool {
    matches!(statement, Statement::Return { value: None }) && !span.is_defined()
}

fn has_added_return(block: &Block) -> bool {
    block.span_iter().any(|(statement, &span)| {
        is_added(statement, span)
            || match statement {
                Statement::Block(block) => has_added_return(block),
                Statement::If { accept, reject, .. } => has_added_return(accept) || has_added_return(reject),
                Statement::Switch { cases, .. } => cases.iter().any(|case| has_added_return(&case.body)),
                Statement::Loop { body, .. } => has_added_return(body),
                _ => false,
            }
    })
}

/// Gives a value to added `return` statements that are unreachable.
fn give_values(block: &mut Block, zero: Handle<Expression>) {
    let mut is_reached = true;
    for (statement, span) in block.span_iter_mut() {
        let is_added = span.is_some_and(|span| is_added(statement, *span));
        match statement {
            Statement::Return { value } if is_added && !is_reached => *value = Some(zero),
            Statement::Block(block) => give_values(block, zero),
            Statement::If { accept, reject, .. } => {
                give_values(accept, zero);
                give_values(reject, zero);
            }
            Statement::Switch { cases, .. } => {
                cases.iter_mut().for_each(|case| give_values(&mut case.body, zero));
            }
            Statement::Loop { body, .. } => give_values(body, zero),
            _ => {}
        }
        is_reached &= statement_exits(statement).next;
    }
}

#[cfg(test)]
mod tests {
    use super::with_final_returns;
    use naga::valid::{Capabilities, ValidationFlags, Validator};

    #[test]
    fn a_text_gets_a_final_return_where_naga_needs_one() {
        for (text, changed) in [
            (
                "fn f() -> u32 { loop { return 1u; } }",
                "fn f() -> u32 { loop { return 1u; }  return result0_0(); }\nalias result0_0 = u32;",
            ),
            (
                "fn f(a: vec2<u32>) -> vec2<u32> // never 0\n{ for (;;) { return a; } } fn g() {}",
                "fn f(a: vec2<u32>) -> vec2<u32> // never 0\n{ for (;;) { return a; }  return result0_0(); } fn g() {}
alias result0_0 = vec2 < u32 >;",
            ),
            (
                "fn f(c: u32) -> u32 { if c == 1u { return 2u; } else { loop { return (c); } } }",
                "fn f(c: u32) -> u32 { if c == 1u { return 2u; } else { loop { return (c); } }  return result0_0(); }
alias result0_0 = u32;",
            ),
            (
                "struct hit { t: f32 } const result0_ = 1; fn f() -> hit { var hit = hit(1.0); loop { return hit; } }",
                "struct hit { t: f32 } const result0_ = 1; fn f() -> hit { var hit = hit(1.0); loop { return hit; }  \
                 return result1_0(); }\nalias result1_0 = hit;",
            ),
        ] {
            assert_eq!(with_final_returns(text), changed);
            for (text, is_valid) in [(text, false), (changed, true)] {
                let module = naga::front::wgsl::parse_str(text).unwrap();
                let found = Validator::new(ValidationFlags::all(), Capabilities::all()).validate(&module);
                assert_eq!(found.is_ok(), is_valid, "{text}");
            }
        }
        for text in [
            "fn f() { loop { break; } }",
            "fn f(a: u32) -> u32 { var x = a; while x > 9u { x -= 3u; } return x; }",
            "fn f(a: u32) -> u32 { for (;;) { break; } { } ; return g(array(a, 1u)[0], (a)); }",
            "fn f(a: u32) -> u32 { if a > 1u { return a; } else { return 3u; } }",
            "// fn f() -> u32 { loop {} }\nconst x = 1;",
        ] {
            assert_eq!(with_final_returns(text), text);
        }
    }

    /// Returns `true` if a function with a result is valid.
    fn is_valid(body: &str) -> bool {
        let text = format!("fn f(c: u32) -> u32 {{ {body} }}");
        let mut module = naga::front::wgsl::parse_str(&text).unwrap();
        super::complete(&mut module);
        Validator::new(ValidationFlags::all(), Capabilities::all()).validate(&module).is_ok()
    }

    #[test]
    fn a_function_that_only_a_return_leaves_is_valid() {
        for body in [
            "loop { if c == 1u { return 1u; } }",
            "for (;;) { return 1u; }",
            "var i = 0u; loop { if i == c { return i; } continuing { i++; } }",
            "if c == 1u { return 2u; } else { loop { if c == 3u { return 1u; } } }",
            "switch c { case 1u: { return 1u; } default: { loop { return 2u; } } }",
            "loop { switch c { case 1u: { break; } default: { return 7u; } } }",
            "loop { loop { if c == 2u { break; } } if c == 3u { continue; } return 4u; }",
            "{ loop { return c; } }",
            "return c;",
        ] {
            assert!(is_valid(body), "{body}");
        }
    }

    #[test]
    fn a_function_that_ends_without_a_value_is_refused() {
        for body in [
            "",
            "loop { if c == 1u { return 1u; } if c == 2u { break; } }",
            "loop { if c == 1u { return 1u; } continuing { break if c == 2u; } }",
            "while c < 3u { return 1u; }",
            "for (var i = 0u; i < c; i++) { return 1u; }",
            "if c == 1u { return 2u; } else { loop { break; } }",
            "if c == 1u { return 2u; }",
            "switch c { case 1u: { break; } default: { return 7u; } }",
            "switch c { case 1u: { if c == 1u { break; } return 2u; } default: { return 7u; } }",
            "loop { if c == 1u { return; } }",
        ] {
            assert!(!is_valid(body), "{body}");
        }
    }
}
