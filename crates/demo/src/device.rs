//! Opens the device, and stores a timeline of its work.

use std::env;
use std::io::Write;
use std::path::Path;

use anyhow::Result;
use fencepost::profile::Unmeasured;
use fencepost::{AdapterKind, Context, ContextOptions, Policy, Profile};

/// Environment variable that chooses the adapter.
const CHOICE: &str = "FENCEPOST_ADAPTER";

/// Opens the default adapter and prints its name. Under `Checked`, a missing wait between two queues is an error.
///
/// # Errors
/// Fails if there is no such adapter, or it cannot be opened.
pub(crate) fn open(out: &mut impl Write) -> Result<Context> {
    let ctx = Context::with_options(ContextOptions::default().policy(Policy::Checked)).wait()?;
    writeln!(out, "device     {}", ctx.info())?;
    if ctx.info().kind == AdapterKind::Software {
        writeln!(out, "           {}", why_cpu(env::var(CHOICE).ok().as_deref()))?;
    }
    Ok(ctx)
}

/// Returns the reason why kernels run on the CPU, from the value of the variable.
fn why_cpu(choice: Option<&str>) -> String {
    match choice.map(str::trim).filter(|choice| !choice.is_empty()) {
        Some(choice) => format!("Kernels run on the CPU, because {CHOICE} is `{choice}`."),
        None => "Kernels run on the CPU: this demo uses Vulkan, Metal and DX12, and found no GPU there. \
                 `fencepost doctor` says more."
            .to_owned(),
    }
}

/// Writes a profile as a page, and prints the path.
///
/// # Errors
/// Fails if the page cannot be written.
pub(crate) fn store_timeline(profile: &Profile, file: &Path, out: &mut impl Write) -> Result<()> {
    profile.write(file)?;
    let lacks_clock = profile.rows.iter().any(|row| row.time == Err(Unmeasured::NoClock));
    let note = if lacks_clock { ", without times: the adapter has no clock" } else { "" };
    writeln!(out, "timeline   {}, a page for a browser{note}", file.display())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use fencepost::profile::{Activity, Interval, Row};

    use super::*;

    #[test]
    fn the_reason_for_the_cpu_is_the_variable_or_a_missing_gpu() {
        assert_eq!(why_cpu(Some("cpu")), "Kernels run on the CPU, because FENCEPOST_ADAPTER is `cpu`.");
        for unset in [None, Some(" ")] {
            let said = why_cpu(unset);
            assert!(said.contains("this demo uses Vulkan, Metal and DX12, and found no GPU there"), "{said}");
            assert!(!said.contains(CHOICE), "{said}");
        }
    }

    #[test]
    fn a_timeline_of_an_adapter_without_a_clock_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("timeline.html");
        let printed = |time: Result<Interval, Unmeasured>| {
            let mut row = Row::new("main".into(), Activity::Launch, "step".into(), Location::caller());
            row.time = time;
            let profile = Profile::new("an adapter".into(), vec![row], Vec::new(), 1.0, None);
            let mut out = Vec::new();
            store_timeline(&profile, &file, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let place = format!("timeline   {}, a page for a browser", file.display());
        assert_eq!(printed(Ok(Interval { start: 0.0, end: 1.0 })), format!("{place}\n"));
        let without = format!("{place}, without times: the adapter has no clock\n");
        assert_eq!(printed(Err(Unmeasured::NoClock)), without);
    }
}
