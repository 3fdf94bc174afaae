//! Kernels with one mistake each, in the text files of this folder. The lines of the mistake end with `//@`.

use crate::harness::{Kernel, Launch};
use fencepost_cpu::{Absent, Finding, Mistake, Place};

const WORKGROUP: &str = include_str!("workgroup.txt");
const BETWEEN: &str = include_str!("between.txt");
const ACCESS: &str = include_str!("access.txt");
const OPERANDS: &str = include_str!("operands.txt");

/// A kernel with a mistake.
pub(crate) struct Bug {
    pub(crate) name: &'static str,
    /// Kind of the mistake, as named by [`kind`].
    pub(crate) kind: &'static str,
    /// Subject of the finding: an element, an array, or an operation.
    pub(crate) what: &'static str,
    pub(crate) groups: u32,
    /// Text before the kernel.
    pub(crate) before: &'static str,
    /// Body of the kernel.
    pub(crate) body: &'static str,
}

/// Declarations of most kernels, in one line.
const HEAD: &str = "@group(0) @binding(0) var<storage, read_write> out: array<u32>; \
    @group(0) @binding(1) var<storage, read> x: array<u32>; var<workgroup> w: array<u32, 64>;";
const ENTRY: &str = "@compute @workgroup_size(64) fn k(@builtin(local_invocation_index) i: u32, \
    @builtin(global_invocation_id) id: vec3<u32>, @builtin(workgroup_id) g: vec3<u32>) {";

/// Reads the kernels of a file. Each begins with a line `== name | kind | what | groups`, and text before the kernel ends
/// with a line `--`.
fn bugs(file: &'static str) -> Vec<Bug> {
    let bug = |text: &'static str| {
        let (head, rest) = text.split_once('\n').expect("a bug has a line of its own");
        let [name, kind, what, groups]: [&str; 4] =
            head.split(" | ").collect::<Vec<_>>().try_into().expect("a bug has four parts");
        let (before, body) = rest.split_once("\n--\n").unwrap_or(("", rest));
        Bug { name, kind, what, groups: groups.parse().expect("a number of workgroups"), before, body }
    };
    file.split("\n== ").skip(1).map(bug).collect()
}

impl Bug {
    /// Returns the text of the kernel.
    pub(crate) fn text(&self) -> String {
        // Directives come first.
        format!("{}\n{HEAD}\n{ENTRY}\n{}\n}}\n", self.before, self.body)
    }

    /// Prepares a launch.
    pub(crate) fn launch(&self) -> Launch {
        let mut launch = Launch::new(Kernel::text(self.text())).groups(self.groups);
        launch.options.nan = true;
        launch
    }

    /// Returns the differences between the findings of a few seeds and the expected one.
    fn failure(&self) -> Option<String> {
        let text = self.text();
        let launch = self.launch();
        let marked = text.lines().enumerate().filter(|(_, line)| line.contains("//@"));
        let marked: Vec<usize> = marked.map(|(at, _)| at + 1).collect();
        let findings = launch.check(0);
        let show = || findings.iter().map(|finding| format!("{finding}\n")).collect::<String>();
        let found: Vec<_> = findings.iter().map(|found| (kind(found), what(found), lines(found))).collect();
        if found != [(self.kind, self.what.to_owned(), marked)] {
            return Some(format!("{}: {found:?}\n{}{text}", self.name, show()));
        }
        let differs = (1..=5).find(|&seed| launch.check(seed) != findings)?;
        Some(format!("{}: seed {differs} gives other findings\n{}{text}", self.name, show()))
    }
}

/// Fails if the findings of any bug of a file differ from the expected ones.
fn check(file: &'static str) {
    let failures: Vec<String> = bugs(file).iter().filter_map(Bug::failure).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Returns the kind of a mistake.
fn kind(finding: &Finding) -> &'static str {
    match finding.mistake {
        Mistake::RaceInWorkgroup(_) => "race in a workgroup",
        Mistake::RaceBetweenWorkgroups(_) => "race between workgroups",
        Mistake::UnwrittenRead { .. } => "unwritten",
        Mistake::IndexOutOfRange { .. } => "index",
        Mistake::BarrierMissed { .. } => "barrier",
        Mistake::DivisionByZero { .. } => "division by zero",
        Mistake::DivisionOverflow { .. } => "division overflow",
        Mistake::ShiftOutOfRange { .. } => "shift",
        Mistake::ConversionOutOfRange { .. } => "conversion",
        Mistake::NewNan { .. } => "nan",
        _ => "another mistake",
    }
}

/// Returns the subject of a finding.
fn what(finding: &Finding) -> String {
    match &finding.mistake {
        Mistake::RaceInWorkgroup(race) | Mistake::RaceBetweenWorkgroups(race) => race.element.path.clone(),
        Mistake::UnwrittenRead { element, .. } => element.path.clone(),
        Mistake::IndexOutOfRange { array, index, len, .. } => format!("{array}: {index} of {len}"),
        Mistake::DivisionByZero { operation, .. }
        | Mistake::DivisionOverflow { operation, .. }
        | Mistake::ShiftOutOfRange { operation, .. }
        | Mistake::ConversionOutOfRange { operation, .. }
        | Mistake::NewNan { operation, .. } => operation.clone(),
        _ => String::new(),
    }
}

/// Returns the lines of a finding.
fn lines(finding: &Finding) -> Vec<usize> {
    let other = match &finding.mistake {
        Mistake::RaceInWorkgroup(race) | Mistake::RaceBetweenWorkgroups(race) => {
            race.other.step.place.as_ref()
        }
        Mistake::BarrierMissed { absent: Absent::Waits(step), .. } => step.place.as_ref(),
        _ => None,
    };
    let places = finding.place().into_iter().chain(other);
    let mut lines: Vec<usize> = places.map(|place: &Place| place.line).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

#[test]
fn r07_mistakes_of_a_workgroup_are_found_at_their_lines() {
    check(WORKGROUP);
}

#[test]
fn r07_mistakes_between_workgroups_are_found_at_their_lines() {
    check(BETWEEN);
}

#[test]
fn r07_unwritten_reads_indices_and_barriers_are_found_at_their_lines() {
    check(ACCESS);
}

#[test]
fn r07_wrong_operands_are_found_at_their_lines() {
    check(OPERANDS);
}

#[test]
fn r07_there_are_forty_planted_bugs_or_more() {
    let found = [WORKGROUP, BETWEEN, ACCESS, OPERANDS].map(|file| bugs(file).len());
    assert!(found.iter().sum::<usize>() >= 40, "{found:?}");
}
