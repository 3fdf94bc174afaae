//! Checks of WGSL expressions from user code, and messages about them.

use fencepost_core::{Error, ErrorDetail, Result};
use fencepost_kernels::{Error as KernelError, Excerpt, NESTING_ADVICE};

/// Label for messages about an expression, in place of a file name.
pub(crate) const LABEL: &str = "expression";

/// Prefix of names in the text of a kernel. An expression must not use these names, because it would read elements that
/// other invocations write.
pub(crate) const HIDDEN: &str = "fencepost_";

/// Start of the compiler's message about text after an expression, where it expects the closing bracket.
const WANTS_END: &str = "expected `)`, found";
/// Text that replaces `WANTS_END`.
const END: &str = "expected an operator or the end of the expression, found";

/// End of the compiler's message about an incomplete expression, where it finds the closing bracket.
const FOUND_END: &str = ", found \")\"";

/// Prefixes of the WGSL functions that exchange values between invocations.
const OF_OTHERS: [&str; 2] = ["subgroup", "quad"];

/// Words that begin a statement or a declaration, in WGSL or in the library's extensions.
const STATEMENTS: [&str; 25] = [
    "alias",
    "assert",
    "break",
    "const",
    "const_assert",
    "continue",
    "continuing",
    "default",
    "diagnostic",
    "discard",
    "else",
    "enable",
    "fn",
    "for",
    "if",
    "let",
    "loop",
    "override",
    "print",
    "requires",
    "return",
    "struct",
    "switch",
    "var",
    "while",
];

/// Prefixes of the WGSL functions that compare neighbouring pixels (derivatives).
const OF_PIXELS: [&str; 3] = ["dpdx", "dpdy", "fwidth"];

/// Refuses a text that is not a single expression, or that uses one of the kernel's own names. `known` lists the names
/// that the program gives to values. The error for an empty text shows an example.
pub(crate) fn check(expression: &str, own_names: &[&str], known: &[&str], example: &str) -> Result<()> {
    if expression.trim().is_empty() {
        let message = format!("the expression is empty: write one of WGSL, such as `{example}`");
        return Err(mistake(expression, 0, message));
    }
    if let Some((at, name)) = names(expression).find(|(_, name)| STATEMENTS.contains(name)) {
        let message = format!("`{name}` begins a statement, and an expression has none: {}", without(name));
        return Err(marked(expression, at, name.len(), message));
    }
    let mut open = Vec::new();
    let characters = expression.char_indices().zip(expression.chars().skip(1).map(Some).chain([None]));
    for ((at, character), next) in characters {
        match (character, next) {
            (';' | '{' | '}' | '@', _) => {
                let message = format!("`{character}` is not part of an expression: {VALUE_ALONE}");
                return Err(mistake(expression, at, message));
            }
            ('/', Some('/' | '*')) => {
                return Err(mistake(expression, at, "an expression has no comment: remove it"));
            }
            ('(' | '[', _) => open.push((at, character)),
            (')' | ']', _) => {
                let pair = open.pop().map(|(_, opened)| (opened, character));
                if !matches!(pair, Some(('(', ')') | ('[', ']'))) {
                    return Err(mistake(expression, at, format!("`{character}` has no opening bracket")));
                }
            }
            _ => {}
        }
    }
    if let Some(at) = expression.find(HIDDEN) {
        return Err(mistake(expression, at, format!("names that begin with `{HIDDEN}` are reserved")));
    }
    let begins = |name: &str, list: &[&str]| {
        !known.contains(&name) && list.iter().any(|begin| name.starts_with(begin))
    };
    if let Some((at, name)) = names(expression).find(|(_, name)| begins(name, &OF_OTHERS)) {
        let message =
            format!("`{name}` takes values of other elements: an expression has the elements of one place");
        return Err(marked(expression, at, name.len(), message));
    }
    if let Some((at, name)) = names(expression).find(|(_, name)| begins(name, &OF_PIXELS)) {
        let message =
            format!("`{name}` compares pixels of a picture: compute with the elements of one place");
        return Err(marked(expression, at, name.len(), message));
    }
    if let Some((at, name)) = names(expression).find(|(_, name)| own_names.contains(name)) {
        return Err(unknown(expression, at, name));
    }
    match open.pop() {
        Some((at, bracket)) => Err(mistake(expression, at, format!("`{bracket}` has no closing bracket"))),
        None => Ok(()),
    }
}

