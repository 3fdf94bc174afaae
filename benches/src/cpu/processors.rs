use std::io::Write;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::options::SimulatorOptions;

/// Runs this program again on the first processors of the machine, so that no contestant sees any other processor.
pub(crate) fn run_on(options: &SimulatorOptions, out: &mut dyn Write) -> Result<()> {
    let last = options.processors - 1;
    let mut again = Command::new("taskset");
    again.args(["-c", &format!("0-{last}")]).arg(std::env::current_exe()?);
    again.args(["--rows", &options.rows, "--only", &options.only]);
    again.args(options.json.then_some("--json")).args(options.quick.then_some("--quick"));
    // PoCL counts the processors of the machine, not those that the process may use.
    let threads = options.processors.to_string();
    again.envs(["POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT"].map(|name| (name, &threads)));
    let ended = again.output().context("`--processors` needs the program `taskset` of Linux")?;
    out.write_all(&ended.stdout)?;
    std::io::stderr().write_all(&ended.stderr)?;
    ensure!(ended.status.success(), "the run on {} processors failed", options.processors);
    Ok(())
}
