//! The system's package manager, and its names of the software driver's packages.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};

use crate::shell::{Line, line, which};

/// A package manager that this program can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manager {
    Apt,
    Dnf,
    Pacman,
    Zypper,
    Apk,
}

impl Manager {
    const ALL: [Self; 5] = [Self::Apt, Self::Dnf, Self::Pacman, Self::Zypper, Self::Apk];

    /// Returns the package manager of this system.
    pub(crate) fn find() -> Option<Self> {
        Self::ALL.into_iter().find(|manager| which(manager.program()).is_some())
    }

    fn program(self) -> &'static str {
        match self {
            Self::Apt => "apt-get",
            Self::Dnf => "dnf",
            Self::Pacman => "pacman",
            Self::Zypper => "zypper",
            Self::Apk => "apk",
        }
    }

    /// Returns the arguments before the package names.
    fn install_args(self) -> &'static [&'static str] {
        match self {
            Self::Apt => &["install", "-y", "--no-install-recommends"],
            Self::Dnf => &["install", "-y"],
            Self::Pacman => &["-S", "--needed", "--noconfirm"],
            Self::Zypper => &["--non-interactive", "install"],
            Self::Apk => &["add"],
        }
    }

    /// Returns the arguments that update the package lists.
    fn refresh_args(self) -> &'static [&'static str] {
        match self {
            Self::Apt => &["update"],
            Self::Dnf => &["makecache"],
            Self::Pacman => &["-Sy"],
            Self::Zypper => &["--non-interactive", "refresh"],
            Self::Apk => &["update"],
        }
    }

    /// Returns the packages of the Vulkan loader, EGL, and Mesa's software drivers for both.
    pub(crate) fn software_driver(self) -> &'static [&'static str] {
        match self {
            Self::Apt => &["mesa-vulkan-drivers", "libvulkan1", "libegl1", "libgl1-mesa-dri"],
            Self::Dnf => &["mesa-vulkan-drivers", "vulkan-loader", "mesa-libEGL", "mesa-dri-drivers"],
            Self::Pacman => &["vulkan-swrast", "vulkan-icd-loader", "mesa", "libglvnd"],
            Self::Zypper => &["libvulkan_lvp", "libvulkan1", "Mesa-libEGL1", "Mesa-dri"],
            Self::Apk => &["mesa-vulkan-swrast", "vulkan-loader", "mesa-egl", "mesa-dri-gallium"],
        }
    }

    /// Installs packages, as root or through sudo; after a failure it refreshes the lists and tries once more.
    pub(crate) fn install(self, packages: &[&str]) -> Result<()> {
        let install = self.line_as_root(self.install_args())?.args(packages);
        if self == Self::Apt && apt_lists_are_stale() {
            self.refresh()?;
        }
        if let Err(first) = install.run_aside() {
            eprintln!("xtask: {first:#}; trying once more with fresh package lists");
            self.refresh()?;
            install.run_aside()?;
        }
        Ok(())
    }

    /// Updates the package lists.
    pub(crate) fn refresh(self) -> Result<()> {
        self.line_as_root(self.refresh_args())?.run_aside()
    }

    fn line_as_root(self, args: &[&str]) -> Result<Line> {
        let program = which(self.program()).with_context(|| format!("no `{}` in PATH", self.program()))?;
        let quiet =
            |line: Line| if self == Self::Apt { line.var("DEBIAN_FRONTEND", "noninteractive") } else { line };
        if is_root() {
            return Ok(quiet(line(program)).args(args));
        }
        let Some(sudo) = which("sudo") else {
            bail!("`{} {}` needs root, and there is no sudo: run it as root", self.program(), args.join(" "));
        };
        Ok(line(sudo).arg(program).args(args))
    }
}

/// Returns `true` if this process may install packages.
fn is_root() -> bool {
    line("id").arg("-u").read().is_ok_and(|id| id.trim() == "0")
}

/// Returns `true` if apt has no package lists, or none younger than a day.
pub(crate) fn apt_lists_are_stale() -> bool {
    newest_list(Path::new("/var/lib/apt/lists"))
        .and_then(|written| SystemTime::now().duration_since(written).ok())
        .is_none_or(|age| age > Duration::from_secs(24 * 3600))
}

/// Returns the time at which the newest package list in `dir` was last fetched.
fn newest_list(dir: &Path) -> Option<SystemTime> {
    let entries = fs::read_dir(dir).ok()?.flatten();
    let lists = entries.filter(|entry| entry.file_name().to_string_lossy().contains("_Packages"));
    let fetched = fs::metadata(dir.join("partial")).and_then(|meta| meta.modified()).ok();
    let newest = lists.filter_map(|entry| entry.metadata().ok()?.modified().ok()).max()?;
    Some(fetched.map_or(newest, |at| at.max(newest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_manager_knows_a_loader_and_a_driver() {
        for manager in Manager::ALL {
            let packages = manager.software_driver();
            assert!(packages.iter().any(|name| name.contains("vulkan")), "{manager:?}");
            assert!(packages.iter().any(|name| name.to_lowercase().contains("mesa")), "{manager:?}");
        }
    }

    #[test]
    fn a_directory_without_package_lists_has_no_newest_list() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(newest_list(dir.path()), None);
        fs::write(dir.path().join("lock"), "").expect("written");
        assert_eq!(newest_list(dir.path()), None);
        fs::write(dir.path().join("mirror_main_Packages"), "").expect("written");
        assert!(newest_list(dir.path()).is_some());
    }
}