/// Returns the remedy for a word that begins a statement.
fn without(word: &str) -> &'static str {
    if matches!(word, "if" | "else" | "switch") {
        return "choose between two values with `select(if_false, if_true, condition)`";
    }
    VALUE_ALONE
}

/// Returns the names in an expression, each with its byte offset. A member access such as `.x` is not a name.
fn names(expression: &str) -> impl Iterator<Item = (usize, &str)> {
    words(expression).filter(|(at, _)| !expression[..*at].trim_end().ends_with('.'))
}

/// Returns the words of a text, each with its byte offset.
fn words(expression: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let words = expression.split(move |c| !is_word(c)).filter(|word| !word.is_empty());
    words.map(|word| (word.as_ptr() as usize - expression.as_ptr() as usize, word))
}

/// Returns the error for a name that the expression cannot use, in the words of the compiler for unknown names.
fn unknown(expression: &str, at: usize, name: &str) -> Error {
    let message = format!("no definition in scope for identifier: `{name}`");
    marked(expression, at, name.len(), message)
}

/// Returns the error for the character at a byte offset of the expression.
fn mistake(expression: &str, at: usize, message: impl Into<String>) -> Error {
    let length = expression[at..].chars().next().map_or(1, char::len_utf8);
    marked(expression, at, length, message.into())
}

