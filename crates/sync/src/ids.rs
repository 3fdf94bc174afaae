//! Identifiers of points of queues, batches, and holds of queues.

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
    /// Slot of the queue.
    pub slot: Slot,
    /// Stamp of the last command that the point covers.
    pub stamp: Stamp,
}

impl Point {
    /// Point before every command.
    pub const START: Point = Point { slot: Slot(0), stamp: Stamp(0) };
}

/// Number of a batch, in the order in which a context plans its batches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Seq(pub u64);

/// Number of a user event or a host callback that can hold a queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HoldId(pub u64);
