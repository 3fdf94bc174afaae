//! Makes sure that there is an adapter: installs a software driver, and fetches SwiftShader and the validation layer.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::adapters::{has_egl, usable_drivers};
use crate::debs;
use crate::packages::Manager;
use crate::workspace::Workspace;

const SWIFTSHADER: &str = "libvk_swiftshader.so";
const LAYER: &str = "libVkLayer_khronos_validation.so";

/// Makes sure that a Vulkan driver can be used, and installs a software one if `may_install`. If nothing may be
/// installed, returns the reason why there is no driver; the tests then use the CPU, which needs none.
///
/// macOS and Windows have their own drivers.
pub(crate) fn ensure_adapter(may_install: bool) -> Result<Option<String>> {
    if !cfg!(target_os = "linux") || !usable_drivers().is_empty() {
        return Ok(None);
    }
    let why = "no usable Vulkan driver was found";
    if !may_install {
        return Ok(Some(format!("a Vulkan driver: {why}, and --no-install was given")));
    }
    install(why, may_install)?;
    if usable_drivers().is_empty() {
        bail!("the software driver was installed, but the Vulkan loader still finds no usable driver");
    }
    Ok(None)
}

/// Makes sure that EGL, which the GL adapter needs, can be used too.
pub(crate) fn ensure_gl(may_install: bool) -> Result<()> {
    if !cfg!(target_os = "linux") || has_egl() {
        return Ok(());
    }
    install("no EGL library was found, so there would be no GL adapter", may_install)
}

fn install(why: &str, may_install: bool) -> Result<()> {
    let Some(manager) = Manager::find() else {
        bail!(
            "{why}, and no package manager this program knows (apt, dnf, pacman, zypper, apk): install Mesa's lavapipe by hand"
        );
    };
    let packages = manager.software_driver();
    if !may_install {
        bail!("{why}, and --no-install was given: install {}", packages.join(" "));
    }
    eprintln!("xtask: {why}: installing the software driver ({})", packages.join(" "));
    manager.install(packages)
}

/// Files that the tests need besides the system's own driver.
#[derive(Debug)]
pub(crate) struct Extras {
    /// Path of SwiftShader's driver manifest.
    pub(crate) driver: PathBuf,
    /// Directory of the validation layer's manifest.
    pub(crate) layers: PathBuf,
}

/// Returns SwiftShader and a current validation layer below `target/tools`; fetches them if they are missing and
/// `may_install`.
pub(crate) fn extras(workspace: &Workspace, may_install: bool) -> Result<Extras> {
    let unpacked = workspace.tools("swiftshader")?;
    let libraries = unpacked.join("usr/lib/chromium");
    if !libraries.join(SWIFTSHADER).is_file() || !libraries.join(LAYER).is_file() {
        if !may_install {
            bail!("SwiftShader is not in {} yet, and --no-install was given", unpacked.display());
        }
        fetch(&unpacked).context("cannot fetch SwiftShader and the validation layer")?;
    }
    let manifests = workspace.tools("vulkan")?;
    let layers = workspace.tools("vulkan/layers")?;
    let driver = manifests.join("swiftshader_icd.json");
    write(&driver, &driver_manifest(&libraries.join(SWIFTSHADER)))?;
    write(&layers.join("VkLayer_khronos_validation.json"), &layer_manifest(&libraries.join(LAYER)))?;
    Ok(Extras { driver, layers })
}

/// Fetches both libraries from Chromium's packages; they need no other files.
fn fetch(unpacked: &Path) -> Result<()> {
    eprintln!(
        "xtask: fetching SwiftShader and the Vulkan validation layer out of Debian's chromium-common (32 MB)"
    );
    let deb = debs::download("chromium-common", unpacked)?;
    debs::unpack_only(&deb, unpacked, &[SWIFTSHADER, LAYER])?;
    fs::remove_file(&deb).with_context(|| format!("cannot remove {}", deb.display()))
}

fn write(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

fn driver_manifest(library: &Path) -> String {
    let icd = json!({ "library_path": library, "api_version": "1.3.0" });
    json!({ "file_format_version": "1.0.0", "ICD": icd }).to_string()
}

/// Writes the layer's manifest. The layer must announce VK_EXT_validation_features: otherwise wgpu does not turn
/// synchronization validation on.
fn layer_manifest(library: &Path) -> String {
    let extensions =
        ["VK_EXT_debug_report", "VK_EXT_debug_utils", "VK_EXT_validation_features", "VK_EXT_layer_settings"];
    let extensions: Vec<_> =
        extensions.iter().map(|name| json!({ "name": name, "spec_version": "1" })).collect();
    let layer = json!({
        "name": "VK_LAYER_KHRONOS_validation",
        "type": "GLOBAL",
        "library_path": library,
        "api_version": "1.4.300",
        "implementation_version": "1",
        "description": "Khronos Validation Layer",
        "instance_extensions": extensions,
    });
    json!({ "file_format_version": "1.2.0", "layer": layer }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_written_manifests_name_their_libraries() {
        let path = Path::new("/somewhere/lib.so");
        let driver: serde_json::Value = serde_json::from_str(&driver_manifest(path)).expect("JSON");
        assert_eq!(driver["ICD"]["library_path"], "/somewhere/lib.so");
        let layer: serde_json::Value = serde_json::from_str(&layer_manifest(path)).expect("JSON");
        assert_eq!(layer["layer"]["library_path"], "/somewhere/lib.so");
        assert_eq!(layer["layer"]["instance_extensions"][2]["name"], "VK_EXT_validation_features");
    }
}
