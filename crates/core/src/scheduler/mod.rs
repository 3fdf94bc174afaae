//! From logical queues to submissions.
//!
//! Every command gets a context-wide stamp when it is enqueued, and a wait refers only to a smaller stamp: planning
//! ends, and no cycle of waits can be built. Planning moves commands from queues to batches, pumping submits
//! batches, completion is noted when a lane's fence has moved. One lock, S, guards all bookkeeping; it is never
//! held across device calls, waits, user code or drops of arrays.

pub(crate) mod all_queues;
pub(crate) mod batch;
pub(crate) mod callback_cycles;
pub(crate) mod callback_state;
pub(crate) mod callbacks;
pub(crate) mod chunked_list;
pub(crate) mod command;
pub(crate) mod command_costs;
pub(crate) mod complete;
pub(crate) mod deadline;
pub(crate) mod deferred_calls;
pub(crate) mod engine;
pub(crate) mod enqueue;
pub(crate) mod failed_batch;
pub(crate) mod failure_history;
pub(crate) mod free_blocks;
pub(crate) mod handle_points;
pub(crate) mod hardware_queue;
pub(crate) mod host_clock;
pub(crate) mod host_guard;
pub(crate) mod kernel_names;
pub(crate) mod lane_state;
#[cfg(all(test, fencepost_loom))]
pub(crate) mod loom_models;
#[cfg(target_arch = "wasm32")]
pub(crate) mod microtasks;
pub(crate) mod ordering;
pub(crate) mod plan;
pub(crate) mod priority;
pub(crate) mod profile_log;
pub(crate) mod profile_notes;
pub(crate) mod queue_state;
pub(crate) mod queue_times;
pub(crate) mod queue_timing;
pub(crate) mod relay;
pub(crate) mod repoll;
pub(crate) mod shutdown;
pub(crate) mod signaller;
pub(crate) mod state;
pub(crate) mod state_dump;
pub(crate) mod submit;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) mod thread_loops;
pub(crate) mod thread_posts;
pub(crate) mod thread_state;
pub(crate) mod thread_wakeups;
pub(crate) mod user_code;
pub(crate) mod user_signal;
pub(crate) mod wait;
pub(crate) mod wakers;
