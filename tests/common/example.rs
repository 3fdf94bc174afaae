//! Runs programs of `examples/`.

use super::patience::Patience;
use libtest_mimic::Failed;
use std::path::PathBuf;
use std::process::{Child, Output};
use std::thread::sleep;
use std::time::Duration;
use web_time::Instant;

/// Returns the path of an example's program, next to the folder of this test.
pub fn program(name: &str) -> Result<PathBuf, Failed> {
    let own = std::env::current_exe()?;
    let folder = own.ancestors().nth(2).ok_or("this test has no folder")?;
    let program = folder.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION);
    if program.is_file() {
        return Ok(program);
    }
    let hint = "`cargo test` builds it, `cargo test --test NAME` does not";
    Err(format!("{} is missing: {hint}", program.display()).into())
}

/// Waits for a program that prints little, and kills it after `limit`.
pub fn within(limit: Duration, mut child: Child) -> Result<Output, Failed> {
    let mut patience = Patience::new(child.id(), limit);
    let mut looked = Instant::now();
    while child.try_wait()?.is_none() {
        let due = looked.elapsed() >= patience.tick();
        if due {
            looked = Instant::now();
        }
        if due && patience.is_over() {
            child.kill()?;
            let output = child.wait_with_output()?;
            return Err(format!("not over within {limit:?}; {output:?}").into());
        }
        sleep(Duration::from_millis(5));
    }
    Ok(child.wait_with_output()?)
}
