//! The machine around the adapters: variables, device files, drivers that no adapter belongs to.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use fencepost::{AdapterChoice, AdapterInfo};

use super::{Line, remedy};
use crate::opened;

/// Where Linux has the device files of graphics cards.
const NODES: &str = "/dev/dri";
/// What is there while the kernel driver of NVIDIA is loaded.
const NVIDIA: &str = "/proc/driver/nvidia/version";

/// What surrounds the adapters.
pub(super) fn surroundings() -> Vec<Line> {
    if !cfg!(target_os = "linux") {
        return Vec::new();
    }
    [nodes(Path::new(NODES))].into_iter().chain(nvidia(Path::new(NVIDIA), &fencepost::adapters())).collect()
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
    fn a_driver_without_an_adapter_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let version = folder.path().join("version");
        assert!(nvidia(&version, &[]).is_none());
        fs::write(&version, "535").expect("written");
        assert_eq!(nvidia(&version, &[]).map(|line| line.status), Some(Status::Failed));
    }
}
