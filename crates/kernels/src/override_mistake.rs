//! Finds the part of a shader that becomes invalid with the values of overrides.
//!
//! When naga applies overrides, its errors have no places. So this parses the shader again with constants in place of
//! overrides; the parser then reports the place of an invalid constant.

use std::collections::{HashMap, HashSet};

use crate::naga_guard::{self, ParseFailure, parse, validate};
use crate::tokens::{Declaration, Token, Tokens, declarations};
use crate::wording::{self, Diagnostic};
use naga::Span;
use naga::valid::Capabilities;

/// An override, and its value if it is known.
pub(crate) struct OverrideValue {
    pub(crate) name: String,
    /// Type in WGSL.
    pub(crate) ty: String,
    /// Value that the host gives.
    pub(crate) given: Option<f64>,
    /// Value that the host gives, or the default.
    pub(crate) value: Option<f64>,
}

/// A mistake, and the overrides on which it depends.
pub(crate) struct OverrideMistake<'k> {
    pub(crate) finding: Diagnostic,
    pub(crate) overrides: Vec<&'k OverrideValue>,
}

/// Returns the first mistake of an entry point of `text` with these overrides, if there is one.
pub(crate) fn find<'k>(text: &str, entry: &str, known: &'k [OverrideValue]) -> Option<OverrideMistake<'k>> {
    let tokens: Vec<Token<'_>> = Tokens::of(text).collect();
    let graph = DependencyGraph::new(&tokens);
    let constants = ConstantText::new(text, &graph, entry, known);
    let Diagnostic { message, span } = finding(&constants.text)?;
    let span = constants.original(span);
    let is_inside = |token: &&Token<'_>| span.to_range().is_some_and(|range| range.contains(&token.at));
    let named = |names: HashSet<&str>| -> Vec<&OverrideValue> {
        known.iter().filter(|known| known.value.is_some() && names.contains(&*known.name)).collect()
    };
    let mut overrides = named(graph.reached(tokens.iter().filter(is_inside).map(|token| token.text)));
    if overrides.is_empty() {
        overrides = named(graph.reached([entry]));
    }
    let span = if span.is_defined() { span } else { graph.name_of(entry) };
    Some(OverrideMistake { finding: Diagnostic { message, span }, overrides })
}

/// Returns the mistake in a text.
fn finding(text: &str) -> Option<Diagnostic> {
    let module = match parse(text) {
        Ok(module) => module,
        Err(ParseFailure::Mistake(error)) => return Some(wording::parsing(&error)),
        Err(ParseFailure::Panic(finding)) => return Some(finding),
    };
    match *validate(&module, Capabilities::all()).err()? {
        Ok(error) => Some(wording::finding(&module, text, &error)),
        Err(panic) => Some(Diagnostic { message: naga_guard::said(&panic), span: Span::UNDEFINED }),
    }
}

/// Declarations of a module, and the declarations that each of them needs.
struct DependencyGraph<'t, 'a> {
    declarations: Vec<Declaration<'t, 'a>>,
    /// Declaration of each name.
    names: HashMap<&'a str, usize>,
    /// Tokens outside of all declarations.
    others: Vec<&'a str>,
}

impl<'t, 'a> DependencyGraph<'t, 'a> {
    fn new(tokens: &'t [Token<'a>]) -> Self {
        let declarations = declarations(tokens);
        let names = declarations.iter().enumerate().map(|(at, declared)| (declared.name.text, at)).collect();
        let is_inside = |token: &&Token<'_>| {
            let before = declarations.partition_point(|declared| declared.start <= token.at);
            before > 0 && token.at < declarations[before - 1].end
        };
        let others = tokens.iter().filter(|token| !is_inside(token)).map(|token| token.text).collect();
        Self { names, others, declarations }
    }

    /// Returns the place of the name of a declaration.
    fn name_of(&self, name: &str) -> Span {
        let name = self.names.get(name).map(|&at| self.declarations[at].name);
        name.map_or(Span::UNDEFINED, |name| Span::new(name.at as u32, name.end() as u32))
    }

    /// Returns the names of the declarations that these names and their declarations mention.
    fn reached<'n>(&self, first: impl IntoIterator<Item = &'n str>) -> HashSet<&'a str> {
        let mut open: Vec<usize> =
            first.into_iter().filter_map(|name| self.names.get(name).copied()).collect();
        let mut reached = HashSet::new();
        while let Some(at) = open.pop() {
            let Declaration { name, attributes, rest, .. } = self.declarations[at];
            if reached.insert(name.text) {
                let mentioned = attributes.iter().chain(rest);
                open.extend(mentioned.filter_map(|token| self.names.get(token.text)));
            }
        }
        reached
    }
}

