//! Tests rule R04: with `FENCEPOST_WATCHDOG`, a process ends when a context hangs, and dumps the awaited work.

use fencepost::{Context, SimulatorOptions};
use libtest_mimic::{Arguments, Failed, Trial};
use std::process::Command;

/// First argument that makes this program hang.
const HANG: &str = "hang";
/// First argument that makes this program open a context and end.
const END: &str = "end";

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some(HANG) => hang(),
        Some(END) => drop(Context::simulated(SimulatorOptions::default()).queue("short")),
        _ => {
            let trials = vec![
                Trial::test("r04_a_process_ends_with_a_dump_when_a_context_hangs::cpu", ends),
                Trial::test("r04_a_process_without_a_hang_ends_by_itself::cpu", goes_on),
            ];
            libtest_mimic::run(&Arguments::from_args(), trials).exit();
        }
    }
}

/// Waits for a user event that is never signalled.
fn hang() {
    let ctx = Context::simulated(SimulatorOptions::default());
    let queue = ctx.queue("hangs here");
    let gate = ctx.user_event("never signalled");
    queue.wait_for(&gate.event()).expect("a wait");
    queue.finish().wait().expect("it never returns");
}

/// Runs this program with a word and a limit. Returns `true` if it exited with 0, and its standard error.
fn run(word: &str, limit: &str) -> std::io::Result<(bool, String)> {
    let mut program = Command::new(std::env::current_exe()?);
    let output = program.arg(word).env("FENCEPOST_WATCHDOG", limit).output()?;
    Ok((output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned()))
}

fn ends() -> Result<(), Failed> {
    let (passed, said) = run(HANG, "3")?;
    let parts = ["older than 3s", "hangs here", "wait for user event `never signalled`"];
    let missing: Vec<_> = parts.into_iter().filter(|part| !said.contains(part)).collect();
    if passed || !missing.is_empty() {
        return Err(format!("passed: {passed}, {missing:?} is missing in:\n{said}").into());
    }
    Ok(())
}

fn goes_on() -> Result<(), Failed> {
    let (passed, said) = run(END, "60")?;
    if passed { Ok(()) } else { Err(said.into()) }
}
