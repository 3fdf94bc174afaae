//! A18: the lists of mistakes contain each kernel of the verbs, with each kind of mistake that is possible in its text.

use super::mutated::Mistake;
use super::{
    mutated, mutated_axis, mutated_axis_search, mutated_by_key, mutated_elementwise, mutated_fold,
    mutated_histogram, mutated_random, mutated_ranks, mutated_rearrange, mutated_scan, mutated_segments,
    mutated_select, mutated_shares, mutated_sort, mutated_sorted, mutated_weighted, mutated_wide,
};
use crate::common::{Case, Subject, case};
use fencepost::ShaderSource;
use fencepost_kernels::{builtins, reference, trust_of};

pub fn cases() -> Vec<Case> {
    vec![case("a18_each_kernel_of_the_verbs_has_a_barrier_a_bound_and_an_index_among_its_mistakes", listed)]
}

/// Kind of place in a kernel that a mistake changes.
#[derive(Clone, Copy, Debug)]
enum Place {
    Barrier,
    Bound,
    Index,
}

const PLACES: [Place; 3] = [Place::Barrier, Place::Bound, Place::Index];

fn lists() -> [&'static [Mistake]; 18] {
    [
        mutated::MISTAKES,
        mutated_axis::MISTAKES,
        mutated_axis_search::MISTAKES,
        mutated_by_key::MISTAKES,
        mutated_elementwise::MISTAKES,
        mutated_fold::MISTAKES,
        mutated_histogram::MISTAKES,
        mutated_random::MISTAKES,
        mutated_ranks::MISTAKES,
        mutated_rearrange::MISTAKES,
        mutated_scan::MISTAKES,
        mutated_segments::MISTAKES,
        mutated_select::MISTAKES,
        mutated_shares::MISTAKES,
        mutated_sort::MISTAKES,
        mutated_sorted::MISTAKES,
        mutated_weighted::MISTAKES,
        mutated_wide::MISTAKES,
    ]
}

fn listed(_: &Subject) {
    let mistakes: Vec<&Mistake> = lists().into_iter().flatten().collect();
    let mut missing = Vec::new();
    for (file, _) in builtins() {
        let kernel = file.strip_suffix(".wgsl").unwrap();
        if !is_of_a_verb(kernel) {
            continue;
        }
        let text = ShaderSource::builtin(file).unwrap().whole_text().unwrap();
        for place in PLACES {
            let is_listed =
                mistakes.iter().any(|mistake| mistake.shader == kernel && place.is_changed(&text, mistake));
            if place.is_in(&text) && !is_listed {
                missing.push(format!("{kernel}: {place:?}"));
            }
        }
    }
    assert!(missing.is_empty(), "add mistakes to a list: {missing:#?}");
}

/// Returns `true` for the kernels of the algorithms: those without a reference, and those that the verbs trust.
fn is_of_a_verb(kernel: &str) -> bool {
    reference(kernel).is_none() || trust_of(kernel).is_some()
}

const BARRIER: &str = "Barrier();";
/// Operators and functions that compare an index with a bound.
const COMPARISONS: [&str; 5] = [" < ", " <= ", " > ", " >= ", "min("];

impl Place {
    /// Returns `true` if a text has a place of this kind.
    fn is_in(self, text: &str) -> bool {
        let code = code(text);
        match self {
            Self::Barrier => code.contains(BARRIER),
            Self::Bound => is_bound(&code),
            Self::Index => code.contains('['),
        }
    }

    /// Returns `true` if a mistake changes a place of this kind.
    fn is_changed(self, text: &str, mistake: &Mistake) -> bool {
        let Mistake { find, with, .. } = mistake;
        let removes_a_barrier = find.matches(BARRIER).count() > with.matches(BARRIER).count();
        match self {
            Self::Barrier => removes_a_barrier,
            Self::Bound => !removes_a_barrier && is_bound(find),
            Self::Index => {
                let before = code(text);
                let after = code(&text.replacen(find, with, 1));
                let before = indices(&before);
                let after = indices(&after);
                before.len() == after.len() && before != after
            }
        }
    }
}

/// Returns a text without its comments.
fn code(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

fn is_bound(code: &str) -> bool {
    COMPARISONS.iter().any(|comparison| code.contains(comparison))
}

/// Returns the text of each index expression.
fn indices(code: &str) -> Vec<&str> {
    code.split('[').skip(1).map(|rest| rest.split(']').next().unwrap_or_default()).collect()
}
