//! Mistakes in texts of WGSL: each changes one operator, number, call, statement or condition.

/// A text with one changed line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Mutant {
    /// Number of the line, from 0.
    pub(super) line: usize,
    /// Number of earlier lines with the same text.
    pub(super) same: usize,
    pub(super) before: String,
    pub(super) after: String,
}

impl Mutant {
    /// Returns the text with the changed line.
    pub(super) fn applied(&self, text: &str) -> String {
        let lines = text.lines().enumerate();
        lines.map(|(at, line)| if at == self.line { &*self.after } else { line }.to_owned() + "\n").collect()
    }

    /// Returns the line before and after the change, as the list of surviving mutants has them. A line that the text has
    /// several times is numbered from the second one on.
    pub(super) fn shown(&self) -> String {
        let before = self.before.trim();
        let numbered = if self.same == 0 { before.into() } else { format!("{before} [{}]", self.same + 1) };
        format!("{numbered} => {}", self.after.trim())
    }
}

/// Operators and functions, each with its replacement.
const REPLACED: &[(&str, &str)] = &[
    ("<", "<="),
    ("<=", "<"),
    (">", ">="),
    (">=", ">"),
    ("==", "!="),
    ("!=", "=="),
    ("+", "-"),
    ("-", "+"),
    ("*", "/"),
    ("/", "*"),
    ("%", "/"),
    ("&&", "||"),
    ("||", "&&"),
    ("&", "|"),
    ("|", "&"),
    ("^", "&"),
    ("<<", ">>"),
    (">>", "<<"),
    ("+=", "-="),
    ("-=", "+="),
    ("*=", "+="),
    ("/=", "*="),
    ("|=", "&="),
    ("++", "--"),
    ("min", "max"),
    ("max", "min"),
];

/// Returns all mutants of a text: of the bodies of its functions, and of its constants.
pub(super) fn mutants(text: &str) -> Vec<Mutant> {
    let mut found: Vec<Mutant> = Vec::new();
    let mut depth = 0_i32;
    let mut in_function = false;
    for (number, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        let begins = code.starts_with("fn ");
        if code.starts_with(|first: char| first.is_ascii_alphabetic() || first == '@') {
            in_function = begins;
        }
        let body = match code.find('{') {
            _ if code.starts_with("const ") => code.find('=').map_or(code.len(), |at| at + 1),
            Some(brace) if begins => brace + 1,
            _ if in_function && depth > 0 && !begins && !code.trim_start().starts_with('@') => 0,
            _ => code.len(),
        };
        let same = text.lines().take(number).filter(|earlier| earlier.trim() == line.trim()).count();
        for after in changes(code, body) {
            let after = format!("{after}{}", &line[code.len()..]);
            found.push(Mutant { line: number, same, before: line.into(), after });
        }
        let brackets = |open, close| code.matches(open).count() as i32 - code.matches(close).count() as i32;
        depth += brackets('{', '}');
    }
    found
}

/// Returns each changed form of a line. Changes begin at the byte `body`.
fn changes(line: &str, body: usize) -> Vec<String> {
    let tokens: Vec<(usize, &str)> = tokens(line).into_iter().filter(|(at, _)| *at >= body).collect();
    let replaced = |from: usize, to: usize, with: &str| format!("{}{with}{}", &line[..from], &line[to..]);
    let mut found = Vec::new();
    for (index, &(at, token)) in tokens.iter().enumerate() {
        let end = at + token.len();
        if let Some((_, with)) = REPLACED.iter().find(|(known, _)| *known == token) {
            found.push(replaced(at, end, with));
        }
        if let Some(more) = one_more(token) {
            found.push(replaced(at, end, &more));
        }
        let has_order = |name: &str| is_name(name) && !["min", "max"].contains(&name);
        if token == "(" && index > 0 && has_order(tokens[index - 1].1) {
            found.extend(swapped_arguments(line, &tokens[index..]));
        }
        if let ("if", Some(brace)) = (token, tokens[index..].iter().find(|(_, token)| *token == "{")) {
            found.push(replaced(end, brace.0, &format!(" !({}) ", line[end..brace.0].trim())));
        }
        let starts = index == 0 || [";", "{", "}"].contains(&tokens[index - 1].1);
        if let Some(semicolon) = starts.then(|| end_of_statement(&tokens[index..])).flatten() {
            found.push(replaced(at, semicolon + 1, ""));
        }
    }
    found
}