/// A part of a text that another part replaces.
struct Replacement {
    /// First byte of the new part in the new text.
    start: usize,
    /// Length of the new part in bytes.
    length: usize,
    /// First byte of the old part in the old text.
    old_start: usize,
    /// Byte after the old part.
    old_end: usize,
}

/// A text with a constant in place of each override, and without the declarations that an entry point does not need.
struct ConstantText {
    text: String,
    /// Replaced parts in the order of the text.
    replaced: Vec<Replacement>,
}

impl ConstantText {
    fn new(text: &str, graph: &DependencyGraph<'_, '_>, entry: &str, known: &[OverrideValue]) -> Self {
        let needed = graph.reached(graph.others.iter().copied().chain([entry]));
        let mut made = Self { text: String::new(), replaced: Vec::new() };
        let mut copied = 0;
        for declared in &graph.declarations {
            let name = declared.name.text;
            let (old_end, new) = if !needed.contains(name) {
                (declared.end, String::new())
            } else if declared.keyword.text != "override" {
                continue;
            } else if let Some(OverrideValue { ty, given: Some(value), .. }) =
                known.iter().find(|known| known.name == name)
            {
                (declared.end, format!("const {name}: {ty} = {ty}({});", literal(ty, *value)))
            } else {
                (declared.keyword.end(), "const".to_owned())
            };
            made.text += &text[copied..declared.start];
            let start = made.text.len();
            let old_start = declared.start;
            made.replaced.push(Replacement { start, length: new.len(), old_start, old_end });
            made.text += &new;
            copied = old_end;
        }
        made.text += &text[copied..];
        made
    }

    /// Returns the span of the original text for a span of this one.
    fn original(&self, span: Span) -> Span {
        let Some(range) = span.is_defined().then(|| span.to_range()).flatten() else { return span };
        Span::new(self.original_byte(range.start) as u32, self.original_byte(range.end) as u32)
    }

    fn original_byte(&self, byte: usize) -> usize {
        let before = self.replaced.partition_point(|replaced| replaced.start <= byte);
        let Some(replaced) = before.checked_sub(1).map(|at| &self.replaced[at]) else { return byte };
        match (byte - replaced.start).checked_sub(replaced.length) {
            Some(after) => replaced.old_end + after,
            None => replaced.old_start,
        }
    }
}

