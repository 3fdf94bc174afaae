//! Runs the test programs that prove rules, and reads the results that they write.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Error, Result};

use super::outcome::{Ended, Outcome, parse, unended};
use super::rules::rules_of;
use crate::environment::Vars;
use crate::shell::line;
use crate::suite::{self, Mode, Plan, Program, Shard};
use crate::workspace::{Workspace, text_of};

/// Tests of each program.
pub(super) type Ids = BTreeMap<String, Vec<String>>;

/// The test programs that prove rules.
pub(super) struct Programs {
    programs: Vec<Program>,
}

impl Programs {
    /// Builds the test programs for a full run, and keeps those with tests that are named after rules. Returns their tests too:
    /// `<test>::<adapter>`, or `<module>::<test>`.
    pub(super) fn build(workspace: &Workspace, vars: &Vars) -> Result<(Self, Ids)> {
        let mut programs = suite::build(workspace)?.programs;
        let mut ids = Ids::new();
        for program in &programs {
            ids.insert(program.name.clone(), program.ids(vars, true)?);
        }
        ids.retain(|_, ids| ids.iter().any(|id| rules_of(id).next().is_some()));
        programs.retain(|program| ids.contains_key(&program.name));
        Ok((Self { programs }, ids))
    }

    /// Runs every case in the modes, each mode only on adapters where it differs from the default mode.
    ///
    /// Returns the outcomes, and an error if shards failed, because a program may fail after its last test.
    pub(super) fn run(&self, plan: &Plan<'_>, ids: &Ids) -> Result<(Vec<Outcome>, Option<Error>)> {
        let shards = suite::cut(&self.programs, plan)?;
        let failed = suite::run(&shards).err();
        let of_mode = |mode: &&Mode| of_mode(mode, plan, &shards, ids);
        Ok((plan.modes.iter().map(of_mode).collect::<Result<Vec<_>>>()?.concat(), failed))
    }
}

/// Returns the outcomes of a mode; a test that its program did not reach is a failure.
fn of_mode(mode: &Mode, plan: &Plan<'_>, shards: &[Shard], ids: &Ids) -> Result<Vec<Outcome>> {
    let noted = text_of(&suite::results(plan.results, mode))?;
    let outcomes = parse(&noted, mode.name)?;
    let shards = shards.iter().filter(|shard| shard.mode == mode.name);
    let due: Vec<String> = shards.flat_map(|shard| due(shard, &ids[&shard.program], plan.filter)).collect();
    let lost = unended(&due, &outcomes, mode.name);
    Ok(outcomes.into_iter().chain(lost).collect())
}

/// Returns the tests of its program that a shard runs.
fn due(shard: &Shard, ids: &[String], filter: &[String]) -> Vec<String> {
    let wanted = |id: &&String| filter.iter().all(|part| id.contains(part.as_str())) && shard.has(id);
    ids.iter().filter(wanted).cloned().collect()
}

/// Runs the models, which prove R03.
pub(super) fn models(root: &Path) -> Result<Outcome> {
    let own = std::env::current_exe().context("cannot find the path of this program")?;
    let (passed, said) = line(own).arg("model").dir(root).said()?;
    if !passed {
        eprintln!("{said}");
    }
    let [rule, adapter, backend, mode] = ["R03", "none", "none", "loom"].map(str::to_owned);
    let result = if passed { Ended::Pass } else { Ended::Fail };
    let test = "models".to_owned();
    Ok(Outcome { rule, adapter, backend, mode, test, result, reason: None })
}
