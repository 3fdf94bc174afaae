//! Removal of a machine's paths and names from a report.

use std::env;

use anyhow::Result;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::shell::line;
use crate::workspace::Workspace;

/// Variables with folders, and the words that replace the folders.
const FOLDERS: [(&str, &str); 7] = [
    ("HOME", "<home>"),
    ("USERPROFILE", "<home>"),
    ("CARGO_HOME", "<cargo>"),
    ("RUSTUP_HOME", "<rustup>"),
    ("TMPDIR", "<temp>"),
    ("TEMP", "<temp>"),
    ("TMP", "<temp>"),
];
/// Variables with the names of the user and of the machine.
const NAMES: [&str; 5] = ["USER", "USERNAME", "LOGNAME", "HOSTNAME", "COMPUTERNAME"];
/// The names that say nothing about a person or a machine.
const COMMON_NAMES: [&str; 10] =
    ["root", "runner", "runneradmin", "user", "localhost", "android", "debian", "linux", "ubuntu", "windows"];
/// Characters that end a path in a text.
const AFTER_PATHS: &str = "\"'`<>|;,:()[]{}";
/// Characters before a slash that does not begin an absolute path.
const INSIDE_PATHS: &str = "_./\\<>~)-";

/// Paths and names of a machine that no report may contain.
pub(super) struct Private {
    /// Folders, the longest first, with the words that replace them.
    folders: Vec<(String, &'static str)>,
    /// The names of the user and of the machine.
    names: Vec<String>,
}

impl Private {
    /// Returns the paths and names of this machine.
    pub(super) fn here(workspace: &Workspace) -> Self {
        let mut folders = vec![(workspace.root().to_string_lossy().into_owned(), "<checkout>")];
        folders.extend(FOLDERS.iter().filter_map(|(name, word)| Some((env::var(name).ok()?, *word))));
        let mut names: Vec<String> = NAMES.iter().filter_map(|name| env::var(name).ok()).collect();
        // Few shells export the variable with the machine's name.
        names.extend(line("hostname").read().iter().flat_map(|name| with_first_label(name.trim())));
        Self::of(folders, names)
    }

