//! `cargo xtask mutants`: puts seeded faults into the library, and finds the test that detects each.
//!
//! All faults are built at once into a copy of the sources, next to the text that they replace. An environment variable
//! selects one fault or none when a test program starts.

mod faults;
mod outcome;
mod proofs;
mod scratch;
mod table;
mod watch;
mod weave;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use self::faults::{Fault, Placed};
use self::outcome::{Ended, Outcome};
use self::proofs::{Proofs, Run};
use self::scratch::Scratch;
use crate::progress;
use crate::workspace::Workspace;

/// Arguments of the command `mutants`.
pub(crate) struct Options {
    pub(crate) json: bool,
    pub(crate) list: bool,
    pub(crate) limit: Duration,
    pub(crate) filter: Vec<String>,
}

/// Tries the faults and prints the test that detects each; returns `true` if each builds and no fault survives without
/// an explanation.
pub(crate) fn mutants(workspace: &Workspace, options: &Options) -> Result<bool> {
    let all = faults::read(&workspace.path(faults::LIST))?;
    let placed = faults::place_all(workspace.root(), all)?;
    let words = &options.filter;
    let wanted = |fault: &Fault| words.is_empty() || words.iter().any(|word| fault.name.contains(word));
    let chosen: Vec<&Placed> = placed.iter().filter(|placed| wanted(&placed.fault)).collect();
    if chosen.is_empty() {
        bail!("no fault of {} has any of these words in its name: {}", faults::LIST, words.join(" "));
    }
    if options.list {
        print!("{}", table::list(&chosen));
        return Ok(true);
    }
    let begun = Instant::now();
    let outcomes = run(workspace, &placed, &chosen, options)?;
    if !options.json {
        print!("{}", table::of(&outcomes, begun.elapsed()));
    }
    Ok(outcomes.iter().all(Outcome::is_fine))
}

/// Returns the rules that the faults break.
pub(crate) fn broken_rules(workspace: &Workspace) -> Result<BTreeSet<String>> {
    let all = faults::read(&workspace.path(faults::LIST))?;
    Ok(all.iter().filter_map(Fault::rule).map(str::to_owned).collect())
}

/// Builds the copy with every fault in it, checks that all tests pass without a fault, and runs them with each of
/// `chosen`.
fn run(workspace: &Workspace, all: &[Placed], chosen: &[&Placed], options: &Options) -> Result<Vec<Outcome>> {
    let scratch = Scratch::new(workspace)?;
    let (mut proofs, broken) = build(&scratch, all, options.limit)?;
    eprintln!("+ every proof without a fault");
    if let Run::Failed(by) = proofs.try_out()? {
        bail!("`{by}` fails without a fault: the faults cannot be tested");
    }
    let bar = progress::bar(chosen.len() as u64);
    let mut outcomes = Vec::new();
    for placed in chosen {
        bar.set_message(placed.fault.name.clone());
        let begun = Instant::now();
        let ended = match broken.contains(&placed.fault.name) {
            true => Ended::DoesNotBuild,
            false => proofs.run(&placed.fault)?.into(),
        };
        let outcome = Outcome::new(placed, ended, begun.elapsed());
        if options.json {
            println!("{}", serde_json::to_string(&outcome)?); // printed immediately, because a run may take long
        }
        outcomes.push(outcome);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(outcomes)
}

/// Builds the copy. Faults that do not compile are left out, and their names are returned.
fn build(scratch: &Scratch, all: &[Placed], limit: Duration) -> Result<(Proofs, Vec<String>)> {
    let mut broken: Vec<String> = Vec::new();
    loop {
        let whole: Vec<&Placed> = all.iter().filter(|placed| !broken.contains(&placed.fault.name)).collect();
        scratch.lay(&whole)?;
        let refused = match Proofs::build(scratch, limit)? {
            Ok(proofs) => return Ok((proofs, broken)),
            Err(refused) => refused,
        };
        let hit = whole.iter().filter(|placed| refused.has(placed)).map(|placed| placed.fault.name.clone());
        let before = broken.len();
        broken.extend(hit);
        if broken.len() == before {
            bail!("the copy does not build, and no fault is where the compiler points:\n{}", refused.said);
        }
        eprintln!("mutants: does not build: {}\n{}", broken[before..].join(", "), refused.said);
    }
}
