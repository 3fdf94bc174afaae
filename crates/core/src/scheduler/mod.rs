//! The scheduler turns the commands of queues into batches, and batches into submissions.
//!
//! # The life of a command
//!
//! A verb enqueues a command: it gets a *stamp* and goes to the end of its queue's list (`enqueue.rs`). Planning moves
//! commands from queues into *batches* (`plan.rs`). The holder of a lane's token submits a batch (`lanes.rs`). A batch
//! completes as a whole, when the fence of its lane passes the batch's value (`complete.rs`). Blocking calls plan and
//! submit up to the point that they wait for, and then wait for the fence on their own thread (`wait.rs`).
//!
//! The messages of a launch are a separate batch, which the host completes once it has delivered them (`messages.rs`).
//! No device work waits for it.
//!
//! A chunked loop stays at the front of its queue, and each planning moves one chunk into a batch. While two chunks are
//! planned, the loop holds the queue. When a chunk completes, a waker of the context reads whether the loop goes on,
//! and releases the hold (`replays.rs`).
//!
//! # Invariants
//!
//! 1. **Stamps order everything.** Each command gets a stamp of the context, and stamps only grow. A wait refers to a
//!    smaller stamp than its own. So planning ends, and there are no cycles of waits.
//! 2. **A device waits only for submitted work.** A submission waits only for values of other lanes that are already
//!    submitted. A command that waits for a user event, a host callback or another context stays on the host, in the
//!    list of its queue. So the submissions can be ordered such that each depends only on earlier ones, the device
//!    cannot deadlock, and a held queue delays no other queue.
//! 3. **The state lock S guards bookkeeping only.** No thread holds S across a device call, a wait, user code, or the
//!    drop of an array. Under S, a thread takes only locks that guard a single value during a single call, such as the
//!    uses of a block, the result of a user event or the place of a read; under those, it takes no further lock. No
//!    thread holds the S of two contexts at once. Wakers, callbacks and drops are collected in `State::after` and run
//!    after S is released.
//! 4. **The token of a lane is the right to submit.** It is a flag under S. Only the lane thread waits for it. A failed
//!    submission gives its value back, so the values of a lane have no gaps.
//! 5. **Enqueueing neither submits nor blocks.** Only waits block (`wait.rs`, `relay.rs`, `host_guard.rs`), and calls
//!    on a queue while the backlog of the context is full (`enqueue.rs`). `flush` starts work and returns.
//! 6. **Some submission is always possible.** The oldest unsubmitted batch depends only on submitted batches. So as
//!    long as there are planned batches, a thread that can take the lane's token can submit one.
//! 7. **A native wait is for a submitted value**, in slices of at most 100 ms, or 10 s in a context without threads.
//!    After each slice, the waiter polls for the loss of the device.
//! 8. **Progress only grows.** For each lane `completed <= submitted < pending`; for each queue `completed <= planned
//!    <= enqueued`, as stamps. Both are checked by `debug_assert`s.
//! 9. **The delay of a result is bounded**, in device time, whenever the program asks for the result. The planner's
//!    rule below ensures this. Cutting a batch never changes the order of commands.
//!
//! # The planner's rule
//!
//! A command is *short* if it is expected to take at most the bound of rule E02. Otherwise, or if it was never
//! measured, it is *long*. The short commands of all queues share a batch until their total time reaches the bound. A
//! long command begins a batch, which short ones may then join. Short batches pass long batches that they do not depend
//! on, even if those are already planned, as long as they are not submitted. While a batch waits for submission, later
//! commands gather, except short ones that may pass a long batch. Long commands do not starve: the oldest one goes
//! first after one planning's worth of short work, and after four batches have overtaken it.
//!
//! Indexes are updated for the queues that a call has changed, so that no call looks at all queues (`queues.rs`). The
//! arrays that the context makes are filled by commands of its own queue; while many of these are pending, planning a
//! command also plans only those that it needs (`plan/open_batch.rs`).
//!
//! The loom models in `loom_models/` check invariants 1 to 6 under every interleaving of threads. Random programs check
//! the results.

pub(crate) mod batch;
pub(crate) mod callbacks;
pub(crate) mod complete;
pub(crate) mod costs;
pub(crate) mod engine;
pub(crate) mod enqueue;
pub(crate) mod host_guard;
pub(crate) mod lanes;
#[cfg(all(test, fencepost_loom))]
pub(crate) mod loom_models;
pub(crate) mod messages;
pub(crate) mod ordering;
pub(crate) mod plan;
pub(crate) mod queue;
pub(crate) mod queues;
pub(crate) mod relay;
pub(crate) mod replays;
pub(crate) mod state;
#[cfg(test)]
pub(crate) mod test_engine;
pub(crate) mod threads;
pub(crate) mod times;
#[cfg(target_arch = "wasm32")]
pub(crate) mod turn;
pub(crate) mod wait;
pub(crate) mod wakers;
