//! Cuts the test programs into shards: a process each.

use std::path::Path;

use anyhow::Result;

use super::Plan;
use super::modes::{MODES, Mode};
use super::programs::Program;
use crate::shell::Line;

/// The variable that names the file of results, as in `tests/common/results.rs`.
const RESULTS: &str = "FENCEPOST_TEST_RESULTS";
/// The variable that leaves a program the tests of one place, as in `tests/common/places.rs`.
const PLACE: &str = "FENCEPOST_TEST_PLACE";
/// The variable of the full suite, as in `tests/common/full.rs`.
const FULL: &str = "FENCEPOST_TEST_FULL";

/// The programs that are cut by place: the validation layers report to a process, and a place has one process.
const BY_PLACE: [&str; 3] = ["conformance", "programs", "refusals"];
/// The programs that run once more in other modes.
const IN_MODES: [&str; 2] = ["conformance", "programs"];
/// The programs that start first, because they take longest.
const FIRST: [&str; 4] = ["compile_fail", "conformance", "programs", "refusals"];

/// The variable with the seconds that a context may live, as in `crates/core/src/overdue.rs`: the dump of a test that hangs.
pub(super) const WATCHDOG: (&str, &str) = ("FENCEPOST_WATCHDOG", "60");
/// The programs whose cases have a watchdog and a dump of their own.
const WATCHED: [&str; 5] = ["conformance", "programs", "refusals", "b3sum", "overdue"];

/// One process of the suite.
pub(super) struct Shard {
    pub(super) name: String,
    pub(super) line: Line,
}

/// The shards of a plan, those that take long first.
pub(super) fn plan(programs: &[Program], plan: &Plan<'_>, results: &Path) -> Result<Vec<Shard>> {
    let mut ordered: Vec<&Program> = programs.iter().collect();
    ordered
        .sort_by_key(|program| FIRST.iter().position(|first| *first == program.name).unwrap_or(FIRST.len()));
    let mut shards = Vec::new();
    for program in ordered {
        let line = line(program, plan, results);
        if BY_PLACE.contains(&program.name.as_str()) {
            let places = places(&program.ids(plan.vars)?);
            shards.extend(places.iter().flat_map(|place| at_place(program, &line, place, plan)));
        } else {
            shards.push(Shard { name: program.name.clone(), line });
        }
    }
    Ok(shards)
}

/// A line of a program, whatever it is cut into.
fn line(program: &Program, plan: &Plan<'_>, results: &Path) -> Line {
    let line = program.line().vars(plan.vars).var(RESULTS, results).args(plan.filter);
    let watched = WATCHED.contains(&program.name.as_str());
    let line = if watched { line } else { line.var(WATCHDOG.0, WATCHDOG.1) };
    if plan.full { line.var(FULL, "1").var("FENCEPOST_REFUSALS", "all") } else { line }
}

/// The shards of one place: the default mode, and unless only some tests are wanted the modes that differ there.
fn at_place(program: &Program, line: &Line, place: &str, plan: &Plan<'_>) -> Vec<Shard> {
    let again = plan.filter.is_empty() && IN_MODES.contains(&program.name.as_str());
    let modes = MODES.iter().filter(|mode| mode.var.is_none() || (again && mode.differs_at(place)));
    modes.map(|mode| in_mode(&program.name, line, place, mode)).collect()
}

fn in_mode(program: &str, line: &Line, place: &str, mode: &Mode) -> Shard {
    let line = line.clone().var(PLACE, place);
    match mode.var {
        None => Shard { name: format!("{program} {place}"), line },
        Some((name, value)) => {
            Shard { name: format!("{program} {place} {}", mode.name), line: line.var(name, value) }
        }
    }
}

/// The places of tests named `<test>::<place>`, each once, in their order; the lanes of the CPU recorder are one.
fn places(ids: &[String]) -> Vec<String> {
    let mut places: Vec<String> = Vec::new();
    for (_, place) in ids.iter().filter_map(|id| id.rsplit_once("::")) {
        let place = if place.starts_with("cpu") { "cpu" } else { place };
        if !places.iter().any(|known| known == place) {
            places.push(place.to_owned());
        }
    }
    places
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
    fn a_mode_names_its_shard_and_sets_its_variable() {
        let shard = in_mode("programs", &crate::shell::line("p"), "lavapipe", &MODES[2]);
        assert_eq!(shard.name, "programs lavapipe hal");
        let shown = shard.line.to_string();
        assert!(shown.contains("FENCEPOST_TEST_PLACE=lavapipe FENCEPOST_RECORDER=hal"), "{shown}");
    }
}
