//! Cuts the test programs into shards. Each shard is a process.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::modes::{MODES, Mode};
use super::programs::{COMPILER, Program};
use super::{Extent, Plan};
use crate::shell::Line;

/// Variable with the file of results, as in `tests/common/results.rs`.
const RESULTS: &str = "FENCEPOST_TEST_RESULTS";
/// Variable that limits a program to the tests of one place, as in `tests/common/place_filter.rs`.
const PLACE: &str = "FENCEPOST_TEST_PLACE";
/// Variable of the full suite, as in `tests/common/full.rs`.
pub(super) const FULL: &str = "FENCEPOST_TEST_FULL";

/// Variable with the number of places and modes in which each conformance case runs, as in `tests/common/full.rs`.
const SLOTS: &str = "FENCEPOST_TEST_SLOTS";
/// That number in a plain run without a filter: a place in the default mode, and a place in another mode.
const PLAIN_SLOTS: &str = "2";

/// Programs that are divided by place: validation layers report to the whole process, so each place has its own
/// process.
const BY_PLACE: [&str; 4] = ["conformance", "programs", "refusals", "storm"];
/// Programs whose tests write their results.
const NOTED: [&str; 4] = BY_PLACE;
/// The program with a separate process for each test: a lost device keeps its memory, and all refused calls in one
/// process took 12 GB.
const BY_TEST: &str = "refusals";
/// Programs that also run in other modes.
const IN_MODES: [&str; 3] = ["conformance", "programs", "storm"];
/// The program that calls cargo for the libraries that its cases name.
const CALLS_CARGO: &str = "compile_fail";
/// Programs that start first, because they take longest, or wait while another cargo builds.
const FIRST: [&str; 10] = [
    CALLS_CARGO,
    "conformance",
    "programs",
    "refusals",
    BENCHES,
    "cli",
    "examples",
    "check",
    "fencepost-cpu unit",
    "fencepost-wgsl-fuzz unit",
];

/// The place whose processes take longest, so they start first: the CPU device.
const LONGEST: &str = "threads";

/// Variable with the seconds that a context may live, as in `crates/core/src/runtime/watchdog.rs`; a test that hangs
/// longer writes its dump. Tests on a busy machine must not reach the limit.
pub(super) const WATCHDOG: (&str, &str) = ("FENCEPOST_WATCHDOG", "240");
/// The program that briefly runs each bench, in the full suite. Its contexts live as long as a bench.
const BENCHES: &str = "quick";
/// The same variable, for [`BENCHES`] and for emulated programs.
const LONG_WATCHDOG: (&str, &str) = ("FENCEPOST_WATCHDOG", "600");
/// Factor by which an emulated program is slower, at most.
const SLOWNESS: u32 = 10;
/// Number of arenas of glibc's allocator. With an arena for each of many short-lived threads, a process needs 1.5 times
/// the memory.
const ARENAS: (&str, &str) = ("MALLOC_ARENA_MAX", "2");
/// Programs whose cases have their own watchdog and dump.
const WATCHED: [&str; 7] = ["conformance", "programs", "refusals", "storm", "b3sum", "overdue", "growth"];

/// One process of the suite.
pub(crate) struct Shard {
    pub(crate) name: String,
    pub(crate) program: String,
    pub(crate) mode: &'static str,
    /// Tests of the program that the process runs.
    part: Part,
    /// File to which the runner adds the results of tests that are named after rules, if the program does not.
    pub(super) notes: Option<PathBuf>,
    /// Number of its tests, if no filter leaves any out.
    pub(super) tests: Option<usize>,
    /// `true` if it runs all cases of its place and mode.
    is_large: bool,
    /// Factor for its time limits.
    pub(super) slowness: u32,
    pub(super) line: Line,
}

/// Memory limit of a process, in MiB.
pub(crate) const MEMORY: u64 = 1536;
/// Memory limit of a process of the refusals, or of one that runs all cases, in MiB.
const MORE_MEMORY: u64 = 2560;

/// Tests of a program that one process runs.
enum Part {
    All,
    /// The tests of one place.
    Place(String),
    /// The test of this name.
    Test(String),
}

impl Shard {
    /// Returns the memory limit of its process, in MiB.
    pub(super) fn memory(&self) -> u64 {
        if self.is_large || self.program == BY_TEST { MORE_MEMORY } else { MEMORY }
    }

    /// Makes a shard of a whole program.
    pub(crate) fn of_one_program(name: &str, line: Line) -> Self {
        let program = name.to_owned();
        Self {
            name: name.to_owned(),
            program,
            mode: MODES[0].name,
            part: Part::All,
            notes: None,
            tests: None,
            is_large: false,
            slowness: 1,
            line,
        }
    }

