//! Checks without a finding, remembered in the user's cache folder.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Environment variable that names the cache folder. If it is empty, nothing is remembered.
const FOLDER: &str = "FENCEPOST_CACHE";

/// Maximum number of remembered checks. At the limit, all are forgotten.
const MOST: usize = 10_000;

/// The place of one check, which is an empty file. Its name is a hash of all that the check depends on.
#[derive(Debug)]
pub(super) struct Remembered {
    /// Path of the file; `None` if nothing is remembered.
    file: Option<PathBuf>,
}

impl Remembered {
    /// Returns the place of a check. The hash may differ in another version of this program.
    pub(super) fn new(checked: &impl Hash) -> Self {
        Self::below(folder(|name| env::var_os(name)), checked)
    }

    fn below(folder: Option<PathBuf>, checked: &impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        env!("CARGO_PKG_VERSION").hash(&mut hasher);
        checked.hash(&mut hasher);
        let name = format!("{:016x}", hasher.finish());
        Self { file: folder.map(|folder| folder.join("checked").join(name)) }
    }

    /// Returns `true` if the check was remembered.
    pub(super) fn is_there(&self) -> bool {
        self.file.as_ref().is_some_and(|file| file.is_file())
    }

    /// Remembers the check. If the folder cannot be written, the next run is checked again.
    pub(super) fn add(&self) {
        self.add_to(MOST);
    }

    /// Remembers the check in a folder of at most this many checks.
    fn add_to(&self, most: usize) {
        let Some((file, folder)) = self.file.as_ref().and_then(|file| Some((file, file.parent()?))) else {
            return;
        };
        if entries(folder) >= most {
            let _ = fs::remove_dir_all(folder);
        }
        let _ = fs::create_dir_all(folder).and_then(|()| fs::write(file, ""));
    }
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, |entries| entries.count())
}

/// Returns the folder of this program's cache; `None` if there is none. `value` returns the value of a variable.
fn folder(value: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(folder) = value(FOLDER) {
        return (!folder.is_empty()).then(|| folder.into());
    }
    let path = |name: &str| value(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = if cfg!(windows) {
        path("LOCALAPPDATA")
    } else if cfg!(target_vendor = "apple") {
        path("HOME").map(|home| home.join("Library/Caches"))
    } else {
        path("XDG_CACHE_HOME").or_else(|| Some(path("HOME")?.join(".cache")))
    };
    Some(cache?.join("fencepost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Option<PathBuf> {
        folder(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn the_variable_names_the_folder_and_an_empty_one_means_none() {
        assert_eq!(of(&[(FOLDER, "here"), ("HOME", "/user")]), Some("here".into()));
        assert_eq!(of(&[(FOLDER, ""), ("HOME", "/user")]), None);
        assert_eq!(of(&[]), None);
    }

    #[cfg(all(unix, not(target_vendor = "apple")))]
    #[test]
    fn without_the_variable_the_folder_is_in_the_cache_of_the_user() {
        assert_eq!(of(&[("HOME", "/user")]), Some("/user/.cache/fencepost".into()));
        let both = [("HOME", "/user"), ("XDG_CACHE_HOME", "/cache")];
        assert_eq!(of(&both), Some("/cache/fencepost".into()));
        let relative = [("HOME", "/user"), ("XDG_CACHE_HOME", "cache")];
        assert_eq!(of(&relative), Some("/user/.cache/fencepost".into()), "a relative path is not used");
    }

    #[test]
    fn a_check_is_remembered_for_the_same_values_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |checked: &[u32]| Remembered::below(Some(folder.path().join("cache")), &checked);
        assert!(!at(&[1, 2]).is_there());
        at(&[1, 2]).add();
        assert!(at(&[1, 2]).is_there() && !at(&[1, 3]).is_there());
        let none = Remembered::below(None, &1_u32);
        none.add();
        assert!(!none.is_there());
    }

    #[test]
    fn at_the_limit_the_earlier_checks_are_forgotten() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |checked: u32| Remembered::below(Some(folder.path().into()), &checked);
        for checked in 0..3 {
            at(checked).add_to(2);
        }
        assert!(!at(0).is_there() && !at(1).is_there() && at(2).is_there());
    }

    #[test]
    fn a_folder_that_cannot_be_made_only_means_another_check() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, "").expect("written");
        let below = Remembered::below(Some(file), &1_u32);
        below.add();
        assert!(!below.is_there());
    }
}
