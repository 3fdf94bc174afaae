//! What programs are made of. `Debug` prints each operation as a line of pseudo-code.

use std::fmt;
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
    Launch {
        q: Id,
        kernel: Kernel,
    },
    Read {
        q: Id,
        r: Id,
        src: Part,
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

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a{}[{}..{}]", self.a, self.start, self.end())
    }
}

impl fmt::Debug for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wait::Block => f.write_str("wait()"),
            Wait::Await => f.write_str("await"),
            Wait::Within(us) => write!(f, "wait_timeout({us} us)"),
            Wait::Look => f.write_str("is_complete()"),
        }
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kernel::Mix { a, b, x, y } => write!(f, "mix(y={y:?}, a={a}, x={x:?}, b={b})"),
            Kernel::Add { x, y, z } => write!(f, "add(x={x:?}, y={y:?}, z={z:?})"),
            Kernel::Saxpy { a, x, y } => write!(f, "saxpy(a={a}, x={x:?}, y={y:?})"),
            Kernel::Iota { start, step, out } => write!(f, "iota(start={start}, step={step}, out={out:?})"),
            Kernel::Histogram { values, bins } => write!(f, "histogram(values={values:?}, bins={bins:?})"),
        }
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Queue { q, urgency } => write!(f, "q{q} = ctx.queue(priority {urgency})"),
            Op::Fork { q, from } => write!(f, "q{q} = q{from}.fork()"),
            Op::DropQueue { q } => write!(f, "drop(q{q})"),
            Op::Array { a, by, ty, len, contents } => {
                let by = if let Maker::Queue(q) = by { format!("q{q}") } else { "ctx".into() };
                let ty = if *ty == Ty::U32 { "u32" } else { "i32" };
                let what = match contents {
                    Contents::Zeros => "zeros(".into(),
                    Contents::Full(value) => format!("full({value}, "),
                    Contents::Elements(seed) => format!("array(random({seed}), "),
                    Contents::Empty => "empty(".into(),
                };
                write!(f, "a{a} = {by}.{what}{len} x {ty})")
            }
            Op::DropArray { a } => write!(f, "drop(a{a})"),
            Op::Fill { q, dst, value } => write!(f, "q{q}.fill({dst:?}, {value})"),
            Op::Upload { q, dst, seed } => write!(f, "q{q}.upload(random({seed}), {dst:?})"),
            Op::Copy { q, src, dst } => write!(f, "q{q}.copy({src:?}, {dst:?})"),
            Op::Launch { q, kernel } => write!(f, "q{q}.launch {kernel:?}"),
            Op::Read { q, r, src } => write!(f, "r{r} = q{q}.read({src:?})"),
            Op::WaitRead { r, how } => write!(f, "r{r}.{how:?}"),
            Op::DropRead { r } => write!(f, "drop(r{r})"),
            Op::Pin { p, len } => write!(f, "p{p} = ctx.pinned::<Upload>({len})"),
            Op::WritePinned { p, seed } => write!(f, "p{p}.write(random({seed}))"),
            Op::UploadPinned { q, p, start, dst } => write!(f, "q{q}.upload(p{p}[{start}..], {dst:?})"),
            Op::PinBack { d, len } => write!(f, "d{d} = ctx.pinned::<Download>({len})"),
            Op::Download { q, src, d } => write!(f, "q{q}.download({src:?}, d{d})"),
            Op::ReadPinned { d } => write!(f, "d{d}.read()"),
            Op::Mark { e, q } => write!(f, "e{e} = q{q}.marker()"),
            Op::Record { e, q } => write!(f, "q{q}.record(e{e})"),
            Op::WaitFor { q, events } => write!(f, "q{q}.wait_for(e{events:?})"),
            Op::WaitForQueue { q, other } => write!(f, "q{q}.wait_for_queue(q{other})"),
            Op::Join { q, other } => write!(f, "q{q}.join(q{other})"),
            Op::WaitEvent { e, how } => write!(f, "e{e}.{how:?}"),
            Op::UserEvent { u } => write!(f, "u{u} = ctx.user_event()"),
            Op::WaitForUser { q, u } => write!(f, "q{q}.wait_for(u{u})"),
            Op::Signal { u } => write!(f, "u{u}.signal()"),
            Op::Callback { q } => write!(f, "q{q}.callback(..)"),
            Op::Flush { q } => write!(f, "q{q}.flush()"),
            Op::Finish { q, how } => write!(f, "q{q}.finish().{how:?}"),
            Op::MapRead { m, part } => write!(f, "m{m} = {part:?}.map_read()"),
            Op::MapWrite { m, part, seed } => write!(f, "m{m} = {part:?}.map_write() <- random({seed})"),
            Op::Unmap { m } => write!(f, "drop(m{m})"),
            Op::Trim => write!(f, "ctx.trim()"),
        }
    }
}
