//! The machine on which the tests ran, and the sources that they tested.

use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, thread};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::shell::line;
use crate::workspace::Workspace;

/// Description of a machine, its date, and the tested sources.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Machine {
    pub(super) date: String,
    pub(super) commit: String,
    pub(super) system: String,
    pub(super) processor: String,
    pub(super) rust: String,
}

impl Machine {
    /// Describes this machine.
    ///
    /// # Errors
    /// The clock is wrong, or there is no `rustc`.
    pub(super) fn here(workspace: &Workspace) -> Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
        Ok(Self {
            date: date(now.as_secs() / (24 * 3600)),
            commit: commit(workspace),
            system: format!("{}, {}", system(), env::consts::ARCH),
            processor: processor(),
            rust: line("rustc").arg("--version").read()?.trim().to_owned(),
        })
    }
}

/// Returns the checked-out commit, with a remark if files differ from it.
fn commit(workspace: &Workspace) -> String {
    let git = |args: &[&str]| line("git").args(args).dir(workspace.root()).read().ok();
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return "unknown".to_owned();
    };
    let commit = commit.trim();
    match git(&["status", "--porcelain", "--untracked-files=no"]) {
        Some(changes) if changes.trim().is_empty() => commit.to_owned(),
        _ => format!("{commit}, with changes"),
    }
}

/// Returns what a program of the system prints.
fn said(program: &str, args: &[&str]) -> Option<String> {
    let said = line(program).args(args).read().ok()?;
    Some(said.trim().to_owned()).filter(|said| !said.is_empty())
}

/// Returns the name and the version of the system.
fn system() -> String {
    let name = match env::consts::OS {
        "linux" => fs::read_to_string("/etc/os-release").ok().and_then(|text| pretty_name(&text)),
        "macos" => said("sw_vers", &["-productVersion"]).map(|version| format!("macOS {version}")),
        "windows" => said("cmd", &["/c", "ver"]),
        "android" => {
            said("getprop", &["ro.build.version.release"]).map(|version| format!("Android {version}"))
        }
        _ => None,
    };
    name.unwrap_or_else(|| env::consts::OS.to_owned())
}

/// Returns the name of a distribution from its file `os-release`.
fn pretty_name(text: &str) -> Option<String> {
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

/// Returns the name of the processor and the number of its threads.
fn processor() -> String {
    let name = match env::consts::OS {
        "linux" | "android" => fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| model(&text)),
        "macos" => said("sysctl", &["-n", "machdep.cpu.brand_string"]),
        "windows" => env::var("PROCESSOR_IDENTIFIER").ok(),
        _ => None,
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {threads} threads", name.unwrap_or_else(|| "unknown".to_owned()))
}

/// Returns the name of a processor from Linux's list of processors. On ARM, not every kernel names it.
fn model(processors: &str) -> Option<String> {
    ["model name", "Hardware", "Model"].iter().find_map(|key| {
        let line = processors.lines().find(|line| line.starts_with(*key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    })
}

/// Returns the date of a day that is counted from 1970-01-01 on.
fn date(day: u64) -> String {
    // Years begin in March here, so that a leap day ends its year. 400 years have 146097 days.
    let day = day + 719_468;
    let of_era = day % 146_097;
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day_of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + 400 * (day / 146_097) + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day_of_month:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_its_date_in_leap_years_too() {
        let days =
            [(0, "1970-01-01"), (11_016, "2000-02-29"), (20_088, "2024-12-31"), (47_541, "2100-03-01")];
        for (day, expected) in days {
            assert_eq!(date(day), expected);
        }
    }

    #[test]
    fn the_names_of_a_system_and_of_a_processor_are_found_in_their_files() {
        let release = "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
        assert_eq!(pretty_name(release).as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(model("processor\t: 0\nmodel name\t: A processor\n").as_deref(), Some("A processor"));
        assert_eq!(model("processor\t: 0\nBogoMIPS\t: 50.00\n"), None);
    }
}
