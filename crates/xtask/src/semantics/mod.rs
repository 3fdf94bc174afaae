//! `cargo xtask semantics`: tests every rule of `docs/semantics.md`, on every adapter, with every recorder.

mod outcome;
mod rules;
mod run;
mod table;

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use self::outcome::{Ended, Outcome, Remarked};
use self::rules::{Rule, gaps, parse, rule_of};
use self::run::{Programs, models};
use crate::environment::{Request, set_up_reported};
use crate::suite::{self, Plan};
use crate::workspace::{Workspace, text_of};

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
    let rules = parse(&text_of(&workspace.path("docs/semantics.md"))?);
    let modes = suite::modes_named(&options.modes)?;
    let vars = set_up_reported(workspace, options.request)?;
    let programs = Programs::build(workspace)?;
    let ids = programs.ids(&vars)?;
    let named = ids.values().flatten().filter_map(|id| rule_of(id));
    let gaps = gaps(&rules, &named.chain(["R03".to_owned()]).collect::<BTreeSet<_>>());
    if !gaps.is_empty() {
        bail!("{}", gaps.join("; "));
    }
    let (results, filter) =
        (suite::no_results(workspace, "semantics")?, Vec::from_iter(options.filter.clone()));
    let plan = Plan { vars: &vars, modes: &modes, full: true, filter: &filter, results: &results };
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
}
