//! Operations of programs.

pub use super::parts::{Every, Frame, Part, Pick, Rows, Steps, Window};

/// Number of an object. Queues, arrays, events and so on are numbered separately.
pub type Id = usize;

/// A context of the program: 0 or 1.
pub type Ctx = usize;

/// One step of a program.
#[derive(Clone, PartialEq)]
pub enum Op {
    Queue { q: Id, urgency: i32, at: Ctx },
    // Use of the default queue of a context.
    Default { q: Id, at: Ctx },
    Fork { q: Id, from: Id },
    DropQueue { q: Id },
    MakeCurrent { q: Id },
    // Call of a verb of the context, inside scopes from the outermost to the innermost. `before` is current outside of
    // them.
    Within { before: Option<Id>, scopes: Vec<Scope>, op: Box<Op> },
    Array { a: Id, by: Maker, ty: Ty, len: usize, contents: Contents },
    // Creation of an array of two dimensions whose memory may be larger than its shape.
    Table { a: Id, by: Maker, frame: Frame, zeros: bool },
    DropArray { a: Id },
    Fill { q: Id, dst: Part, value: u32 },
    Upload { q: Id, dst: Part, seed: u32 },
    Copy { q: Id, src: Part, dst: Part },
    CopyRegion { q: Id, src: Pick, dst: Pick },
    UploadRegion { q: Id, dst: Pick, seed: u32 },
    FillRows { q: Id, dst: Rows, value: u32 },
    UploadRows { q: Id, dst: Rows, seed: u32 },
    CopyRows { q: Id, src: Rows, dst: Rows },
    ReadRows { q: Id, r: Id, src: Rows },
    // Encoding of wgpu commands: a copy, or a clear if there is no source.
    Encode { q: Id, src: Option<Part>, dst: Part },
    Launch { q: Id, kernel: Kernel, how: How },
    Read { q: Id, r: Id, src: Part },
    ReadRegion { q: Id, r: Id, src: Pick },
    WaitRead { r: Id, how: Wait },
    DropRead { r: Id },
    // Creation of a pinned array to upload from.
    Pin { p: Id, len: usize },
    WritePinned { p: Id, seed: u32 },
    UploadPinned { q: Id, p: Id, start: usize, dst: Part },
    // Creation of a pinned array to download to.
    PinBack { d: Id, len: usize },
    Download { q: Id, src: Part, d: Id },
    ReadPinned { d: Id },
    // A new marker.
    Mark { e: Id, q: Id },
    // A second record of an existing event.
    Record { e: Id, q: Id },
    WaitFor { q: Id, events: Vec<Id> },
    WaitForQueue { q: Id, other: Id },
    WaitEvent { e: Id, how: Wait },
    UserEvent { u: Id, at: Ctx },
    WaitForUser { q: Id, u: Id },
    Signal { u: Id },
    Callback { q: Id },
    Flush { q: Id },
    Finish { q: Id, how: Wait },
    // A wait for all queues of a context.
    Synchronize { at: Ctx, how: Wait },
    MapRead { m: Id, part: Part },
    MapWrite { m: Id, part: Part, seed: u32 },
    Unmap { m: Id },
    Trim,
}

/// Type of an array's elements.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ty {
    U32,
    I32,
    /// Integers so small that every sum and product of them is exact.
    F32,
    /// Numbers of workgroups, as u32. They are 0 or 1, so that no two invocations have the same index.
    Groups,
}

/// Queue of a scope. If `waits` is set, its entry waits for the queue that was current before.
#[derive(Clone, Copy, PartialEq)]
pub struct Scope {
    pub q: Id,
    pub waits: bool,
}

/// Context or queue that makes an array.
#[derive(Clone, Copy, PartialEq)]
pub enum Maker {
    Context(Ctx),
    Queue(Id),
    /// The first context, if the array is a shared array for encoded commands.
    Shared,
}

/// Initial contents of an array.
#[derive(Clone, Copy, PartialEq)]
pub enum Contents {
    Zeros,
    Full(u32),
    /// Elements drawn from this seed.
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

/// A way to launch a kernel.
#[derive(Clone, Copy, PartialEq)]
pub enum How {
    /// Arguments checked when the test is compiled.
    Typed,
    /// Arguments checked at the call.
    Dyn,
    /// Numbers of workgroups read from three elements on the device.
    Indirect(Part),
}

/// A way in which the host waits.
#[derive(Clone, Copy, PartialEq)]
pub enum Wait {
    Block,
    Await,
    /// A wait of at most this number of microseconds.
    Within(u64),
    /// A single query, without a wait.
    Look,
}

impl Wait {
    /// Returns `true` if the wait returns only after the work is done.
    pub fn blocks(self) -> bool {
        matches!(self, Wait::Block | Wait::Await)
    }
}

impl Kernel {
    /// Returns the parts that the kernel reads, and the part that it writes.
    pub fn parts(&self) -> (Vec<Part>, Part) {
        match *self {
            Kernel::Mix { x, y, .. } | Kernel::Saxpy { x, y, .. } => (vec![x], y),
            Kernel::Add { x, y, z } => (vec![x, y], z),
            Kernel::Iota { out, .. } => (vec![], out),
            Kernel::Histogram { values, bins } => (vec![values], bins),
        }
    }
}

impl Ty {
    /// Converts a number to the bits of an element.
    pub fn element(self, number: u32) -> u32 {
        match self {
            Ty::U32 | Ty::I32 => number,
            Ty::F32 => ((number % 17) as f32 - 8.0).to_bits(),
            Ty::Groups => u32::from(!number.is_multiple_of(6)),
        }
    }

    /// Returns the elements drawn from a seed.
    pub fn elements(self, seed: u32, len: usize) -> Vec<u32> {
        elements(seed, len).into_iter().map(|number| self.element(number)).collect()
    }
}

impl Op {
    /// Returns the operation, or the verb inside its scopes.
    pub fn verb(&self) -> &Op {
        if let Op::Within { op, .. } = self { op } else { self }
    }

    /// Returns the waits before its verb, on entry to its scopes.
    pub fn waits(&self) -> Vec<Op> {
        let Op::Within { before, scopes, .. } = self else { return Vec::new() };
        let outer = [*before].into_iter().chain(scopes.iter().map(|scope| Some(scope.q)));
        let entries = scopes.iter().zip(outer).filter(|(scope, _)| scope.waits);
        entries.filter_map(|(scope, outer)| Some(Op::WaitForQueue { q: scope.q, other: outer? })).collect()
    }

    /// Returns `true` if the operation needs the second context.
    pub fn is_elsewhere(&self) -> bool {
        match self {
            Op::Queue { at, .. }
            | Op::Default { at, .. }
            | Op::Synchronize { at, .. }
            | Op::UserEvent { at, .. }
            | Op::Array { by: Maker::Context(at), .. }
            | Op::Table { by: Maker::Context(at), .. } => *at != 0,
            _ => false,
        }
    }

    /// Returns the read that the operation begins.
    pub fn begins_read(&self) -> Option<Id> {
        match *self.verb() {
            Op::Read { r, .. } | Op::ReadRegion { r, .. } | Op::ReadRows { r, .. } => Some(r),
            _ => None,
        }
    }
}

/// Returns the elements drawn from a seed.
pub fn elements(seed: u32, len: usize) -> Vec<u32> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state ^ (state >> 16)
    };
    (0..len).map(next).collect()
}
