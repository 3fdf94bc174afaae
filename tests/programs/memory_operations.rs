//! Executes the operations on memory: arrays, transfers, launches, maps.

use super::held::Held;
use super::machine::{Machine, Outcome};
use super::op::{Contents, How, Id, Maker, Op, Part, Ty, elements};
use fencepost::prelude::*;
use wgpu::BufferUsages as Usages;

impl Machine {
    /// Enqueues work on memory.
    pub(super) fn work(&mut self, to: &CommandQueue, op: &Op) -> Result<Outcome> {
        match *op {
            Op::Fill { dst, value, .. } => self.slice(dst)?.fill(to, value)?,
            Op::Upload { dst, seed, .. } => {
                self.slice(dst)?.upload(to, &self.elements_of(dst.a, seed, dst.len))?;
            }
            Op::Copy { src, dst, .. } => self.slice(src)?.copy_to(to, &mut self.slice(dst)?)?,
            Op::Launch { .. } => self.launch(to, op)?,
            Op::Read { r, src, .. } => {
                let read = self.slice(src)?.read(to);
                self.reads.insert(r, read);
            }
            Op::FillRows { dst, value, .. } => self.arrays[&dst.a].rows(dst)?.fill(to, value)?,
            Op::UploadRows { dst, seed, .. } => {
                let words = elements(seed, dst.len * dst.frame.cols);
                self.arrays[&dst.a].rows(dst)?.upload(to, &words)?;
            }
            Op::CopyRows { src, dst, .. } => {
                self.arrays[&src.a].rows(src)?.copy_to(to, &mut self.arrays[&dst.a].rows(dst)?)?;
            }
            Op::ReadRows { r, src, .. } => {
                let read = self.arrays[&src.a].rows(src)?.read(to);
                self.reads.insert(r, read);
            }
            Op::Array { .. } | Op::Table { .. } => return self.make(op),
            _ => return self.work_on_queue(op),
        }
        Ok(Outcome::Done)
    }

    /// Enqueues work for which contexts have no verb.
    fn work_on_queue(&mut self, op: &Op) -> Result<Outcome> {
        let queue = op.queue().map(|q| self.queues[&q].clone()).expect("it is enqueued");
        match *op {
            Op::CopyRegion { src, dst, .. } => {
                self.arrays[&src.a()].copy_region_to(&queue, src, &self.arrays[&dst.a()], dst)?;
            }
            Op::UploadRegion { dst, seed, .. } => {
                let words = self.elements_of(dst.a(), seed, dst.places().len());
                self.arrays[&dst.a()].upload_region(&queue, dst, &words)?;
            }
            Op::ReadRegion { r, src, .. } => {
                let read = self.arrays[&src.a()].read_region(&queue, src);
                self.reads.insert(r, read);
            }
            Op::Encode { src, dst, .. } => self.encode(&queue, src, dst)?,
            Op::UploadPinned { p, start, dst, .. } => {
                let mut array = self.words(dst)?;
                queue.upload(&self.up[&p].slice(start..start + dst.len)?, &mut array)?;
            }
            Op::Download { src, d, .. } => {
                let array = self.words(src)?;
                let Some(down) = self.down.get_mut(&d) else { unreachable!("bug: no pinned array {d}") };
                queue.download(&array, down)?;
            }
            _ => unreachable!("bug: no work in {op:?}"),
        }
        Ok(Outcome::Done)
    }

    /// Makes an array, a table, or a pinned array.
    pub(super) fn make(&mut self, op: &Op) -> Result<Outcome> {
        match *op {
            Op::Array { a, by, ty, len, contents } => {
                let array = self.array(by, ty, len, contents)?;
                self.arrays.insert(a, array);
                self.types.insert(a, ty);
                self.array_homes.insert(a, self.home_by(by));
            }
            Op::Table { a, by, frame, zeros } => {
                let shape = [frame.rows, frame.cols];
                let padded = [frame.padded_rows, frame.padded_cols];
                let table = match (by, zeros) {
                    (Maker::Queue(q), true) => self.queues[&q].zeros(Shape::padded(shape, padded))?,
                    (Maker::Queue(q), false) => self.queues[&q].empty(Shape::padded(shape, padded))?,
                    (Maker::Context(at), true) => self.homes[at].ctx.zeros(Shape::padded(shape, padded))?,
                    (Maker::Context(at), false) => self.homes[at].ctx.empty(Shape::padded(shape, padded))?,
                    (Maker::Shared, _) => unreachable!("bug: no table is shared"),
                };
                self.arrays.insert(a, Held::Table(table));
                self.types.insert(a, Ty::U32);
                self.array_homes.insert(a, self.home_by(by));
            }
            Op::Pin { p, len } => drop(self.up.insert(p, self.homes[0].ctx.pinned([len])?)),
            Op::PinBack { d, len } => drop(self.down.insert(d, self.homes[0].ctx.pinned([len])?)),
            _ => unreachable!("bug: {op:?} makes nothing"),
        }
        Ok(Outcome::Done)
    }

