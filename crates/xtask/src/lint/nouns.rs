//! Docs of types, fields, variants and constants: noun phrases, not sentences about what the item does.

use proc_macro2::Span;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Lit, Meta};

use super::rules::Finding;

/// Verbs that must not begin the doc of a type, field, variant or constant, one a line.
const VERBS: &str = include_str!("verbs.txt");

/// Words that mark a preceding word as a plural noun, although it looks like a verb.
const AFTER_NOUNS: [&str; 4] = ["between", "in", "of", "that"];

/// Derives of structs and enums whose docs are help texts of a program.
const HELP: [&str; 4] = ["Args", "Parser", "Subcommand", "ValueEnum"];

/// Returns the docs of nouns in a Rust file that begin with a verb.
pub(super) fn check(source: &str) -> Vec<Finding> {
    let mut nouns = Nouns::default();
    // The compiler reports a file that is not Rust.
    if let Ok(file) = syn::parse_file(source) {
        nouns.visit_file(&file);
    }
    nouns.findings
}

#[derive(Default)]
struct Nouns {
    findings: Vec<Finding>,
}

impl Nouns {
    fn see(&mut self, kind: &str, attributes: &[Attribute]) {
        let Some((text, span)) = attributes.iter().find_map(doc) else { return };
        let first = text.trim_start().trim_start_matches(['*', '`', '[']);
        let mut words = first.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
        let word = words.next().unwrap_or_default();
        // `Points of a queue` is a noun phrase, `Points to a queue` is not.
        let is_plural = first.strip_prefix(word).is_some_and(|rest| rest.starts_with(','))
            || words.next().is_some_and(|next| AFTER_NOUNS.contains(&next));
        if !is_plural && VERBS.lines().any(|verb| verb == word) {
            let what = format!("the doc of a {kind} begins with the verb `{word}`: write a noun phrase");
            self.findings.push(Finding { line: span.start().line, what });
        }
    }
}

impl<'a> Visit<'a> for Nouns {
    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        if !is_help(&item.attrs) {
            self.see("type", &item.attrs);
            visit::visit_item_struct(self, item);
        }
    }

    fn visit_item_enum(&mut self, item: &'a syn::ItemEnum) {
        if !is_help(&item.attrs) {
            self.see("type", &item.attrs);
            visit::visit_item_enum(self, item);
        }
    }

    fn visit_item_union(&mut self, item: &'a syn::ItemUnion) {
        self.see("type", &item.attrs);
        visit::visit_item_union(self, item);
    }

    fn visit_item_type(&mut self, item: &'a syn::ItemType) {
        self.see("type", &item.attrs);
    }

    fn visit_variant(&mut self, variant: &'a syn::Variant) {
        self.see("variant", &variant.attrs);
        visit::visit_variant(self, variant);
    }

    fn visit_field(&mut self, field: &'a syn::Field) {
        self.see("field", &field.attrs);
    }

    fn visit_item_const(&mut self, item: &'a syn::ItemConst) {
        self.see("constant", &item.attrs);
        visit::visit_item_const(self, item);
    }

    fn visit_item_static(&mut self, item: &'a syn::ItemStatic) {
        self.see("constant", &item.attrs);
        visit::visit_item_static(self, item);
    }

    fn visit_impl_item_const(&mut self, item: &'a syn::ImplItemConst) {
        self.see("constant", &item.attrs);
        visit::visit_impl_item_const(self, item);
    }

    fn visit_trait_item_const(&mut self, item: &'a syn::TraitItemConst) {
        self.see("constant", &item.attrs);
        visit::visit_trait_item_const(self, item);
    }
}

/// Returns the text of a doc attribute, with its place.
fn doc(attribute: &Attribute) -> Option<(String, Span)> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    let Expr::Lit(value) = &pair.value else { return None };
    let Lit::Str(text) = &value.lit else { return None };
    pair.path.is_ident("doc").then(|| (text.value(), text.span()))
}

fn is_help(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let mut found = false;
        if attribute.path().is_ident("derive") {
            // A derive that does not parse is the compiler's to report.
            _ = attribute.parse_nested_meta(|derived| {
                found |=
                    derived.path.segments.last().is_some_and(|last| HELP.iter().any(|of| last.ident == of));
                Ok(())
            });
        }
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(source: &str) -> Vec<usize> {
        check(source).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn each_kind_of_noun_is_seen() {
        let source = "/// Holds a.\nstruct A {\n    /// Is `true`.\n    a: bool,\n}\n/// Names b.\nenum B {\n    \
                      /// Says c.\n    C,\n}\n/// Counts d.\nconst D: u8 = 0;\n/// Maps e.\ntype E = u8;\n\
                      impl A {\n    /// Limits f.\n    const F: u8 = 0;\n}";
        assert_eq!(lines(source), [1, 3, 6, 8, 11, 13, 16]);
    }

    #[test]
    fn noun_phrases_functions_and_help_texts_pass() {
        let source = "/// Number of a.\nstruct A {\n    /// `true` if b.\n    b: bool,\n    /// Points, of c.\n    c: u8,\n}\n\
                      /// Returns d.\nfn d() {}\n#[derive(clap::Subcommand)]\nenum E {\n    /// Runs f\n    F,\n}";
        assert!(lines(source).is_empty());
    }

    #[test]
    fn constants_inside_functions_are_seen() {
        assert_eq!(lines("fn a() {\n    /// Limits b.\n    const B: u8 = 0;\n}"), [2]);
    }
}
