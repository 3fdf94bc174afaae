//! What programs are made of.

use std::ops::Range;

/// Numbers name queues, arrays, events and so on, each kind for itself.
pub type Id = usize;

/// One operation of a program.
#[derive(Clone, PartialEq)]
pub enum Op {
    Queue {
        q: Id,
        urgency: i32,
    },
    Fork {
        q: Id,
        from: Id,
    },
    DropQueue {
        q: Id,
    },
    Array {
        a: Id,
        by: Maker,
        ty: Ty,
        len: usize,
        contents: Contents,
    },
    DropArray {
        a: Id,
    },
    Fill {
        q: Id,
        dst: Part,
        value: u32,
    },
    Upload {
        q: Id,
        dst: Part,
        seed: u32,
    },
    Copy {
        q: Id,
        src: Part,
        dst: Part,
    },
    CopyRegion {
        q: Id,
        src: Steps,
        dst: Steps,
    },
    Launch {
        q: Id,
        kernel: Kernel,
    },
    Read {
        q: Id,
        r: Id,
        src: Part,
    },
    ReadRegion {
        q: Id,
        r: Id,
        src: Steps,
    },
    WaitRead {
        r: Id,
        how: Wait,
    },
    DropRead {
        r: Id,
    },
    /// A pinned array to upload from.
    Pin {
        p: Id,
        len: usize,
    },
    WritePinned {
        p: Id,
        seed: u32,
    },
    UploadPinned {
        q: Id,
        p: Id,
        start: usize,
        dst: Part,
    },
    /// A pinned array to download to.
    PinBack {
        d: Id,
        len: usize,
    },
    Download {
        q: Id,
        src: Part,
        d: Id,
    },
    ReadPinned {
        d: Id,
    },
    /// A marker, named.
    Mark {
        e: Id,
        q: Id,
    },
    /// The same event, recorded again.
    Record {
        e: Id,
        q: Id,
    },
    WaitFor {
        q: Id,
        events: Vec<Id>,
    },
    WaitForQueue {
        q: Id,
        other: Id,
    },
    Join {
        q: Id,
        other: Id,
    },
    WaitEvent {
        e: Id,
        how: Wait,
    },
    UserEvent {
        u: Id,
    },
    WaitForUser {
        q: Id,
        u: Id,
    },
    Signal {
        u: Id,
    },
    Callback {
        q: Id,
    },
    Flush {
        q: Id,
    },
    Finish {
        q: Id,
        how: Wait,
    },
    MapRead {
        m: Id,
        part: Part,
    },
    MapWrite {
        m: Id,
        part: Part,
        seed: u32,
    },
    Unmap {
        m: Id,
    },
    Trim,
}

/// Elements of an array.
#[derive(Clone, Copy, PartialEq)]
pub struct Part {
    pub a: Id,
    pub start: usize,
    pub len: usize,
}

/// Every so manyth element of a part, the last one included.
#[derive(Clone, Copy, PartialEq)]
pub struct Steps {
    pub part: Part,
    pub step: usize,
}

/// The type of an array's elements.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ty {
    U32,
    I32,
}

/// Who makes an array.
#[derive(Clone, Copy, PartialEq)]
pub enum Maker {
    Context,
    Queue(Id),
}

/// What is in an array at first.
#[derive(Clone, Copy, PartialEq)]
pub enum Contents {
    Zeros,
    Full(u32),
    /// Drawn from this seed.
    Elements(u32),
    Empty,
}

/// A built-in kernel with its arguments.
#[derive(Clone, Copy, PartialEq)]
pub enum Kernel {
    Mix { a: u32, b: u32, x: Part, y: Part },
    Add { x: Part, y: Part, z: Part },
    Saxpy { a: u32, x: Part, y: Part },
    Iota { start: u32, step: u32, out: Part },
    Histogram { values: Part, bins: Part },
}

/// How the host waits.
#[derive(Clone, Copy, PartialEq)]
pub enum Wait {
    Block,
    Await,
    /// At most so many microseconds.
    Within(u64),
    /// Asks whether it is done.
    Look,
}

impl Wait {
    /// Whether it returns only once the work is done.
    pub fn blocks(self) -> bool {
        matches!(self, Wait::Block | Wait::Await)
    }
}

