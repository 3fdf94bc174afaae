//! Debian packages used as archives: downloaded and unpacked below `target`, never installed.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;

use anyhow::{Context, Result, bail, ensure};

use crate::environment::Vars;
use crate::packages::{Manager, apt_lists_are_stale};
use crate::shell::{line, which};
use crate::workspace::Workspace;

/// File that marks the folder of packages that are unpacked completely.
const COMPLETE: &str = ".unpacked";
/// Folders of libraries in packages.
const LIBRARIES: [&str; 2] = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"];

/// A program of Debian packages. The packages are unpacked below `target/tools` if the program is not installed.
pub(crate) struct Packaged {
    /// The names of the program in `PATH`.
    pub(crate) names: &'static [&'static str],
    /// Debian packages with the program, and those whose files it finds beside its own: they are unpacked even if they are
    /// installed. Others that they need are unpacked if they are not installed.
    pub(crate) packages: &'static [&'static str],
    /// Path of the program in the packages.
    pub(crate) file: &'static str,
}

/// A program that was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) program: PathBuf,
    /// Folder of its packages; `None` if the program is installed.
    pub(crate) root: Option<PathBuf>,
}

impl Packaged {
    /// Returns the program from `PATH`, from its installed packages, which may place it elsewhere, or from unpacked ones.
    /// `None` if all are missing and may not be fetched, or if the system has no apt.
    ///
    /// # Errors
    /// The packages cannot be fetched, or do not contain the program.
    pub(crate) fn find(&self, workspace: &Workspace, may_fetch: bool) -> Result<Option<Found>> {
        if let Some(program) = self.names.iter().find_map(|name| which(name)) {
            return Ok(Some(Found { program, root: None }));
        }
        let installed = Path::new("/").join(self.file);
        if installed.is_file() {
            return Ok(Some(Found { program: installed, root: None }));
        }
        let Some(root) = unpacked(workspace, self.packages, may_fetch)? else { return Ok(None) };
        let program = root.join(self.file);
        ensure!(program.is_file(), "the packages {} have no {}", self.packages.join(" "), self.file);
        Ok(Some(Found { program, root: Some(root) }))
    }

    /// Returns a description of the missing program, with a remedy.
    pub(crate) fn missing(&self) -> String {
        format!("there is no `{}`: install {}", self.names[0], self.packages.join(" "))
    }
}

impl Found {
    /// Returns the variables with which the program finds the libraries and the programs of its packages.
    ///
    /// # Errors
    /// A path contains a colon.
    pub(crate) fn vars(&self) -> Result<Vars> {
        let Some(root) = &self.root else { return Ok(Vars::new()) };
        let path = before("PATH", vec![root.join("usr/bin")])?;
        Ok(vec![("PATH".to_owned(), path), library_path(&[root])?])
    }
}

/// Returns the variable with the folders of libraries, with those of unpacked packages first.
///
/// # Errors
/// A path contains a colon.
pub(crate) fn library_path(roots: &[&PathBuf]) -> Result<(String, String)> {
    const NAME: &str = "LD_LIBRARY_PATH";
    let folders = roots.iter().flat_map(|root| LIBRARIES.map(|folder| root.join(folder)));
    Ok((NAME.to_owned(), before(NAME, folders.collect())?))
}

/// Returns the value of a variable with folders, with other folders first.
fn before(name: &str, mut folders: Vec<PathBuf>) -> Result<String> {
    let known: OsString = env::var_os(name).unwrap_or_default();
    folders.extend(env::split_paths(&known).filter(|folder| !folder.as_os_str().is_empty()));
    let joined = env::join_paths(folders).context("a folder of packages has a colon in its path")?;
    Ok(joined.to_string_lossy().into_owned())
}

/// Unpacks packages below `target/tools`, and those that they need and that are not installed. Returns their folder;
/// `None` if they are missing and may not be fetched, or if the system has no apt.
///
/// # Errors
/// A package cannot be fetched or unpacked.
pub(crate) fn unpacked(workspace: &Workspace, packages: &[&str], may_fetch: bool) -> Result<Option<PathBuf>> {
    let root = workspace.tools(&format!("packages/{}", packages[0]))?;
    if root.join(COMPLETE).is_file() {
        return Ok(Some(root));
    }
    if !may_fetch || which("apt-get").is_none() || which("dpkg-deb").is_none() {
        return Ok(None);
    }
    let all = with_needed(packages)?;
    eprintln!("xtask: unpacking {} below {}; nothing is installed", all.join(" "), root.display());
    for package in &all {
        let deb = download(package, &root)?;
        unpack(&deb, &root)?;
        fs::remove_file(&deb).with_context(|| format!("cannot remove {}", deb.display()))?;
    }
    fs::write(root.join(COMPLETE), all.join("\n")).context("cannot write below target/tools")?;
    Ok(Some(root))
}

/// Returns packages, and those that they need and that are not installed.
fn with_needed(packages: &[&str]) -> Result<Vec<String>> {
    Ok(joined(packages, missing(packages)?))
}

