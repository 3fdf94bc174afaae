//! `fencepost doctor`.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::Once;
use crate::program::{command, ended, fencepost};

pub(crate) const ONCE: [Once; 6] = [
    ("doctor_finds_every_adapter_working_with_every_check", works),
    ("doctor_prints_a_line_for_each_check", lines),
    ("doctor_fails_for_a_wrong_adapter_and_names_a_remedy", nonsense),
    ("doctor_fails_without_drivers_and_names_the_variable_that_hides_them", hidden),
    ("doctor_fails_if_no_adapter_opens", recorder),
    ("doctor_ends_a_check_at_the_time_limit", late),
];

const CHECKS: [&str; 7] = ["open", "launch", "device time", "map", "event", "two queues", "read back"];

/// Runs the command, and returns its JSON. The code must be 1 if a check failed, and 0 if none did.
fn report(command: &mut Command) -> Result<Value> {
    let ran = ended(command)?;
    let json: Value = serde_json::from_str(&ran.out).with_context(|| format!("{ran:?}"))?;
    let adapters = json["adapters"].as_array().context("no adapters")?;
    let lists = adapters.iter().map(|adapter| &adapter["checks"]).chain([&json["machine"]]);
    let fails = lists.filter_map(Value::as_array).flatten().any(|line| line["status"] == "failed");
    ensure!(json["works"] == !fails && ran.code == Some(i32::from(fails)), "{ran:?}");
    Ok(json)
}

fn works() -> Result<()> {
    let json = report(&mut command(["doctor", "--json"]))?;
    let adapters = json["adapters"].as_array().context("no adapters")?;
    let known = fencepost::adapters();
    ensure!(adapters.len() == known.len(), "{json}");
    for (found, known) in adapters.iter().zip(known) {
        ensure!(found["name"] == known.to_string() && found["works"] == true, "{found}");
        let checks = found["checks"].as_array().context("no checks")?;
        let names: Vec<_> = checks.iter().map(|line| &line["check"]).collect();
        ensure!(names == CHECKS, "{found}");
        let timed = known.abilities.contains(&"timestamps");
        for line in checks {
            let expected = if line["check"] == "device time" && !timed { "not_supported" } else { "ok" };
            ensure!(line["status"] == expected && line["remedy"].is_null(), "{line}");
        }
    }
    Ok(())
}

fn lines() -> Result<()> {
    let text = fencepost(["doctor"])?.out;
    let known = fencepost::adapters();
    for (at, known) in known.iter().enumerate() {
        let (_, part) = text.split_once(&format!("adapter {at}: {known}\n")).with_context(|| text.clone())?;
        let names: Vec<_> = part.lines().take(CHECKS.len()).collect();
        for (line, check) in names.iter().zip(CHECKS) {
            ensure!(line.contains(check), "no {check} in `{line}`");
        }
    }
    let count = known.len();
    ensure!(text.contains(&format!("{count} of {count} adapters work")), "{text}");
    Ok(())
}

fn nonsense() -> Result<()> {
    let json = report(command(["doctor", "--json"]).env("FENCEPOST_ADAPTER", "nonsense"))?;
    ensure!(json["works"] == false && json["adapters"][0]["works"] == true, "{json}");
    let line = line(&json["machine"], "default adapter")?;
    ensure!(line["status"] == "failed", "{line}");
    ensure!(
        line["detail"].as_str().is_some_and(|text| text.contains("`nonsense` (from FENCEPOST_ADAPTER)")),
        "{line}"
    );
    ensure!(line["remedy"].as_str().is_some_and(|text| text.contains("unset FENCEPOST_ADAPTER")), "{line}");
    Ok(())
}

fn hidden() -> Result<()> {
    if !cfg!(target_os = "linux") {
        return Ok(()); // only the loaders of Linux read these variables
    }
    for (name, value) in
        [("VK_DRIVER_FILES", ""), ("VK_ICD_FILENAMES", ""), ("VK_LOADER_DRIVERS_DISABLE", "*")]
    {
        let mut command = command(["doctor", "--json"]);
        for variable in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES"] {
            command.env_remove(variable);
        }
        let json = report(command.env("__EGL_VENDOR_LIBRARY_FILENAMES", "/nothing").env(name, value))?;
        ensure!(json["works"] == false && json["adapters"][0]["works"] == true, "only the CPU works: {json}");
        for check in ["adapters", name] {
            let line = line(&json["machine"], check)?;
            ensure!(line["status"] == "failed", "{line}");
            ensure!(line["remedy"] == format!("`unset {name}`"), "{line}");
            ensure!(!line.to_string().contains("install"), "{line}");
        }
    }
    Ok(())
}

fn recorder() -> Result<()> {
    let json = report(command(["doctor", "--json"]).env("FENCEPOST_RECORDER", "nonsense"))?;
    ensure!(json["works"] == false, "{json}");
    for adapter in json["adapters"].as_array().context("no adapters")? {
        let line = line(&adapter["checks"], "open")?;
        ensure!(line["status"] == "failed" && line["remedy"] == "`unset FENCEPOST_RECORDER`", "{line}");
    }
    Ok(())
}

fn late() -> Result<()> {
    let ran = fencepost(["doctor", "--limit", "0.000001"])?;
    ensure!(ran.code == Some(1), "{ran:?}");
    ensure!(ran.out.contains("it was not done within 0.000001 s") && ran.out.contains("--limit"), "{ran:?}");
    Ok(())
}

fn line<'a>(lines: &'a Value, check: &str) -> Result<&'a Value> {
    let lines = lines.as_array().context("no lines")?;
    lines.iter().find(|line| line["check"] == check).with_context(|| format!("no {check} in {lines:?}"))
}
