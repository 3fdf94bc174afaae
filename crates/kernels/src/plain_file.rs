//! Reads untrusted files: their size is limited, and pipes and devices, which may never end, are refused.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The system's flag for opening a pipe without waiting for a writer, or 0 if the value is unknown here.
#[cfg(unix)]
const NO_WAIT: i32 = if cfg!(any(target_arch = "mips", target_arch = "mips64", target_arch = "sparc64")) {
    0
} else if cfg!(any(target_os = "linux", target_os = "android")) {
    0o4000
} else if cfg!(any(
    target_vendor = "apple",
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "openbsd"
)) {
    4
} else {
    0
};

/// Maximum total size of a shader and the files that it uses, in bytes.
pub const MAX_SHADER_BYTES: u64 = 16 << 20;

/// Opens a regular file for reading. The call never waits for the other end of a pipe.
///
/// # Errors
/// The file cannot be opened, or it is a folder, a pipe or a device.
pub fn open(path: &Path) -> io::Result<File> {
    // Opening some devices has side effects, so the first check comes before opening. The second check detects a file
    // that was replaced in between.
    check_kind(&fs::metadata(path)?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, NO_WAIT);
    let file = options.open(path)?;
    check_kind(&file.metadata()?)?;
    Ok(file)
}

fn check_kind(file: &Metadata) -> io::Result<()> {
    let kind = match () {
        () if file.is_file() => return Ok(()),
        () if file.is_dir() => "a folder",
        () => "a pipe or a device",
    };
    Err(io::Error::new(ErrorKind::InvalidInput, format!("it is {kind}: give a plain file")))
}

/// Returns the bytes of a regular file of at most `limit` bytes.
///
/// # Errors
/// Fails as [`open`] does, and if the file is larger.
pub fn bytes(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    // Some system files have more bytes than their reported size, so the read bytes are counted.
    open(path)?.take(limit.saturating_add(1)).read_to_end(&mut all)?;
    if all.len() as u64 <= limit {
        return Ok(all);
    }
    let message = format!("it has more than {}, which is the limit: give a smaller file", size(limit));
    Err(io::Error::new(ErrorKind::FileTooLarge, message))
}

/// Returns the text of a regular file of at most `limit` bytes.
///
/// # Errors
/// Fails as [`bytes`] does, and if the file is not UTF-8.
pub fn text(path: &Path, limit: u64) -> io::Result<String> {
    String::from_utf8(bytes(path, limit)?).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

/// Returns the path of an existing file with links resolved, if it is below the folder `root`.
///
/// # Errors
/// One of the two does not exist, or the file is elsewhere.
pub fn inside(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
    let folder = fs::canonicalize(root)?;
    let found = fs::canonicalize(path)?;
    if found.starts_with(&folder) {
        return Ok(found);
    }
    let message = format!("it is outside of the folder `{}`: move it there", root.display());
    Err(io::Error::new(ErrorKind::PermissionDenied, message))
}

fn size(bytes: u64) -> String {
    match bytes >> 20 {
        0 => format!("{bytes} bytes"),
        mib => format!("{mib} MiB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that is removed when the test ends.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("fencepost-plain-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).expect("a folder for the test");
            Self(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).expect("the test's folder goes");
        }
    }

    fn refusal<T>(result: io::Result<T>) -> String {
        result.err().expect("it is refused").to_string()
    }

    #[test]
    fn r10_a_file_over_the_limit_is_refused_with_the_limit() {
        let folder = Folder::new("limit");
        let path = folder.0.join("long");
        let file = File::create(&path).expect("made");
        file.set_len(2 << 20).expect("set");
        assert_eq!(bytes(&path, 2 << 20).expect("read").len(), 2 << 20);
        assert!(refusal(bytes(&path, (2 << 20) - 1)).contains("more than 1 MiB"));
        file.set_len(11).expect("set");
        assert!(refusal(text(&path, 10)).contains("more than 10 bytes"));
    }

    #[test]
    fn r10_only_plain_files_are_opened() {
        let folder = Folder::new("kinds");
        assert!(refusal(open(&folder.0)).contains("a folder"));
        if cfg!(unix) {
            assert!(refusal(open(Path::new("/dev/zero"))).contains("a device"));
            let pipe = folder.0.join("pipe");
            let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("it runs");
            assert!(made.success());
            assert!(refusal(open(&pipe)).contains("a pipe"));
        }
    }

    #[cfg(unix)]
    #[test]
    fn r10_the_open_of_a_pipe_that_replaced_a_file_does_not_wait() {
        let folder = Folder::new("pipe");
        let pipe = folder.0.join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("it runs").success());
        let mut options = OpenOptions::new();
        options.read(true);
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, NO_WAIT);
        let (sender, opened) = std::sync::mpsc::channel();
        std::thread::spawn(move || sender.send(options.open(pipe).is_ok()));
        assert_eq!(opened.recv_timeout(std::time::Duration::from_secs(60)), Ok(true));
    }

    #[cfg(unix)]
    #[test]
    fn r10_a_link_that_leaves_its_folder_is_outside() {
        let folder = Folder::new("links");
        let root = folder.0.join("root");
        fs::create_dir(&root).expect("made");
        fs::write(folder.0.join("secret"), "no one reads this").expect("written");
        fs::write(root.join("own"), "text").expect("written");
        std::os::unix::fs::symlink(folder.0.join("secret"), root.join("link")).expect("linked");
        std::os::unix::fs::symlink("own", root.join("near")).expect("linked");
        assert!(inside(&root, &root.join("own")).is_ok() && inside(&root, &root.join("near")).is_ok());
        for outside in ["link", "../secret"] {
            assert!(refusal(inside(&root, &root.join(outside))).contains("outside of the folder"));
        }
        let missing = inside(&root, &root.join("missing")).expect_err("there is none");
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    }
}
