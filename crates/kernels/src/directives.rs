//! Removes the directive `enable subgroups`. WGSL requires it, but naga does not know it, and supports the operations
//! without it.

use std::ops::Range;

use crate::tokens::{Token, Tokens};

/// WGSL extension that naga supports without a directive.
const SUBGROUPS: &str = "subgroups";

/// Removes [`SUBGROUPS`] from the directives of a text. Removed characters become spaces, so that positions do not
/// change. Returns `true` if the text had it.
pub(crate) fn remove_subgroups(text: &mut String) -> bool {
    if !text.contains(SUBGROUPS) {
        return false;
    }
    let directives = directives(text).filter(|(keyword, _)| *keyword == "enable").map(|(_, place)| place);
    let changes: Vec<_> = directives.filter_map(|place| without_subgroups(text, place)).collect();
    let had_it = !changes.is_empty();
    for (place, rest) in changes {
        let spaces = " ".repeat(place.len() - rest.len());
        text.replace_range(place, &(rest + &spaces));
    }
    had_it
}

/// Returns the first use of the extension [`SUBGROUPS`].
pub(crate) fn first_subgroup(text: &str) -> Option<Token<'_>> {
    let is_use = |token: &Token<'_>| {
        ["subgroup", "quadBroadcast", "quadSwap", "num_subgroups"]
            .iter()
            .any(|name| token.text.starts_with(name))
    };
    Tokens::of(text).find(is_use)
}

/// Returns `true` if a directive of a text allows subgroup operations that not all invocations reach.
pub(crate) fn allows_diverging_subgroups(text: &str) -> bool {
    directives(text).any(|(keyword, place)| {
        let words: Vec<_> = Tokens::of(&text[place]).map(|token| token.text).collect();
        let is_allowed = |severity: &str| words.contains(&severity) && words.contains(&"subgroup_uniformity");
        keyword == "diagnostic" && ["off", "info", "warning"].into_iter().any(is_allowed)
    })
}

/// Returns the keywords and the places of the directives at the beginning of a text.
fn directives(text: &str) -> impl Iterator<Item = (&str, Range<usize>)> {
    let mut tokens = Tokens::of(text);
    std::iter::from_fn(move || {
        let first =
            tokens.next().filter(|token| ["enable", "requires", "diagnostic"].contains(&token.text))?;
        let last = tokens.by_ref().find(|token| token.text == ";")?;
        Some((first.text, first.at..last.end()))
    })
}

/// Returns a directive's place and its replacement; `None` if it does not name the extension.
fn without_subgroups(text: &str, place: Range<usize>) -> Option<(Range<usize>, String)> {
    let is_name = |token: &Token<'_>| !["enable", ",", ";"].contains(&token.text);
    let names: Vec<_> = Tokens::of(&text[place.clone()]).filter(is_name).map(|token| token.text).collect();
    let others: Vec<_> = names.iter().copied().filter(|name| *name != SUBGROUPS).collect();
    let rest = if others.is_empty() { String::new() } else { format!("enable {};", others.join(",")) };
    (others.len() < names.len() && rest.len() <= place.len()).then_some((place, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn removed(text: &str) -> String {
        let mut text = text.to_owned();
        remove_subgroups(&mut text);
        text
    }

    #[test]
    fn other_extensions_and_the_places_of_bytes_stay() {
        assert_eq!(removed("enable subgroups;\nfn f() {}"), "                 \nfn f() {}");
        assert_eq!(removed("/* a */ enable f16, subgroups; x"), "/* a */ enable f16;            x");
        assert_eq!(removed("enable f16;\nenable subgroups ;x"), "enable f16;\n                  x");
    }

    #[test]
    fn a_text_without_the_directive_stays() {
        for text in [
            "enable f16; // subgroups",
            "fn subgroups() {} enable subgroups;",
            "enable subgroups",
            "subgroups",
        ] {
            assert_eq!(removed(text), text);
        }
    }
}
