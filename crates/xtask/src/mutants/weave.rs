//! Puts faults next to the text that they replace.

use std::cmp::Reverse;
use std::ops::Range;

use anyhow::{Result, bail};

use super::faults::Placed;

/// Environment variable that selects a fault.
pub(super) const VARIABLE: &str = "FENCEPOST_FAULT";

/// Code that is added to the root of each crate with faults.
const CHOICE: &str = r#"
pub(crate) mod seeded_fault {
    pub(crate) fn on(name: &str) -> bool {
        static CHOSEN: std::sync::OnceLock<String> = std::sync::OnceLock::new();
        CHOSEN.get_or_init(|| std::env::var("FENCEPOST_FAULT").unwrap_or_default()) == name
    }
}
"#;

/// Adds the code that selects faults to the root of a crate.
pub(super) fn with_choice(root: &str) -> String {
    format!("{root}{CHOICE}")
}

/// Returns `text` with its faults. The line numbers do not change.
///
/// # Errors
/// Two faults overlap and neither of them lies inside the other.
pub(super) fn weave(text: &str, faults: &[&Placed]) -> Result<String> {
    let mut faults = faults.to_vec();
    faults.sort_by_key(|placed| (placed.range.start, Reverse(placed.range.end)));
    part(text, 0..text.len(), &faults)
}

/// Returns the range `whole` of `text` with the faults in it. Of nested faults, the outer one comes first.
fn part(text: &str, whole: Range<usize>, faults: &[&Placed]) -> Result<String> {
    let mut out = String::new();
    let mut end = whole.start;
    let mut rest = faults;
    while let Some(first) = rest.first() {
        let range = &first.range;
        if range.start < end || range.end > whole.end {
            bail!("fault `{}` overlaps another", first.fault.name);
        }
        let same = rest.partition_point(|placed| placed.range == *range);
        let within = rest.partition_point(|placed| placed.range.start < range.end);
        let original = part(text, range.clone(), &rest[same..within])?;
        out.push_str(&text[end..range.start]);
        out.push_str(&choice(&original, &rest[..same]));
        end = range.end;
        rest = &rest[within..];
    }
    Ok(out + &text[end..whole.end])
}

/// Returns the code that chooses between faults and the text that they replace.
fn choice(original: &str, faults: &[&Placed]) -> String {
    let arm = |placed: &&Placed| {
        let name = &placed.fault.name;
        let with = &placed.fault.with;
        format!("if crate::seeded_fault::on({name:?}) {{ {with} }} else ")
    };
    let arms: String = faults.iter().map(arm).collect();
    let chosen = format!("{arms}{{ {original} }}");
    if faults.iter().any(|placed| placed.fault.find.ends_with(';')) { chosen } else { format!("({chosen})") }
}

/// Returns `true` if the two ranges of lines overlap.
pub(super) fn meet(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

#[cfg(test)]
mod tests {
    use super::super::faults::tests::fault;
    use super::*;

    fn placed(text: &str, name: &str, find: &str, with: &str) -> Placed {
        let start = text.find(find).expect("it is there");
        Placed { fault: fault(name, find, with), range: start..start + find.len(), lines: 1..2 }
    }

    #[test]
    fn a_fault_stands_beside_the_text_that_it_replaces() {
        let text = "let x = a < b;\ndrop(x);\n";
        let faults = [placed(text, "f", "a < b", "a <= b"), placed(text, "g", "drop(x);", "")];
        let woven = weave(text, &[&faults[1], &faults[0]]).expect("no overlap");
        let first = r#"let x = (if crate::seeded_fault::on("f") { a <= b } else { a < b });"#;
        let second = r#"if crate::seeded_fault::on("g") {  } else { drop(x); }"#;
        assert_eq!(woven, format!("{first}\n{second}\n"));
    }

    #[test]
    fn two_faults_of_one_text_are_chosen_one_after_the_other() {
        let faults = [placed("a < b", "f", "a < b", "true"), placed("a < b", "g", "a < b", "false")];
        let woven = weave("a < b", &[&faults[0], &faults[1]]).expect("the same text");
        assert!(
            woven.contains(r#"on("f") { true } else if "#) && woven.ends_with("else { a < b })"),
            "{woven}"
        );
    }

    #[test]
    fn a_fault_may_lie_inside_another() {
        let text = "f(a < b) && c";
        let faults = [placed(text, "f", "f(a < b)", "true"), placed(text, "g", "a < b", "true")];
        let woven = weave(text, &[&faults[1], &faults[0]]).expect("one is inside the other");
        let inner = r#"f((if crate::seeded_fault::on("g") { true } else { a < b }))"#;
        assert_eq!(woven, format!(r#"(if crate::seeded_fault::on("f") {{ true }} else {{ {inner} }}) && c"#));
    }

    #[test]
    fn faults_that_overlap_are_refused() {
        let text = "a < b < c";
        let faults = [placed(text, "f", "a < b", "true"), placed(text, "g", "b < c", "c")];
        let error = weave(text, &[&faults[0], &faults[1]]).expect_err("they overlap").to_string();
        assert!(error.contains("`g`"), "{error}");
    }

    #[test]
    fn a_choice_is_read_from_the_variable() {
        assert!(with_choice("").contains(VARIABLE));
    }
}
