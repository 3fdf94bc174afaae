//! What a driver made of kernels, in files for the next run of a program.

use siphasher::sip128::{Hasher128, SipHasher13};
use std::fs::{self, File};
use std::hash::Hash;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// How a file begins: the name of its form, then the key, then the checksum of what follows.
const MAGIC: [u8; 8] = *b"fencekn1";
const HEAD: usize = MAGIC.len() + 2 * size_of::<u128>();

/// Bytes of a file, at most: a larger one is none of ours.
const MOST: u64 = 256 << 20;

/// A folder with one file for each form of a kernel.
#[derive(Debug)]
pub(crate) struct KernelFolder {
    path: PathBuf,
    /// The device with its driver: no other one can use the files.
    device: String,
}

/// Where one form of a kernel is kept.
pub(crate) struct KernelFile {
    path: PathBuf,
    key: u128,
}

impl KernelFolder {
    /// `device` names the device, its driver, and the way of talking to it.
    pub(crate) fn new(path: PathBuf, device: String) -> Self {
        // The program may change its working folder later.
        Self { path: std::path::absolute(&path).unwrap_or(path), device }
    }

    /// The file of what `form` describes in full.
    pub(crate) fn file(&self, form: &impl Hash) -> KernelFile {
        let mut hasher = SipHasher13::new();
        (&self.device, form).hash(&mut hasher);
        let key = hasher.finish128().as_u128();
        KernelFile { path: self.path.join(format!("{key:032x}.kernel")), key }
    }
}

impl KernelFile {
    /// What was kept: none if there is no file, or if it is damaged.
    pub(crate) fn load(&self) -> Option<Vec<u8>> {
        match read(&self.path) {
            Ok(bytes) => {
                let data = self.unpack(bytes);
                if data.is_none() {
                    log::warn!("{}: damaged, and made anew", self.path.display());
                }
                data
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                log::warn!("{}: {error}; the kernel is compiled anew", self.path.display());
                None
            }
        }
    }

    /// Keeps what the driver gave. The program goes on without a file that cannot be written.
    pub(crate) fn keep(&self, data: &[u8]) {
        if let Err(error) = self.write(data) {
            log::warn!("{}: {error}; the kernel is not kept for the next run", self.path.display());
        }
    }

    fn unpack(&self, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
        let data = bytes.get(HEAD..)?;
        if bytes[..HEAD] != self.head(data) {
            return None;
        }
        bytes.drain(..HEAD);
        Some(bytes)
    }

    fn head(&self, data: &[u8]) -> [u8; HEAD] {
        let checksum = SipHasher13::new().hash(data).as_u128();
        let mut head = [0; HEAD];
        head[..8].copy_from_slice(&MAGIC);
        head[8..24].copy_from_slice(&self.key.to_le_bytes());
        head[24..].copy_from_slice(&checksum.to_le_bytes());
        head
    }

    /// Writes beside the place and renames, so that no other program reads a part.
    fn write(&self, data: &[u8]) -> io::Result<()> {
        // Programs in containers have the same numbers of processes.
        let beside = self.path.with_extension(format!("{:016x}.part", fastrand::u64(..)));
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = File::create_new(&beside)?;
        let written =
            write_all(file, &[&self.head(data), data]).and_then(|()| fs::rename(&beside, &self.path));
        if written.is_err() {
            fs::remove_file(&beside).ok(); // it may not be there
        }
        written
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Asked before: to open a pipe waits for its other end.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no plain file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn write_all(mut file: File, parts: &[&[u8]]) -> io::Result<()> {
    parts.iter().try_for_each(|part| file.write_all(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &[u8] = b"what a driver made of a kernel";

    struct Temporary(PathBuf);

    impl Temporary {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("fencepost-{name}-{}", std::process::id()));
            fs::remove_dir_all(&path).ok(); // of a run that was killed
            Self(path)
        }

        fn folder(&self, device: &str) -> KernelFolder {
            KernelFolder::new(self.0.join("made/by/need"), device.into())
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).ok();
        }
    }

    #[test]
    fn what_was_kept_is_there_for_the_same_device_and_the_same_kernel_only() {
        let here = Temporary::new("kept");
        let folder = here.folder("a");
        let file = folder.file(&("text", 1));
        assert_eq!(file.load(), None);
        file.keep(DATA);
        assert_eq!(here.folder("a").file(&("text", 1)).load().as_deref(), Some(DATA));
        for other in
            [folder.file(&("text", 2)), folder.file(&("texT", 1)), here.folder("b").file(&("text", 1))]
        {
            assert_eq!(other.load(), None);
            fs::copy(&file.path, &other.path).expect("the folder can be written");
            assert_eq!(other.load(), None, "a file under another's name");
        }
    }

    #[test]
    fn a_damaged_file_is_none_and_is_made_anew() {
        let here = Temporary::new("damaged");
        let file = here.folder("a").file(&"k");
        file.keep(DATA);
        let whole = fs::read(&file.path).expect("it was kept");
        let mut damaged: Vec<Vec<u8>> = (0..whole.len()).map(|end| whole[..end].to_vec()).collect();
        damaged.extend((0..whole.len()).map(|at| {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            flipped
        }));
        damaged.push([&whole[..], b"more"].concat());
        for bytes in damaged {
            fs::write(&file.path, &bytes).expect("the folder can be written");
            assert_eq!(file.load(), None, "{} of {} bytes", bytes.len(), whole.len());
            file.keep(DATA);
            assert_eq!(file.load().as_deref(), Some(DATA));
        }
    }

    #[test]
    fn what_is_kept_anew_takes_the_place_of_what_was_and_leaves_nothing_beside_it() {
        let here = Temporary::new("anew");
        let file = here.folder("a").file(&"k");
        file.keep(DATA);
        file.keep(b"more");
        assert_eq!(file.load().as_deref(), Some(&b"more"[..]));
        let folder = file.path.parent().expect("a folder");
        assert_eq!(fs::read_dir(folder).expect("it is there").count(), 1);
    }

    #[test]
    fn a_folder_that_cannot_be_used_is_no_failure() {
        let here = Temporary::new("no-folder");
        fs::create_dir_all(&here.0).expect("a folder");
        fs::write(here.0.join("made"), "a file where a folder should be").expect("a file");
        let file = here.folder("a").file(&"k");
        file.keep(DATA);
        assert_eq!(file.load(), None);
        let taken = KernelFolder::new(here.0.clone(), "a".into()).file(&"k");
        fs::create_dir(&taken.path).expect("a folder where a file should be");
        taken.keep(DATA);
        assert_eq!(taken.load(), None);
        assert_eq!(fs::read_dir(&here.0).expect("it is there").count(), 2, "no part is left");
        #[cfg(unix)]
        {
            let pipe = KernelFolder::new(here.0.clone(), "a".into()).file(&"pipe");
            let made = std::process::Command::new("mkfifo").arg(&pipe.path).status();
            assert!(made.expect("mkfifo is there").success());
            assert_eq!(pipe.load(), None);
        }
    }
}
