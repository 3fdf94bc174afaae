//! Checks licences, duplicate and banned crates, sources and advisories with cargo-deny.

use anyhow::Result;

use crate::shell::{Line, line};
use crate::steps::Done;
use crate::tool::Tool;
use crate::workspace::Workspace;

const CARGO_DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2" };

/// Message of cargo-deny if it cannot update its database.
const NOT_FETCHED: &str = "failed to fetch advisory database";

/// Checks the dependency tree; skipped if cargo-deny is missing and may not be installed.
pub(crate) fn deny(workspace: &Workspace, may_install: bool) -> Result<Done> {
    let Some(program) = CARGO_DENY.find(workspace, may_install)? else {
        return Ok(Done::Skipped("no cargo-deny: give --install-tools, or --full with CI set".to_owned()));
    };
    let check = || line(&program).arg("check").without("CARGO_TARGET_DIR").dir(workspace.root());
    check().args(["licenses", "bans", "sources"]).run()?;
    advisories(&check().arg("advisories"))
}

/// Checks the advisories. Their database is on the network; if it is not reachable, the step says so and does not fail.
fn advisories(check: &Line) -> Result<Done> {
    let said = match check.run_quietly()? {
        (true, _) => return Ok(Done::Yes),
        (false, said) => said,
    };
    if said.contains(NOT_FETCHED) {
        return Ok(Done::Partly("advisories, whose database is not reachable".to_owned()));
    }
    eprintln!("{said}");
    check.run().map(|()| Done::Yes)
}
