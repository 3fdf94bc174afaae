//! The machine around the adapters: variables, device files, drivers that no adapter belongs to.

use std::env;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use fencepost::{AdapterChoice, AdapterInfo};

use super::{Line, remedy};
use crate::opened;

/// What tells the Vulkan loader which drivers to take.
const VARIABLES: [&str; 3] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES"];
/// Where Linux has the device files of graphics cards.
const NODES: &str = "/dev/dri";
/// What is there while the kernel driver of NVIDIA is loaded.
const NVIDIA: &str = "/proc/driver/nvidia/version";

/// What surrounds the adapters.
pub(super) fn surroundings() -> Vec<Line> {
    let mut lines: Vec<_> = VARIABLES.iter().filter_map(|name| files(name, env::var_os(name)?)).collect();
    if cfg!(target_os = "linux") {
        lines.push(nodes(Path::new(NODES)));
        lines.extend(nvidia(Path::new(NVIDIA), &fencepost::adapters()));
    }
    lines
}

/// Whether the files exist that a variable of the Vulkan loader names; nothing if it is empty.
fn files(name: &str, value: OsString) -> Option<Line> {
    let paths: Vec<_> = env::split_paths(&value).filter(|path| !path.as_os_str().is_empty()).collect();
    match paths.iter().find(|path| !path.exists()) {
        _ if paths.is_empty() => None,
        None => Some(Line::ok(name, format!("it is set: Vulkan has the drivers of {}", value.display()))),
        Some(path) => {
            let detail = format!("it is set, and there is no file {}", path.display());
            Some(Line::failed(name, detail, Some(format!("`unset {name}`, or set it to a driver's file"))))
        }
    }
}

/// Whether `Context::new()` finds an adapter.
pub(super) fn default_adapter() -> Line {
    let name = "default adapter";
    match opened::open(AdapterChoice::Auto) {
        Ok(ctx) => Line::ok(name, ctx.info().to_string()),
        Err(error) => Line::failed(name, error.to_string(), remedy::of(&error)),
    }
}

/// Whether this user may open the device files of the graphics cards.
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

/// Whether the loaded driver of NVIDIA has an adapter; nothing if it is not loaded.
fn nvidia(version: &Path, known: &[AdapterInfo]) -> Option<Line> {
    let name = "NVIDIA driver";
    if !version.is_file() {
        return None;
    }
    if known.iter().any(|info| info.name.contains("NVIDIA") || info.driver.contains("NVIDIA")) {
        return Some(Line::ok(name, "its adapter is listed"));
    }
    let remedy = "install its Vulkan part, on Debian `apt-get install nvidia-vulkan-icd`; in a container `docker run --gpus \
        all --env NVIDIA_DRIVER_CAPABILITIES=all`";
    Some(Line::failed(name, "it is loaded, and no adapter is its own", Some(remedy.into())))
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;

    #[test]
    fn a_device_file_that_does_not_open_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(nodes(folder.path()).status, Status::Ok);
        fs::write(folder.path().join("renderD128"), "").expect("written");
        fs::create_dir(folder.path().join("card0")).expect("made");
        assert_eq!(nodes(folder.path()).status, Status::Ok, "a card is no render node");
        fs::create_dir(folder.path().join("renderD129")).expect("made");
        let line = nodes(folder.path());
        assert_eq!(line.status, Status::Failed);
        assert!(line.detail.contains("renderD129") && line.remedy.is_some(), "{}", line.detail);
    }

    #[test]
    fn a_variable_that_names_a_missing_file_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let (there, gone) = (folder.path().join("a.json"), folder.path().join("b.json"));
        fs::write(&there, "").expect("written");
        let line = |paths: &[&PathBuf]| files("VK_DRIVER_FILES", env::join_paths(paths).expect("joined"));
        assert_eq!(line(&[]), None);
        assert_eq!(line(&[&there]).map(|line| line.status), Some(Status::Ok));
        let found = line(&[&there, &gone]).expect("a line");
        assert_eq!(found.status, Status::Failed);
        assert!(found.detail.contains("b.json") && found.remedy.is_some(), "{}", found.detail);
    }

    #[test]
    fn a_driver_without_an_adapter_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let version = folder.path().join("version");
        assert!(nvidia(&version, &[]).is_none());
        fs::write(&version, "535").expect("written");
        assert_eq!(nvidia(&version, &[]).map(|line| line.status), Some(Status::Failed));
    }
}
