//! `cargo xtask bench`: builds and runs the benchmarks of `benches/`, which print medians and ratios.

use anyhow::Result;

use crate::environment;
use crate::shell;
use crate::workspace::Workspace;

/// Arguments that choose a program other than the first benchmark.
const PROGRAMS: [(&str, &str); 2] = [("--cpu", "cpu"), ("--algorithms", "algorithms")];

/// Runs the benchmark that the arguments choose, with the other arguments, on the available adapters.
pub(crate) fn bench(workspace: &Workspace, args: &[String]) -> Result<()> {
    let (program, args) = chosen(args);
    let bench = shell::cargo().args(["run", "--release", "-p", "fencepost-benches", "--bin", program, "--"]);
    let mut vars = environment::unwatched(workspace)?;
    if program == "cpu" {
        // Compilation is measured, so Mesa and PoCL must not use kernels cached on disk.
        vars.push(("MESA_SHADER_CACHE_DISABLE".to_owned(), "true".to_owned()));
        vars.push(("POCL_KERNEL_CACHE".to_owned(), "0".to_owned()));
    }
    bench.args(args).vars(&vars).dir(workspace.root()).run()
}

/// Returns the name of the program, and its arguments.
fn chosen(args: &[String]) -> (&'static str, Vec<String>) {
    let (own, choice): (Vec<_>, Vec<_>) =
        args.iter().cloned().partition(|arg| PROGRAMS.iter().all(|(choice, _)| arg != choice));
    let program = PROGRAMS.iter().find(|(name, _)| choice.first().is_some_and(|arg| arg == name));
    (program.map_or("fencepost-benches", |(_, program)| program), own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchmark_is_chosen_by_its_argument() {
        let args = |list: &[&str]| list.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>();
        assert_eq!(chosen(&args(&["--json"])), ("fencepost-benches", args(&["--json"])));
        assert_eq!(chosen(&args(&["--json", "--cpu", "--quick"])), ("cpu", args(&["--json", "--quick"])));
        assert_eq!(chosen(&args(&["--algorithms"])), ("algorithms", args(&[])));
    }
}
