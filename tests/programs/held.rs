//! Arrays, reads and maps of a program, for every element type.

use super::machine::Machine;
use super::op::{Every, Pick, Rows};
use fencepost::prelude::*;
use fencepost::{Element, Error, ReadMap, Region, Result, WriteMap, region};
use std::ops::Range;

/// An array of one of the element types.
pub enum Held {
    U32(DeviceArray<u32>),
    I32(DeviceArray<i32>),
    F32(DeviceArray<f32>),
    Table(DeviceArray<u32, 2>),
}

/// A pending or finished read.
pub enum Reading {
    U32(Pending<Vec<u32>>),
    I32(Pending<Vec<i32>>),
    F32(Pending<Vec<f32>>),
    /// The read returned these elements.
    Here(Vec<u32>),
    /// The read returned this error.
    Failed(Error),
}

/// A map guard, which is only kept.
pub trait Mapped {}
impl<T: Element> Mapped for ReadMap<T> {}
impl<T: Element> Mapped for WriteMap<T> {}
pub type Guard = Box<dyn Mapped>;

macro_rules! typed {
    ($held:expr, $array:ident => $body:expr) => {
        match $held {
            Held::U32($array) => $body,
            Held::I32($array) => $body,
            Held::F32($array) => $body,
            Held::Table($array) => $body,
        }
    };
}

impl Pick {
    fn region(self) -> Region {
        let range = |every: Every| (every.range(), every.step as isize);
        match self {
            Pick::Steps(steps) => region![steps.part.range(); steps.step as isize],
            Pick::Window(window) => {
                let ((rows, row), (cols, col)) = (range(window.rows), range(window.cols));
                match (window.rows.count, window.cols.count) {
                    (1, _) => region![rows.start, cols; col],
                    (_, 1) => region![rows; row, cols.start],
                    _ => region![rows; row, cols; col],
                }
            }
        }
    }
}

impl Held {
    /// Returns the number of elements of its memory.
    pub fn memory(&self) -> usize {
        typed!(self, array => array.padded_shape().iter().product())
    }

    /// Returns a part of an array, or all of a table.
    pub fn slice(&self, range: Range<usize>) -> Result<Held> {
        Ok(match self {
            Held::U32(array) => Held::U32(array.slice(range)?),
            Held::I32(array) => Held::I32(array.slice(range)?),
            Held::F32(array) => Held::F32(array.slice(range)?),
            Held::Table(array) => Held::Table(array.clone()),
        })
    }

    /// Returns rows of a table.
    pub fn rows(&self, rows: Rows) -> Result<Held> {
        match self {
            Held::Table(table) if rows.whole => Ok(Held::Table(table.clone())),
            Held::Table(table) => Ok(Held::Table(table.slice(rows.start..rows.start + rows.len)?)),
            _ => unreachable!("bug: rows of an array of one dimension"),
        }
    }

    pub fn fill(&mut self, to: &CommandQueue, value: u32) -> Result<()> {
        typed!(self, array => to.fill(array, bytemuck::cast(value)))
    }

    pub fn upload(&mut self, to: &CommandQueue, words: &[u32]) -> Result<()> {
        typed!(self, array => to.upload(bytemuck::cast_slice(words), array))
    }

    pub fn copy_to(&self, to: &CommandQueue, dst: &mut Held) -> Result<()> {
        match (self, dst) {
            (Held::U32(src), Held::U32(dst)) => to.copy(src, dst),
            (Held::I32(src), Held::I32(dst)) => to.copy(src, dst),
            (Held::F32(src), Held::F32(dst)) => to.copy(src, dst),
            (Held::Table(src), Held::Table(dst)) => to.copy(src, dst),
            _ => unreachable!("bug: a copy between types"),
        }
    }

    pub fn read(&self, to: &CommandQueue) -> Reading {
        match self {
            Held::U32(array) => Reading::U32(to.read(array)),
            Held::I32(array) => Reading::I32(to.read(array)),
            Held::F32(array) => Reading::F32(to.read(array)),
            Held::Table(array) => Reading::U32(to.read(array)),
        }
    }

    /// Copies a region to a region of another array, or of this one.
    pub fn copy_region_to(&self, queue: &CommandQueue, src: Pick, dst: &Held, to: Pick) -> Result<()> {
        let from = src.region();
        let to = to.region();
        match (self, dst) {
            (Held::U32(x), Held::U32(y)) => queue.copy_region(x, from, &mut y.clone(), to),
            (Held::I32(x), Held::I32(y)) => queue.copy_region(x, from, &mut y.clone(), to),
            (Held::F32(x), Held::F32(y)) => queue.copy_region(x, from, &mut y.clone(), to),
            (Held::Table(x), Held::Table(y)) => queue.copy_region(x, from, &mut y.clone(), to),
            (Held::Table(x), Held::U32(y)) => queue.copy_region(x, from, &mut y.clone(), to),
            (Held::U32(x), Held::Table(y)) => queue.copy_region(x, from, &mut y.clone(), to),
            _ => unreachable!("bug: a copy between types"),
        }
    }

    pub fn upload_region(&self, queue: &CommandQueue, dst: Pick, words: &[u32]) -> Result<()> {
        let to = dst.region();
        typed!(self, array => queue.upload_region(bytemuck::cast_slice(words), &mut array.clone(), to))
    }

    pub fn read_region(&self, queue: &CommandQueue, src: Pick) -> Reading {
        match self {
            Held::U32(array) => Reading::U32(queue.read_region(array, src.region())),
            Held::I32(array) => Reading::I32(queue.read_region(array, src.region())),
            Held::F32(array) => Reading::F32(queue.read_region(array, src.region())),
            Held::Table(array) => Reading::U32(queue.read_region(array, src.region())),
        }
    }

    /// Maps the array, and writes `words` if there are any. Returns the elements from before the write. Waits for the
    /// map as `machine` does.
    pub fn map(&self, words: Option<Vec<u32>>, machine: &mut Machine) -> Result<(Guard, Vec<u32>)> {
        typed!(self, array => match words {
            None => {
                let map = machine.get(array.map_read())?;
                let found = bytemuck::cast_slice(&map).to_vec();
                Ok((Box::new(map), found))
            }
            Some(words) => {
                let mut map = machine.get(array.map_write())?;
                let found = bytemuck::cast_slice(&map).to_vec();
                map.copy_from_slice(bytemuck::cast_slice(&words));
                Ok((Box::new(map), found))
            }
        })
    }
}
