//! Limits the length and nesting depth of a shader before naga reads it (rule R09). naga recurses for each part of a
//! chain of operators, for each `else if`, and for each declaration that needs another one. Its time grows with
//! the square of the number of expressions of a function.

use std::collections::{HashMap, HashSet};

use crate::tokens::{Declaration, Token, Tokens, declarations, name as declared_name};
use crate::wording::Diagnostic;

/// Maximum size of a shader in bytes, including the snippets and files that it uses.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// Maximum number of tokens of a shader, without comments.
const MAX_TOKENS: usize = 100_000;

/// Maximum count of numbers in a constant or a struct; an array of a struct counts as one element. Declarations that
/// each contain the previous one twice grow exponentially.
const MAX_OF_CONSTANT: u64 = 1 << 16;

/// Maximum count of numbers in all constants together, each counted as often as the shader names it. The parser and the
/// back ends write a constant again in many of these places.
const MAX_OF_CONSTANTS: u64 = 1 << 22;

/// Maximum number of operators, indices and member accesses of an expression, including enclosing expressions.
const MAX_OPERATORS: usize = 1000;

/// Maximum number of `else if` in a chain, including enclosing chains.
const MAX_BRANCHES: usize = 500;

/// Maximum length of a chain of declarations that each need the next one.
const MAX_NEEDED: usize = 2000;

/// Advice for a part of a shader that nests too deeply. The verbs replace it in their messages, because an expression
/// has no statements.
#[doc(hidden)]
pub const NESTING_ADVICE: &str = "give parts of it a name";

/// Open operators and branches inside one pair of brackets.
#[derive(Default)]
struct Level {
    operators: usize,
    branches: usize,
}

/// Returns the place and a description of the first part of a text that nests too deeply.
pub(crate) fn over_limit(text: &str) -> Option<Diagnostic> {
    if text.len() > MAX_TEXT_BYTES {
        let at = (0..=MAX_TEXT_BYTES).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let message = format!(
            "the text has {} bytes with all that it uses, and the limit is {MAX_TEXT_BYTES}: divide it into several texts",
            text.len()
        );
        return Some(Diagnostic { message, span: naga::Span::new(at as u32, at as u32 + 1) });
    }
    let tokens: Vec<Token<'_>> = Tokens::of(text).collect();
    if let Some(&first) = tokens.get(MAX_TOKENS) {
        let message = format!(
            "the text has {} words, numbers and signs with all that it uses, and the limit is {MAX_TOKENS}: use loops and \
             buffers, or divide it into several texts",
            tokens.len()
        );
        return Some(finding(first, message));
    }
    deep_statement(&tokens).or_else(|| deep_declaration(&tokens)).or_else(|| large_constant(&tokens))
}