    fn array(&self, by: Maker, ty: Ty, len: usize, contents: Contents) -> Result<Held> {
        if by == Maker::Shared {
            return self.homes[0].ctx.shared_array([len], Usages::empty()).map(Held::U32);
        }
        match ty {
            Ty::U32 | Ty::Groups => self.array_of(by, ty, len, contents).map(Held::U32),
            Ty::I32 => self.array_of(by, ty, len, contents).map(Held::I32),
            Ty::F32 => self.array_of(by, ty, len, contents).map(Held::F32),
        }
    }

    fn array_of<T: Element>(
        &self,
        by: Maker,
        ty: Ty,
        len: usize,
        contents: Contents,
    ) -> Result<DeviceArray<T>> {
        let ctx = || match by {
            Maker::Context(at) => &self.homes[at].ctx,
            _ => unreachable!("bug: no context makes it"),
        };
        let queue = if let Maker::Queue(q) = by { Some(&self.queues[&q]) } else { None };
        match contents {
            Contents::Zeros => queue.map_or_else(|| ctx().zeros([len]), |queue| queue.zeros([len])),
            Contents::Full(value) => {
                let value: T = bytemuck::cast(value);
                queue.map_or_else(|| ctx().full([len], value), |queue| queue.full([len], value))
            }
            Contents::Elements(seed) => {
                let words = ty.elements(seed, len);
                let elements = bytemuck::cast_slice(&words);
                queue.map_or_else(|| ctx().array(elements), |queue| queue.array(elements))
            }
            Contents::Empty => queue.map_or_else(|| ctx().empty([len]), |queue| queue.empty([len])),
        }
    }

    fn slice(&self, part: Part) -> Result<Held> {
        self.arrays[&part.a].slice(part.range())
    }

    fn words(&self, part: Part) -> Result<DeviceArray<u32>> {
        let Held::U32(array) = self.slice(part)? else { unreachable!("bug: elements of another type") };
        Ok(array)
    }

    fn elements_of(&self, a: Id, seed: u32, len: usize) -> Vec<u32> {
        self.types[&a].elements(seed, len)
    }

    fn launch(&self, to: &CommandQueue, op: &Op) -> Result<()> {
        let &Op::Launch { q, ref kernel, how } = op else { unreachable!("bug: no launch") };
        let (reads, write) = kernel.parts();
        let reads: Vec<Held> = reads.into_iter().map(|part| self.slice(part)).collect::<Result<_>>()?;
        let home = self.home(q);
        let mut out = self.slice(write)?;
        let grid = match how {
            How::Typed => None,
            How::Dyn => return home.launch_dyn(to, kernel, &reads[0], &mut out),
            How::Indirect(counts) => {
                let Held::U32(array) = &self.arrays[&counts.a] else { unreachable!("bug: no numbers") };
                Some(Grid::indirect(array, counts.start))
            }
        };
        home.launch(to, kernel, &reads, &mut out, grid)
    }

    /// Encodes wgpu commands.
    fn encode(&self, queue: &CommandQueue, src: Option<Part>, dst: Part) -> Result<()> {
        let src = src.map(|src| self.words(src)).transpose()?;
        let mut dst = self.words(dst)?;
        queue.encode(|encoder, access| {
            let from = src.as_ref().map(|src| access.read(src)).transpose()?;
            let to = access.write(&mut dst)?;
            let buffer = to.buffer();
            let offset = to.offset();
            let size = to.size();
            match from {
                Some(from) => {
                    encoder.copy_buffer_to_buffer(from.buffer(), from.offset(), buffer, offset, size)
                }
                None => encoder.clear_buffer(buffer, offset, Some(size)),
            }
            Ok(())
        })
    }

    /// Reads or writes memory on the host.
    pub(super) fn touch(&mut self, op: &Op) -> Result<Outcome> {
        match *op {
            Op::MapRead { m, part } => self.map(m, part, None),
            Op::MapWrite { m, part, seed } => self.map(m, part, Some(seed)),
            Op::WritePinned { p, seed } => {
                let Some(up) = self.up.get_mut(&p) else { unreachable!("bug: no pinned array {p}") };
                let words = elements(seed, up.len());
                up.host_mut()?.copy_from_slice(&words);
                Ok(Outcome::Done)
            }
            Op::ReadPinned { d } => Ok(Outcome::Data(self.down[&d].host()?.to_vec())),
            _ => unreachable!("bug: {op:?} touches nothing"),
        }
    }

    fn map(&mut self, m: Id, part: Part, seed: Option<u32>) -> Result<Outcome> {
        let words = seed.map(|seed| self.elements_of(part.a, seed, part.len));
        let (guard, found) = self.slice(part)?.map(words, self)?;
        self.maps.insert(m, guard);
        Ok(Outcome::Data(found))
    }
}
