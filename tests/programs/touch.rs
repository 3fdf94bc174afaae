//! Uses of memory by operations.

use super::op::{How, Id, Maker, Op, Part, Pick, Rows};
use std::ops::Range;

/// Memory that operations use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Memory {
    Array(Id),
    Up(Id),
    Down(Id),
}

/// A read or write of a range of memory.
#[derive(Clone)]
pub struct Touch {
    pub memory: Memory,
    pub range: Range<usize>,
    pub write: bool,
}

impl Touch {
    /// Returns `true` if the two uses must not run at the same time.
    pub fn conflicts(&self, other: &Touch) -> bool {
        let apart = self.range.end <= other.range.start || other.range.end <= self.range.start;
        self.memory == other.memory && !apart && (self.write || other.write)
    }

    fn writes(self) -> Self {
        Self { write: true, ..self }
    }
}

/// Converts a range of memory into a read of it.
trait Read {
    fn reads(self) -> Touch;
}

fn reads(a: Id, range: Range<usize>) -> Touch {
    Touch { memory: Memory::Array(a), range, write: false }
}

impl Read for Part {
    fn reads(self) -> Touch {
        reads(self.a, self.range())
    }
}

impl Read for Pick {
    /// Returns a read of everything from the region's first element to its last.
    fn reads(self) -> Touch {
        reads(self.a(), self.span())
    }
}

impl Read for Rows {
    fn reads(self) -> Touch {
        reads(self.a, self.window().span())
    }
}

impl Op {
    /// Returns the queue on which the operation is enqueued.
    pub fn queue(&self) -> Option<Id> {
        match *self.verb() {
            Op::Fill { q, .. }
            | Op::Upload { q, .. }
            | Op::Copy { q, .. }
            | Op::CopyRegion { q, .. }
            | Op::UploadRegion { q, .. }
            | Op::ReadRegion { q, .. }
            | Op::FillRows { q, .. }
            | Op::UploadRows { q, .. }
            | Op::CopyRows { q, .. }
            | Op::ReadRows { q, .. }
            | Op::Encode { q, .. }
            | Op::Launch { q, .. }
            | Op::Read { q, .. }
            | Op::UploadPinned { q, .. }
            | Op::Download { q, .. }
            | Op::Array { by: Maker::Queue(q), .. }
            | Op::Table { by: Maker::Queue(q), .. } => Some(q),
            _ => None,
        }
    }

    /// Returns the uses of memory by its work on the device. A queue that makes an array writes the array.
    pub fn touches(&self) -> Vec<Touch> {
        match *self.verb() {
            Op::Fill { dst, .. } | Op::Upload { dst, .. } => vec![dst.reads().writes()],
            Op::Copy { src, dst, .. } => vec![src.reads(), dst.reads().writes()],
            Op::CopyRegion { src, dst, .. } => vec![src.reads(), dst.reads().writes()],
            Op::UploadRegion { dst, .. } => vec![dst.reads().writes()],
            Op::ReadRegion { src, .. } => vec![src.reads()],
            Op::FillRows { dst, .. } => vec![reads(dst.a, dst.memory()).writes()],
            Op::UploadRows { dst, .. } => vec![dst.reads().writes()],
            Op::CopyRows { src, dst, .. } => vec![src.reads(), dst.reads().writes()],
            Op::ReadRows { src, .. } => vec![src.reads()],
            Op::Read { src, .. } => vec![src.reads()],
            Op::Encode { src, dst, .. } => {
                src.map(Part::reads).into_iter().chain([dst.reads().writes()]).collect()
            }
            Op::UploadPinned { p, start, dst, .. } => {
                let range = start..start + dst.len;
                vec![Touch { memory: Memory::Up(p), range, write: false }, dst.reads().writes()]
            }
            Op::Download { src, d, .. } => {
                vec![src.reads(), Touch { memory: Memory::Down(d), range: 0..src.len, write: true }]
            }
            Op::Launch { ref kernel, how, .. } => {
                let (parts, write) = kernel.parts();
                let counts = if let How::Indirect(counts) = how { Some(counts) } else { None };
                let read = parts.into_iter().chain(counts).map(Part::reads);
                read.chain([write.reads().writes()]).collect()
            }
            Op::Array { a, by: Maker::Queue(_), len, .. } => vec![reads(a, 0..len).writes()],
            Op::Table { a, by: Maker::Queue(_), frame, .. } => vec![reads(a, 0..frame.memory()).writes()],
            _ => Vec::new(),
        }
    }

    /// Returns the use of memory by the host. The host waits for earlier work before it.
    pub fn host_touch(&self) -> Option<Touch> {
        match *self {
            Op::MapRead { part, .. } => Some(part.reads()),
            Op::MapWrite { part, .. } => Some(part.reads().writes()),
            Op::WritePinned { p, .. } => {
                Some(Touch { memory: Memory::Up(p), range: 0..usize::MAX, write: true })
            }
            Op::ReadPinned { d } => {
                Some(Touch { memory: Memory::Down(d), range: 0..usize::MAX, write: false })
            }
            _ => None,
        }
    }

    /// Returns `true` if the operation may be executed at the call instead of on its queue. This holds for new arrays
    /// and for uploads of ordinary memory.
    pub fn may_be_early(&self) -> bool {
        matches!(
            self.verb(),
            Op::Array { .. }
                | Op::Table { .. }
                | Op::Upload { .. }
                | Op::UploadRegion { .. }
                | Op::UploadRows { .. }
        )
    }
}