/// Returns the most deeply nested place.
pub(crate) fn deepest(text: &str) -> naga::Span {
    let mut open = 0_usize;
    let mut most = 0;
    let mut place = naga::Span::default();
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

fn finding(token: Token<'_>, message: String) -> Diagnostic {
    let start = token.at as u32;
    Diagnostic { message, span: naga::Span::new(start, start + token.text.len() as u32) }
}

/// Finds an expression with too many operators, or a chain with too many branches.
fn deep_statement(tokens: &[Token<'_>]) -> Option<Diagnostic> {
    let mut levels = vec![Level::default()];
    let mut operators = 0;
    let mut branches = 0;
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
        if operators > MAX_OPERATORS {
            let mistake = format!("the expression nests or chains more than {MAX_OPERATORS} operators");
            return Some(finding(token, format!("{mistake}: {NESTING_ADVICE} with `let`")));
        }
        if branches > MAX_BRANCHES {
            let remedy = "use `switch`";
            return Some(finding(
                token,
                format!("the `if` has more than {MAX_BRANCHES} branches with `else if`: {remedy}"),
            ));
        }
    }
    None
}

/// Finds a declaration that starts too long a chain of needed declarations.
fn deep_declaration(tokens: &[Token<'_>]) -> Option<Diagnostic> {
    let declarations = declarations(tokens);
    if declarations.len() <= MAX_NEEDED {
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
    let deep = depths.iter().position(|&depth| depth > MAX_NEEDED)?;
    let name = declarations[deep].name;
    Some(finding(
        name,
        format!("`{}` needs a chain of more than {MAX_NEEDED} declarations: use fewer", name.text),
    ))
}

/// Returns for each declaration the length of the longest chain that begins with it. A cycle counts once; naga refuses it.
fn depths(needs: &[Vec<usize>]) -> Vec<usize> {
    let mut depths = vec![0; needs.len()];
    let mut begun = vec![false; needs.len()];
    for first in 0..needs.len() {
        // The declarations on the current path, each with the number of its visited needs.
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

/// Finds a constant that expands to too many numbers, or the place where the total becomes too large.
fn large_constant(tokens: &[Token<'_>]) -> Option<Diagnostic> {
    let constants = Constants::of(tokens);
    for (name, _) in &constants.values {
        let numbers = constants.numbers(name.text);
        if numbers > MAX_OF_CONSTANT {
            let message = format!(
                "`{}` expands to {numbers} numbers, and the limit is {MAX_OF_CONSTANT}: use an array in a buffer, or compute the \
                 numbers in a loop",
                name.text
            );
            return Some(finding(*name, message));
        }
    }
    let mut all = 0_u64;
    for &token in tokens {
        all = all.saturating_add(constants.numbers(token.text));
        if all > MAX_OF_CONSTANTS {
            let message = format!(
                "the constants that the text names expand to more than {MAX_OF_CONSTANTS} numbers together, each as often as \
                 it is named: name large ones less often, as in a loop, or use a buffer"
            );
            return Some(finding(token, message));
        }
    }
    None
}

/// Returns `true` for the name of a scalar, vector or matrix type, and for `true` and `false`.
fn is_type(name: &str) -> bool {
    let scalar = ["u32", "i32", "f32", "f16", "u64", "i64", "f64", "bool", "true", "false"].contains(&name);
    scalar || name.starts_with("vec") || name.starts_with("mat")
}

/// The values of all constants with one name.
type ValuesByName<'t, 'a> = HashMap<&'a str, Vec<&'t [Token<'a>]>>;

/// The `const` and the constant `let` declarations of a text, inside and outside of functions, and the structs.
struct Constants<'t, 'a> {
    /// Name and value of each; for a struct, the members instead of a value.
    values: Vec<(Token<'a>, &'t [Token<'a>])>,
    /// Count of numbers in the constants with each name; the maximum if there are several.
    numbers: HashMap<&'a str, u64>,
}

impl<'t, 'a> Constants<'t, 'a> {
    fn of(tokens: &'t [Token<'a>]) -> Self {
        let named = |keywords: &'static [&str]| {
            let pairs = tokens.windows(2).filter(|pair| keywords.contains(&pair[0].text));
            pairs.map(|pair| pair[1].text).collect::<HashSet<_>>()
        };
        let mut composites = named(&["struct", "alias"]);
        let functions = named(&["fn"]);
        composites.insert("array");
        let mut constants = Self { values: Vec::new(), numbers: HashMap::new() };
        // Names declared in each open block, with `true` for a constant.
        let mut scopes =
            vec![named(&["const"]).into_iter().map(|name| (name, true)).collect::<HashMap<_, _>>()];
        for (at, token) in tokens.iter().enumerate() {
            match (token.text, tokens.get(at + 1)) {
                ("{", _) => scopes.push(HashMap::new()),
                ("struct", Some(&name)) => {
                    let rest = &tokens[at + 2..];
                    let end = rest.iter().position(|token| token.text == "}").unwrap_or(rest.len());
                    constants.values.push((name, &rest[..end]));
                }
                ("}", _) if scopes.len() > 1 => {
                    scopes.pop();
                }
                (keyword @ ("const" | "let" | "var"), Some(_)) => {
                    let rest = &tokens[at + 1..];
                    let Some(name) = declared_name(rest) else { continue };
                    let rest = &rest[..rest.iter().position(|token| token.text == ";").unwrap_or(rest.len())];
                    let start =
                        rest.iter().position(|token| token.text == "=").map_or(rest.len(), |at| at + 1);
                    let value = &rest[start..];
                    let known = |name: &str| scopes.iter().rev().find_map(|scope| scope.get(name).copied());
                    let is_constant = |(at, token): (usize, &Token<'_>)| {
                        let next = value.get(at + 1).map_or("", |next| next.text);
                        let is_called = matches!(next, "(" | "<") && !functions.contains(token.text);
                        let is_member = at > 0 && value[at - 1].text == ".";
                        let is_name = token.text.starts_with(|c: char| c.is_alphabetic() || c == '_');
                        let is_type = is_type(token.text) || composites.contains(token.text);
                        known(token.text).unwrap_or(is_called || is_member || is_type || !is_name)
                    };
                    let constant =
                        keyword == "const" || keyword == "let" && value.iter().enumerate().all(is_constant);
                    if constant {
                        constants.values.push((name, value));
                    }
                    if let Some(scope) = scopes.last_mut() {
                        scope.insert(name.text, constant);
                    }
                }
                _ => {}
            }
        }
        let mut by_name = ValuesByName::new();
        for &(name, value) in &constants.values {
            by_name.entry(name.text).or_default().push(value);
        }
        for at in 0..constants.values.len() {
            constants.count(constants.values[at].0.text, &by_name, &composites);
        }
        constants
    }

    /// Counts the numbers in a constant, including the constants that it is made of.
    fn count(&mut self, name: &'a str, values: &ValuesByName<'t, 'a>, composites: &HashSet<&str>) {
        // A name that occurs in its own value refers to another declaration there.
        let mut open = vec![name];
        let mut begun = HashSet::new();
        while let Some(&name) = open.last() {
            if self.numbers.contains_key(name) {
                open.pop();
            } else if begun.insert(name) {
                let words = values[name].iter().copied().flatten().map(|token| token.text);
                open.extend(words.filter(|word| {
                    values.contains_key(word) && !self.numbers.contains_key(word) && !begun.contains(word)
                }));
            } else {
                let most = values[name].iter().map(|value| self.of_value(value, composites)).max();
                self.numbers.insert(name, most.unwrap_or(1));
                open.pop();
            }
        }
    }

    fn of_value(&self, value: &[Token<'_>], composites: &HashSet<&str>) -> u64 {
        let is_struct = value.iter().any(|token| token.text == ":");
        let is_number = |token: &Token<'_>| {
            if is_struct { is_type(token.text) } else { token.text.starts_with(|c: char| c.is_ascii_digit()) }
        };
        let numbers = value.iter().map(|token| self.numbers(token.text).max(u64::from(is_number(token))));
        // The result of an operation has as many numbers as an operand; an array or a struct has those of all its
        // parts.
        if is_struct || value.iter().any(|token| composites.contains(token.text)) {
            numbers.fold(0, u64::saturating_add).max(1)
        } else {
            numbers.max().unwrap_or(1).max(1)
        }
    }

    /// Returns the count of numbers in a constant; 0 for another word.
    fn numbers(&self, name: &str) -> u64 {
        self.numbers.get(name).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Option<String> {
        over_limit(text).map(|finding| finding.message)
    }

    #[test]
    fn an_expression_may_have_as_many_operators_as_the_limit() {
        let sum = |count: usize| format!("fn f() {{ x = 1{}; }}", " + 1".repeat(count));
        // The `=` of the assignment counts too.
        assert_eq!(message(&sum(MAX_OPERATORS - 1)), None);
        assert!(message(&sum(MAX_OPERATORS)).is_some_and(|text| text.contains("`let`")));
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
        let two = format!("fn f() {{ {0} {0} }}", chain(MAX_BRANCHES));
        assert_eq!(message(&two), None);
        let one = format!("fn f() {{ {} }}", chain(MAX_BRANCHES + 1));
        assert!(message(&one).is_some_and(|text| text.contains("`switch`")));
        let inside =
            format!("fn f() {{ {} else if b {{ {} }} }}", chain(300).replace("else { }", ""), chain(300));
        assert!(message(&inside).is_some());
    }

    #[test]
    fn a_chain_of_declarations_counts_in_both_directions_and_many_declarations_alone_do_not() {
        let chain = |count: usize| (1..count).map(|n| format!("const c{n} = c{};", n - 1));
        let up: String = chain(MAX_NEEDED + 2).collect();
        let down: String = chain(MAX_NEEDED + 2).collect::<Vec<_>>().into_iter().rev().collect();
        for text in [up, down] {
            assert!(message(&format!("const c0 = 1;{text}")).is_some_and(|text| text.contains("chain")));
        }
        let short: String = chain(MAX_NEEDED).collect();
        let flat: String = (0..3 * MAX_NEEDED).map(|n| format!("fn f{n}() {{ return c0; }}")).collect();
        assert_eq!(message(&format!("const c0 = 1;{short}{flat}")), None);
    }

    #[test]
    fn a_text_may_have_as_many_bytes_and_words_as_the_limits() {
        let statements = |count: usize| format!("fn f() {{ {} }}", "x = 1;".repeat(count));
        assert_eq!(message(&statements((MAX_TOKENS - 6) / 4)), None);
        let long = message(&statements(MAX_TOKENS / 4)).expect("it has too many words");
        assert!(long.contains("100006 words") && long.contains("limit is 100000"), "{long}");
        let comment = |bytes: usize| format!("/*{}*/", "é".repeat(bytes / 2 - 2));
        assert_eq!(message(&comment(MAX_TEXT_BYTES)), None);
        let wide = message(&comment(MAX_TEXT_BYTES + 2)).expect("it has too many bytes");
        assert!(wide.contains("1048578 bytes") && wide.contains("limit is 1048576"), "{wide}");
    }

    #[test]
    fn a_constant_has_as_many_numbers_as_the_limit_and_no_more() {
        let nested = |depth: u32, keyword: &str, wrap: &dyn Fn(String) -> String| {
            let one = |at: u32| format!("{keyword} c{at} = array(c{0}, c{0});", at - 1);
            wrap(format!("{keyword} c0 = array(1u, 2u);{}", (1..depth).map(one).collect::<String>()))
        };
        let outside = |text: String| text;
        let inside = |text: String| format!("fn f() {{ {text} }}");
        let reversed = |text: String| text.split_inclusive(';').rev().collect::<String>();
        let wraps: [(&str, &dyn Fn(String) -> String); 4] =
            [("const", &outside), ("const", &reversed), ("const", &inside), ("let", &inside)];
        for (keyword, wrap) in wraps {
            assert_eq!(message(&nested(16, keyword, wrap)), None);
            let large = message(&nested(17, keyword, wrap)).expect("it is too large");
            assert!(large.contains("` expands to 131072 numbers, and the limit is 65536"), "{large}");
            assert!(message(&nested(64, keyword, wrap)).is_some_and(|large| large.contains("expands to")));
        }
        let pairs = |depth: u32| -> String {
            let pair = |at: u32| format!("struct S{at} {{ a: S{0}, b: S{0} }} ", at - 1);
            "struct S0 { a: u32, b: array<f32, 7> }".to_owned() + &(1..=depth).map(pair).collect::<String>()
        };
        assert_eq!(message(&pairs(14)), None);
        assert!(message(&pairs(40)).is_some_and(|large| large.contains("` expands to ")));
        let members: String =
            (1..40).map(|at| format!("const s{at} = S{at}(s{0}.a, s{0}.a);", at - 1)).collect();
        let structs: String =
            (0..40).map(|at| format!("struct S{at} {{ a: array<u32, 2>, b: u32 }}")).collect();
        assert!(message(&format!("{structs} const s0 = S0(array(1, 2), 3);{members}")).is_some());
    }

    #[test]
    fn numbers_and_values_that_are_not_constant_do_not_grow() {
        let doubled = |keyword: &str| -> String {
            (1..60).map(|at| format!("{keyword} c{at} = c{0} + c{0};", at - 1)).collect()
        };
        assert_eq!(message(&format!("const c0 = 1;{}", doubled("const"))), None);
        assert_eq!(message(&format!("fn f() {{ let c0 = vec2(1, 2);{} }}", doubled("let"))), None);
        let state: String = (1..60).map(|at| format!("let c{at} = S(c{0}.a + v, c{0}.b);", at - 1)).collect();
        assert_eq!(
            message(&format!(
                "struct S {{ a: u32, b: u32 }} fn f() {{ var v = 1u; let c0 = S(v, 1u);{state} }}"
            )),
            None
        );
        assert_eq!(
            message(&format!(
                "const t = array({}); fn f() {{ {} }}",
                "7u, ".repeat(1000),
                "x[0] = t[i];".repeat(4000)
            )),
            None
        );
    }

    #[test]
    fn constants_together_have_a_limit_too() {
        let uses = |count: usize| {
            format!("const t = array({}); fn f() {{ {} }}", "7u, ".repeat(2000), "x = t[0];".repeat(count))
        };
        assert_eq!(message(&uses(2000)), None);
        assert!(
            message(&uses(2200)).is_some_and(|large| large.contains("more than 4194304 numbers together"))
        );
    }

    #[test]
    fn a_cycle_of_declarations_is_left_to_naga() {
        let cycle: String = (0..3000).map(|n| format!("fn f{n}() {{ f{}(); }}", (n + 1) % 3000)).collect();
        over_limit(&cycle);
    }
}
