//! Builds of tests for another system.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::debs::{Found, library_path, unpacked};
use crate::environment::Vars;
use crate::shell::{Line, cargo, line};
use crate::targets::has_library;
use crate::workspace::Workspace;

/// Debian's packages of a current Rust with the sources of its standard library.
const RUST: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];
/// Options with which cargo builds the standard library too.
const WITH_LIBRARY: [&str; 1] = ["-Zbuild-std=std,panic_abort,panic_unwind"];
/// Variables for the builds of this system: options, and a compiler in place of `rustc`, which cannot read the libraries
/// of another version.
const OWN_OPTIONS: [&str; 3] = ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER"];

/// A Rust that builds for another system, with a C compiler for it, which links.
pub(crate) struct Foreign {
    root: PathBuf,
    target: PathBuf,
    triple: &'static str,
    compiler: Found,
    /// Options of the C compiler.
    options: Vec<String>,
    /// Folder of Debian's Rust, which builds the standard library; `None` if the installed Rust has the library.
    rust: Option<PathBuf>,
}

impl Foreign {
    /// Returns the installed Rust if it has the standard library for `triple`, or Debian's Rust. `None` if neither is
    /// there and nothing may be fetched.
    ///
    /// # Errors
    /// Debian's Rust cannot be fetched.
    pub(crate) fn find(
        workspace: &Workspace,
        triple: &'static str,
        (compiler, options): (Found, Vec<String>),
        may_fetch: bool,
    ) -> Result<Option<Self>> {
        let mut rust = None;
        if !has_library(triple, may_fetch) {
            rust = unpacked(workspace, &RUST, may_fetch)?;
            if rust.is_none() {
                return Ok(None);
            }
        }
        let root = workspace.root().to_owned();
        // Cargo locks a directory for a whole build.
        let target = workspace.made(&format!("foreign/{triple}"))?;
        Ok(Some(Self { root, target, triple, compiler, options, rust }))
    }

    /// Returns the C compiler with its variables.
    ///
    /// # Errors
    /// A path contains a colon.
    pub(crate) fn compiler(&self) -> Result<Line> {
        Ok(line(&self.compiler.program).vars(&self.compiler.vars()?).args(&self.options))
    }

    /// Returns a function that makes the command line of a cargo subcommand.
    ///
    /// # Errors
    /// A path contains a colon.
    pub(crate) fn cargo(&self) -> Result<impl Fn(&str) -> Line> {
        let vars = self.vars()?;
        let config = self.config();
        Ok(move |subcommand: &str| {
            let line = match &self.rust {
                Some(rust) => line(rust.join("usr/bin/cargo")).arg(subcommand).args(WITH_LIBRARY),
                None => cargo().arg(subcommand),
            };
            let line = OWN_OPTIONS.iter().fold(line, |line, name| line.without(name));
            let line = line.args(["--target", self.triple]).arg("--target-dir").arg(&self.target);
            line.args(&config).vars(&vars).dir(&self.root)
        })
    }

    fn vars(&self) -> Result<Vars> {
        let var = |name: &str, value: &Path| (name.to_owned(), value.to_string_lossy().into_owned());
        let mut vars = self.compiler.vars()?;
        if let Some(rust) = &self.rust {
            let roots: Vec<&PathBuf> = [rust].into_iter().chain(&self.compiler.root).collect();
            vars.retain(|(name, _)| name != "LD_LIBRARY_PATH");
            vars.push(library_path(&roots)?);
            vars.push(var("RUSTC", &rust.join("usr/bin/rustc")));
            vars.push(("RUSTC_BOOTSTRAP".to_owned(), "1".to_owned())); // allows the option that builds the library
        }
        let triple = self.triple.replace('-', "_");
        vars.push(var(&format!("CC_{triple}"), &self.compiler.program));
        vars.push((format!("CFLAGS_{triple}"), self.options.join(" ")));
        vars.push(("CARGO_PROFILE_DEV_DEBUG".to_owned(), "0".to_owned()));
        Ok(vars)
    }

    /// Returns the options of cargo that set the linker and its options.
    fn config(&self) -> Vec<String> {
        let quoted = |text: &str| serde_json::Value::from(text).to_string(); // TOML quotes as JSON does
        let set = |key: &str, value: String| {
            ["--config".to_owned(), format!("target.{}.{key}={value}", self.triple)]
        };
        let options: Vec<String> =
            self.options.iter().map(|option| quoted(&format!("-Clink-arg={option}"))).collect();
        let linker = set("linker", quoted(&self.compiler.program.to_string_lossy()));
        linker.into_iter().chain(set("rustflags", format!("[{}]", options.join(", ")))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn foreign(rust: Option<&str>) -> Foreign {
        Foreign {
            root: "/w".into(),
            target: "/w/target/foreign/t".into(),
            triple: "aarch64-unknown-linux-gnu",
            compiler: Found { program: "/p/usr/bin/gcc".into(), root: Some("/p".into()) },
            options: vec!["--sysroot=/p".to_owned()],
            rust: rust.map(PathBuf::from),
        }
    }

    fn shown(rust: Option<&str>) -> String {
        foreign(rust).cargo().expect("no colon")("test").to_string()
    }

    #[test]
    fn the_installed_rust_links_with_the_foreign_compiler() {
        let shown = shown(None);
        for part in [
            "--target aarch64-unknown-linux-gnu --target-dir /w/target/foreign/t",
            r#"target.aarch64-unknown-linux-gnu.linker="/p/usr/bin/gcc""#,
            r#"rustflags=["-Clink-arg=--sysroot=/p"]"#,
            "CC_aarch64_unknown_linux_gnu=/p/usr/bin/gcc",
            "CFLAGS_aarch64_unknown_linux_gnu=--sysroot=/p",
        ] {
            assert!(shown.contains(part), "`{part}` is missing: {shown}");
        }
        assert!(!shown.contains("RUSTC_BOOTSTRAP") && !shown.contains("build-std"), "{shown}");
    }

    #[test]
    fn debians_rust_builds_the_standard_library_and_finds_both_folders_of_libraries() {
        let shown = shown(Some("/r"));
        for part in [
            "RUSTC=/r/usr/bin/rustc RUSTC_BOOTSTRAP=1",
            "LD_LIBRARY_PATH=/r/usr/lib/x86_64-linux-gnu:/r/lib/x86_64-linux-gnu:/p/usr/lib/x86_64-linux-gnu",
            "/r/usr/bin/cargo test -Zbuild-std=std,panic_abort,panic_unwind",
        ] {
            assert!(shown.contains(part), "`{part}` is missing: {shown}");
        }
        assert_eq!(shown.matches("LD_LIBRARY_PATH=").count(), 1, "{shown}");
    }
}
