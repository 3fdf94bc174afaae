//! The environment variables that select adapters and validation layers for the tests.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::adapters::usable_drivers;
use crate::shell::quoted;
use crate::software::{Extras, ensure_adapter, ensure_gl, extras};
use crate::workspace::Workspace;

/// Variable that makes the tests check the messages of the validation layers.
const VALIDATION: &str = "FENCEPOST_VALIDATION";
/// Variable with the directory for sockets of a session, such as those of Wayland.
pub(crate) const RUNTIME_DIR: &str = "XDG_RUNTIME_DIR";

/// Variables with their values.
pub(crate) type Vars = Vec<(String, String)>;

/// Adapters requested for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// One adapter for each of wgpu's back ends.
    FirstPerBackend,
    /// Every adapter, SwiftShader too, under the validation layer.
    All,
    /// Every adapter that this system can get; missing ones are reported.
    AllThereAre,
}

/// Request of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) wanted: Wanted,
    /// `true` if missing drivers may be installed or fetched.
    pub(crate) may_install: bool,
}

/// Result of the set-up.
#[derive(Default)]
pub(crate) struct SetUp {
    pub(crate) vars: Vars,
    /// Requested drivers that are not available, with the reason.
    pub(crate) missing: Option<String>,
}

/// Sets up the adapters that a run requests, and returns the variables for its tests.
pub(crate) fn set_up(workspace: &Workspace, request: Request) -> Result<SetUp> {
    let no_driver = ensure_adapter(request.may_install)?;
    if let Some(no_driver) = no_driver.as_ref().filter(|_| request.wanted == Wanted::All) {
        bail!("every adapter was requested, without {no_driver}");
    }
    let mut vars = Vec::new();
    if cfg!(target_os = "linux") {
        vars.push(var(RUNTIME_DIR, private_dir(workspace)?));
    }
    if request.wanted == Wanted::FirstPerBackend {
        let adapters = if no_driver.is_some() { "cpu" } else { "first-per-backend" };
        vars.push(var("FENCEPOST_TEST_ADAPTERS", adapters));
        return Ok(SetUp { vars, missing: no_driver });
    }
    vars.push(var("FENCEPOST_TEST_ADAPTERS", "all"));
    vars.push(var(VALIDATION, "1"));
    let missing = if cfg!(target_os = "linux") { add_drivers(workspace, request, &mut vars)? } else { None };
    let missing: Vec<String> = no_driver.into_iter().chain(missing).collect();
    Ok(SetUp { vars, missing: (!missing.is_empty()).then(|| missing.join("; ")) })
}

/// Does the same as [`set_up`], prints the requested drivers that are not available, and returns the variables.
pub(crate) fn set_up_reported(workspace: &Workspace, request: Request) -> Result<Vars> {
    set_up(workspace, request).map(SetUp::reported)
}

impl SetUp {
    /// Prints the requested drivers that are not available, and returns the variables.
    fn reported(self) -> Vars {
        if let Some(missing) = self.missing {
            eprintln!("xtask: without {missing}");
        }
        self.vars
    }
}

/// Returns the variables for measurements on the available adapters, without validation layers. Missing adapters are
/// reported.
pub(crate) fn unwatched(workspace: &Workspace) -> Result<Vars> {
    ensure_adapter(true)?;
    let found = set_up(workspace, Request { wanted: Wanted::AllThereAre, may_install: true });
    let found =
        found.unwrap_or_else(|error| SetUp { missing: Some(format!("{error:#}")), ..SetUp::default() });
    let mut vars = found.reported();
    vars.retain(|(name, _)| name != VALIDATION);
    Ok(vars)
}

/// Adds EGL's driver, SwiftShader and the layer; returns a description of missing ones if the request allows that.
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

/// Returns variables for the system's drivers and SwiftShader, with the fetched layer.
fn vulkan_variables(extras: Extras) -> Result<Vars> {
    let mut drivers: Vec<_> = usable_drivers().into_iter().map(|driver| driver.manifest).collect();
    drivers.retain(|manifest| *manifest != extras.driver);
    drivers.push(extras.driver);
    let drivers = env::join_paths(drivers).context("a driver manifest's path holds a colon")?;
    let drivers = drivers.to_string_lossy();
    Ok(vec![
        var("VK_DRIVER_FILES", &*drivers),
        var("VK_ICD_FILENAMES", &*drivers), // loaders before 1.3.207 read only this variable
        var("VK_LAYER_PATH", extras.layers.to_string_lossy()),
        var("VK_LAYER_VALIDATE_SYNC", "1"),
        var("VK_LAYER_SYNCVAL_SHADER_ACCESSES_HEURISTIC", "1"), // else missing barriers between dispatches are not reported
        var("VK_LAYER_SYNCVAL_FULL_VALIDATION", "1"), // else a missing barrier between command buffers is not reported
    ])
}

/// Returns a runtime directory for programs on Linux, if the environment names none that exists. Without one, a Vulkan
/// layer of Mesa prints errors whenever a program lists the adapters.
pub(crate) fn missing_runtime_dir(workspace: &Workspace) -> Result<Vars> {
    if !cfg!(target_os = "linux") || is_folder(env::var_os(RUNTIME_DIR)) {
        return Ok(Vars::new());
    }
    Ok(vec![var(RUNTIME_DIR, private_dir(workspace)?)])
}

/// Returns `true` if the value of a variable is the path of a folder.
fn is_folder(value: Option<OsString>) -> bool {
    value.is_some_and(|path| Path::new(&path).is_dir())
}

fn var(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}

/// Returns a runtime directory that only its owner can open, as Mesa and EGL require.
pub(crate) fn private_dir(workspace: &Workspace) -> Result<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_directory_counts_as_missing_until_its_folder_exists() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let named = dir.path().join("runtime");
        let is_there = || is_folder(Some(named.clone().into_os_string()));
        assert!(!is_there() && !is_folder(None));
        std::fs::create_dir(&named).expect("made");
        assert!(is_there());
    }
}
