//! Reads plain files only, because a pipe or a device may never end.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::bytes::bytes;

/// Limits the bytes of a text.
const LIMIT: u64 = 16 << 20;

/// Opens a plain file.
///
/// # Errors
/// It cannot be opened, or is a folder, a pipe or a device.
pub(crate) fn open(file: &Path) -> io::Result<File> {
    let kind = fs::metadata(file)?.file_type();
    if kind.is_file() {
        return File::open(file);
    }
    let kind = if kind.is_dir() { "a folder" } else { "a pipe or a device" };
    Err(io::Error::new(ErrorKind::InvalidInput, format!("it is {kind}: give a plain file")))
}

/// Reads the text of a plain file.
///
/// # Errors
/// Fails as [`open`] does, and if the file has more than 16 MiB or is not UTF-8.
pub(crate) fn text(file: &Path) -> io::Result<String> {
    let mut all = Vec::new();
    open(file)?.take(LIMIT + 1).read_to_end(&mut all)?;
    if all.len() as u64 > LIMIT {
        let reason =
            format!("it has more than {} of text, which is the limit: give a smaller file", bytes(LIMIT));
        return Err(io::Error::new(ErrorKind::FileTooLarge, reason));
    }
    String::from_utf8(all).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_over_the_limit_is_refused_with_the_limit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("long.wgsl");
        let file = File::create(&path).expect("made");
        file.set_len(LIMIT).expect("set");
        assert_eq!(text(&path).expect("a text").len() as u64, LIMIT);
        file.set_len(LIMIT + 1).expect("set");
        let error = text(&path).unwrap_err().to_string();
        assert!(error.contains("more than 16 MiB"), "{error}");
    }

    #[test]
    fn a_folder_or_a_pipe_is_not_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(open(folder.path()).unwrap_err().to_string().contains("a folder"));
        if cfg!(unix) {
            assert!(open(Path::new("/dev/zero")).unwrap_err().to_string().contains("a device"));
        }
    }
}
