//! The elements of a buffer on the host.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use fastrand::Rng;
use fencepost::{AdapterInfo, plain_file};

use super::argument::Given;
use super::number::Number;
use super::shape::Shape;
use super::signature::{Block, Buffer};
use super::{csv_file, npy, npz};
use crate::bytes::bytes;

/// Size limit of buffers on an adapter.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    pub(super) adapter: String,
    pub(super) bytes: u64,
}

impl Limit {
    /// Returns the limit of an adapter. A kernel binds whole arrays, so the smaller of two limits applies.
    pub(super) fn of(info: &AdapterInfo) -> Self {
        Self { adapter: info.name.clone(), bytes: info.max_array.min(info.max_binding) }
    }

    /// Fails if `found` bytes exceed the limit; `what` describes the bytes.
    ///
    /// # Errors
    /// The bytes exceed the limit.
    pub(super) fn check(&self, what: &str, found: u128) -> Result<()> {
        if found <= u128::from(self.bytes) {
            return Ok(());
        }
        let adapter = &self.adapter;
        let limit = self.bytes;
        bail!(
            "{what}, and the limit of adapter `{adapter}` for a buffer is {limit} bytes ({}): give it less, or write a program \
             that launches once for each part",
            bytes(limit)
        )
    }

    /// Reads a file to its end, or until the limit is exceeded. `name` stands for the file in messages.
    ///
    /// # Errors
    /// The file cannot be read, or is larger than the limit.
    pub(super) fn read(&self, name: &str, from: impl Read) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        from.take(self.bytes + 1).read_to_end(&mut all).with_context(|| format!("cannot read {name}"))?;
        self.check(&format!("{name} has more than {} bytes", self.bytes), all.len() as u128)?;
        Ok(all)
    }
}

/// Numbers in C order; if elements are vectors or matrices, their dimensions come last.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Numbers<T> {
    pub(super) shape: Vec<usize>,
    pub(super) data: Vec<T>,
}

impl<T: Number> Numbers<T> {
    /// Makes the numbers of a buffer from an argument.
    ///
    /// # Errors
    /// A file cannot be read, or has a different type or shape; a text is not a number of the type.
    pub(super) fn of(given: &Given, buffer: &Buffer, element: &Block, limit: &Limit) -> Result<Self> {
        match given {
            Given::Npy(file) => {
                npy::read(&quoted(file), open(file)?, &buffer.text, limit)?.fitting(element, file)
            }
            Given::Npz(file, array) => {
                npz::read(file, array.as_deref(), buffer, limit)?.fitting(element, file)
            }
            Given::Csv(file, column) => {
                csv_file::read(file, column.as_deref(), limit)?.fitting(element, file)
            }
            Given::Raw(scalar, file) => {
                if *scalar != T::SCALAR {
                    bail!(
                        "`{}` is to be read as {}, and the shader declares `{}`: its numbers are {}",
                        file.display(),
                        scalar.name(),
                        buffer.text,
                        T::SCALAR.name()
                    );
                }
                raw(file, element, limit)
            }
            Given::Iota(shape) => Self::made(shape, element, limit, T::nth),
            Given::Random(shape, seed) => {
                let mut rng = Rng::with_seed(*seed);
                Self::made(shape, element, limit, |_| T::random(&mut rng))
            }
            Given::Zeros(shape) => Self::made(shape, element, limit, |_| T::zeroed()),
            Given::Full(shape, text) => {
                let number = parse::<T>(text)?;
                Self::made(shape, element, limit, |_| number)
            }
            Given::Numbers(_) => bail!(
                "the shader declares a buffer, `{}`: give FILE.npy, zeros:SHAPE or the like",
                buffer.text
            ),
        }
    }