/// Returns the error for a part of the expression that begins at a byte offset.
fn marked(expression: &str, at: usize, length: usize, message: String) -> Error {
    let line = expression[..at].matches('\n').count();
    let start = expression[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let text = expression.lines().nth(line).unwrap_or_default();
    let column = at - start + 1;
    let label = LABEL.into();
    let excerpt = Excerpt::new(text, column, length);
    KernelError::Wgsl { label, line: line + 1, column, message, excerpt }.into()
}

/// Translates a compilation error to the lines of the expression, which begins at line `first` of the text `file`. A
/// mistake outside it, such as a value of the wrong type, is attributed to the whole expression. `result` names the
/// value of the expression.
pub(crate) fn shown(error: Error, expression: &str, (file, first): (&str, usize), result: &str) -> Error {
    let ErrorDetail::Kernel(KernelError::Wgsl { label, line, column, message, excerpt }) = error.detail()
    else {
        return error;
    };
    let lines = expression.lines().count();
    let message = of_expression(message, result);
    if label == file && (first..first + lines).contains(line) {
        let label = LABEL.into();
        let line = line - first + 1;
        let excerpt = excerpt.clone();
        let message = match message.strip_prefix(WANTS_END) {
            Some(found) if closed(expression, line, *column) => format!("{END}{found}"),
            _ => message,
        };
        return KernelError::Wgsl { label, line, column: *column, message, excerpt }.into();
    }
    if let Some(wanted) = message.strip_suffix(FOUND_END) {
        let end = expression.trim_end().len();
        return marked(expression, end, 1, format!("{wanted}, found the end of the expression"));
    }
    let text = expression.lines().next().unwrap_or_default();
    let excerpt = Excerpt::new(text, 1, text.len());
    KernelError::Wgsl { label: LABEL.into(), line: 1, column: 1, message, excerpt }.into()
}

/// Returns `true` if all brackets that are opened before a place in the expression are also closed before it. The
/// expression must not close more brackets than it opens.
fn closed(expression: &str, line: usize, column: usize) -> bool {
    let before = expression.lines().take(line - 1).flat_map(str::chars);
    let beside = expression.lines().nth(line - 1).unwrap_or_default().chars().take(column - 1);
    let (opening, closing): (Vec<char>, Vec<char>) =
        before.chain(beside).filter(|c| "()[]".contains(*c)).partition(|c| "([".contains(*c));
    opening.len() == closing.len()
}

/// Remedy for text that is not an expression.
const VALUE_ALONE: &str = "write a value of WGSL alone";

/// Returns the compiler's message with a remedy that suits an expression, which cannot have a `let`, a directive or a
/// statement. `result` names the value of the expression.
fn of_expression(message: &str, result: &str) -> String {
    if let Some((mistake, _)) = message.split_once(NESTING_ADVICE) {
        return format!("{mistake}compute parts of it in earlier calls, each with an array for its results");
    }
    if message.contains("`f16` enable extension") {
        return "an expression has no `f16`: compute with `f32`".into();
    }
    if message.starts_with("function does not return any value") {
        return format!("the function has no value: {VALUE_ALONE}");
    }
    if let Some(types) = message.strip_prefix("the function returns") {
        return format!("{result}{types}: convert the value to that type");
    }
    message.into()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const OWN_NAMES: [&str; 2] = ["params", "WORKGROUP"];

    fn refused(expression: &str) -> String {
        check(expression, &OWN_NAMES, &[], "x").unwrap_err().to_string()
    }

    /// Returns the names that the text of a kernel declares.
    pub(crate) fn declared(text: &str) -> Vec<&str> {
        let declarations = text.lines().filter_map(|line| {
            let words: Vec<(usize, &str)> = words(line).collect();
            let keywords = ["fn", "struct", "override", "const", "alias", "var"];
            let keyword = words.iter().position(|(_, word)| keywords.contains(word))?;
            let after_spaces = words[keyword + 1..]
                .iter()
                .find(|(at, _)| line[..*at].matches('<').count() == line[..*at].matches('>').count());
            after_spaces.map(|(_, name)| *name)
        });
        declarations.collect()
    }

    #[test]
    fn a_name_of_the_kernel_is_refused_and_one_that_contains_it_is_not() {
        let expected = "expression:2:7: no definition in scope for identifier: `params`\n  |   f32(params.n)\n  |       ^^^^^^";
        assert_eq!(refused("x *\n  f32(params.n)"), expected);
        assert!(
            check("elements + my_params + part_counts + WORKGROUPS + 1element", &OWN_NAMES, &[], "x").is_ok()
        );
        assert!(check("x.params + x . params", &OWN_NAMES, &[], "x").is_ok());
    }

    #[test]
    fn a_value_may_have_a_name_that_begins_like_a_function_of_other_elements() {
        for text in ["quadratic * x", "x + fwidth_of_line"] {
            assert!(check(text, &OWN_NAMES, &["x"], "x").is_err(), "{text}");
            assert!(check(text, &OWN_NAMES, &["quadratic", "fwidth_of_line"], "x").is_ok());
        }
    }

    #[test]
    fn a_text_that_is_more_than_an_expression_is_refused_at_its_place() {
        let whole = "select(x, -x, (x < 0.0)) + array<f32, 2>(1.0, 2.0)[i % 2u]\n * 3.0";
        assert!(check(whole, &OWN_NAMES, &[], "x").is_ok());
        for (text, place) in [
            ("", "expression:1:1"),
            (" \n ", "expression:1:1"),
            ("x; x", "expression:1:2"),
            ("x }", "expression:1:3"),
            ("x)\n + (x", "expression:1:2"),
            ("x +\n  (x", "expression:2:3"),
            ("f(x]", "expression:1:4"),
            ("x // twice", "expression:1:3"),
            ("x /* twice */", "expression:1:3"),
            ("ä @", "expression:1:4"),
            ("x + fencepost_out[i + 1u]", "expression:1:5"),
        ] {
            assert!(refused(text).starts_with(place), "{text}: {}", refused(text));
        }
        assert_eq!(
            refused("x +\n  x; x"),
            "expression:2:4: `;` is not part of an expression: write a value of WGSL alone\n  |   x; x\n  |    ^"
        );
    }
}
