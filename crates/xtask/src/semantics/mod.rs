//! `cargo xtask semantics`: tests every rule of `docs/semantics.md`, on every adapter, with every recorder.

mod outcome;
mod promises;
pub(crate) mod rules;
mod run;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Error, Result, bail};

pub(crate) use self::outcome::Ended;
use self::outcome::{Outcome, Remarked};
pub(crate) use self::promises::LIST;
use self::promises::{Promise, unproved};
use self::rules::{Rule, parse, rule_of, rules_of};
use self::run::{Programs, models};
use crate::environment::{Request, set_up_reported};
use crate::mutants;
use crate::suite::{self, Extent, Plan};
use crate::web::{self, Browser};
use crate::workspace::{Workspace, text_of};

/// Arguments of the command `semantics`.
pub(crate) struct Options {
    pub(crate) request: Request,
    pub(crate) json: bool,
    pub(crate) modes: Vec<String>,
    pub(crate) browsers: Vec<Browser>,
    pub(crate) models: bool,
    pub(crate) filter: Option<String>,
}

/// Runs every test that proves a rule, and prints the results; returns `true` if no test failed.
pub(crate) fn semantics(workspace: &Workspace, options: &Options) -> Result<bool> {
    let (rules, promises) = listed(workspace)?;
    let modes = suite::modes_named(&options.modes)?;
    let vars = set_up_reported(workspace, options.request)?;
    let (programs, ids) = Programs::build(workspace, &vars)?;
    let named = ids.values().flatten().flat_map(|id| rules_of(id));
    let mistakes = mistakes(workspace, (&rules, &promises), named.collect())?;
    if !mistakes.is_empty() {
        bail!("{}", mistakes.join("; "));
    }
    let results = suite::no_results(workspace, "semantics")?;
    let filter = Vec::from_iter(options.filter.clone());
    let extent = Extent::Full;
    let plan = Plan { vars: &vars, modes: &modes, extent, filter: &filter, results: &results };
    let (mut outcomes, failed) = programs.run(&plan, &ids)?;
    let mut failed = Vec::from_iter(failed);
    for &browser in &options.browsers {
        let (found, error) = in_browser(workspace, browser, options)?;
        outcomes.extend(found);
        failed.extend(error);
    }
    if options.models && options.filter.as_deref().is_none_or(|part| "r03_models".contains(part)) {
        outcomes.push(models(workspace.root())?);
    }
    if let (Some(filter), true) = (&options.filter, outcomes.is_empty()) {
        bail!("no test has `{filter}` in its name");
    }
    let shown = if options.filter.is_some() { of_outcomes(rules, &outcomes) } else { rules };
    let absent = absent(&shown, &promises, &outcomes);
    print(&shown, &outcomes, &absent, options.json)?;
    failed.iter().for_each(|error| eprintln!("semantics: {error:#}"));
    // With a filter, tests that prove a rule at other places may be missing.
    let is_complete = options.filter.is_some() || !options.models || absent.is_empty();
    Ok(failed.is_empty() && is_complete && outcomes.iter().all(|outcome| outcome.result != Ended::Fail))
}

/// Runs the cases in a page of a browser. Returns the outcomes, and the error that ended the run before its last case.
fn in_browser(
    workspace: &Workspace,
    browser: Browser,
    options: &Options,
) -> Result<(Vec<Outcome>, Option<Error>)> {
    let filter = options.filter.clone().unwrap_or_default();
    let may_install = options.request.may_install;
    let Some(ran) = web::run(workspace, &web::Options { browser, filter, limit: None, may_install })? else {
        bail!("there is no {}, and --no-install leaves it out", browser.name());
    };
    Ok((outcome::parse(&ran.lines(browser), browser.name())?, ran.error))
}

/// Rules that are not proved at some of their places, with these places.
type Absent = BTreeMap<String, Vec<&'static str>>;

fn absent(rules: &[Rule], promises: &[Promise], outcomes: &[Outcome]) -> Absent {
    let shown = |promise: &&Promise| rules.iter().any(|rule| rule.number == promise.number);
    let of_one = |promise: &Promise| (promise.number.clone(), unproved(promise, outcomes));
    let due = promises.iter().filter(|promise| !promise.is_missing()).filter(shown);
    due.map(of_one).filter(|(_, places)| !places.is_empty()).collect()
}

/// Returns the rules of the document and of the list.
fn listed(workspace: &Workspace) -> Result<(Vec<Rule>, Vec<Promise>)> {
    let text = |path| text_of(&workspace.path(path));
    Ok((parse(&text("docs/semantics.md")?), promises::parse(&text(promises::LIST)?)?))
}

/// Returns the differences between the document, the list, the tests and the planted faults. Models prove R03.
fn mistakes(
    workspace: &Workspace,
    (rules, promises): (&[Rule], &[Promise]),
    mut proved: BTreeSet<String>,
) -> Result<Vec<String>> {
    proved.insert("R03".to_owned());
    Ok(promises::mistakes(promises, rules, &proved, &mutants::broken_rules(workspace)?))
}

/// Returns mistakes in the list of rules that can be found from the sources alone.
pub(crate) fn check<'s>(
    workspace: &Workspace,
    sources: impl Iterator<Item = (&'s str, &'s str)>,
) -> Result<Vec<String>> {
    let (rules, promises) = listed(workspace)?;
    let tests = sources.filter(|(path, _)| !path.starts_with("crates/xtask/"));
    let names = tests.flat_map(|(_, source)| source.split(|c: char| !(c.is_alphanumeric() || c == '_')));
    let named = names.filter(|name| name.len() > 8 && name.starts_with(|c: char| c.is_ascii_lowercase()));
    // `f32_...` is a type name, not a rule.
    let letter = |number: &String| number.starts_with(['Q', 'E', 'M', 'P', 'T', 'G', 'D', 'K', 'A', 'R']);
    mistakes(workspace, (&rules, &promises), named.filter_map(rule_of).filter(letter).collect())
}

/// Returns the rules that have an outcome. With a filter, the tests of other rules did not run, and these rules must
/// not be shown as failing.
fn of_outcomes(rules: Vec<Rule>, outcomes: &[Outcome]) -> Vec<Rule> {
    let ran = |rule: &Rule| outcomes.iter().any(|outcome| outcome.rule == rule.number);
    rules.into_iter().filter(ran).collect()
}

fn print(rules: &[Rule], outcomes: &[Outcome], absent: &Absent, json: bool) -> Result<()> {
    if !json {
        print!("{}", table::of(rules, outcomes, absent));
        return Ok(());
    }
    for outcome in outcomes {
        println!("{}", serde_json::to_string(outcome)?);
    }
    for remarked in rules.iter().filter_map(Remarked::of) {
        println!("{}", serde_json::to_string(&remarked)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantics::outcome::tests::outcome;

    #[test]
    fn with_a_filter_only_the_rules_that_ran_are_shown() {
        let rules = parse("**Q01. One.**\n**Q02. Two.**\n**G01 (not yet). Three.**\n");
        let shown = of_outcomes(rules, &[outcome("Q02", "lavapipe", Ended::Pass, None)]);
        assert_eq!(shown.iter().map(|rule| rule.number.as_str()).collect::<Vec<_>>(), ["Q02"]);
    }
}
