//! `cargo xtask semantics`: tests every rule of `docs/semantics.md`, on every adapter, with every recorder.

mod outcome;
mod rules;
mod run;
mod table;

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, bail};

use self::outcome::{Ended, Outcome, Remarked};
use self::rules::{Rule, gaps, parse, rule_of};
use self::run::{Programs, models};
use crate::environment::{Request, set_up};
use crate::suite::{self, MODES, Mode, Plan};
use crate::workspace::Workspace;

/// Holds the arguments of the command `semantics`.
pub(crate) struct Options {
    pub(crate) request: Request,
    pub(crate) json: bool,
    pub(crate) modes: Vec<String>,
    pub(crate) models: bool,
    pub(crate) filter: Option<String>,
}

/// Runs every test that proves a rule, and prints the results; returns `true` if no test failed.
pub(crate) fn semantics(workspace: &Workspace, options: &Options) -> Result<bool> {
    let rules = parse(&fs::read_to_string(workspace.path("docs/semantics.md")).context("docs/semantics.md")?);
    let modes = chosen(&options.modes)?;
    let found = set_up(workspace, options.request)?;
    if let Some(missing) = found.missing {
        eprintln!("semantics: without {missing}");
    }
    let programs = Programs::build(workspace)?;
    let ids = programs.ids(&found.vars)?;
    let named = ids.values().flatten().filter_map(|id| rule_of(id));
    let gaps = gaps(&rules, &named.chain(["R03".to_owned()]).collect::<BTreeSet<_>>());
    if !gaps.is_empty() {
        bail!("{}", gaps.join("; "));
    }
    let (results, filter) =
        (suite::no_results(workspace, "semantics")?, Vec::from_iter(options.filter.clone()));
    let plan = Plan { vars: &found.vars, modes: &modes, full: true, filter: &filter, results: &results };
    let (mut outcomes, failed) = programs.run(&plan, &ids)?;
    if options.models && options.filter.as_deref().is_none_or(|part| "r03_models".contains(part)) {
        outcomes.push(models(workspace.root())?);
    }
    if let (Some(filter), true) = (&options.filter, outcomes.is_empty()) {
        bail!("no test has `{filter}` in its name");
    }
    let shown = if options.filter.is_some() { of_outcomes(rules, &outcomes) } else { rules };
    print(&shown, &outcomes, options.json)?;
    failed.iter().for_each(|error| eprintln!("semantics: {error:#}"));
    Ok(failed.is_none() && outcomes.iter().all(|outcome| outcome.result != Ended::Fail))
}

/// Returns the modes with these names; all modes if no name is given.
fn chosen(names: &[String]) -> Result<Vec<&'static Mode>> {
    if names.is_empty() {
        return Ok(MODES.iter().collect());
    }
    let mode = |name: &String| {
        let known = || MODES.each_ref().map(|mode| mode.name).join(", ");
        MODES.iter().find(|mode| mode.name == name).with_context(|| format!("no mode `{name}`: {}", known()))
    };
    names.iter().map(mode).collect()
}

/// Returns the rules that have an outcome: a filter leaves out the tests of the others, so they are not shown as
/// failing.
fn of_outcomes(rules: Vec<Rule>, outcomes: &[Outcome]) -> Vec<Rule> {
    let ran = |rule: &Rule| outcomes.iter().any(|outcome| outcome.rule == rule.number);
    rules.into_iter().filter(ran).collect()
}

fn print(rules: &[Rule], outcomes: &[Outcome], json: bool) -> Result<()> {
    if !json {
        print!("{}", table::of(rules, outcomes));
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

    #[test]
    fn modes_are_chosen_by_name() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(chosen(&[]).expect("all").len(), MODES.len());
        assert_eq!(chosen(&names(&["hal"])).expect("it is known")[0].name, "hal");
        let error = chosen(&names(&["hale"])).expect_err("it is not known").to_string();
        assert!(error.contains("hale") && error.contains("discrete"), "{error}");
    }
}
