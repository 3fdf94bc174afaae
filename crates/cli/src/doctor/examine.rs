//! The child process, which does its part and reports the result of each check.

use anyhow::Result;
use fencepost::{AdapterChoice, AdapterInfo, Context};

use super::checks::{CHECKS, Found, OPEN};
use super::{Line, Message, Part, dx12, machine, remedy};
use crate::opened;
use crate::output;

/// Does a part.
///
/// # Errors
/// The report cannot be written.
pub(super) fn part(part: Part) -> Result<()> {
    match part {
        Part::Machine => look(),
        Part::Adapter(index) => adapter(index),
    }
}

fn look() -> Result<()> {
    dx12::listen();
    say("adapters", || {
        let known = fencepost::adapters();
        output::json(&Message::Adapters(known.iter().map(AdapterInfo::to_string).collect()))?;
        Ok(machine::count(&known))
    })?;
    say("default adapter", || Ok(machine::default_adapter()))?;
    machine::surroundings().into_iter().try_for_each(|line| output::json(&Message::Ends(line)))
}

/// Opens an adapter and runs every check on it.
fn adapter(index: usize) -> Result<()> {
    let mut opened = None;
    say(OPEN, || match opened::open(AdapterChoice::Index(index)) {
        Ok(ctx) => {
            let recorder = format!("recorder {}", ctx.recorder());
            opened = Some(ctx);
            Ok(Line::ok(OPEN, recorder))
        }
        Err(error) => Ok(Line::failed(OPEN, error.to_string(), remedy::of(&error))),
    })?;
    let Some(ctx) = opened else { return Ok(()) };
    CHECKS.iter().try_for_each(|(name, check)| say(name, || Ok(run(name, *check, &ctx))))
}

fn run(name: &str, check: super::checks::Check, ctx: &Context) -> Line {
    match check(ctx) {
        Ok(Found::Works(detail)) => Line::ok(name, detail),
        Ok(Found::Lacks(detail)) => Line::not_supported(name, detail),
        Err(error) => Line::failed(name, format!("{error:#}"), remedy::of_work(&error)),
    }
}

/// Reports that a check begins, runs the check, and reports its result.
fn say(name: &str, check: impl FnOnce() -> Result<Line>) -> Result<()> {
    output::json(&Message::Begins(name.into()))?;
    output::json(&Message::Ends(check()?))
}
