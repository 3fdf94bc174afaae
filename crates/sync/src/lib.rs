//! When GPU work is done: timelines, fences, clocks and pending results.
//!
//! This crate does not know buffers or kernels. It contains the parts of `fencepost` that report *when* work is done:
//!
//! * [`TimelineValue`] and [`Timeline`]: the progress of one hardware queue as increasing numbers;
//! * [`Fence`](backend::Fence): reads the progress of a device and waits for it, with one implementation for each
//!   backend;
//! * [`Clock`]: the commands that are known to come before a command queue or before the host;
//! * [`Pending`]: a result that becomes available later, as a future and with blocking methods;
//! * [`TaskWaker`]: the single waker that a future registers, however often it is polled.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod backend;
mod clock;
mod error;
mod fork;
mod ids;
#[doc(hidden)]
pub mod loader;
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub mod page;
mod pending;
#[doc(hidden)]
pub mod prim;
mod send;
mod task_waker;
mod timeline;

pub use clock::{Clock, Slot, Stamp};
pub use error::{Error, Lost};
pub use fork::{PerProcess, Process};
pub use ids::{HoldId, Point, Seq};
pub use pending::{Late, Pending, note_nested};
pub use send::MaybeSend;
pub use task_waker::{InTask, TaskWaker, TasksLater, in_task};
pub use timeline::{Timeline, TimelineValue};
