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

/// Makes an archive of arrays as `numpy.savez` does, or as `numpy.savez_compressed` does, but with blocks that do not
/// compress.
pub(crate) fn npz(arrays: &[(&str, Vec<u8>)], is_compressed: bool) -> Vec<u8> {
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    for (name, npy) in arrays {
        let name = format!("{name}.npy");
        let length = u16::try_from(npy.len()).expect("a small array").to_le_bytes();
        let block = [&[1][..], &length, &length.map(|byte| !byte), npy].concat();
        let data = if is_compressed { &block } else { npy };
        let method = if is_compressed { 8_u16 } else { 0 };
        let words = [crc32(npy), data.len() as u32, npy.len() as u32].map(u32::to_le_bytes).concat();
        let common = [&[20, 0, 0, 0][..], &method.to_le_bytes(), &[0, 0, 0x21, 0], &words].concat();
        let name_length = (name.len() as u16).to_le_bytes();
        let start = (archive.len() as u32).to_le_bytes();
        let local = [b"PK\x03\x04", &common[..], &name_length, &[0; 2], name.as_bytes(), data].concat();
        archive.extend(local);
        let entry = [b"PK\x01\x02\x14\0", &common[..], &name_length, &[0; 12], &start, name.as_bytes()];
        directory.extend(entry.concat());
    }
    let count = (arrays.len() as u16).to_le_bytes();
    let ends = [directory.len() as u32, archive.len() as u32].map(u32::to_le_bytes).concat();
    let end = [&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &ends, &[0; 2]].concat();
    [archive, directory, end].concat()
}

/// Returns the checksum of a ZIP archive.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    let add = |crc: u32, &byte: &u8| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc));
    !bytes.iter().fold(u32::MAX, add)
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
