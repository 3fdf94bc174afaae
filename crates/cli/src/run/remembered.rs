//! Checks without a finding, remembered in the user's cache folder.

use std::env;
use std::ffi::OsString;
use std::fs::{self, DirEntry};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use fencepost::plain_file;

/// Environment variable that names the cache folder. If it is empty, nothing is remembered.
const FOLDER: &str = "FENCEPOST_CACHE";

/// Maximum number of remembered checks. At the limit, all are forgotten.
const MOST: usize = 10_000;

/// Largest size of a file, in bytes.
const MOST_FILE_BYTES: u64 = Earlier::Stopped.text().len() as u64;

/// Result of an earlier check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Earlier {
    /// No mistake in the whole launch.
    Complete,
    /// No mistake before the time limit.
    Stopped,
}

impl Earlier {
    /// Returns the text of the file.
    const fn text(self) -> &'static str {
        match self {
            Self::Complete => "",
            Self::Stopped => "stopped",
        }
    }
}

/// The place of one check, which is a file with its result. Its name is a hash of all that the check depends on.
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

    /// Returns the place of a check below a cache folder.
    pub(super) fn below(folder: Option<PathBuf>, checked: &impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        env!("CARGO_PKG_VERSION").hash(&mut hasher);
        checked.hash(&mut hasher);
        let name = format!("{:016x}", hasher.finish());
        Self { file: folder.map(|folder| folder.join("checked").join(name)) }
    }

    /// Returns the remembered result; `None` if the check was not remembered.
    pub(super) fn earlier(&self) -> Option<Earlier> {
        let text = plain_file::text(self.file.as_ref()?, MOST_FILE_BYTES).ok()?;
        [Earlier::Complete, Earlier::Stopped].into_iter().find(|earlier| earlier.text() == text)
    }

    /// Remembers the check. If the folder cannot be written, the next run is checked again.
    pub(super) fn add(&self, result: Earlier) {
        self.add_to(result, MOST);
    }

    /// Remembers the check in a folder of at most this many checks.
    fn add_to(&self, result: Earlier, most: usize) {
        let Some((file, folder)) = self.file.as_ref().and_then(|file| Some((file, file.parent()?))) else {
            return;
        };
        let known = remembered_files(folder);
        if known.len() >= most {
            known.iter().for_each(|known| drop(fs::remove_file(known)));
        }
        let _ = fs::create_dir_all(folder).and_then(|()| fs::write(file, result.text()));
    }
}

/// Returns the files of checks in a folder. The user may keep others there, which must stay.
fn remembered_files(folder: &Path) -> Vec<PathBuf> {
    let is_hash = |name: &[u8]| name.len() == 16 && name.iter().all(u8::is_ascii_hexdigit);
    let is_check = |entry: &DirEntry| {
        is_hash(entry.file_name().as_encoded_bytes())
            && entry.metadata().is_ok_and(|data| data.is_file() && data.len() <= MOST_FILE_BYTES)
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(is_check).map(|entry| entry.path()).collect()
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
        assert_eq!(at(&[1, 2]).earlier(), None);
        at(&[1, 2]).add(Earlier::Complete);
        assert_eq!((at(&[1, 2]).earlier(), at(&[1, 3]).earlier()), (Some(Earlier::Complete), None));
        let none = Remembered::below(None, &1_u32);
        none.add(Earlier::Complete);
        assert_eq!(none.earlier(), None);
    }

    #[test]
    fn the_last_result_of_a_check_is_the_remembered_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = Remembered::below(Some(folder.path().into()), &1_u32);
        for result in [Earlier::Stopped, Earlier::Complete, Earlier::Stopped] {
            at.add(result);
            assert_eq!(at.earlier(), Some(result));
        }
        fs::write(at.file.as_ref().expect("a file"), "notes").expect("written");
        assert_eq!(at.earlier(), None, "another text is not a result");
    }

    #[test]
    fn at_the_limit_the_earlier_checks_are_forgotten() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |checked: u32| Remembered::below(Some(folder.path().into()), &checked);
        for checked in 0..3 {
            at(checked).add_to(Earlier::Stopped, 2);
        }
        assert_eq!([0, 1, 2].map(|checked| at(checked).earlier()), [None, None, Some(Earlier::Stopped)]);
    }

    #[test]
    fn files_and_folders_of_the_user_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let checks = folder.path().join("checked");
        fs::create_dir_all(checks.join("0123456789abcdef")).expect("made");
        let files = ["invoice.txt", "empty", "fedcba9876543210"].map(|name| checks.join(name));
        for (file, text) in files.iter().zip(["mine", "", "a text of the user"]) {
            fs::write(file, text).expect("written");
        }
        for checked in 0..5_u32 {
            Remembered::below(Some(folder.path().into()), &checked).add_to(Earlier::Complete, 1);
        }
        assert!(files.iter().all(|file| file.is_file()) && checks.join("0123456789abcdef").is_dir());
        assert_eq!(remembered_files(&checks).len(), 1);
    }

    #[test]
    fn a_folder_that_cannot_be_made_only_means_another_check() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, "").expect("written");
        let below = Remembered::below(Some(file), &1_u32);
        below.add(Earlier::Complete);
        assert_eq!(below.earlier(), None);
    }
}
