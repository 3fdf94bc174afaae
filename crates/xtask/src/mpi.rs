//! `cargo xtask mpi`: builds `examples/heat_mpi`, runs it on several ranks, and compares the results.
//!
//! The programs, the headers and the libraries are those of an installed Open MPI, or of Debian packages that are
//! unpacked below `target/tools` and not installed. The packages are built for `/usr`, so variables name their folder.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::adapters::usable_drivers;
use crate::debs;
use crate::environment::{Vars, missing_runtime_dir};
use crate::shell::{cargo, line, which};
use crate::software::ensure_adapter;
use crate::steps::Done;
use crate::workspace::Workspace;

/// Folder of the example, which is a workspace of its own.
const EXAMPLE: &str = "examples/heat_mpi";
/// Number of ranks of each run on the CPU device.
const ON_CPU: [u32; 3] = [1, 2, 4];
/// Number of ranks on lavapipe.
const ON_LAVAPIPE: u32 = 2;
/// Arguments of the example.
const PLATE: [&str; 6] = ["--width", "256", "--height", "203", "--steps", "60"];

/// File that is written when all packages are unpacked.
const UNPACKED: &str = "unpacked";
/// Variables for the unpacked Open MPI: messages go through shared memory, and no rank is started by another program.
const ON_THIS_MACHINE: [(&str, &str); 5] = [
    ("OMPI_MCA_pml", "ob1"),
    ("OMPI_MCA_btl", "self,vader"),
    ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"), // else containers refuse it
    ("OMPI_MCA_plm_rsh_agent", "sh"),                     // a machine without ssh has no other
    ("OMPI_MCA_mca_base_component_show_load_errors", "0"), // of parts for networks, whose libraries are left out
];

/// An Open MPI.
struct OpenMpi {
    mpirun: PathBuf,
    /// Variables for the build and for all runs.
    vars: Vars,
}

/// Builds the example, runs it on the CPU device and on lavapipe, and compares the hashes of the results. Skipped if
/// there is no Open MPI and none may be fetched.
///
/// # Errors
/// The example does not build, a run fails, or two runs have different results.
pub(crate) fn mpi(workspace: &Workspace, may_install: bool) -> Result<Done> {
    if !cfg!(target_os = "linux") {
        return Ok(Done::Skipped("the example is run on Linux only".into()));
    }
    let Some(open_mpi) = OpenMpi::find(workspace, may_install)? else {
        return Ok(Done::Skipped("no Open MPI: install openmpi-bin, libopenmpi-dev and libclang-dev".into()));
    };
    let no_driver = ensure_adapter(may_install)?;
    let has_lavapipe = usable_drivers().iter().any(|driver| driver.library.contains("lvp"));
    let program = build(workspace, &open_mpi)?;
    let vars = missing_runtime_dir(workspace)?;
    let on_lavapipe = has_lavapipe.then_some(("lavapipe", ON_LAVAPIPE));
    let mut first: Option<(String, String)> = None;
    for (adapter, ranks) in ON_CPU.map(|ranks| ("cpu", ranks)).into_iter().chain(on_lavapipe) {
        let run = format!("{ranks} ranks on {adapter}");
        let hash = open_mpi.run(&program, (adapter, ranks), &vars).with_context(|| run.clone())?;
        match &first {
            Some((other, expected)) if *expected != hash => {
                bail!("the cells of {run} have the hash {hash}, those of {other} {expected}");
            }
            Some(_) => {}
            None => first = Some((run, hash)),
        }
    }
    if has_lavapipe {
        return Ok(Done::Yes);
    }
    Ok(Done::Partly(no_driver.unwrap_or_else(|| "lavapipe, which is not installed".into())))
}

/// Builds the example, and returns the program.
fn build(workspace: &Workspace, open_mpi: &OpenMpi) -> Result<PathBuf> {
    let target = workspace.made("mpi")?;
    let manifest = workspace.path(EXAMPLE).join("Cargo.toml");
    let build = cargo().args(["build", "--release", "--manifest-path"]).arg(manifest);
    build.arg("--target-dir").arg(&target).vars(&open_mpi.vars).dir(workspace.root()).run()?;
    Ok(target.join("release/heat_mpi"))
}

impl OpenMpi {
    /// Returns the installed Open MPI, or the one below `target/tools`, which is fetched if it is missing and
    /// `may_install`.
    fn find(workspace: &Workspace, may_install: bool) -> Result<Option<Self>> {
        if which("mpicc").is_some()
            && let Some(mpirun) = which("mpirun")
            && line(&mpirun).arg("--version").read().is_ok_and(|version| version.contains("Open MPI"))
        {
            return Ok(Some(Self { mpirun, vars: Vars::new() }));
        }
        let folder = workspace.tools("openmpi")?;
        if !folder.join(UNPACKED).is_file() {
            if !may_install || which("apt-get").is_none() {
                return Ok(None);
            }
            fetch(&folder).context("cannot fetch Open MPI")?;
        }
        Self::unpacked(&folder).map(Some)
    }

