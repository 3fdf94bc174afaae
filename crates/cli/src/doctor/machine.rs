//! The environment of the adapters: variables, device files, drivers without an adapter.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use fencepost::{AdapterChoice, AdapterInfo, ErrorDetail};

use super::loader::Loader;
use super::{Line, dx12, remedy};
use crate::opened;

/// Folder of the graphics cards' device files on Linux.
const NODES: &str = "/dev/dri";
/// File that exists while NVIDIA's kernel driver is loaded.
const NVIDIA: &str = "/proc/driver/nvidia/version";

/// Checks the environment of the adapters, which were looked for before.
pub(super) fn surroundings() -> Vec<Line> {
    let loader = Loader::of_process();
    let known = fencepost::adapters();
    let mut lines = loader.lines(with_driver(&known));
    lines.extend(dx12::line());
    if cfg!(target_os = "linux") {
        lines.push(nodes(Path::new(NODES)));
        lines.extend(nvidia(Path::new(NVIDIA), &known, loader.remedy()));
    }
    lines
}

/// Backend of the CPU, which needs no driver.
const NATIVE_CODE: &str = "native code";

/// Reports the number of adapters with a driver.
pub(super) fn count(known: &[AdapterInfo]) -> Line {
    let name = "adapters";
    match with_driver(known) {
        0 => Line::failed(
            name,
            "this machine has no adapter besides the CPU itself",
            Loader::of_process().remedy(),
        ),
        1 => Line::ok(name, "there is one, and the CPU itself"),
        count => Line::ok(name, format!("there are {count}, and the CPU itself")),
    }
}

fn with_driver(known: &[AdapterInfo]) -> usize {
    known.iter().filter(|info| info.backend != NATIVE_CODE).count()
}

/// Checks that `Context::new()` finds an adapter.
pub(super) fn default_adapter() -> Line {
    let name = "default adapter";
    match opened::open(AdapterChoice::Auto) {
        Ok(ctx) => Line::ok(name, ctx.info().to_string()),
        Err(error) => match (error.detail(), Loader::of_process().remedy()) {
            (ErrorDetail::NoAdapter { found, .. }, Some(unset)) if found.starts_with("none") => {
                Line::failed(name, "this machine has no adapter", Some(unset))
            }
            _ => Line::failed(name, error.to_string(), remedy::of(&error)),
        },
    }
}

/// Checks that the user may open the device files of the graphics cards.
fn nodes(folder: &Path) -> Line {
    let name = "device files";
    let nodes = render_nodes(folder);
    if nodes.is_empty() {
        return Line::ok(name, format!("{} has none: this system sees no graphics card", folder.display()));
    }
    let refused = |node: &PathBuf| OpenOptions::new().read(true).write(true).open(node).err();
    match nodes.iter().find_map(|node| Some((node, refused(node)?))) {
        None => Line::ok(name, format!("{} of {} open", nodes.len(), folder.display())),
        Some((node, error)) => {
            let remedy = "`sudo usermod --append --groups render,video $USER`, then log in again; in a container \
                `docker run --device /dev/dri`";
            Line::failed(name, format!("{}: {error}", node.display()), Some(remedy.into()))
        }
    }
}

fn render_nodes(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let renders = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with("renderD");
    let mut nodes: Vec<_> = entries.filter(renders).map(|entry| entry.path()).collect();
    nodes.sort();
    nodes
}

/// Checks that NVIDIA's loaded driver has an adapter; `None` if it is not loaded. `unset` is a command that unsets
/// variables that may hide the driver.
fn nvidia(version: &Path, known: &[AdapterInfo], unset: Option<String>) -> Option<Line> {
    let name = "NVIDIA driver";
    if !version.is_file() {
        return None;
    }
    if known.iter().any(|info| info.name.contains("NVIDIA") || info.driver.contains("NVIDIA")) {
        return Some(Line::ok(name, "its adapter is listed"));
    }
    let remedy = "install its Vulkan part, on Debian `apt-get install nvidia-vulkan-icd`; in a container `docker run --gpus \
        all --env NVIDIA_DRIVER_CAPABILITIES=all`";
    let remedy = unset.unwrap_or_else(|| remedy.into());
    Some(Line::failed(name, "it is loaded, but it has no adapter", Some(remedy)))
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;

    #[test]
    fn a_device_file_that_does_not_open_is_reported() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(nodes(folder.path()).status, Status::Ok);
        fs::write(folder.path().join("renderD128"), "").expect("written");
        fs::create_dir(folder.path().join("card0")).expect("made");
        assert_eq!(nodes(folder.path()).status, Status::Ok, "a card is not a render node");
        fs::create_dir(folder.path().join("renderD129")).expect("made");
        let line = nodes(folder.path());
        assert_eq!(line.status, Status::Failed);
        assert!(line.detail.contains("renderD129") && line.remedy.is_some(), "{}", line.detail);
    }

    #[test]
    fn a_driver_without_an_adapter_is_reported() {
        let folder = tempfile::tempdir().expect("a folder");
        let version = folder.path().join("version");
        assert!(nvidia(&version, &[], None).is_none());
        fs::write(&version, "535").expect("written");
        let line = |unset: Option<&str>| nvidia(&version, &[], unset.map(str::to_owned)).expect("a line");
        assert_eq!(line(None).status, Status::Failed);
        assert!(line(None).remedy.is_some_and(|remedy| remedy.contains("install")));
        assert_eq!(line(Some("unset it")).remedy.as_deref(), Some("unset it"));
    }
}
