//! A mistake that a check found.

use crate::error::{Fault, Place};
use std::fmt::{self, Display, Formatter};
use std::panic::Location;

/// An invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InvocationId {
    /// The built-in value `global_invocation_id`.
    pub global: [u32; 3],
    /// The built-in value `workgroup_id`.
    pub workgroup: [u32; 3],
}

/// An invocation at a place in the shader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Invocation that executes the step.
    pub invocation: InvocationId,
    /// Place in the shader, if it is known.
    pub place: Option<Place>,
}

/// Kind of an access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessKind {
    /// Plain load.
    Read,
    /// Plain store.
    Write,
    /// The function `atomicLoad`.
    AtomicRead,
    /// The function `atomicStore`.
    AtomicWrite,
    /// Read and write in one step, as in `atomicAdd`. A compare-exchange is one even if it stores nothing.
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

    /// Returns `true` if unordered accesses of these kinds to one byte are a race.
    pub const fn conflicts(self, other: Self) -> bool {
        (self.writes() || other.writes()) && !(self.is_atomic() && other.is_atomic())
    }
}

/// An access to memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Kind of the access.
    pub kind: AccessKind,
    /// Invocation and place of the access.
    pub step: Step,
}

/// A scalar in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Name of the variable.
    pub array: String,
    /// Name of the scalar in WGSL, such as `out[3].x`.
    pub path: String,
}

/// Two unordered accesses to one scalar: at least one writes, and at least one is not atomic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// Scalar that both access.
    pub element: Element,
    /// `true` for a scalar in a buffer, whose accesses within a workgroup are ordered by `storageBarrier`. `false` for
    /// a workgroup variable, which needs `workgroupBarrier`.
    pub in_buffer: bool,
    /// Access that comes first in the shader.
    pub one: Access,
    /// The other access.
    pub other: Access,
}

/// Reason why an invocation does not reach a barrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absent {
    /// It waits at another barrier, or at the same one in another call of a function.
    Waits(Step),
    /// It has ended.
    Ended(InvocationId),
}

/// A kind of mistake, with its details.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mistake {
    /// Two invocations of a workgroup access a scalar, and no barrier for its memory separates the accesses.
    RaceInWorkgroup(Race),
    /// Two invocations of different workgroups access a scalar in a buffer.
    RaceBetweenWorkgroups(Race),
    /// An invocation reads memory that nothing wrote before.
    UnwrittenRead {
        /// First scalar that was not written.
        element: Element,
        /// Access that reads it.
        access: Access,
    },
    /// An index is past the end.
    IndexOutOfRange {
        /// Step that accesses the element.
        step: Step,
        /// Name of the array, the vector or the matrix.
        array: String,
        /// Value of the index.
        index: i128,
        /// Number of elements.
        len: u64,
    },
    /// Not all invocations of a workgroup reach a barrier. The launch ended there.
    BarrierMissed {
        /// Invocation that waits at the barrier.
        waits: Step,
        /// Invocation that does not reach it.
        absent: Absent,
    },
    /// An integer is divided by zero.
    DivisionByZero {
        /// Step that divides.
        step: Step,
        /// Operation with its values.
        operation: String,
    },
    /// The least integer of its type is divided by -1.
    DivisionOverflow {
        /// Step that divides.
        step: Step,
        /// Operation with its values.
        operation: String,
    },
    /// An integer is shifted by its width or more.
    ShiftOutOfRange {
        /// Step that shifts.
        step: Step,
        /// Operation with its values.
        operation: String,
    },
    /// A float that is NaN or too large becomes an integer.
    ConversionOutOfRange {
        /// Step that converts.
        step: Step,
        /// Operation with its values.
        operation: String,
    },
    /// An operation makes a NaN from operands that are not NaN.
    NewNan {
        /// Step that performs the operation.
        step: Step,
        /// Operation with its values.
        operation: String,
    },
}

/// A mistake that a check found in a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the entry point. In a context, the name of a library kernel begins with its verb: `sort/radix_count`.
    pub kernel: String,
    /// Mistake that was found. If the same mistake occurs several times, this is the occurrence with the lowest
    /// indices.
    pub mistake: Mistake,
    /// Number of occurrences. A race counts once for each word, each pair of accesses on these lines, and each interval
    /// between two barriers.
    pub count: u64,
    /// Line of the program that launched the kernel, if the caller of the run knows it.
    pub launch: Option<&'static Location<'static>>,
}

/// Outcome of a run with checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedRun {
    /// Mistakes in the order of the shader, including those before a fault.
    pub findings: Vec<Finding>,
    /// Fault that ended the run early. A barrier that some invocations miss is a finding, not a fault.
    pub fault: Option<Fault>,
}

impl Finding {
    /// Returns `true` if a finding of another run is the same mistake: in the same kernel and launch, at the same
    /// lines, with the same array. The invocations, the element and the values may differ.
    pub fn is_same_mistake(&self, other: &Self) -> bool {
        self.kernel == other.kernel && self.launch == other.launch && self.mistake.is_like(&other.mistake)
    }

    /// Returns the place of the mistake; for a race, the place that comes first in the shader.
    pub fn place(&self) -> Option<&Place> {
        self.mistake.step().place.as_ref()
    }
}

impl Mistake {
    /// Returns the step of the mistake; for a race, the step that comes first in the shader.
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

    /// Returns `true` if another mistake is of the same kind, on the same lines, and with the same array.
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
                write_operation(f, operation, "divides the smallest integer by -1", step)
            }
            Self::ShiftOutOfRange { step, operation } => {
                write_operation(f, operation, "shifts an integer by its width or more", step)
            }
            Self::ConversionOutOfRange { step, operation } => {
                write_operation(f, operation, "has a value that the integer type lacks", step)
            }
            Self::NewNan { step, operation } => {
                write_operation(f, operation, "is NaN, although no operand is", step)
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

/// Writes a description of an invocation's step, with the line of code and a caret.
fn write_step(f: &mut Formatter<'_>, verb: &dyn Display, step: &Step) -> fmt::Result {
    write!(f, "\n  {} {verb}", step.invocation)?;
    let Some(place) = &step.place else { return Ok(()) };
    let indent = place.text.len() - place.text.trim_start().len();
    let before = place.text.get(indent..place.column.saturating_sub(1)).unwrap_or("");
    let gap: String = before.chars().map(|c| if c == '\t' { c } else { ' ' }).collect();
    write!(f, " at {place}\n    {}\n    {gap}^", place.text.trim())
}
