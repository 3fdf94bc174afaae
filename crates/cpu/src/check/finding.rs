//! A mistake that a check found.

use crate::error::{Fault, Place};
use std::fmt::{self, Display, Formatter};
use std::panic::Location;

/// Names an invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InvocationId {
    /// Is `global_invocation_id`.
    pub global: [u32; 3],
    /// Is `workgroup_id`.
    pub workgroup: [u32; 3],
}

/// Says which invocation was at which place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Names the invocation.
    pub invocation: InvocationId,
    /// Is the place in the text, if it is known.
    pub place: Option<Place>,
}

/// Says how an invocation accesses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessKind {
    /// Is a plain load.
    Read,
    /// Is a plain store.
    Write,
    /// Is `atomicLoad`.
    AtomicRead,
    /// Is `atomicStore`.
    AtomicWrite,
    /// Reads and writes in one step, as `atomicAdd` does. A compare-exchange counts as one even if it stores nothing.
    AtomicChange,
}

impl AccessKind {
    /// Returns `true` if the access reads.
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::AtomicRead | Self::AtomicChange)
    }

    /// Returns `true` if the access writes.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::AtomicWrite | Self::AtomicChange)
    }

    /// Returns `true` for an atomic access.
    pub const fn is_atomic(self) -> bool {
        matches!(self, Self::AtomicRead | Self::AtomicWrite | Self::AtomicChange)
    }

    /// Returns `true` if two accesses of one byte without an order are a race.
    pub const fn conflicts(self, other: Self) -> bool {
        (self.writes() || other.writes()) && !(self.is_atomic() && other.is_atomic())
    }
}

/// Is an access of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Says how.
    pub kind: AccessKind,
    /// Says by which invocation and where.
    pub step: Step,
}

/// Names a scalar in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Names the variable.
    pub array: String,
    /// Names the scalar as WGSL does: `out[3].x`.
    pub path: String,
}

/// Are two accesses of one scalar without an order, of which one writes and one is not atomic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// Is the scalar.
    pub element: Element,
    /// Is `true` for a scalar of a buffer: `storageBarrier` orders its accesses within a workgroup. Accesses to a variable
    /// of the workgroup are ordered by `workgroupBarrier`.
    pub in_buffer: bool,
    /// Is the access that comes first in the text.
    pub one: Access,
    /// Is the other access.
    pub other: Access,
}

/// Says where an invocation is that does not come to a barrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absent {
    /// Waits at another barrier, or at the same one in another call of a function.
    Waits(Step),
    /// Has ended.
    Ended(InvocationId),
}

/// Says what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mistake {
    /// Two invocations of a workgroup access a scalar, and no barrier for this memory is between them.
    RaceInWorkgroup(Race),
    /// Two invocations of different workgroups access a scalar of a buffer.
    RaceBetweenWorkgroups(Race),
    /// An invocation reads memory that nothing wrote before.
    UnwrittenRead {
        /// Is the first scalar that was not written.
        element: Element,
        /// Is the read.
        access: Access,
    },
    /// An index is past the end.
    IndexOutOfRange {
        /// Is the step that takes the element.
        step: Step,
        /// Names the array, the vector or the matrix.
        array: String,
        /// Is the index.
        index: i128,
        /// Counts the elements.
        len: u64,
    },
    /// Not all invocations of a workgroup come to a barrier. The launch ended there.
    BarrierMissed {
        /// Waits at the barrier.
        waits: Step,
        /// Does not come to it.
        absent: Absent,
    },
    /// An integer is divided by zero.
    DivisionByZero {
        /// Is the step that divides.
        step: Step,
        /// Is the operation with its values.
        operation: String,
    },
    /// The least integer of its type is divided by -1.
    DivisionOverflow {
        /// Is the step that divides.
        step: Step,
        /// Is the operation with its values.
        operation: String,
    },
    /// An integer is shifted by its width or more.
    ShiftOutOfRange {
        /// Is the step that shifts.
        step: Step,
        /// Is the operation with its values.
        operation: String,
    },
    /// A float that is NaN or too large becomes an integer.
    ConversionOutOfRange {
        /// Is the step that converts.
        step: Step,
        /// Is the operation with its values.
        operation: String,
    },
    /// An operation makes a NaN from operands that are none.
    NewNan {
        /// Is the step that computes.
        step: Step,
        /// Is the operation with its values.
        operation: String,
    },
}

/// Is a mistake that a check found in a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Names the entry point. In a context, a kernel of a verb of the library has the name of the verb too: `sort/radix_count`.
    pub kernel: String,
    /// Says what is wrong. Where the same mistake is there several times, this is the one with the least numbers.
    pub mistake: Mistake,
    /// Says how often the mistake is there. A race counts once for each word, for each pair of places of its lines, and for
    /// each time between two barriers.
    pub count: u64,
    /// Is the line of the program that launched the kernel, if the caller of the run knows it.
    pub launch: Option<&'static Location<'static>>,
}

/// Is the outcome of a run with checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedRun {
    /// Lists the mistakes in the order of the text, those before a fault too.
    pub findings: Vec<Finding>,
    /// Is the fault that ended the run early. A barrier that some invocations miss is a finding, and no fault.
    pub fault: Option<Fault>,
}

impl Finding {
    /// Returns `true` if a finding of another run is the same mistake: of the same kernel and launch, at the same lines,
    /// and with the same array. The invocations, the element and the values may differ.
    pub fn is_same_mistake(&self, other: &Self) -> bool {
        self.kernel == other.kernel && self.launch == other.launch && self.mistake.is_like(&other.mistake)
    }

    /// Returns the place of the mistake; for a race, the place that comes first in the text.
    pub fn place(&self) -> Option<&Place> {
        self.mistake.step().place.as_ref()
    }
}