/// Memory that operations use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Memory {
    Array(Id),
    Up(Id),
    Down(Id),
}

/// What an operation does to elements of some memory.
#[derive(Clone)]
pub struct Touch {
    pub memory: Memory,
    pub range: Range<usize>,
    pub write: bool,
}

impl Part {
    pub fn end(self) -> usize {
        self.start + self.len
    }

    pub fn range(self) -> Range<usize> {
        self.start..self.end()
    }

    fn reads(self) -> Touch {
        Touch { memory: Memory::Array(self.a), range: self.range(), write: false }
    }

    fn writes(self) -> Touch {
        Touch { write: true, ..self.reads() }
    }
}

impl Steps {
    /// Elements in all.
    pub fn count(self) -> usize {
        self.part.len.div_ceil(self.step)
    }

    /// Where they are.
    pub fn places(self) -> impl Iterator<Item = usize> {
        self.part.range().step_by(self.step)
    }
}

impl Kernel {
    /// What it reads, and what it writes.
    pub fn parts(&self) -> (Vec<Part>, Part) {
        match *self {
            Kernel::Mix { x, y, .. } | Kernel::Saxpy { x, y, .. } => (vec![x], y),
            Kernel::Add { x, y, z } => (vec![x, y], z),
            Kernel::Iota { out, .. } => (vec![], out),
            Kernel::Histogram { values, bins } => (vec![values], bins),
        }
    }
}

impl Op {
    /// The queue that it is enqueued on.
    pub fn queue(&self) -> Option<Id> {
        match *self {
            Op::Fill { q, .. }
            | Op::Upload { q, .. }
            | Op::Copy { q, .. }
            | Op::CopyRegion { q, .. }
            | Op::ReadRegion { q, .. }
            | Op::Launch { q, .. }
            | Op::Read { q, .. }
            | Op::UploadPinned { q, .. }
            | Op::Download { q, .. }
            | Op::Array { by: Maker::Queue(q), .. } => Some(q),
            _ => None,
        }
    }

    /// What its work on the device does to memory. An array that a queue makes is written there.
    pub fn touches(&self) -> Vec<Touch> {
        match *self {
            Op::Fill { dst, .. } | Op::Upload { dst, .. } => vec![dst.writes()],
            Op::Copy { src, dst, .. } => vec![src.reads(), dst.writes()],
            Op::CopyRegion { src, dst, .. } => vec![src.part.reads(), dst.part.writes()],
            Op::ReadRegion { src, .. } => vec![src.part.reads()],
            Op::Read { src, .. } => vec![src.reads()],
            Op::UploadPinned { p, start, dst, .. } => {
                let range = start..start + dst.len;
                vec![Touch { memory: Memory::Up(p), range, write: false }, dst.writes()]
            }
            Op::Download { src, d, .. } => {
                vec![src.reads(), Touch { memory: Memory::Down(d), range: 0..src.len, write: true }]
            }
            Op::Launch { ref kernel, .. } => {
                let (reads, write) = kernel.parts();
                reads.into_iter().map(Part::reads).chain([write.writes()]).collect()
            }
            Op::Array { a, by: Maker::Queue(_), len, .. } => vec![Part { a, start: 0, len }.writes()],
            _ => Vec::new(),
        }
    }

    /// What the host does to memory in it, once all earlier work allows.
    pub fn host_touch(&self) -> Option<Touch> {
        match *self {
            Op::MapRead { part, .. } => Some(part.reads()),
            Op::MapWrite { part, .. } => Some(part.writes()),
            Op::WritePinned { p, .. } => {
                Some(Touch { memory: Memory::Up(p), range: 0..usize::MAX, write: true })
            }
            Op::ReadPinned { d } => {
                Some(Touch { memory: Memory::Down(d), range: 0..usize::MAX, write: false })
            }
            _ => None,
        }
    }
}

impl Touch {
    /// Whether the two must not happen at once.
    pub fn conflicts(&self, other: &Touch) -> bool {
        let apart = self.range.end <= other.range.start || other.range.end <= self.range.start;
        self.memory == other.memory && !apart && (self.write || other.write)
    }
}

/// The elements that a seed stands for.
pub fn elements(seed: u32, len: usize) -> Vec<u32> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state ^ (state >> 16)
    };
    (0..len).map(next).collect()
}
