//! `cargo xtask test`: runs everything that a change must pass, and prints one table.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use anyhow::{Context, Result, bail};

use crate::arm::{self, arm};
use crate::changed::when_changed;
use crate::count;
use crate::demo;
use crate::deny::deny;
use crate::environment::{Request, Vars, set_up};
use crate::features::features;
use crate::fuzz::fuzz;
use crate::fuzz_wgsl::check_functions;
use crate::guide::guide;
use crate::languages::languages;
use crate::lint::lint;
use crate::mlp::mlp;
use crate::model::model;
use crate::mpi::mpi;
use crate::msrv::msrv;
use crate::outside::outside;
use crate::package::package;
use crate::page;
use crate::shell::{Line, cargo, flag};
use crate::steps::{Done, Step, Steps, timed};
use crate::suite::{self, Extent, MODES, Plan, Program};
use crate::targets::{self, Target};
use crate::versions::versions;
use crate::web;
use crate::window;
use crate::windows::{self, windows};
use crate::workspace::Workspace;

/// Arguments of the command `test`.
pub(crate) struct Options {
    pub(crate) request: Request,
    pub(crate) install_tools: bool,
    /// `true` to run every case in every mode, the packages, the loom models, the oldest dependencies, each feature
    /// alone, the demo with its own features, the page, the window, the oldest Rust, `outside`, `mlp`, `mpi`,
    /// `windows`, `arm` and `web`.
    pub(crate) full: bool,
    pub(crate) filter: Vec<String>,
}

impl Options {
    /// Returns `true` if the run may build missing tools from their sources.
    fn may_build(&self) -> bool {
        self.request.may_install && (self.install_tools || flag("CI"))
    }

    /// Returns `true` if the run may build cargo-deny. The build takes a tenth of the time of a plain run.
    fn may_build_deny(&self) -> bool {
        self.may_build() && (self.full || self.install_tools)
    }
}

/// Number of the slowest tests that are listed at the end.
const SLOWEST: usize = 12;
/// Seconds of the fuzzer in a full run.
const FUZZ_SECONDS: u64 = 60;

/// Runs every step, even after failures; returns `true` if none failed.
///
/// The compiler runs at the same time as the device tests, which mostly wait, and so does `deny`, which waits for the
/// network.
pub(crate) fn test(workspace: &Workspace, options: &Options) -> bool {
    let mut steps = Steps::default();
    steps.run("fmt", || cargo().args(["fmt", "--all", "--check"]).dir(workspace.root()).run());
    steps.run("lint", || lint(workspace));
    steps.run("readme", || readme(workspace));
    steps.run("guide", || guide(workspace, false));
    let mut vars = vec![("FENCEPOST_TEST_ADAPTERS".to_owned(), "none".to_owned())]; // used if the set-up fails
    steps.try_run("adapters", || {
        let found = set_up(workspace, options.request)?;
        vars = found.vars;
        Ok(found.missing.map_or(Done::Yes, Done::Partly))
    });
    let mut programs = Vec::new();
    let mut warnings = None;
    steps.run("build", || {
        let built = suite::build(workspace)?;
        programs = built.programs;
        warnings = Some(built.warnings);
        Ok(())
    });
    let mut slowest = String::new();
    let ran = AtomicUsize::new(0);
    thread::scope(|scope| {
        let checks = scope.spawn(|| checks(workspace, options, warnings, &ran));
        let dependencies = scope.spawn(|| timed("deny", || deny(workspace, options.may_build_deny())));
        steps.run("tests", || {
            let results = suite::no_results(workspace, "test")?;
            let tests = run_suite(&programs, &vars, options, &results);
            slowest = suite::slowest(&results, SLOWEST);
            ran.fetch_add(tests?, Ordering::Relaxed);
            Ok(())
        });
        steps.extend(checks.join().expect("bug: a step panicked"));
        steps.extend(vec![dependencies.join().expect("bug: a step panicked")]);
    });
    if !options.filter.is_empty() && ran.into_inner() == 0 {
        let filter = options.filter.join(" ");
        steps.run("filter", || bail!("no test has `{filter}` in its name"));
    }
    steps.finish(&slowest)
}