/// Returns the requested packages, and those that apt would install besides, each once.
fn joined(packages: &[&str], missing: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = packages.iter().map(|name| (*name).to_owned()).collect();
    for name in missing {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// Updates package lists that are old, once in a process. If that is not allowed, the lists stay as they are.
fn refresh_lists() {
    static REFRESH: Once = Once::new();
    REFRESH.call_once(|| {
        if apt_lists_are_stale()
            && let Err(error) = Manager::Apt.refresh()
        {
            eprintln!("xtask: {error:#}; the package lists stay as they are");
        }
    });
}

/// Downloads a package into `dir` with apt, which checks it against the archive's signed hashes; returns its file.
pub(crate) fn download(package: &str, dir: &Path) -> Result<PathBuf> {
    for program in ["apt-get", "dpkg-deb"] {
        if which(program).is_none() {
            bail!("`{program}` not found: {package} comes as a Debian package, which needs it");
        }
    }
    refresh_lists();
    let fetch = line("apt-get").args(["-o", "APT::Sandbox::User=root", "download", package]).dir(dir);
    if let Err(first) = fetch.run_aside() {
        eprintln!("xtask: {first:#}; trying once more with fresh package lists");
        Manager::Apt.refresh()?;
        fetch.run_aside()?;
    }
    downloaded(package, dir)
}

/// Returns the packages that apt would install for these ones: themselves and what they need, without the installed
/// ones.
pub(crate) fn missing(packages: &[&str]) -> Result<Vec<String>> {
    let Some(apt) = which("apt-get") else {
        bail!("`apt-get` not found: {} come as Debian packages, which need it", packages.join(", "));
    };
    refresh_lists();
    let simulate = line(apt)
        .args(["--simulate", "-o", "Debug::NoLocking=1", "install", "--no-install-recommends"])
        .args(packages);
    Ok(simulated(&simulate.var("LC_ALL", "C").read()?))
}

/// Returns the names of the packages in the output of a simulated installation.
fn simulated(said: &str) -> Vec<String> {
    let names = said.lines().filter_map(|line| line.strip_prefix("Inst ")?.split_whitespace().next());
    names.map(str::to_owned).collect()
}

/// Unpacks all files of a package.
pub(crate) fn unpack(deb: &Path, dir: &Path) -> Result<()> {
    line("dpkg-deb").arg("-x").arg(deb).arg(dir).run_aside()
}

/// Unpacks only the files with these names, because packages are large.
pub(crate) fn unpack_only(deb: &Path, dir: &Path, names: &[&str]) -> Result<()> {
    let script = r#"set -o pipefail; dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --wildcards "${@:3}""#;
    let members = names.iter().map(|name| format!("*/{name}"));
    line("bash").args(["-c", script, "bash"]).arg(deb).arg(dir).args(members).run_aside()
}

/// Returns the package's file in `dir`.
fn downloaded(package: &str, dir: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let mut files = entries.flatten().map(|entry| entry.path());
    let start = format!("{package}_");
    let is_it =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&start));
    files.find(is_it).with_context(|| format!("apt-get left no {package}_*.deb in {}", dir.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_of_apt_names_the_needed_packages_once() {
        let plan = "Reading package lists...\nInst libwine (8.0 Debian:12 [amd64])\nInst wine64 (8.0 Debian:12 [amd64])\n\
            Conf wine64 (8.0 Debian:12 [amd64])\n";
        assert_eq!(joined(&["wine64"], simulated(plan)), ["wine64", "libwine"]);
    }

    #[test]
    fn a_program_of_unpacked_packages_finds_their_libraries_first() {
        let found = Found { program: "p".into(), root: Some("/r".into()) };
        let vars = found.vars().expect("there is no colon");
        assert!(vars[0].0 == "PATH" && vars[0].1.starts_with("/r/usr/bin"), "{vars:?}");
        assert!(vars[1].1.starts_with("/r/usr/lib/x86_64-linux-gnu:/r/lib/x86_64-linux-gnu"), "{vars:?}");
        assert!(Found { root: None, ..found }.vars().expect("there is no folder").is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn an_installed_program_is_found_outside_of_the_path() {
        let packaged = Packaged { names: &["no-such-program-here"], packages: &["none"], file: "bin/sh" };
        let found = packaged.find(&Workspace::at(Path::new("/w")), false).expect("nothing is fetched");
        let found = found.expect("each system has a shell");
        assert_eq!((found.program.as_path(), found.root), (Path::new("/bin/sh"), None));
    }

    #[test]
    fn a_simulated_installation_names_its_packages() {
        let said = "Reading package lists...\nInst libevent [1.0] (1.1 Debian:12 [amd64]) []\n\
                    Inst openmpi-bin (4.1.4-3 Debian:12 [amd64])\nConf openmpi-bin (4.1.4-3 Debian:12 [amd64])\n";
        assert_eq!(simulated(said), ["libevent", "openmpi-bin"]);
    }

    #[test]
    fn a_download_is_found_by_its_exact_package_name() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::write(dir.path().join("chromium-common_1_amd64.deb"), "").expect("written");
        assert!(downloaded("chromium", dir.path()).is_err());
        assert!(downloaded("chromium-common", dir.path()).is_ok());
    }
}
