//! When GPU work is done: timelines, fences, clocks and late results.
//!
//! This crate knows nothing of buffers or kernels. It holds the parts of `fencepost` that tell *when*:
//!
//! * [`Value`] and [`Timeline`]: the progress of one hardware queue as numbers that only grow;
//! * [`Fence`](backend::Fence): how a device's progress is asked for and waited for, one file a backend;
//! * [`Clock`]: what a command queue, or the host, is known to come after;
//! * [`Pending`]: the one late answer, a future with a blocking twin;
//! * [`Bell`]: the one waker of a future, however often it is polled.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod backend;
mod bell;
mod clock;
mod error;
mod ids;
mod pending;
pub mod prim;
mod send;
mod timeline;

pub use bell::{Bell, InTask, TasksLater, in_task};
pub use clock::{Clock, Slot, Stamp};
pub use error::{Error, Lost};
pub use ids::{HoldId, Point, Seq};
pub use pending::{Late, Pending, note_nested};
pub use send::{MaybeSend, MaybeSync};
pub use timeline::{Timeline, Value};
