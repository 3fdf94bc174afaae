//! The elements of a buffer on the host.

use std::path::Path;

use anyhow::{Context, Result, bail};
use fastrand::Rng;

use super::argument::Given;
use super::npy;
use super::number::Number;
use super::shape::Shape;
use super::signature::{Block, Buffer};

/// Numbers in C order; the last dimensions are those of an element, if that is a vector or a matrix.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Numbers<T> {
    pub(super) shape: Vec<usize>,
    pub(super) data: Vec<T>,
}

impl<T: Number> Numbers<T> {
    /// What an argument gives to a buffer of elements of these numbers.
    ///
    /// # Errors
    /// A file cannot be read, or has another type or shape; a number is none of the type.
    pub(super) fn of(given: &Given, buffer: &Buffer, element: &Block) -> Result<Self> {
        match given {
            Given::Npy(file) => npy::read(file, &buffer.text)?.fitting(element, file),
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
                raw(file, element)
            }
            Given::Iota(shape) => Self::made(shape, element, T::nth),
            Given::Random(shape, seed) => {
                let mut rng = Rng::with_seed(*seed);
                Self::made(shape, element, |_| T::random(&mut rng))
            }
            Given::Zeros(shape) => Self::made(shape, element, |_| T::zeroed()),
            Given::Full(shape, text) => {
                let number = parse::<T>(text)?;
                Self::made(shape, element, |_| number)
            }
            Given::Numbers(_) => bail!(
                "the shader declares a buffer, `{}`: give FILE.npy, zeros:SHAPE or the like",
                buffer.text
            ),
        }
    }

    fn made(shape: &Shape, element: &Block, number: impl FnMut(usize) -> T) -> Result<Self> {
        let shape = Shape([&shape.0[..], &element.room].concat());
        let count = shape.len().map_err(anyhow::Error::msg)?;
        let mut data = Vec::new();
        let bytes = || format!("{count} numbers of {} bytes do not fit into memory", T::SCALAR.size());
        data.try_reserve_exact(count).with_context(bytes)?;
        data.extend((0..count).map(number));
        Ok(Self { shape: shape.0, data })
    }

    /// The same, if the last dimensions are those of an element.
    fn fitting(self, element: &Block, file: &Path) -> Result<Self> {
        if self.shape.ends_with(&element.room) {
            return Ok(self);
        }
        let (file, found) = (file.display(), &self.shape);
        bail!(
            "`{file}` has shape {found:?}, and an element of the buffer is {:?}: the shape must end in that",
            element.room
        )
    }

    /// The dimensions of the elements, without those inside an element.
    pub(super) fn elements(&self, element: &Block) -> &[usize] {
        &self.shape[..self.shape.len() - element.room.len()]
    }
}

/// The number that a text means.
///
/// # Errors
/// It means none of the type.
pub(super) fn parse<T: Number>(text: &str) -> Result<T> {
    text.parse().ok().with_context(|| format!("`{text}` is no number of type {}", T::SCALAR.name()))
}

fn raw<T: Number>(file: &Path, element: &Block) -> Result<Numbers<T>> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let per_element = element.room.iter().product::<usize>() * T::SCALAR.size();
    if !bytes.len().is_multiple_of(per_element) {
        bail!(
            "`{}` has {} bytes, which is no multiple of the {per_element} bytes of an element",
            file.display(),
            bytes.len()
        );
    }
    let shape = [&[bytes.len() / per_element][..], &element.room].concat();
    Ok(Numbers { shape, data: bytemuck::pod_collect_to_vec(&bytes) })
}
