//! A registry in a folder, with packages and an index of their dependencies.
//!
//! The folder has the format of cargo's local registries, and the index has the lines of any registry: see cargo's
//! documentation, "Registry Index".

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::shell::cargo;
use crate::workspace::Workspace;

/// Registry of the other crates.
const CRATES_IO: &str = "https://github.com/rust-lang/crates.io-index";

/// A registry in a folder.
pub(super) struct Registry {
    folder: PathBuf,
    /// Version of the library in it.
    pub(super) version: String,
}

impl Registry {
    /// Makes a registry of `packages` below `root`, replacing an earlier one.
    ///
    /// # Errors
    /// A file cannot be read or written; cargo does not report the dependencies of a package.
    pub(super) fn make(workspace: &Workspace, root: &Path, packages: &[PathBuf]) -> Result<Self> {
        let folder = root.join("registry");
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        let metadata = cargo().args(["metadata", "--no-deps", "--format-version", "1"]);
        let metadata: Value = serde_json::from_str(&metadata.dir(workspace.root()).read()?)?;
        let mut registry = Self { folder, version: String::new() };
        for package in packages {
            let described = described(&metadata, package)?;
            registry.add(package, described)?;
            if described["name"] == "fencepost" {
                registry.version = described["version"].as_str().unwrap_or_default().to_owned();
            }
        }
        Ok(registry)
    }

    fn add(&self, package: &Path, described: &Value) -> Result<()> {
        let name = described["name"].as_str().context("a package has a name")?;
        let bytes = fs::read(package).with_context(|| format!("cannot read {}", package.display()))?;
        let line = index_line(described, &checksum(&bytes));
        let index = self.folder.join(index_path(name));
        fs::create_dir_all(index.parent().unwrap_or(&self.folder))?;
        fs::write(&index, format!("{line}\n"))
            .with_context(|| format!("cannot write {}", index.display()))?;
        fs::write(self.folder.join(package.file_name().unwrap_or_default()), bytes)?;
        Ok(())
    }

    /// Returns the configuration that defines the registry `local` for cargo. Its address does not exist; cargo never
    /// connects to it.
    pub(super) fn config(&self) -> String {
        let folder = json!(self.folder.to_string_lossy()); // a JSON string is also a TOML string
        let address = "https://fencepost.invalid/index";
        format!(
            "[registries.local]\nindex = \"{address}\"\n\n[source.local]\nregistry = \"{address}\"\nreplace-with = \"folder\"\n\n\
             [source.folder]\nlocal-registry = {folder}\n"
        )
    }
}

/// Returns cargo's description of the package in a `.crate` file.
fn described<'a>(metadata: &'a Value, package: &Path) -> Result<&'a Value> {
    let file = package.file_name().unwrap_or_default().to_string_lossy();
    let is = |described: &&Value| {
        let [name, version] = ["name", "version"].map(|key| described[key].as_str().unwrap_or_default());
        *file == format!("{name}-{version}.crate")
    };
    let all = metadata["packages"].as_array().into_iter().flatten();
    all.into_iter().find(is).with_context(|| format!("no package of the workspace is {file}"))
}

fn checksum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the index path of a crate with a name of at least four letters.
fn index_path(name: &str) -> PathBuf {
    [["index"], [&name[..2]], [&name[2..4]], [name]].concat().iter().collect()
}

/// Returns a package's line in the index, made from `cargo metadata`. Dev-dependencies are left out, because programs
/// do not use them.
fn index_line(package: &Value, checksum: &str) -> Value {
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    let dependencies: Vec<Value> =
        dependencies.filter(|dependency| dependency["kind"] != "dev").map(dependency).collect();
    json!({
        "name": package["name"],
        "vers": package["version"],
        "deps": dependencies,
        "cksum": checksum,
        "features": {},
        "features2": package["features"], // with `dep:`, which `features` does not allow
        "yanked": false,
        "rust_version": package["rust_version"],
        "v": 2,
    })
}

/// Describes a dependency. In the index, a dependency without a registry is in the same registry; in `cargo metadata`,
/// it is on crates.io.
fn dependency(of: &Value) -> Value {
    let registry = if of["path"].is_null() { json!(CRATES_IO) } else { Value::Null };
    let (name, package) = match &of["rename"] {
        Value::Null => (&of["name"], &Value::Null),
        rename => (rename, &of["name"]),
    };
    json!({
        "name": name,
        "package": package,
        "req": of["req"],
        "features": of["features"],
        "optional": of["optional"],
        "default_features": of["uses_default_features"],
        "target": of["target"],
        "kind": of["kind"].as_str().unwrap_or("normal"),
        "registry": registry,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(extra: Value) -> Value {
        let mut of = json!({
            "name": "log", "req": "^0.4", "kind": null, "rename": null, "optional": false,
            "uses_default_features": true, "features": ["std"], "target": null, "registry": null,
        });
        for (key, value) in extra.as_object().into_iter().flatten() {
            of[key] = value.clone();
        }
        of
    }

    #[test]
    fn an_index_line_has_the_keys_that_cargo_needs() {
        let package = json!({
            "name": "fencepost-sync", "version": "0.1.0", "rust_version": "1.88",
            "features": { "default": ["gl"], "gl": ["dep:log"] },
            "dependencies": [of(json!({ "optional": true })), of(json!({ "kind": "dev" }))],
        });
        let line = index_line(&package, "00ff");
        assert_eq!((&line["name"], &line["vers"]), (&json!("fencepost-sync"), &json!("0.1.0")));
        assert_eq!((&line["cksum"], &line["rust_version"]), (&json!("00ff"), &json!("1.88")));
        assert_eq!((&line["v"], &line["features2"]["gl"]), (&json!(2), &json!(["dep:log"])));
        assert_eq!(line["deps"].as_array().expect("a list").len(), 1, "dependencies of tests are left out");
        assert_eq!(line["deps"][0]["optional"], true);
    }

    #[test]
    fn a_dependency_in_the_workspace_is_in_the_same_registry() {
        assert_eq!(dependency(&of(json!({ "path": "/w/crates/sync" })))["registry"], Value::Null);
        assert_eq!(dependency(&of(json!({})))["registry"], CRATES_IO);
    }

    #[test]
    fn a_dependency_keeps_its_kind_its_target_and_both_names() {
        let renamed = of(json!({ "rename": "logging", "kind": "build", "target": "cfg(unix)" }));
        let line = dependency(&renamed);
        assert_eq!((&line["name"], &line["package"]), (&json!("logging"), &json!("log")));
        assert_eq!((&line["kind"], &line["target"]), (&json!("build"), &json!("cfg(unix)")));
        assert_eq!(dependency(&of(json!({})))["kind"], "normal");
    }

    #[test]
    fn the_checksum_is_that_of_the_standard_and_the_index_has_folders() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(checksum(b"abc"), abc);
        assert_eq!(index_path("fencepost-core"), Path::new("index/fe/nc/fencepost-core"));
    }

    #[test]
    fn the_error_names_a_package_that_the_workspace_does_not_have() {
        let metadata = json!({ "packages": [{ "name": "fencepost", "version": "0.1.0" }] });
        let found = described(&metadata, Path::new("/x/fencepost-0.1.0.crate"));
        assert_eq!(found.expect("it is there")["name"], "fencepost");
        let error = described(&metadata, Path::new("/x/fencepost-0.2.0.crate")).expect_err("another version");
        assert!(error.to_string().contains("fencepost-0.2.0.crate"), "{error}");
    }
}