    /// Returns the Open MPI of unpacked packages.
    fn unpacked(folder: &Path) -> Result<Self> {
        let prefix = folder.join("usr");
        let libraries = prefix.join(format!("lib/{}-linux-gnu", env::consts::ARCH));
        let pmix = libraries.join("pmix2");
        let own = [libraries.clone(), libraries.join("openmpi/lib")];
        let given = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let given = env::split_paths(&given).filter(|path| !path.as_os_str().is_empty());
        let search = env::join_paths(own.into_iter().chain(given)).context("a path has a colon")?;
        let headers = line("cc").arg("-print-file-name=include").read()?;
        let mut vars: Vars =
            ON_THIS_MACHINE.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut set = |name: &str, value: &Path| {
            vars.push((name.to_owned(), value.to_string_lossy().into_owned()));
        };
        set("OPAL_PREFIX", &prefix);
        set("PMIX_PREFIX", &pmix);
        set("PMIX_LIBDIR", &pmix.join("lib"));
        set("LD_LIBRARY_PATH", Path::new(&search));
        set("MPICC", &prefix.join("bin/mpicc.openmpi"));
        // Without a clang, libclang has no headers such as stddef.h of its own.
        set("BINDGEN_EXTRA_CLANG_ARGS", Path::new(&format!("-I{}", headers.trim())));
        if has_libclang(&libraries) {
            set("LIBCLANG_PATH", &libraries);
        }
        Ok(Self { mpirun: prefix.join("bin/orterun"), vars })
    }

    /// Runs the example on some ranks, and returns the hash that it prints.
    fn run(&self, program: &Path, (adapter, ranks): (&str, u32), vars: &Vars) -> Result<String> {
        let run =
            line(&self.mpirun).args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n"]);
        let run = run.arg(ranks.to_string()).arg(program).args(PLATE);
        let (passed, said) =
            run.vars(&self.vars).vars(vars).var("FENCEPOST_ADAPTER", adapter).run_quietly()?;
        eprint!("{said}");
        ensure!(passed, "the example failed");
        hash_in(&said).context("the example printed no hash")
    }
}

/// Downloads and unpacks Open MPI, libclang and what they need and the system does not have.
fn fetch(folder: &Path) -> Result<()> {
    eprintln!("xtask: fetching Open MPI and libclang from the packages of the system");
    let clang = newest_libclang(&line("apt-cache").args(["depends", "libclang-dev"]).read()?)?;
    let mut packages = debs::missing(&["openmpi-bin", &clang])?;
    // A program with its own C library cannot use another one.
    packages.retain(|package| !package.starts_with("libc6"));
    // It depends on a Fortran compiler and on headers that a program does not include.
    packages.push("libopenmpi-dev".to_owned());
    for package in packages {
        let deb = debs::download(&package, folder)?;
        debs::unpack(&deb, folder)?;
        fs::remove_file(&deb).with_context(|| format!("cannot remove {}", deb.display()))?;
    }
    ensure!(
        folder.join("usr/bin/orterun").is_file(),
        "openmpi-bin is installed without libopenmpi-dev: install libopenmpi-dev too"
    );
    let file = folder.join(UNPACKED);
    fs::write(&file, "").with_context(|| format!("cannot write {}", file.display()))
}

/// Returns the package of the library libclang, by the dependencies of `libclang-dev`: `libclang1-14` for
/// `libclang-14-dev`.
fn newest_libclang(dependencies: &str) -> Result<String> {
    let version = dependencies.split_whitespace().find_map(|name| {
        let version = name.strip_prefix("libclang-")?.strip_suffix("-dev")?;
        version.chars().all(|c| c.is_ascii_digit()).then_some(version)
    });
    let version = version.context("libclang-dev depends on no libclang-<version>-dev")?;
    Ok(format!("libclang1-{version}"))
}

/// Returns `true` if a folder has a file of the library libclang.
fn has_libclang(folder: &Path) -> bool {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.map(|name| name.to_string_lossy().into_owned()).any(|name| name.starts_with("libclang-"))
}

/// Returns the hash in the output of the example.
fn hash_in(said: &str) -> Option<String> {
    said.lines().find_map(|line| line.strip_prefix("hash ")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_of_the_default_clang_is_found() {
        let said = "libclang-dev\n  Depends: libclang-14-dev\n  Depends: clang\n";
        assert_eq!(newest_libclang(said).expect("a version"), "libclang1-14");
        assert!(newest_libclang("libclang-dev\n  Depends: libclang-common-dev\n").is_err());
    }

    #[test]
    fn the_hash_is_the_text_after_its_word() {
        assert_eq!(hash_in("2 ranks\nhash 0123abcd\n").as_deref(), Some("0123abcd"));
        assert_eq!(hash_in("rehash 12\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_variables_name_the_unpacked_folder() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let libraries = dir.path().join(format!("usr/lib/{}-linux-gnu", env::consts::ARCH));
        fs::create_dir_all(&libraries).expect("made");
        let names = || -> Vec<String> {
            let found = OpenMpi::unpacked(dir.path()).expect("a C compiler");
            found.vars.into_iter().map(|(name, _)| name).collect()
        };
        assert!(!names().contains(&"LIBCLANG_PATH".to_owned()), "it is not unpacked");
        fs::write(libraries.join("libclang-14.so.1"), "").expect("written");
        let found = names();
        for name in ["OPAL_PREFIX", "LD_LIBRARY_PATH", "MPICC", "LIBCLANG_PATH"] {
            assert!(found.contains(&name.to_owned()), "{name}");
        }
    }
}
