//! The variables of the Vulkan loader, and the driver manifests named in them.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{self, Path, PathBuf};

use fencepost::plain_file;

use super::Line;

/// Largest manifest that is read, in bytes.
const MOST_MANIFEST_BYTES: u64 = 1 << 20;

/// Variables that replace the system's drivers; the first one that is set applies.
const FILES: [&str; 2] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];
/// Variable with drivers in addition to the system's.
const ADDED: &str = "VK_ADD_DRIVER_FILES";
/// Variables that exclude drivers by the names of their manifests, with their effects.
const FILTERS: [(&str, &str); 2] = [
    ("VK_LOADER_DRIVERS_DISABLE", "leaves out the drivers whose manifests match"),
    ("VK_LOADER_DRIVERS_SELECT", "uses only drivers whose manifests match"),
];

/// The loader's variables that are set.
#[derive(Clone, Debug, Default)]
pub(super) struct Loader(Vec<(&'static str, OsString)>);

impl Loader {
    /// Reads the variables of this process.
    pub(super) fn of_process() -> Self {
        Self::new(|name| env::var_os(name))
    }

    fn new(value: impl Fn(&str) -> Option<OsString>) -> Self {
        let names = FILES.into_iter().chain([ADDED]).chain(FILTERS.map(|(name, _)| name));
        Self(names.filter_map(|name| Some((name, value(name)?))).collect())
    }

    fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_os_str())
    }

    /// Returns the command that unsets the variables that may hide a driver; `None` if none is set.
    pub(super) fn remedy(&self) -> Option<String> {
        let hides = |(name, value): &&(&str, OsString)| {
            FILES.contains(name) || (*name != ADDED && !value.is_empty()) // an empty filter has no effect
        };
        let names: Vec<_> = self.0.iter().filter(hides).map(|(name, _)| *name).collect();
        (!names.is_empty()).then(|| format!("`unset {}`", names.join(" ")))
    }

    /// Returns a line for each variable that matters; `adapters` counts the adapters that remain.
    pub(super) fn lines(&self, adapters: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        let [first, second] = FILES;
        lines.extend(self.get(first).and_then(|value| files(first, value)));
        lines.extend(self.get(second).and_then(|value| match self.get(first) {
            Some(_) => {
                Some(Line::ok(second, format!("it is set, but the Vulkan loader uses {first} instead")))
            }
            None => files(second, value),
        }));
        lines.extend(self.get(ADDED).and_then(|value| files(ADDED, value)));
        for (name, effect) in FILTERS {
            let Some(value) = self.get(name).filter(|value| !value.is_empty()) else { continue };
            let detail = format!("it is set: the Vulkan loader {effect} `{}`", value.display());
            lines.push(match adapters {
                0 => Line::failed(name, detail, Some(format!("`unset {name}`"))),
                _ => Line::ok(name, detail),
            });
        }
        lines
    }
}

/// Checks that a variable names existing manifests of drivers; `None` if it is empty and only adds drivers.
fn files(name: &str, value: &OsStr) -> Option<Line> {
    let paths: Vec<_> = env::split_paths(value).filter(|path| !path.as_os_str().is_empty()).collect();
    if paths.is_empty() {
        let detail = "it is set and empty: Vulkan has no driver";
        return (name != ADDED).then(|| Line::failed(name, detail, Some(format!("`unset {name}`"))));
    }
    Some(match paths.iter().find_map(|path| fault(path)) {
        None => Line::ok(name, format!("it is set: Vulkan uses the drivers of {}", value.display())),
        Some(fault) => {
            let remedy = format!("`unset {name}`, or set it to a driver's file");
            Line::failed(name, format!("it is set, and {fault}"), Some(remedy))
        }
    })
}

/// Returns the problem of a manifest, or of a folder of manifests.
fn fault(path: &Path) -> Option<String> {
    if !path.is_dir() {
        return fault_of_manifest(path);
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut manifests: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| is_named(path)).collect();
    manifests.sort();
    if manifests.is_empty() {
        return Some(format!("the folder {} has no manifest, a file `*.json`", path.display()));
    }
    manifests.iter().find_map(|manifest| fault_of_manifest(manifest))
}