    fn of(folders: Vec<(String, &'static str)>, mut names: Vec<String>) -> Self {
        let mut forms = Vec::new();
        for (folder, word) in folders {
            let folder = folder.trim_end_matches(['/', '\\']);
            // A message may quote a path, or write it with the other slash.
            for form in [folder.to_owned(), folder.replace('\\', "\\\\"), folder.replace('\\', "/")] {
                forms.push((form, word));
            }
        }
        forms.retain(|(folder, _)| folder.len() > 2);
        forms.sort_by_key(|(folder, _)| std::cmp::Reverse(folder.len()));
        names.retain(|name| !name.is_empty() && !COMMON_NAMES.contains(&name.to_lowercase().as_str()));
        Self { folders: forms, names }
    }

    /// Returns a report whose texts contain no path and no name of the machine.
    ///
    /// # Errors
    /// The report is not one that JSON can hold.
    pub(super) fn removed_from<R: Serialize + DeserializeOwned>(&self, report: &R) -> Result<R> {
        let mut value = serde_json::to_value(report)?;
        self.clean_value(&mut value);
        Ok(serde_json::from_value(value)?)
    }

    fn clean_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.clean(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.clean_value(value)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.clean_value(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn clean(&self, text: &str) -> String {
        let known =
            self.folders.iter().fold(text.to_owned(), |text, (folder, word)| text.replace(folder, word));
        let text = without_paths(&known);
        self.names.iter().fold(text, |text, name| without_word(&text, name))
    }
}

/// Returns a name on a network, and its first label.
fn with_first_label(name: &str) -> [String; 2] {
    let label = name.split_once('.').map_or(name, |(label, _)| label);
    [name, label].map(str::to_owned)
}

/// Replaces the absolute paths in a text. A file keeps its name.
fn without_paths(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let may_begin = !before.is_alphanumeric() && !INSIDE_PATHS.contains(before);
        let length = if may_begin { path_length(rest) } else { None };
        match length {
            Some(length) => {
                out += "<path>";
                let file = rest[..length].rsplit(['/', '\\']).next().filter(|name| name.contains('.'));
                out.extend(file.map(|name| format!("/{name}")));
                before = '/';
                rest = &rest[length..];
            }
            None => {
                out.push(first);
                before = first;
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    out
}

/// Returns the length of the absolute path at the start of a text, if there is one. A path has a drive, or two parts.
fn path_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let has_drive = matches!(bytes, [drive, b':', b'/' | b'\\', ..] if drive.is_ascii_alphabetic());
    let from = if has_drive { 2 } else { 0 };
    let ends = |c: char| c.is_whitespace() || AFTER_PATHS.contains(c);
    let length = text[from..].find(ends).map_or(text.len(), |at| from + at);
    let parts = text[..length].split('/').filter(|part| !part.is_empty()).count();
    let begins_as_name = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    let has_root = text.strip_prefix('/').is_some_and(|rest| rest.starts_with(begins_as_name));
    (has_drive || (has_root && parts > 1)).then_some(length)
}

/// Replaces a whole word in a text.
fn without_word(text: &str, word: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let after = &rest[at + word.len()..];
        let inside = rest[..at].ends_with(is_part) || after.starts_with(is_part);
        out += &rest[..at];
        out += if inside { word } else { "<name>" };
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn private() -> Private {
        let folders = [("/people/mara", "<home>"), ("/people/mara/src/fencepost", "<checkout>")];
        let windows = [("C:\\Users\\Mara M", "<home>")];
        let folders = folders.into_iter().chain(windows);
        let folders = folders.map(|(folder, word)| (folder.to_owned(), word)).collect();
        Private::of(folders, ["mara", "root", "", "DESKTOP-7"].map(str::to_owned).to_vec())
    }

    #[test]
    fn the_longest_known_folder_is_replaced_in_each_of_its_forms() {
        let clean = |text: &str| private().clean(text);
        assert_eq!(clean("at /people/mara/src/fencepost/tests/a.rs:3:1"), "at <checkout>/tests/a.rs:3:1");
        assert_eq!(clean("/people/mara/.cargo/x.rs"), "<home>/.cargo/x.rs");
        for path in ["C:\\Users\\Mara M\\x.txt", "C:\\\\Users\\\\Mara M\\\\x.txt", "C:/Users/Mara M/x.txt"] {
            let cleaned = clean(path);
            assert!(cleaned.starts_with("<home>") && !cleaned.contains("Mara"), "{cleaned}");
        }
    }

    #[test]
    fn another_absolute_path_keeps_only_the_name_of_its_file() {
        assert_eq!(
            without_paths("cannot open `/usr/lib/libvulkan_x.so`"),
            "cannot open `<path>/libvulkan_x.so`"
        );
        assert_eq!(without_paths("in /mnt/data and (D:\\games\\x)"), "in <path> and (<path>)");
        for same in ["2 GB/s, wgpu/hal, 3 / 4, a //#use, https://example.org/a/b", "tests/a.rs", "and/or"] {
            assert_eq!(without_paths(same), same);
        }
    }

    #[test]
    fn a_machine_is_known_by_its_whole_name_and_by_its_first_label() {
        assert_eq!(with_first_label("mac-7.local"), ["mac-7.local", "mac-7"]);
        let private = Private::of(Vec::new(), with_first_label("mac-7.local").to_vec());
        assert_eq!(private.clean("mac-7.local, mac-7, mac-70"), "<name>, <name>, mac-70");
    }

    #[test]
    fn a_name_is_replaced_as_a_word_and_a_common_one_is_kept() {
        let clean = |text: &str| private().clean(text);
        assert_eq!(clean("mara@DESKTOP-7, as root"), "<name>@<name>, as root");
        assert_eq!(clean("marathon, mara_1"), "marathon, mara_1");
    }
}