    /// Makes a shard of a place in the default mode.
    #[cfg(test)]
    pub(crate) fn at(program: &str, place: &str) -> Self {
        in_mode(program, &crate::shell::line("p"), place, &MODES[0], Path::new("r"))
    }

    /// Returns `true` if its tests write their results.
    pub(crate) fn writes_results(&self) -> bool {
        NOTED.contains(&self.program.as_str())
    }

    /// Returns `true` if a test of its program, `<test>::<adapter>`, belongs to the shard.
    pub(crate) fn has(&self, id: &str) -> bool {
        match &self.part {
            Part::All => true,
            Part::Place(place) => place_of(id) == Some(place),
            Part::Test(test) => test == id,
        }
    }
}

/// Returns the shards of a plan, those that take long first.
pub(super) fn cut(programs: &[Program], plan: &Plan<'_>) -> Result<Vec<Shard>> {
    let mut ordered: Vec<&Program> = programs.iter().collect();
    ordered
        .sort_by_key(|program| FIRST.iter().position(|first| *first == program.name).unwrap_or(FIRST.len()));
    let mut shards = Vec::new();
    let is_full = plan.extent == Extent::Full;
    let is_planned = |program: &&Program| is_full || !plan.filter.is_empty() || program.name != BENCHES;
    for program in ordered.into_iter().filter(is_planned) {
        let line = line(program, plan);
        let begun = shards.len();
        if BY_PLACE.contains(&program.name.as_str()) {
            let ids = program.ids(plan.vars, is_full)?;
            if plan.filter.is_empty() && program.name == BY_TEST {
                shards.extend(by_test(&program.name, &line, plan, &ids));
            } else {
                let mut places = places(&ids);
                places.sort_by_key(|place| place != LONGEST);
                let of_place = |place: &String| at_place(program, &line, (place, &places), plan, &ids);
                shards.extend(places.iter().flat_map(of_place));
            }
        } else if plan.modes.contains(&&MODES[0]) {
            let file = results(plan.results, &MODES[0]);
            let notes = !NOTED.contains(&program.name.as_str());
            let shard = Shard::of_one_program(&program.name, line.var(RESULTS, &file));
            shards.push(Shard { notes: notes.then_some(file), ..shard });
        }
        if program.is_emulated() {
            shards[begun..].iter_mut().for_each(|shard| shard.slowness = SLOWNESS);
        }
    }
    Ok(shards)
}

/// Returns the file in which the tests of a mode write their results.
pub(crate) fn results(folder: &Path, mode: &Mode) -> PathBuf {
    folder.join(format!("{}.jsonl", mode.name))
}

/// Returns the command line that all shards of a program share.
fn line(program: &Program, plan: &Plan<'_>) -> Line {
    let line = program.line().vars(plan.vars).var(ARENAS.0, ARENAS.1).args(plan.filter);
    let line = match program.name.as_str() {
        CALLS_CARGO => line.var(COMPILER.0, COMPILER.1).var(WATCHDOG.0, WATCHDOG.1),
        BENCHES => line.var(LONG_WATCHDOG.0, LONG_WATCHDOG.1),
        name if WATCHED.contains(&name) => line,
        _ if program.is_emulated() => line.var(LONG_WATCHDOG.0, LONG_WATCHDOG.1),
        _ => line.var(WATCHDOG.0, WATCHDOG.1),
    };
    match plan.extent {
        Extent::Full => line.var(FULL, "1").var("FENCEPOST_REFUSALS", "all"),
        Extent::Plain if plan.filter.is_empty() => line.var(SLOTS, PLAIN_SLOTS),
        Extent::Plain | Extent::Everywhere => line,
    }
}

/// Returns the shards for one of the places, in the modes of the plan that differ there. A plain run has fewer shards.
fn at_place(
    program: &Program,
    line: &Line,
    (place, places): (&str, &[String]),
    plan: &Plan<'_>,
    ids: &[String],
) -> Vec<Shard> {
    let again = IN_MODES.contains(&program.name.as_str());
    let all = plan.extent != Extent::Plain;
    let is_planned = |mode: &Mode| all || mode.is_plain(&program.name, place, places);
    let runs_again =
        |mode: &Mode| again && mode.runs(&program.name) && mode.differs_at(place) && is_planned(mode);
    let modes = plan.modes.iter().filter(|mode| mode.var.is_none() || runs_again(mode));
    let shards = modes.map(|mode| in_mode(&program.name, line, place, mode, plan.results));
    let tests = |shard: &Shard| ids.iter().filter(|id| shard.has(id)).count();
    let due = |shard: &Shard| plan.filter.is_empty().then(|| tests(shard));
    shards.map(|shard| Shard { tests: due(&shard), is_large: all, ..shard }).collect()
}

