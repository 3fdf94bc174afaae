//! `cargo xtask storm`: runs random programs by several threads, on every adapter and with every recorder, for some
//! minutes.

use std::fmt;
use std::ops::Range;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::json;

use crate::built::Built;
use crate::environment::{self, Request, Vars, Wanted};
use crate::progress;
use crate::shell::Line;
use crate::suite::{self, MEMORY, Mode, peak, too_much};
use crate::workspace::Workspace;

/// Number of seeds that one process runs; small, so that the bar moves, and memory that a device keeps is freed soon.
const PIECE: u64 = 20;
/// The place that needs no driver.
const CPU: &str = "cpu";

/// Environment variables that select the program's work.
const CHOICES: [&str; 6] = [
    "FENCEPOST_SEED",
    "FENCEPOST_STORM_THREADS",
    "FENCEPOST_RECORDER",
    "FENCEPOST_TEST_MEMORY",
    "FENCEPOST_TEST_FULL",
    "FENCEPOST_TEST_RESULTS",
];

/// Arguments of a storm.
pub(crate) struct Options {
    pub(crate) minutes: f64,
    /// Names of places; empty for all places.
    pub(crate) adapters: Vec<String>,
    /// Names of modes; empty for all modes that differ at a place.
    pub(crate) modes: Vec<String>,
    pub(crate) threads: Option<u64>,
    /// The only seed, run again and again.
    pub(crate) seed: Option<u64>,
    /// First seed.
    pub(crate) from: u64,
    pub(crate) json: bool,
    pub(crate) may_install: bool,
}

/// A place and a mode.
struct At {
    place: String,
    mode: &'static Mode,
}

/// Result of a process.
struct Ended {
    passed: bool,
    said: String,
    seconds: f64,
}

/// Runs seeds until the time is over, or until the first failure; returns `false` after a failure.
///
/// # Errors
/// An adapter or mode does not exist, or the program does not build.
pub(crate) fn storm(workspace: &Workspace, options: &Options) -> Result<bool> {
    let modes = suite::modes_named(&options.modes)?;
    let vars = vars(workspace, options)?;
    let built = Built::new(workspace, &["storm"])?;
    let Some(line) = built.lines(workspace).next() else { bail!("cargo names no storm") };
    let line = CHOICES.iter().fold(line, |line, name| line.without(name)).vars(&vars);
    let all = everywhere(&places(&line, &options.adapters)?, &modes);
    let begun = Instant::now();
    let length = Duration::from_secs_f64(60.0 * options.minutes);
    let bar = progress::bar(length.as_secs());
    let mut runs = 0;
    let mut passed = true;
    for (turn, at) in (0..).flat_map(|turn| all.iter().map(move |at| (turn, at))) {
        if !passed || (runs > 0 && begun.elapsed() >= length) {
            break;
        }
        bar.set_message(at.place.clone());
        let ended = run(&line, at, options, turn)?;
        (runs, passed) = (runs + 1, ended.passed);
        bar.set_position(begun.elapsed().as_secs().min(length.as_secs()));
        if options.json {
            println!("{}", ended.line(at, options, turn));
        }
        if !passed {
            bar.abandon();
            eprintln!(
                "{}\na storm at {at} failed: the line that begins with `again` runs its seed",
                ended.said
            );
        }
    }
    bar.finish_and_clear();
    let minutes = begun.elapsed().as_secs_f64() / 60.0;
    let seen = &all[..all.len().min(runs)];
    let seeds = PIECE * runs as u64;
    let places = seen.iter().map(At::to_string).collect::<Vec<_>>();
    if options.json {
        println!("{}", json!({ "passed": passed, "seeds": seeds, "minutes": minutes, "places": places }));
    } else if passed {
        println!("{seeds} seeds passed in {minutes:.1} minutes: {}", places.join(", "));
    }
    Ok(passed)
}

impl Options {
    /// Returns the seeds of a turn; if a single seed was given, always that seed.
    fn seeds(&self, turn: u64) -> Range<u64> {
        let (from, count) =
            self.seed.map_or((self.from.saturating_add(turn * PIECE), PIECE), |seed| (seed, 1));
        from..from.saturating_add(count)
    }
}