impl Mistake {
    /// Returns the step of the mistake; for a race, the one that comes first in the text.
    pub fn step(&self) -> &Step {
        match self {
            Self::RaceInWorkgroup(race) | Self::RaceBetweenWorkgroups(race) => &race.one.step,
            Self::UnwrittenRead { access, .. } => &access.step,
            Self::IndexOutOfRange { step, .. }
            | Self::BarrierMissed { waits: step, .. }
            | Self::DivisionByZero { step, .. }
            | Self::DivisionOverflow { step, .. }
            | Self::ShiftOutOfRange { step, .. }
            | Self::ConversionOutOfRange { step, .. }
            | Self::NewNan { step, .. } => step,
        }
    }

    /// Returns the second step of the mistake, if it has two.
    fn other_step(&self) -> Option<&Step> {
        match self {
            Self::RaceInWorkgroup(race) | Self::RaceBetweenWorkgroups(race) => Some(&race.other.step),
            Self::BarrierMissed { absent: Absent::Waits(step), .. } => Some(step),
            _ => None,
        }
    }

    /// Returns the name of the array of the mistake, if it has one.
    fn array(&self) -> Option<&str> {
        match self {
            Self::RaceInWorkgroup(race) | Self::RaceBetweenWorkgroups(race) => Some(&race.element.array),
            Self::UnwrittenRead { element, .. } => Some(&element.array),
            Self::IndexOutOfRange { array, .. } => Some(array),
            _ => None,
        }
    }

    /// Returns `true` if another mistake is of the same kind, at the same lines and with the same array.
    fn is_like(&self, other: &Self) -> bool {
        let line = |step: Option<&Step>| {
            step.and_then(|step| step.place.as_ref()).map(|place| (place.label.clone(), place.line))
        };
        std::mem::discriminant(self) == std::mem::discriminant(other)
            && line(Some(self.step())) == line(Some(other.step()))
            && line(self.other_step()) == line(other.other_step())
            && self.array() == other.array()
    }
}

impl Display for AccessKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::AtomicRead => "atomically reads",
            Self::AtomicWrite => "atomically writes",
            Self::AtomicChange => "atomically changes",
        })
    }
}

impl Display for InvocationId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "invocation {:?} of workgroup {:?}", self.global, self.workgroup)
    }
}

impl Display for Finding {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}`: {}", self.kernel, self.mistake)?;
        if self.count > 1 {
            write!(f, "\n  = {} times in all", self.count)?;
        }
        self.launch.map_or(Ok(()), |line| write!(f, "\n  = launched at {line}"))
    }
}

impl Display for Mistake {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::RaceInWorkgroup(race) => {
                let barrier = if race.in_buffer { "storageBarrier" } else { "workgroupBarrier" };
                let path = &race.element.path;
                write!(
                    f,
                    "two invocations of a workgroup access `{path}` without a `{barrier}` between them"
                )?;
                if race.in_buffer {
                    write!(f, ", which orders accesses to buffers")?;
                }
                write_race(f, race)
            }
            Self::RaceBetweenWorkgroups(race) => {
                write!(f, "two workgroups access `{}`, and no barrier orders workgroups", race.element.path)?;
                write_race(f, race)
            }
            Self::UnwrittenRead { element, access } => {
                write!(f, "nothing wrote `{}` before this read", element.path)?;
                write_step(f, &access.kind, &access.step)
            }
            Self::IndexOutOfRange { step, array, index, len } => {
                write!(f, "index {index} is out of range: `{array}` has {len} elements")?;
                write_step(f, &"takes an element", step)
            }
            Self::BarrierMissed { waits, absent } => {
                write!(f, "only some invocations of a workgroup come to a barrier")?;
                write_step(f, &"waits", waits)?;
                match absent {
                    Absent::Waits(step) => write_step(f, &"waits", step),
                    Absent::Ended(invocation) => write!(f, "\n  {invocation} has ended"),
                }
            }
            Self::DivisionByZero { step, operation } => {
                write_operation(f, operation, "divides an integer by zero", step)
            }
            Self::DivisionOverflow { step, operation } => {
                write_operation(f, operation, "divides the least integer by -1", step)
            }
            Self::ShiftOutOfRange { step, operation } => {
                write_operation(f, operation, "shifts an integer by its width or more", step)
            }
            Self::ConversionOutOfRange { step, operation } => {
                write_operation(f, operation, "has a value that the integer type lacks", step)
            }
            Self::NewNan { step, operation } => {
                write_operation(f, operation, "is NaN, and no operand is", step)
            }
        }
    }
}

fn write_race(f: &mut Formatter<'_>, race: &Race) -> fmt::Result {
    write_step(f, &race.one.kind, &race.one.step)?;
    write_step(f, &race.other.kind, &race.other.step)
}

fn write_operation(f: &mut Formatter<'_>, operation: &str, problem: &str, step: &Step) -> fmt::Result {
    write!(f, "`{operation}` {problem}")?;
    write_step(f, &"computes this", step)
}

/// Writes what an invocation does, with the line and a caret below the place.
fn write_step(f: &mut Formatter<'_>, verb: &dyn Display, step: &Step) -> fmt::Result {
    write!(f, "\n  {} {verb}", step.invocation)?;
    let Some(place) = &step.place else { return Ok(()) };
    let indent = place.text.len() - place.text.trim_start().len();
    let before = place.text.get(indent..place.column.saturating_sub(1)).unwrap_or("");
    let gap: String = before.chars().map(|c| if c == '\t' { c } else { ' ' }).collect();
    write!(f, " at {place}\n    {}\n    {gap}^", place.text.trim())
}
