//! From logical queues to submissions.
//!
//! Every command gets a context-wide stamp when it is enqueued, and a wait refers only to a smaller stamp: planning
//! ends, and no cycle of waits can be built. Planning moves commands from queues to batches, pumping submits
//! batches, completion is noted when a lane's fence has moved. One lock, S, guards all bookkeeping; it is never
//! held across device calls, waits, user code or drops of arrays.

mod alarm;
mod all;
mod asking;
mod batch;
mod callbacks;
mod chunks;
mod close;
mod complete;
mod costs;
mod cycles;
mod dump;
mod engine;
mod enqueue;
mod failure;
mod failures;
mod handles;
mod host;
mod kernel_names;
mod lane;
#[cfg(all(test, fencepost_loom))]
mod loom_models;
mod own_lane;
mod plan;
mod profiling;
mod pump;
mod queue;
mod sent;
mod shield;
mod state;
#[cfg(not(target_arch = "wasm32"))]
mod threads;
mod timing;
mod told;
mod wait;
mod wakers;
#[cfg(target_arch = "wasm32")]
mod web;

pub(crate) use batch::Seq;
pub(crate) use callbacks::signal;
pub(crate) use engine::Engine;
pub(crate) use failures::Stretch;
pub(crate) use host::{Claim, HostAccess, Want};
pub(crate) use own_lane::stand_aside;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use own_lane::take_post;
pub(crate) use profiling::{Cause, Entry, Noted, NotedCommand, Notes, QueueKey};
pub(crate) use queue::HoldId;
pub use queue::Priority;
pub(crate) use shield::{drop_all, wake_each};
pub(crate) use state::State;
pub(crate) use timing::Moment;
pub(crate) use wait::Deadline;