/// Runs the test programs: in every mode, or in the default mode if a filter is given.
fn run_suite(programs: &[Program], vars: &Vars, options: &Options, results: &Path) -> Result<usize> {
    let modes: Vec<_> = MODES.iter().take(if options.filter.is_empty() { MODES.len() } else { 1 }).collect();
    let extent = if options.full { Extent::Full } else { Extent::Plain };
    let plan = Plan { vars, modes: &modes, extent, filter: &options.filter, results };
    suite::run(&suite::cut(programs, &plan)?)
}

/// Runs the steps that need no device test: they read the sources or compile. `warnings` are those of clippy in the build
/// of the tests; `None` if the build failed. Adds its tests to `ran`.
fn checks(
    workspace: &Workspace,
    options: &Options,
    warnings: Option<Vec<String>>,
    ran: &AtomicUsize,
) -> Vec<Step> {
    let may_install = options.request.may_install;
    let done = |line: Line| line.dir(workspace.root()).run().map(|()| Done::Yes);
    let target = || targets::check(workspace, &[Target::Web], may_install).map(|()| Done::Yes);
    let mut steps = vec![
        timed("doc tests", || {
            ran.fetch_add(suite::doc_tests(workspace, &options.filter)?, Ordering::Relaxed);
            Ok(Done::Yes)
        }),
        timed("clippy", || match warnings {
            Some(warnings) if warnings.is_empty() => Ok(Done::Yes),
            Some(warnings) => bail!("{} warnings, in the output of the build", warnings.len()),
            None => bail!("clippy compiles the tests, and the build failed"),
        }),
    ];
    if options.full {
        steps.push(timed("count", || {
            when_changed(workspace, "count", || count::check(workspace, may_install))
        }));
        steps.push(timed("doc", || done(doc())));
        steps.push(timed("targets --web", target));
        steps.push(timed("package", || package(workspace).map(|()| Done::Yes)));
        steps.push(timed("model", || model(workspace, &[]).map(|()| Done::Yes)));
        steps.push(timed("fuzz", || fuzz(workspace, FUZZ_SECONDS, may_install)));
        steps.push(timed("functions", || check_functions(workspace)));
        steps.push(timed("languages", || languages(workspace).map(|()| Done::Yes)));
        steps.push(timed("versions", || versions(workspace).map(|()| Done::Yes)));
        steps.push(timed("features", || features(workspace, options.may_build())));
        steps.push(timed("demo", || demo::check(workspace).map(|()| Done::Yes)));
        steps.push(timed("page", || page::check(workspace, may_install)));
        steps.push(timed("window", || window::check(workspace, may_install)));
        steps.push(timed("msrv", || msrv(workspace, may_install)));
        steps.push(timed("outside", || outside(workspace, may_install)));
        let may_fetch = options.may_build();
        steps.push(timed("windows", || {
            windows(workspace, &windows::Options { modes: Vec::new(), may_fetch })
        }));
        steps.push(timed("arm", || arm(workspace, &arm::Options { conformance: false, may_fetch })));
        steps.push(timed("mlp", || mlp(workspace, may_install)));
        steps.push(timed("mpi", || mpi(workspace, may_install)));
        steps.push(timed("web", || web::check(workspace, may_install, may_fetch)));
    }
    steps
}

/// Builds the documentation of the libraries. Building an example too makes cargo select the features of the tests, and
/// reuse the crates that earlier steps have compiled.
fn doc() -> Line {
    let doc = cargo().args(["doc", "--workspace", "--no-deps", "--lib", "--example", "01_saxpy"]);
    doc.var("RUSTDOCFLAGS", "-D warnings")
}

/// Checks that both copies of the README are equal: one is in the package `fencepost`, one is the repository's.
fn readme(workspace: &Workspace) -> Result<()> {
    let read =
        |name: &str| fs::read_to_string(workspace.path(name)).with_context(|| format!("cannot read {name}"));
    if read("README.md")? != read("crates/fencepost/README.md")? {
        bail!("README.md differs from crates/fencepost/README.md: copy one over the other");
    }
    Ok(())
}
