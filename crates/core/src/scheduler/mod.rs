//! The scheduler turns the commands of queues into batches, and batches into submissions.
//!
//! # The life of a command
//!
//! A verb enqueues a command: it gets a *stamp* and goes to the end of its queue's list (`enqueue.rs`). Planning moves
//! commands from queues into *batches* (`plan.rs`). The holder of a lane's token submits a batch (`lanes.rs`). A batch
//! completes as a whole, when the fence of its lane passes the batch's value (`complete.rs`). Blocking calls plan and
//! submit up to the point that they wait for, and then wait for the fence on their own thread (`wait.rs`).
//!
//! The messages of a launch are a batch of their own, which the host completes when it has delivered them
//! (`messages.rs`). No work on the device waits for it.
//!
//! A loop in chunks stays at the front of its queue, and each planning moves one chunk into a batch (`replays.rs`).
//! While two chunks are planned, the loop holds the queue. When a chunk is complete, a waker of the context reads
//! whether the loop goes on, and releases the hold (`replays.rs`).
//!
//! # Invariants
//!
//! 1. **Stamps order everything.** Each command gets a stamp of the context, and stamps only grow. A wait refers to a smaller stamp
//!    than its own. Therefore planning ends, and no cycle of waits exists.
//! 2. **A device waits only for submitted work.** A submission names only values of other lanes that are submitted already. A
//!    command that waits for a user event, a host callback or another context stays in the list of its queue, on the host. Therefore
//!    all submissions have one order in which each depends only on earlier ones, no deadlock exists on the device, and a held queue
//!    delays no other queue.
//! 3. **The state lock S guards bookkeeping only.** No thread holds S across a device call, a wait, user code, or
//!    the drop of an array. Under S a thread takes only locks that guard one value during one call, such as the uses of a block, the
//!    outcome of a signal or the place of a read, and it takes no lock under those. No thread holds the S of two contexts. Wakers,
//!    callbacks and drops are collected in `State::after` and run after S is released.
//! 4. **The token of a lane is the right to submit.** It is a flag in S. Only the lane thread waits for it. A failed submission gives
//!    its value back, so the values of a lane have no gap.
//! 5. **Enqueueing neither submits nor blocks.** Only waits block (`wait.rs`, `relay.rs`, `host_guard.rs`), and a call on a queue
//!    that fills the backlog of the context (`enqueue.rs`). `flush` starts work and returns.
//! 6. **Some submission is always possible.** The unsubmitted batch with the smallest number depends only on submitted batches. So as
//!    long as batches are planned, a thread with a free token can submit one.
//! 7. **A native wait is for a submitted value**, in slices of at most 100 ms, or 10 s in a context without threads. After each
//!    slice the waiter polls for the loss of the device.
//! 8. **Progress only grows.** For each lane `completed <= submitted < pending`; for each queue `completed <= planned <= enqueued`,
//!    as stamps. `debug_assert`s check both.
//! 9. **A result is late by a bounded device time**, whenever the program asks for it. The planner has one rule for this, and a cut
//!    changes no order.
//!
//! # The planner's rule
//!
//! A command is *short* if it is expected to take at most the bound of rule E02. Otherwise, or if it was never
//! measured, it is *long*. The short commands of all queues share a batch until together they take as long as the
//! bound; a long command begins a batch, and short ones may follow it. Short batches come before long ones that they do
//! not depend on, even if those are already planned but not submitted. While a batch waits to be submitted, later
//! commands gather, except short ones before a long batch. The oldest long command comes first after as much short work
//! as one planning takes, and after four batches that overtook it.
//!
//! Indexes follow the queues that a call has changed, so that no call looks at all queues (`queues.rs`). Arrays that
//! the context makes are commands of its own queue; while many are pending, a command that is planned takes along only
//! those that it needs (`plan/open_batch.rs`).
//!
//! The loom models in `loom_models/` check 1 to 6 in every interleaving of the threads; the random programs check the
//! results.

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
pub(crate) mod wait;
pub(crate) mod wakers;
