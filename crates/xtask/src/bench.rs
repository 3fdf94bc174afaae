//! `cargo xtask bench`: builds and runs the benchmarks of `benches/`, which print medians and ratios.

use anyhow::Result;

use crate::environment;
use crate::shell;
use crate::workspace::Workspace;

/// Chooses the benchmark of the CPU.
const CPU: &str = "--cpu";

/// Runs the benchmark that the arguments choose, with the other arguments, on the available adapters.
pub(crate) fn bench(workspace: &Workspace, args: &[String]) -> Result<()> {
    let (program, args) = chosen(args);
    let bench = shell::cargo().args(["run", "--release", "-p", "fencepost-benches", "--bin", program, "--"]);
    let mut vars = environment::unwatched(workspace)?;
    if program == "cpu" {
        // A kernel that Mesa has on disk is not compiled, and its compilation is measured.
        vars.push(("MESA_SHADER_CACHE_DISABLE".to_owned(), "true".to_owned()));
    }
    bench.args(args).vars(&vars).dir(workspace.root()).run()
}

/// Returns the name of the program, and its arguments.
fn chosen(args: &[String]) -> (&'static str, Vec<String>) {
    let own = args.iter().filter(|arg| *arg != CPU).cloned().collect();
    (if args.iter().any(|arg| arg == CPU) { "cpu" } else { "fencepost-benches" }, own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmark_of_the_cpu_is_chosen_by_its_argument() {
        let args = |list: &[&str]| list.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>();
        assert_eq!(chosen(&args(&["--json"])), ("fencepost-benches", args(&["--json"])));
        assert_eq!(chosen(&args(&["--json", "--cpu", "--quick"])), ("cpu", args(&["--json", "--quick"])));
    }
}
