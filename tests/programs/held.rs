//! Arrays of either type, and what programs hold of them.

use super::op::Steps;
use fencepost::prelude::*;
use fencepost::{Element, Error, ReadMap, Region, Result, WriteMap, region};
use std::ops::Range;

/// An array.
pub enum Held {
    U32(DeviceArray<u32>),
    I32(DeviceArray<i32>),
}

/// A read.
pub enum Reading {
    U32(Pending<Vec<u32>>),
    I32(Pending<Vec<i32>>),
    /// Waited for before.
    Here(Vec<u32>),
    /// Waited for before, in vain.
    Failed(Error),
}

/// A map. Only held.
pub trait Mapped {}
impl<T: Element> Mapped for ReadMap<T> {}
impl<T: Element> Mapped for WriteMap<T> {}
pub type Guard = Box<dyn Mapped>;

macro_rules! typed {
    ($held:expr, $array:ident => $body:expr) => {
        match $held {
            Held::U32($array) => $body,
            Held::I32($array) => $body,
        }
    };
}

impl Steps {
    fn region(self) -> Region {
        region![self.part.range(); self.step as isize]
    }
}

impl Held {
    pub fn len(&self) -> usize {
        typed!(self, array => array.len())
    }

    pub fn slice(&self, range: Range<usize>) -> Result<Held> {
        Ok(match self {
            Held::U32(array) => Held::U32(array.slice(range)?),
            Held::I32(array) => Held::I32(array.slice(range)?),
        })
    }

    pub fn fill(&mut self, queue: &CommandQueue, value: u32) -> Result<()> {
        typed!(self, array => queue.fill(array, bytemuck::cast(value)))
    }

    pub fn upload(&mut self, queue: &CommandQueue, words: &[u32]) -> Result<()> {
        typed!(self, array => queue.upload(bytemuck::cast_slice(words), array))
    }

    pub fn copy_to(&self, queue: &CommandQueue, dst: &mut Held) -> Result<()> {
        match (self, dst) {
            (Held::U32(src), Held::U32(dst)) => queue.copy(src, dst),
            (Held::I32(src), Held::I32(dst)) => queue.copy(src, dst),
            _ => unreachable!("bug: a copy between types"),
        }
    }

    pub fn read(&self, queue: &CommandQueue) -> Reading {
        match self {
            Held::U32(array) => Reading::U32(queue.read(array)),
            Held::I32(array) => Reading::I32(queue.read(array)),
        }
    }

    /// Copies elements to as many of another array, or of this one.
    pub fn copy_region_to(&self, queue: &CommandQueue, src: Steps, to: &Held, dst: Steps) -> Result<()> {
        match (self, to) {
            (Held::U32(x), Held::U32(y)) => queue.copy_region(x, src.region(), &mut y.handle(), dst.region()),
            (Held::I32(x), Held::I32(y)) => queue.copy_region(x, src.region(), &mut y.handle(), dst.region()),
            _ => unreachable!("bug: a copy between types"),
        }
    }

    pub fn read_region(&self, queue: &CommandQueue, src: Steps) -> Reading {
        match self {
            Held::U32(array) => Reading::U32(queue.read_region(array, src.region())),
            Held::I32(array) => Reading::I32(queue.read_region(array, src.region())),
        }
    }

    /// Maps it, to be changed to `words` if there are any; gives what was there.
    pub fn map(&self, words: Option<Vec<u32>>) -> Result<(Guard, Vec<u32>)> {
        typed!(self, array => match words {
            None => {
                let map = array.map_read().wait()?;
                let found = bytemuck::cast_slice(&map).to_vec();
                Ok((Box::new(map), found))
            }
            Some(words) => {
                let mut map = array.map_write().wait()?;
                let found = bytemuck::cast_slice(&map).to_vec();
                map.copy_from_slice(bytemuck::cast_slice(&words));
                Ok((Box::new(map), found))
            }
        })
    }
}