    fn made(shape: &Shape, element: &Block, limit: &Limit, number: impl FnMut(usize) -> T) -> Result<Self> {
        let shape = Shape([&shape.0[..], &element.room].concat());
        let count = shape.len().map_err(anyhow::Error::msg)?;
        let size = count as u128 * T::SCALAR.size() as u128;
        limit.check(&format!("shape {:?} takes {size} bytes", shape.0), size)?;
        let mut data = Vec::new();
        let bytes = || format!("{count} numbers of {} bytes do not fit into memory", T::SCALAR.size());
        data.try_reserve_exact(count).with_context(bytes)?;
        data.extend((0..count).map(number));
        Ok(Self { shape: shape.0, data })
    }

    /// Returns the numbers if the last dimensions are those of an element.
    fn fitting(self, element: &Block, file: &Path) -> Result<Self> {
        if self.shape.ends_with(&element.room) {
            return Ok(self);
        }
        let file = file.display();
        let found = &self.shape;
        bail!(
            "`{file}` has shape {found:?}, and an element of the buffer is {:?}: the shape must end in that",
            element.room
        )
    }

    /// Returns the dimensions of the array, without those inside an element.
    pub(super) fn elements(&self, element: &Block) -> &[usize] {
        &self.shape[..self.shape.len() - element.room.len()]
    }
}

/// Opens a regular file.
///
/// # Errors
/// The file cannot be opened, or it is a folder, a pipe or a device.
pub(super) fn open(file: &Path) -> Result<File> {
    plain_file::open(file).with_context(|| format!("cannot read {}", quoted(file)))
}

/// Returns the name of a file in messages.
pub(super) fn quoted(file: &Path) -> String {
    format!("`{}`", file.display())
}

/// Parses a number.
///
/// # Errors
/// The text is not a number of the type, or is out of range.
pub(super) fn parse<T: Number>(text: &str) -> Result<T> {
    let name = T::SCALAR.name();
    let number: T = text.parse().ok().with_context(|| format!("`{text}` is not a number of type {name}"))?;
    // A text without digits, such as `inf`, means infinity.
    if number.text().ends_with("inf") && text.contains(|c: char| c.is_ascii_digit()) {
        bail!("`{text}` is beyond the largest number of type {name}: write `inf` for infinity");
    }
    Ok(number)
}

fn raw<T: Number>(path: &Path, element: &Block, limit: &Limit) -> Result<Numbers<T>> {
    let bytes = limit.read(&quoted(path), open(path)?)?;
    if bytes.is_empty() {
        bail!(
            "{} is empty, it has 0 bytes: give a file with elements, or zeros:0 for a buffer that the kernel does not use",
            quoted(path)
        );
    }
    let per_element = element.room.iter().product::<usize>() * T::SCALAR.size();
    if !bytes.len().is_multiple_of(per_element) {
        bail!(
            "`{}` has {} bytes, which is not a multiple of the {per_element} bytes of an element",
            path.display(),
            bytes.len()
        );
    }
    let shape = [&[bytes.len() / per_element][..], &element.room].concat();
    Ok(Numbers { shape, data: bytemuck::pod_collect_to_vec(&bytes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_beyond_its_type_is_refused_and_infinity_is_not() {
        assert_eq!(parse::<f32>("3e38").ok(), Some(3e38));
        assert_eq!(parse::<f32>("-inf").ok(), Some(f32::NEG_INFINITY));
        for text in ["1e400", "-1e39"] {
            let error = parse::<f32>(text).map(drop).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("`{text}` is beyond the largest number of type f32")),
                "{error}"
            );
        }
        assert!(parse::<half::f16>("70000").is_err());
    }

    #[test]
    fn a_file_is_read_only_up_to_the_limit_of_the_adapter() {
        let limit = Limit { adapter: "G".into(), bytes: 1000 };
        assert_eq!(limit.read("`zero`", std::io::repeat(0).take(1000)).unwrap().len(), 1000);
        let error = limit.read("`zero`", std::io::repeat(0)).unwrap_err().to_string();
        assert!(
            error.starts_with("`zero` has more than 1000 bytes, and the limit of adapter `G`"),
            "{error}"
        );
    }
}