/// Returns the place of the semicolon that ends an assignment or a call.
fn end_of_statement(tokens: &[(usize, &str)]) -> Option<usize> {
    let first = tokens[0].1;
    let declares = ["let", "var", "const", "return", "if", "for", "while", "loop", "break", "else"];
    if !is_name(first) || declares.contains(&first) {
        return None;
    }
    let end = tokens.iter().position(|(_, token)| [";", "{", "}"].contains(token))?;
    let is_call = tokens.get(1).is_some_and(|(_, token)| *token == "(") && tokens[end - 1].1 == ")";
    let assigns = |(_, token): &(usize, &str)| {
        *token == "="
            || ["++", "--"].contains(token)
            || (token.len() == 2 && "+-*/%&|^".contains(&token[..1]) && token.ends_with('='))
    };
    (tokens[end].1 == ";" && (is_call || tokens[..end].iter().any(assigns))).then_some(tokens[end].0)
}

/// Returns the line with the first two arguments of a call exchanged. The first token is the opening bracket.
fn swapped_arguments(line: &str, tokens: &[(usize, &str)]) -> Option<String> {
    let mut depth = 0;
    let mut commas = Vec::new();
    for &(at, token) in tokens {
        match token {
            "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            "," if depth == 1 => commas.push(at),
            _ => {}
        }
        if depth == 0 {
            commas.push(at);
            break;
        }
    }
    let open = tokens[0].0;
    let [first, second, ..] = commas[..] else { return None };
    let [a, b] = [line[open + 1..first].trim(), line[first + 1..second].trim()];
    (depth == 0 && a != b && !b.is_empty()).then(|| format!("{}{b}, {a}{}", &line[..=open], &line[second..]))
}

/// Returns a number that is larger by one.
fn one_more(token: &str) -> Option<String> {
    let digits = token.strip_suffix('u').unwrap_or(token);
    let suffix = &token[digits.len()..];
    if let Some(hex) = digits.strip_prefix("0x") {
        let number = u32::from_str_radix(hex, 16).ok()?;
        return Some(format!("0x{:X}{suffix}", number.wrapping_add(1)));
    }
    if let Ok(number) = digits.parse::<u64>() {
        return Some(format!("{}{suffix}", number + 1));
    }
    digits.starts_with(|first: char| first.is_ascii_digit()).then_some(())?;
    digits.parse::<f64>().ok().map(|number| format!("{:?}", number + 1.0))
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

/// Returns the names, numbers, operators and brackets of a line, each with its place.
fn tokens(line: &str) -> Vec<(usize, &str)> {
    const PAIRS: [&str; 19] = [
        "&&", "||", "<<", ">>", "==", "!=", "<=", ">=", "->", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
        "++", "--",
    ];
    let mut found: Vec<(usize, &str)> = Vec::new();
    let mut at = 0;
    while let Some(first) = line[at..].chars().next() {
        let rest = &line[at..];
        let word = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let is_number = first.is_ascii_digit();
        let len = match first {
            _ if is_number => number_length(rest),
            _ if word > 0 => word,
            _ if PAIRS.iter().any(|pair| rest.starts_with(pair)) => 2,
            _ => first.len_utf8(),
        };
        if !first.is_whitespace() {
            found.push((at, &rest[..len]));
        }
        at += len;
    }
    found
}

/// Returns the length of the number at the start of a text, with its fraction, exponent and suffix.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_part = |at: usize| {
        let sign = matches!(bytes[at], b'-' | b'+')
            && at > 0
            && matches!(bytes[at - 1], b'e' | b'p')
            && !(text.starts_with("0x") && bytes[at - 1] == b'e');
        bytes[at].is_ascii_alphanumeric() || bytes[at] == b'.' || sign
    };
    (0..bytes.len()).find(|&at| !is_part(at)).unwrap_or(bytes.len())
}