/// Writes a value of an override as a number of WGSL.
fn literal(ty: &str, value: f64) -> String {
    match ty {
        "bool" => (value != 0.0).to_string(),
        "f16" | "f32" | "f64" => format!("{value:?}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Module, ShaderSource};

    /// Returns the message for the entry point `k` of a text, if its overrides make it invalid.
    fn message(text: &str, overrides: &[(&str, f64)]) -> Option<String> {
        let module = Module::parse(&ShaderSource::text("k.wgsl", text.to_owned())).expect("valid WGSL");
        match module.entry("k", overrides) {
            Err(error @ crate::Error::OverrideValues { .. }) => Some(error.to_string()),
            Err(error) => panic!("another mistake: {error}"),
            Ok(_) => None,
        }
    }

    /// Makes an entry point, whose statements are in line 2, and declarations, which are in line 4.
    fn kernel(declarations: &str, statements: &str) -> String {
        format!(
            "@compute @workgroup_size(1) fn k() {{\n{statements}\n}}\n{declarations}
             @group(0) @binding(0) var<storage, read_write> out: array<u32>;"
        )
    }

    #[test]
    fn a_mistake_has_its_line_and_the_values_that_it_depends_on() {
        let n = "override N: u32 = 1;";
        let two = "override N: u32 = 1; override M = 6 / N;";
        let cases = [
            (n, "out[0] = 7u / N;", 0.0, "`N` = 0: k.wgsl:2:10:"),
            (n, "out[0] = out[1] % N;", 0.0, "`N` = 0: k.wgsl:2:10: the divisor is 0"),
            (n, "out[0] = out[1] << N;", 32.0, "`N` = 32: k.wgsl:2:10: the shift is as wide"),
            (
                n,
                "out[0] = u32(3e38 * f32(N));",
                3e9,
                "`N` = 3000000000: k.wgsl:2:14: Float literal is infinite",
            ),
            (
                n,
                "let v = vec2(1u, 2u); out[0] = v[N];",
                4.0,
                "`N` = 4: k.wgsl:1:32: a value has no element 4",
            ),
            (two, "out[0] = M;", 0.0, "`N` = 0: k.wgsl:4:35:"),
            (two, "out[0] = out[1] / M;", 9.0, "overrides `N` = 9, `M` = 0: k.wgsl:2:10:"),
            (
                "override N = 1u; var<workgroup> w: array<u32, N>;",
                "out[0] = w[0];",
                0.0,
                "`N` = 0: k.wgsl:4:47:",
            ),
            (
                "@id(7) override N = 1u; fn f() -> u32 { return 1 / N; }",
                "out[0] = f();",
                0.0,
                "`N` = 0: k.wgsl:4:48:",
            ),
        ];
        for (declarations, statements, value, expected) in cases {
            let key = if declarations.starts_with("@id(7)") { "7" } else { "N" };
            let message = message(&kernel(declarations, statements), &[(key, value)]);
            let message = message.unwrap_or_else(|| panic!("no mistake: {declarations} {statements}"));
            assert!(
                message.starts_with("kernel `k` with override") && message.contains(expected),
                "{message}"
            );
        }
    }

    #[test]
    fn a_mistake_in_a_declaration_that_the_entry_point_does_not_need_is_none() {
        let others = "override N: u32 = 1; fn f() -> u32 { return 1 / N; } var<private> p: u32 = 2 / N;
                      @compute @workgroup_size(1) fn l() { out[0] = f() + p; }";
        assert_eq!(message(&kernel(others, "out[0] = N;"), &[("N", 0.0)]), None);
        let needed = message(&kernel(others, "out[0] = p;"), &[("N", 0.0)]);
        assert!(needed.is_some_and(|text| text.contains("k.wgsl:4:76")));
    }

    #[test]
    fn a_declaration_that_only_an_attribute_names_is_needed() {
        let text = "override N: u32 = 1; override WIDTH: u32 = 64; const AT = 0;
                    @group(0) @binding(AT) var<storage, read_write> out: array<u32>;
                    @compute @workgroup_size(WIDTH) fn k() { out[0] = 7u / N; }";
        let found = message(text, &[("N", 0.0), ("WIDTH", 32.0)]).unwrap_or_default();
        assert!(found.contains("`N` = 0") && found.contains("k.wgsl:3:"), "{found}");
        assert_eq!(message(text, &[("N", 2.0)]), None);
    }

    #[test]
    fn values_of_each_type_and_defaults_make_no_mistake_of_their_own() {
        let declarations = "enable f16; override B: bool; override I: i32; override F: f32; override H: f16; override D = 2.5;";
        let text = "if B { out[0] = u32(I) + u32(F * D) + u32(H); }";
        let text = format!("enable f16; {}", kernel(&declarations.replace("enable f16; ", ""), text));
        let values = [("B", 1.0), ("I", f64::from(i32::MIN)), ("F", 1e-30), ("H", -2.5)];
        assert_eq!(message(&text, &values), None);
    }
}
