//! Removes the directive `enable subgroups`, which WGSL demands and naga does not know: it has the operations without it.

use std::ops::Range;

use crate::tokens::{Token, Tokens};

/// Names the extension of WGSL that naga has without a directive.
const SUBGROUPS: &str = "subgroups";

/// Removes [`SUBGROUPS`] from the directives of a text. Spaces replace what is removed, so each other byte keeps its place.
pub(crate) fn remove_subgroups(text: &mut String) {
    if !text.contains(SUBGROUPS) {
        return;
    }
    let directives = enables(text);
    let changes: Vec<_> = directives.into_iter().filter_map(|place| without_subgroups(text, place)).collect();
    for (place, rest) in changes {
        let spaces = " ".repeat(place.len() - rest.len());
        text.replace_range(place, &(rest + &spaces));
    }
}

/// Returns the places of the directives `enable` at the beginning of a text.
fn enables(text: &str) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut tokens = Tokens::of(text);
    while let Some(first) =
        tokens.next().filter(|token| ["enable", "requires", "diagnostic"].contains(&token.text))
    {
        let Some(last) = tokens.by_ref().find(|token| token.text == ";") else { break };
        if first.text == "enable" {
            places.push(first.at..last.end());
        }
    }
    places
}

/// Returns a directive's place and what replaces it; `None` if it does not name the extension.
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
