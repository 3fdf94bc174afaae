//! A folder for a test, and NumPy's files, written and read without the crate that the command uses.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

/// A folder that is removed at the end of the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(tempfile::tempdir()?))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file, and returns its path as text.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> Result<String> {
        let path = self.path(name);
        fs::write(&path, bytes)?;
        Ok(path.to_str().context("a path that is not UTF-8")?.to_owned())
    }
}

/// Makes a file of version 1 with a type in NumPy's form (`<f4`) and a shape in Python's (`(3, 4)`).
pub(crate) fn npy(descr: &str, shape: &str, fortran: bool, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    while !(10 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let length = u16::try_from(header.len()).expect("a short header").to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

/// Returns the header and the data of a file of version 1.
pub(crate) fn npy_parts(file: &[u8]) -> Result<(String, Vec<u8>)> {
    ensure!(file.starts_with(b"\x93NUMPY\x01\x00"), "no file of version 1");
    let length = usize::from(u16::from_le_bytes([file[8], file[9]]));
    let header = String::from_utf8(file.get(10..10 + length).context("a short file")?.to_vec())?;
    Ok((header, file[10 + length..].to_vec()))
}

/// Returns the bytes of numbers, the lowest byte first.
pub(crate) fn f32_bytes(numbers: impl IntoIterator<Item = f32>) -> Vec<u8> {
    numbers.into_iter().flat_map(f32::to_le_bytes).collect()
}