/// Runs the seeds of a turn in one place.
fn run(line: &Line, at: &At, options: &Options, turn: u64) -> Result<Ended> {
    let seeds = options.seeds(turn);
    let line = line.clone().var("FENCEPOST_TEST_PLACE", &at.place).var("RUST_LOG", "off");
    let line = line.var("FENCEPOST_SEEDS", format!("{}..{}", seeds.start, seeds.end));
    let line = at.mode.var.iter().fold(line, |line, (name, value)| line.var(name, value));
    let line = match options.seed {
        Some(_) => line.var("FENCEPOST_STORM_TIMES", PIECE.to_string()),
        None => line,
    };
    let line = match options.threads {
        Some(count) => line.var("FENCEPOST_STORM_THREADS", count.to_string()),
        None => line,
    };
    let begun = Instant::now();
    let (passed, said) = line.said()?;
    let seconds = begun.elapsed().as_secs_f64();
    Ok(match too_much(peak(&said), MEMORY) {
        Some(reason) => Ended { passed: false, said: format!("{said}\n{reason}"), seconds },
        None => Ended { passed, said, seconds },
    })
}

impl Ended {
    /// Returns a line of JSON.
    fn line(&self, at: &At, options: &Options, turn: u64) -> serde_json::Value {
        let seeds = options.seeds(turn);
        json!({
            "place": at.place,
            "mode": at.mode.name,
            "from": seeds.start,
            "to": seeds.end,
            "passed": self.passed,
            "seconds": self.seconds,
            "peak_mib": peak(&self.said),
        })
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mode.var {
            None => f.write_str(&self.place),
            Some(_) => write!(f, "{} {}", self.place, self.mode.name),
        }
    }
}

/// Returns the variables of the requested adapters; sets up no adapter if only the simulator is requested.
fn vars(workspace: &Workspace, options: &Options) -> Result<Vars> {
    if !options.adapters.is_empty() && options.adapters.iter().all(|name| name == CPU) {
        return Ok(vec![("FENCEPOST_TEST_ADAPTERS".to_owned(), "none".to_owned())]);
    }
    let request = Request { wanted: Wanted::AllThereAre, may_install: options.may_install };
    environment::set_up_reported(workspace, request)
}

/// Returns the requested places of the program's tests.
fn places(line: &Line, asked: &[String]) -> Result<Vec<String>> {
    let list = line.clone().arg("--list").read()?;
    let found: Vec<&str> = suite::listed(&list).filter_map(|id| Some(id.rsplit_once("::")?.1)).collect();
    if let Some(unknown) = asked.iter().find(|name| !found.contains(&name.as_str())) {
        bail!("there is no adapter `{unknown}`: there are {}", found.join(", "));
    }
    let wanted = |name: &&&str| asked.is_empty() || asked.iter().any(|asked| asked == **name);
    Ok(found.iter().filter(wanted).map(|name| (*name).to_owned()).collect())
}

/// Returns each place with each mode that differs from the default mode there.
fn everywhere(places: &[String], modes: &[&'static Mode]) -> Vec<At> {
    let at = |place: &String| {
        let differing = modes.iter().filter(|mode| mode.differs_at(place));
        differing.map(|mode| At { place: place.clone(), mode }).collect::<Vec<_>>()
    };
    places.iter().flat_map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(seed: Option<u64>) -> Options {
        let minutes = 1.0;
        let adapters = Vec::new();
        let modes = Vec::new();
        Options { minutes, adapters, modes, threads: None, seed, from: 7, json: false, may_install: false }
    }

    #[test]
    fn each_turn_has_the_next_seeds_and_a_single_seed_repeats() {
        assert_eq!(options(None).seeds(0), 7..7 + PIECE);
        assert_eq!(options(None).seeds(2).start, 7 + 2 * PIECE);
        assert_eq!(options(Some(3)).seeds(5), 3..4);
    }

    #[test]
    fn a_place_has_the_modes_that_differ_there() {
        let places = ["cpu".to_owned(), "llvmpipe_gl".to_owned()];
        let shown = |modes: &[&'static Mode]| {
            everywhere(&places, modes).iter().map(At::to_string).collect::<Vec<_>>()
        };
        let all = suite::modes_named(&[]).expect("no name is unknown");
        assert_eq!(shown(&all), ["cpu", "llvmpipe_gl", "llvmpipe_gl hal", "llvmpipe_gl direct"]);
        let hal = suite::modes_named(&["hal".to_owned()]).expect("a mode");
        assert_eq!(shown(&hal), ["llvmpipe_gl hal"]);
    }
}