/// Returns a shard for each test, in the default mode if the plan has it.
fn by_test(program: &str, line: &Line, plan: &Plan<'_>, ids: &[String]) -> Vec<Shard> {
    let ids = if plan.modes.contains(&&MODES[0]) { ids } else { &[] };
    let shard = |id: &String| {
        let line = line.clone().args(["--exact", id]).var(RESULTS, results(plan.results, &MODES[0]));
        let name = format!("{program} {id}");
        let program = program.to_owned();
        let part = Part::Test(id.clone());
        Shard { program, part, tests: Some(1), ..Shard::of_one_program(&name, line) }
    };
    ids.iter().map(shard).collect()
}

fn in_mode(program: &str, line: &Line, place: &str, mode: &Mode, folder: &Path) -> Shard {
    let line = line.clone().var(PLACE, place).var(RESULTS, results(folder, mode));
    let line = mode.var.iter().fold(line, |line, (name, value)| line.var(name, value));
    let words = [program, place].into_iter().chain(mode.var.map(|_| mode.name));
    let name = words.collect::<Vec<_>>().join(" ");
    let program = program.to_owned();
    let part = Part::Place(place.to_owned());
    Shard { program, mode: mode.name, part, ..Shard::of_one_program(&name, line) }
}

/// Returns the places of tests, each once, in their order.
fn places(ids: &[String]) -> Vec<String> {
    let mut places: Vec<String> = Vec::new();
    for place in ids.iter().filter_map(|id| place_of(id)) {
        if !places.iter().any(|known| known == place) {
            places.push(place.to_owned());
        }
    }
    places
}

/// Returns the place of a test `<test>::<place>`; the simulator is one place for all seeds.
fn place_of(id: &str) -> Option<&str> {
    let (_, place) = id.rsplit_once("::")?;
    Some(if place.starts_with("cpu") { "cpu" } else { place })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn every_place_of_the_tests_is_found_once() {
        let ids = owned(&["q01_a::lavapipe", "q01_a::cpu_1", "q02_b::lavapipe", "q02_b::cpu_2", "no_place"]);
        assert_eq!(places(&ids), ["lavapipe", "cpu"]);
    }

    #[test]
    fn each_test_of_a_program_that_is_cut_by_test_has_its_own_process() {
        let ids = owned(&["m10_a::lavapipe", "m10_b::lavapipe"]);
        let vars = crate::environment::Vars::default();
        let cut = |modes: &[&Mode]| {
            let extent = Extent::Full;
            let plan = Plan { vars: &vars, modes, extent, filter: &[], results: Path::new("r") };
            by_test("refusals", &crate::shell::line("p"), &plan, &ids)
        };
        let shards = cut(&[&MODES[0], &MODES[2]]);
        let names: Vec<_> = shards.iter().map(|shard| shard.name.as_str()).collect();
        assert_eq!(names, ["refusals m10_a::lavapipe", "refusals m10_b::lavapipe"]);
        assert!(shards[1].line.to_string().ends_with("p --exact m10_b::lavapipe"), "{}", shards[1].line);
        assert!(shards[1].has("m10_b::lavapipe") && !shards[1].has("m10_a::lavapipe"));
        assert!(cut(&[&MODES[2]]).is_empty(), "refusals choose the recorder themselves");
    }

    #[test]
    fn a_mode_names_its_shard_and_sets_its_variable() {
        let in_mode = |mode| in_mode("programs", &crate::shell::line("p"), "lavapipe", mode, Path::new("r"));
        let shard = in_mode(&MODES[2]);
        assert_eq!((shard.name.as_str(), shard.mode), ("programs lavapipe hal", "hal"));
        let shown = shard.line.to_string();
        let parts =
            ["FENCEPOST_TEST_PLACE=lavapipe", "FENCEPOST_RECORDER=hal", "FENCEPOST_TEST_RESULTS=r/hal.jsonl"];
        assert!(parts.iter().all(|part| shown.contains(part)), "{shown}");
        assert_eq!(in_mode(&MODES[0]).name, "programs lavapipe");
        assert!(shard.has("p08_a::lavapipe") && !shard.has("p08_a::cpu_1") && !shard.has("p08_a"));
    }
}
