//! `cargo xtask test`: everything a change must pass, in one table.

use std::{fs, thread};

use anyhow::{Context, Result, bail};

use crate::count;
use crate::deny::deny;
use crate::environment::{Request, Vars, set_up};
use crate::lint::lint;
use crate::package::package;
use crate::shell::{Line, cargo, flag};
use crate::steps::{Beside, Done, Steps};
use crate::targets::{self, Sources, Target};
use crate::workspace::Workspace;

/// What the command line of `test` asks for.
pub(crate) struct Options {
    pub(crate) request: Request,
    pub(crate) install_tools: bool,
    pub(crate) filter: Vec<String>,
}

/// Runs every step, however many fail; true if none did.
pub(crate) fn test(workspace: &Workspace, options: &Options) -> bool {
    let at_root = |line: Line| line.dir(workspace.root());
    let may_install = options.request.may_install;
    let sources = Sources { may_install, debian: false };
    let mut steps = Steps::default();
    steps.run("fmt", || at_root(cargo().args(["fmt", "--all", "--check"])).run());
    steps.run("lint", || lint(workspace));
    steps.run("readme", || readme(workspace));
    steps.run("clippy", || at_root(clippy()).run());
    steps.run("doc", || at_root(doc()).run());
    let mut vars = vec![("FENCEPOST_TEST_ADAPTERS".to_owned(), "none".to_owned())]; // holds if the set-up fails
    steps.try_run("adapters", || {
        let found = set_up(workspace, options.request)?;
        vars = found.vars;
        Ok(found.missing.map_or(Done::Yes, Done::Partly))
    });
    let again = if options.filter.is_empty() { &AGAIN[..] } else { &[] };
    thread::scope(|scope| {
        let others = scope.spawn(|| {
            let run = |again: &Again| (again.name, Beside::run(again.name, &at_root(again.tests(&vars))));
            again.iter().map(run).collect::<Vec<_>>()
        });
        steps.run("test", || at_root(tests(&vars, &options.filter)).run());
        for (name, beside) in others.join().expect("bug: nothing in there panics") {
            steps.add(name, beside);
        }
    });
    steps.try_run("count", || count::check(workspace, may_install));
    steps.run("targets --web", || targets::check(workspace, &[Target::Web], sources));
    steps.try_run("deny", || deny(workspace, may_install && (options.install_tools || flag("CI"))));
    steps.run("package", || package(workspace));
    steps.finish()
}

fn clippy() -> Line {
    cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

fn doc() -> Line {
    cargo().args(["doc", "--workspace", "--no-deps"]).var("RUSTDOCFLAGS", "-D warnings")
}

/// Every line that tests asks for the same, so that cargo builds it once.
const TEST: [&str; 6] =
    ["test", "--quiet", "--workspace", "--no-fail-fast", "--features", "fencepost/validation"];

/// Unit, integration, compile-fail and documentation tests, which hear what the validation layers say.
fn tests(vars: &Vars, filter: &[String]) -> Line {
    let tests = cargo().args(TEST).vars(vars);
    if filter.is_empty() { tests } else { tests.arg("--").args(filter) }
}

/// Conformance and the random programs once more on some devices, with something else than what is chosen there.
struct Again {
    name: &'static str,
    var: (&'static str, &'static str),
    which: &'static [&'static str],
}

/// All but the CPU recorder.
const DEVICES: &[&str] = &["--skip", "::cpu"];
const VULKAN: &[&str] = &["--skip", "::cpu", "--skip", "_gl"];
const GL: &[&str] = &["_gl"];

const AGAIN: [Again; 4] = [
    Again { name: "test wgpu", var: ("FENCEPOST_RECORDER", "wgpu"), which: VULKAN },
    Again { name: "test hal", var: ("FENCEPOST_RECORDER", "hal"), which: DEVICES },
    Again { name: "test direct", var: ("FENCEPOST_RECORDER", "direct"), which: GL },
    Again { name: "test discrete", var: ("FENCEPOST_TEST_MEMORY", "discrete"), which: VULKAN },
];

impl Again {
    fn tests(&self, vars: &Vars) -> Line {
        let (name, value) = self.var;
        let line = cargo().args(TEST).args(["--test", "conformance", "--test", "programs", "--"]);
        line.args(self.which).vars(vars).var(name, value)
    }
}

/// The README is the facade's crate documentation; the root's copy is for people.
fn readme(workspace: &Workspace) -> Result<()> {
    let read =
        |name: &str| fs::read_to_string(workspace.path(name)).with_context(|| format!("cannot read {name}"));
    if read("README.md")? != read("crates/fencepost/README.md")? {
        bail!("README.md differs from crates/fencepost/README.md: copy one over the other");
    }
    Ok(())
}
