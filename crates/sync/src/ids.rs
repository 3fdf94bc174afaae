//! The numbers that name a point of a queue, a batch, and the hold of a queue.

use crate::clock::{Slot, Stamp};

/// A point in the order of one queue: it covers every command of the queue up to the stamp.
///
/// # Example
/// ```
/// use fencepost_sync::{Point, Slot, Stamp};
/// let point = Point { slot: Slot(1), stamp: Stamp(7) };
/// assert_ne!(point, Point::START);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    /// Names the queue.
    pub slot: Slot,
    /// Names the last command that the point covers.
    pub stamp: Stamp,
}

impl Point {
    /// Lies before every command.
    pub const START: Point = Point { slot: Slot(0), stamp: Stamp(0) };
}

/// Numbers the batches of a context in the order in which they are planned.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Seq(pub u64);

/// Names a user event or a host callback that can hold a queue back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HoldId(pub u64);
