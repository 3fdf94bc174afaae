//! A folder of compiled kernels for the next run of a program.

use fencepost_kernels::plain_file;
use fencepost_kernels::report;
use siphasher::sip128::{Hasher128, SipHasher13};
use std::fs::{self, File};
use std::hash::Hash;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// First bytes of a file. The key and the checksum of the data follow.
const MAGIC: [u8; 8] = *b"fencekn1";
const HEAD: usize = MAGIC.len() + 2 * size_of::<u128>();

/// Most bytes of a file. This crate writes no larger file.
const MOST_KERNEL_FILE_BYTES: u64 = 256 << 20;

/// A folder with one file for each form of a kernel.
#[derive(Debug)]
pub(crate) struct KernelFolder {
    path: PathBuf,
    /// Name of the device and its driver, because no other device or driver can use the files.
    device: String,
}

/// The file of one form of a kernel. `key` is the hash of the form and of the device; the file contains it too.
pub(crate) struct KernelFile {
    path: PathBuf,
    key: u128,
}

impl KernelFolder {
    /// Describes the folder at `path`. `device` names the device, its driver and the submit path.
    pub(crate) fn new(path: PathBuf, device: String) -> Self {
        // The path is absolute because user code may change the working directory later.
        Self { path: std::path::absolute(&path).unwrap_or(path), device }
    }

    /// Returns the file of the form that `form` describes in full.
    pub(crate) fn file(&self, form: &impl Hash) -> KernelFile {
        let mut hasher = SipHasher13::new();
        (&self.device, form).hash(&mut hasher);
        let key = hasher.finish128().as_u128();
        KernelFile { path: self.path.join(format!("{key:032x}.kernel")), key }
    }
}

impl KernelFile {
    /// Returns the data of the file, or `None` if there is no file or the file is damaged.
    pub(crate) fn load(&self) -> Option<Vec<u8>> {
        match read(&self.path) {
            Ok(bytes) => {
                let data = self.unpack(bytes);
                if data.is_none() {
                    report!(
                        Warn,
                        "{}: the file is damaged; the kernel is compiled again",
                        self.path.display()
                    );
                }
                data
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                report!(Warn, "{}: {error}; the kernel is compiled again", self.path.display());
                None
            }
        }
    }

    /// Writes the driver's data to the file. If the write fails, the program continues without the file.
    pub(crate) fn keep(&self, data: &[u8]) {
        if let Err(error) = self.write(data) {
            report!(Warn, "{}: {error}; the kernel is not stored for the next run", self.path.display());
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

    /// Writes a temporary file and renames it, so that no other program reads an incomplete file.
    fn write(&self, data: &[u8]) -> io::Result<()> {
        // The name is random because programs in containers may have equal process ids.
        let temporary = self.path.with_extension(format!("{:016x}.part", fastrand::u64(..)));
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = File::create_new(&temporary)?;
        let written =
            write_all(file, &[&self.head(data), data]).and_then(|()| fs::rename(&temporary, &self.path));
        if written.is_err() {
            fs::remove_file(&temporary).ok(); // the temporary file may be missing
        }
        written
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    plain_file::open(path)?.take(MOST_KERNEL_FILE_BYTES).read_to_end(&mut bytes)?;
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
            fs::remove_dir_all(&path).ok(); // the folder of a run that was killed
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
    fn a_file_is_loaded_for_the_same_device_and_kernel_only() {
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
            assert_eq!(other.load(), None, "a file under the name of another");
        }
    }

    #[test]
    fn a_damaged_file_is_not_loaded_and_is_replaced() {
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
    fn a_second_write_replaces_the_file_and_leaves_no_other() {
        let here = Temporary::new("anew");
        let file = here.folder("a").file(&"k");
        file.keep(DATA);
        file.keep(b"more");
        assert_eq!(file.load().as_deref(), Some(&b"more"[..]));
        let folder = file.path.parent().expect("a folder");
        assert_eq!(fs::read_dir(folder).expect("it is there").count(), 1);
    }

    /// Writes the file and reads it, while other processes do the same.
    fn write_and_read(file: &KernelFile) {
        let data: Vec<u8> = (0..1 << 20).map(|at: u32| at as u8).collect();
        for round in 0..40 {
            file.keep(&data);
            assert_eq!(file.load().map(|read| read == data), Some(true), "round {round}");
        }
    }

    #[test]
    fn processes_that_write_one_file_at_once_read_whole_files_only() {
        const FOLDER: &str = "FENCEPOST_TEST_KERNEL_FOLDER";
        const NAME: &str = "processes_that_write_one_file_at_once_read_whole_files_only";
        let file_in = |path: PathBuf| KernelFolder::new(path, "a".into()).file(&"k");
        if let Some(path) = std::env::var_os(FOLDER) {
            return write_and_read(&file_in(path.into()));
        }
        let here = Temporary::new("processes");
        let file = file_in(here.0.clone());
        let (_, module) = module_path!().split_once("::").expect("the crate's name comes first");
        let mut program = std::process::Command::new(std::env::current_exe().expect("this program"));
        program.args([&format!("{module}::{NAME}"), "--exact", "--nocapture"]).env(FOLDER, &here.0);
        let children: Vec<_> = (0..3).map(|_| program.spawn().expect("this program starts")).collect();
        for mut child in children {
            assert!(child.wait().expect("it ends").success());
        }
        assert!(file.load().is_some(), "the other processes wrote this file");
        assert_eq!(fs::read_dir(&here.0).expect("it is there").count(), 1, "no temporary file is left");
    }

    #[test]
    fn an_unusable_folder_is_not_an_error() {
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
        assert_eq!(fs::read_dir(&here.0).expect("it is there").count(), 2, "no temporary file is left");
        #[cfg(unix)]
        {
            let pipe = KernelFolder::new(here.0.clone(), "a".into()).file(&"pipe");
            let made = std::process::Command::new("mkfifo").arg(&pipe.path).status();
            assert!(made.expect("mkfifo is there").success());
            assert_eq!(pipe.load(), None);
        }
    }
}
