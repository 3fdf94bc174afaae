//! The variables that decide which adapters the tests see, and how strictly they are watched.

use std::env;
use std::path::Path;

use anyhow::{Context, Result};

use crate::adapters::usable_drivers;
use crate::shell::quoted;
use crate::software::{Extras, ensure_adapter, ensure_gl, extras};
use crate::workspace::Workspace;

/// Has the tests listen to the validation layers.
const VALIDATION: &str = "FENCEPOST_VALIDATION";

/// Variable names with their values.
pub(crate) type Vars = Vec<(String, String)>;

/// Which adapters a run asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// One for each of wgpu's back ends.
    FirstPerBackend,
    /// Every one, SwiftShader too, under the validation layer.
    All,
    /// Every one that this system can get; what is missing is reported.
    AllThereAre,
}

/// What a run asks to be set up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) wanted: Wanted,
    /// Whether missing drivers may be installed or fetched.
    pub(crate) may_install: bool,
}

/// What a run can use.
#[derive(Default)]
pub(crate) struct SetUp {
    pub(crate) vars: Vars,
    /// What was wanted and cannot be had here, and why.
    pub(crate) missing: Option<String>,
}

/// Sets up the adapters a run asks for, and returns the variables to run its tests with.
pub(crate) fn set_up(workspace: &Workspace, request: Request) -> Result<SetUp> {
    ensure_adapter(request.may_install)?;
    let mut vars = Vec::new();
    if cfg!(target_os = "linux") {
        vars.push(var("XDG_RUNTIME_DIR", private_dir(workspace)?));
    }
    if request.wanted == Wanted::FirstPerBackend {
        vars.push(var("FENCEPOST_TEST_ADAPTERS", "first-per-backend"));
        return Ok(SetUp { vars, missing: None });
    }
    vars.push(var("FENCEPOST_TEST_ADAPTERS", "all"));
    vars.push(var(VALIDATION, "1"));
    let missing = if cfg!(target_os = "linux") { add_drivers(workspace, request, &mut vars)? } else { None };
    Ok(SetUp { vars, missing })
}

/// The variables to measure with on whatever adapters can be had, no layer watching. What is missing is reported.
pub(crate) fn unwatched(workspace: &Workspace) -> Result<Vars> {
    ensure_adapter(true)?;
    let found = set_up(workspace, Request { wanted: Wanted::AllThereAre, may_install: true });
    let SetUp { mut vars, missing } =
        found.unwrap_or_else(|error| SetUp { missing: Some(format!("{error:#}")), ..SetUp::default() });
    if let Some(missing) = missing {
        eprintln!("xtask: without {missing}");
    }
    vars.retain(|(name, _)| name != VALIDATION);
    Ok(vars)
}

/// Adds EGL's driver, SwiftShader and the layer; returns what is missing where that is allowed.
fn add_drivers(workspace: &Workspace, request: Request, vars: &mut Vars) -> Result<Option<String>> {
    ensure_gl(request.may_install)?;
    match extras(workspace, request.may_install) {
        Ok(extras) => vars.extend(vulkan_variables(extras)?),
        Err(error) if request.wanted == Wanted::AllThereAre => {
            return Ok(Some(format!("SwiftShader and the validation layer: {error:#}")));
        }
        Err(error) => return Err(error),
    }
    Ok(None)
}

/// The system's drivers and SwiftShader, watched by the fetched layer.
fn vulkan_variables(extras: Extras) -> Result<Vars> {
    let mut drivers: Vec<_> = usable_drivers().into_iter().map(|driver| driver.manifest).collect();
    drivers.retain(|manifest| *manifest != extras.driver);
    drivers.push(extras.driver);
    let drivers = env::join_paths(drivers).context("a driver manifest's path holds a colon")?;
    let drivers = drivers.to_string_lossy();
    Ok(vec![
        var("VK_DRIVER_FILES", &*drivers),
        var("VK_ICD_FILENAMES", &*drivers), // loaders before 1.3.207 know only this name
        var("VK_LAYER_PATH", extras.layers.to_string_lossy()),
        var("VK_LAYER_VALIDATE_SYNC", "1"),
        var("VK_LAYER_SYNCVAL_SHADER_ACCESSES_HEURISTIC", "1"), // else a missing barrier between dispatches is not seen
    ])
}

fn var(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}

/// A runtime directory only its owner can open, as Mesa and EGL ask for.
fn private_dir(workspace: &Workspace) -> Result<String> {
    let dir = workspace.made("xdg-runtime")?;
    make_private(&dir).with_context(|| format!("cannot make {} private", dir.display()))?;
    Ok(dir.to_string_lossy().into_owned())
}

#[cfg(unix)]
fn make_private(dir: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn make_private(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Prints the variables as lines for a shell's `eval`.
pub(crate) fn print_exports(vars: &Vars) {
    for (name, value) in vars {
        println!("export {name}={}", quoted(value));
    }
}