/// Returns `true` if the loader reads the file as a manifest.
fn is_named(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

fn fault_of_manifest(path: &Path) -> Option<String> {
    let name = path.display();
    if !path.exists() {
        return Some(format!("there is no file {name}"));
    }
    if !is_named(path) {
        return Some(format!("{name} is not a driver manifest: its name does not end in .json"));
    }
    let text = match plain_file::text(path, MOST_MANIFEST_BYTES) {
        Ok(text) => text,
        Err(error) => return Some(format!("{name} cannot be read: {error}")),
    };
    let manifest: serde_json::Value = match serde_json::from_str(&text) {
        Ok(manifest) => manifest,
        Err(error) => return Some(format!("{name} is not a driver manifest: {error}")),
    };
    let Some(library) = manifest["ICD"]["library_path"].as_str() else {
        return Some(format!("{name} is not a driver manifest: it has no `library_path` in `ICD`"));
    };
    if !library.contains(path::is_separator) {
        return None; // the system's dynamic loader finds it
    }
    let library = path.parent().unwrap_or(Path::new("")).join(library);
    (!library.is_file()).then(|| format!("the library {} of {name} does not exist", library.display()))
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;

    fn loader(variables: &[(&str, &str)]) -> Loader {
        Loader::new(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
    }

    /// Returns the status and the detail of the only line.
    fn only(variables: &[(&str, &str)], adapters: usize) -> (Status, String) {
        let lines = loader(variables).lines(adapters);
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!(line.remedy.is_some(), line.status == Status::Failed, "{line:?}");
        (line.status, line.detail.clone())
    }

    #[test]
    fn a_variable_that_is_set_and_empty_is_reported() {
        for name in FILES {
            for value in ["", if cfg!(windows) { ";" } else { ":" }] {
                let (status, detail) = only(&[(name, value)], 1);
                assert!(status == Status::Failed && detail.contains("no driver"), "{detail}");
            }
        }
        assert_eq!(loader(&[(ADDED, "")]).lines(0), []);
        assert_eq!(loader(&[("VK_LOADER_DRIVERS_SELECT", "")]).lines(0), []);
        assert_eq!(loader(&[]).lines(0), []);
    }

    #[test]
    fn a_variable_passes_only_if_its_manifests_have_their_libraries() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let manifest = |name: &str, library: &str| {
            let text =
                format!(r#"{{"file_format_version": "1.0.0", "ICD": {{"library_path": "{library}"}}}}"#);
            fs::write(at(name), text).expect("written");
        };
        for name in ["empty", "good", "bad"] {
            fs::create_dir(at(name)).expect("made");
        }
        fs::write(at("libdriver.so"), "").expect("written");
        fs::write(at("README.md"), "# Drivers").expect("written");
        fs::write(at("text.json"), "# Drivers").expect("written");
        fs::write(at("other.json"), "{}").expect("written");
        fs::write(at("empty/README.md"), "# Drivers").expect("written");
        manifest("bare.json", "libnone.so");
        manifest("beside.json", "./libdriver.so");
        manifest("gone.json", "./libgone.so");
        manifest("good/above.json", "../libdriver.so");
        manifest("bad/above.json", "../libgone.so");

        let found = |names: &[&str]| {
            let paths = env::join_paths(names.iter().map(|name| at(name))).expect("joined");
            only(&[("VK_DRIVER_FILES", paths.to_str().expect("UTF-8"))], 1)
        };
        for good in [&["bare.json"][..], &["beside.json"], &["good"], &["good", "bare.json"]] {
            assert_eq!(found(good).0, Status::Ok, "{good:?}: {}", found(good).1);
        }
        for (bad, reason) in [
            (&["none.json"][..], "there is no file"),
            (&["bare.json", "none.json"], "there is no file"),
            (&["README.md"], "does not end in .json"),
            (&["text.json"], "is not a driver manifest"),
            (&["other.json"], "no `library_path`"),
            (&["empty"], "has no manifest"),
            (&["gone.json"], "libgone.so"),
            (&["bad"], "libgone.so"),
        ] {
            let (status, detail) = found(bad);
            assert!(status == Status::Failed && detail.contains(reason), "{bad:?}: {detail}");
            assert!(detail.contains(bad[bad.len() - 1]), "{bad:?}: {detail}");
        }
    }

    #[test]
    fn a_filter_is_reported_and_fails_if_no_adapter_is_left() {
        for (name, _) in FILTERS {
            let (status, detail) = only(&[(name, "*lvp*")], 1);
            assert!(status == Status::Ok && detail.contains("`*lvp*`"), "{detail}");
            assert_eq!(only(&[(name, "*lvp*")], 0).0, Status::Failed);
        }
    }

    #[test]
    fn the_remedy_unsets_the_variables_that_may_hide_a_driver() {
        assert_eq!(loader(&[(ADDED, "a.json"), ("VK_LOADER_DRIVERS_DISABLE", "")]).remedy(), None);
        let set = loader(&[("VK_DRIVER_FILES", ""), ("VK_LOADER_DRIVERS_SELECT", "x")]);
        assert_eq!(set.remedy().as_deref(), Some("`unset VK_DRIVER_FILES VK_LOADER_DRIVERS_SELECT`"));
    }

    #[test]
    fn the_older_variable_is_not_checked_if_the_newer_is_set() {
        let lines = loader(&[("VK_DRIVER_FILES", ""), ("VK_ICD_FILENAMES", "none.json")]).lines(1);
        let found: Vec<_> = lines.iter().map(|line| (line.check.as_str(), line.status)).collect();
        assert_eq!(found, [("VK_DRIVER_FILES", Status::Failed), ("VK_ICD_FILENAMES", Status::Ok)]);
    }
}
