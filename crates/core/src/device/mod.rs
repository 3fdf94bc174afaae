//! The contract of a new backend.
//!
//! A backend makes a device and one [`Lane`] for each of its hardware queues. It implements four traits, whose
//! documentation says for each method what the caller guarantees and what the implementer does:
//!
//! - [`Device`], below: the limits, staging memory, the compiler, the detection of a loss;
//! - [`Allocate::allocate`], a supertrait of `Device`: the memory of blocks (`memory/block.rs`);
//! - [`Recorder::submit`], below, one recorder for each lane: turns a batch into calls of a graphics interface, or into
//!   operations on host bytes;
//! - [`Fence::completed`] and [`Fence::wait`], one fence for each lane: the value that the lane has reached
//!   (`crates/sync/src/backend/mod.rs`).
//!
//! Memory, staged bytes or kernels of a new kind are variants of `Memory`, `Staged` and `Pipeline`.

pub(crate) mod adapter;
pub(crate) mod checks;
#[cfg(native)]
pub(crate) mod hal_pipeline;
pub(crate) mod kernel_folder;
pub(crate) mod native_backend;
pub(crate) mod open;
pub(crate) mod wgpu_device;
pub(crate) mod wgpu_pipeline;

use crate::device::checks::DeviceNumber;
use crate::driver::caps::Caps;
use crate::error::{Error, Result};
use crate::memory::block::{Allocate, Block};
use crate::memory::staging::Staged;
use crate::work::kernel_launch::{Pipeline, Recipe};
use crate::work::step::Step;
use fencepost_sync::backend::Fence;
use fencepost_sync::{Slot, Stamp, TimelineValue};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Longest time of a launch on the CPU, unless the options set another limit.
pub(crate) const LAUNCH_LIMIT: Duration = Duration::from_secs(60);

/// The device of a context: its limits, its memory and its compiler. The lanes of the device are separate objects.
///
/// Any thread of the user or of the context may call a method, and several threads may call at the same time. The
/// caller does not hold the state lock S. It may hold S only for `caps`, `recorder`, `hardware`, `nanoseconds_a_tick`,
/// `tracks_writes`, `begin_array`, `host_writes` and `postpones`, which return at once.
///
/// When the device is lost, the fences of all lanes return [`Lost`](fencepost_sync::Lost). A method that can fail may
/// then return any error, which the caller replaces by `DeviceLost`.
pub(crate) trait Device: Allocate + Send + Sync {
    /// Returns the limits and abilities of the device. The result is the same for each call. The enqueuing calls check
    /// their arguments against it, so a recorder never receives a command that exceeds it.
    fn caps(&self) -> &Caps;

    /// Returns the name of the recorder, for messages and profiles.
    fn recorder(&self) -> &'static str;

    /// Returns a number that identifies the native device, or `None` if the implementer cannot identify it.
    ///
    /// If the devices of two contexts return the same number, their submissions go to one hardware queue. The scheduler
    /// then orders work of one context after work of the other by submission order alone. An implementer returns a
    /// number only if that holds.
    fn hardware(&self) -> Option<usize>;

    /// Returns `true` if the device has pinned memory. The implementer then gives each block of `Heap::Upload` and
    /// `Heap::Download` memory that the host can access in place. If it returns `false`, a pinned array is ordinary
    /// host memory, and the caller requests no such block.
    fn pinned(&self) -> bool;

    /// Returns staging memory of `size` bytes, for an upload.
    ///
    /// The implementer calls `fill` with `size` bytes before it returns. A recorder reads the memory when it submits
    /// the upload, and the caller drops the memory after that submission is complete. After `OutOfMemory` the caller
    /// frees memory and calls once more, so a failed call has no effect.
    ///
    /// # Errors
    /// Returns `OutOfMemory`, `DeviceLost`, or `Device` with the driver's message.
    fn stage(&self, size: u64, fill: &mut dyn FnMut(&mut [u8])) -> Result<Staged>;

    /// Returns the bytes of staging memory in use and the bytes kept for later use.
    fn staging(&self) -> (u64, u64);

    /// Frees the staging memory that is kept for later use, and returns its bytes. The implementer does not free
    /// staging memory in use.
    fn trim_staging(&self) -> u64;

    /// Compiles one entry point. The caller has parsed and reflected the module. The implementer checks that the device
    /// supports the kernel, and returns a pipeline for the recorders of its lanes. The call may take long.
    ///
    /// # Errors
    /// Returns `Unsupported` or `TooManyParameters` if the device does not support the kernel, `NoReference` if the CPU
    /// recorder has no function for it, `Compile` if the driver rejects it, and `DeviceLost`.
    fn compile(&self, recipe: &Recipe<'_>) -> Result<Pipeline>;

    /// Returns `true` if [`compile`](Self::compile) returns soon, so that a verb calls it on the caller's thread.
    fn compiles_at_once(&self) -> bool {
        false
    }

    /// Returns the length of a tick of the device's clock in nanoseconds. The caller multiplies a difference of two
    /// [`Ticks`](crate::work::time_slot::Ticks) by it.
    fn nanoseconds_a_tick(&self) -> f64;

    /// Drops all objects cached for `block`, such as bind groups.
    ///
    /// The pool calls this once for each block whose memory goes back to the driver, and drops its reference to the
    /// block afterwards. No command in flight uses the block. The implementer returns soon: if a cache is locked, it
    /// drops the objects in a later call.
    fn forget(&self, block: &Block);

    /// Returns the number of a device that executes host functions as kernels. Such a device executes nothing else
    /// before the function returns, so the thread of a function must not wait for it.
    fn number_for_functions(&self) -> Option<DeviceNumber> {
        None
    }

    /// Returns `true` if the device knows which bytes of a block were written. The pool then gives a new array only a
    /// block that no command refers to.
    fn tracks_writes(&self) -> bool {
        false
    }

    /// Records that a new array has a block of the pool, so that no byte of the block is written. No command in flight
    /// uses the block.
    fn begin_array(&self, _block: &Block) {}

    /// Records that the host writes a range, or that the bytes of new memory count as zeros. Earlier commands that use
    /// the range are complete, and later ones run after the call.
    fn host_writes(&self, _block: &Block, _range: Range<u64>) {}

    /// Returns `true` if the caller must postpone work that it could do at this call: an upload then goes through
    /// staging memory, `zeros` fills new memory, and a flush only marks its commands as requested.
    ///
    /// The CPU recorder draws the answer from its seed. If it always returned `false`, no seed would show a missing
    /// wait for an upload to idle memory, or for a flushed command.
    fn postpones(&self) -> bool {
        false
    }

    /// Runs the driver's callbacks and deferred frees, and returns without blocking.
    ///
    /// Returns `false` if another call has locked the driver. The caller then calls again later.
    fn tick(&self) -> bool;

    /// Calls [`tick`](Self::tick), and checks for device loss if the driver reports a loss only when asked.
    ///
    /// The scheduler calls this every 100 ms or more often while a thread or a task waits. The implementer may limit
    /// the rate of its checks. The fences of the lanes report a loss that it finds. The return value is `tick`'s.
    fn poll_loss(&self) -> bool;

    /// Returns the commands that failed while the device executed them, each once.
    ///
    /// The scheduler fails their queues from those commands on, up to the command with the stamp `last`, which is the
    /// last one of the context. It calls this before it marks a batch as complete, so an implementer records a failure
    /// before the fence passes the value of the batch. The caller holds the state lock S.
    fn take_failures(&self, _last: Stamp) -> Vec<ExecutionFailure> {
        Vec::new()
    }

    /// Returns `true` if the device is lost, and checks that now.
    ///
    /// The caller calls this after a call of the device has failed, and reports `DeviceLost` in place of the error if
    /// the fences then return [`Lost`](fencepost_sync::Lost). An implementer whose fences find every loss themselves
    /// returns `false`.
    fn is_gone(&self) -> bool;
}

/// The recorder and the fence of one hardware queue.
///
/// The backend makes one lane for each hardware queue, and the context owns it. Submissions of one lane execute as if
/// in submission order, and their values rise.
pub(crate) struct Lane {
    /// Recorder of the lane. Only the thread that holds the lane's token calls it.
    pub(crate) recorder: Box<dyn Recorder>,
    /// Fence with the values that the recorder's submissions signal. Any number of threads call it at the same time.
    pub(crate) fence: Arc<dyn Fence>,
    /// `true` if a submission to an idle queue returns before its work is complete. A waiting thread then submits by
    /// itself and still returns at its timeout. If it is `false`, the lane thread submits.
    pub(crate) async_submit: bool,
    /// `true` if a submission executes its work, and meanwhile no thread can read the fence. The scheduler then submits
    /// a batch only when it has seen the end of the previous one.
    pub(crate) executes_in_submit: bool,
    /// Way in which the scheduler estimates the device time of a command.
    pub(crate) cost_model: CostModel,
}

/// Source of the estimated device time of a lane's commands. The scheduler ends a batch early if the time of later
/// commands would delay a result in it too much.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CostModel {
    /// The scheduler learns the times from the measured times of batches. A batch ends before a result in it would be
    /// late by this much device time.
    Measured(Duration),
    /// The device executes nothing: a command that was seen once is expected to take no time.
    Instant,
    /// A random generator with this seed draws the times. Now and then a command counts as long, the same commands in
    /// each run.
    Drawn(u64),
    /// The times are unknown, and no command counts as long.
    Unknown,
}

impl CostModel {
    /// Most device time by which a result may be late, unless the options set another limit.
    pub(crate) const LATENESS: Duration = Duration::from_millis(1);
}

/// Records and submits the batches of one lane.
///
/// The caller holds the lane's token, so calls for one lane never overlap. Calls for other lanes may run at the same
/// time.
pub(crate) trait Recorder: Send {
    /// Encodes `steps` and submits them as one submission that signals `signal` on the lane's fence.
    ///
    /// The caller guarantees:
    /// - The calling thread does not hold the state lock S.
    /// - `steps` is a whole batch, and the bytes of each upload in it are staged.
    /// - `waits` names values that were submitted on other lanes before this call, at most one for each lane. So no
    ///   cycle of waits exists.
    /// - `signal` is larger than each value that this lane has signalled. The value of a refused call is used again.
    /// - The caller keeps `steps`, and so the blocks and kernels in them, until the fence has passed `signal`. If the
    ///   device is lost first, the caller leaks them.
    /// - After `OutOfMemory` the caller frees memory and may call again with the same arguments.
    ///
    /// The implementer guarantees:
    /// - A step executes after all steps of lower levels. Steps of one level are independent and may execute in any
    ///   order, except that the steps of one stamp execute in the order of `steps`.
    /// - A recorder may ignore the levels and use a weaker order. A step then executes after the earlier steps of its
    ///   queue, the earlier steps of the context's own queue, and the steps in `Step::after`.
    /// - The device starts the submission after the other lanes have passed their values in `waits`, and after the
    ///   earlier submissions of this lane where the steps depend on them.
    /// - The writes of the submission are visible to each later submission.
    /// - For `Work::Read` the slot is set to `ReadState::Staged` before the submission completes. The bytes are valid
    ///   once the fence has passed `signal`.
    /// - For `Work::Start` and `Work::End` the time slot holds the ticks, or their place, once the fence has passed
    ///   `signal`.
    /// - The host sees all writes of the submission once the fence has passed `signal`.
    /// - The device executes the submission at the latest once `Fence::start` or `Fence::wait` is called with `signal`.
    /// - The fence passes `signal` even if no step needs the device.
    ///
    /// # Errors
    /// Returns a [`Failure`] if nothing was submitted. The implementer then keeps no clone of `steps` and signals
    /// nothing. If [`Failure::lost`] is `true`, the submission may have reached the device, so the implementer leaks
    /// the objects that it uses.
    fn submit(
        &mut self,
        steps: &Arc<Vec<Step>>,
        waits: &[LaneValue],
        signal: TimelineValue,
    ) -> Result<Keep, Failure>;
}

/// Objects that a submission uses besides its steps, such as staging memory and bind groups. The scheduler drops them,
/// without the state lock S, after the fence has passed the submission's value. On a lost device the scheduler leaks
/// them.
pub(crate) type Keep = Option<Box<dyn Send>>;

/// A value of a lane's fence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LaneValue {
    pub(crate) lane: usize,
    pub(crate) value: TimelineValue,
}

/// A command that the device began to execute and could not finish.
pub(crate) struct ExecutionFailure {
    /// Queue of the command. The queue fails.
    pub(crate) slot: Slot,
    /// Stamp of the command. The device executes no work of the queue from this command on.
    pub(crate) first: Stamp,
    pub(crate) error: Error,
}

/// Reason for a refused batch.
pub(crate) struct Failure {
    /// Index of the step that could not be encoded; `None` if no single step caused the failure.
    pub(crate) step: Option<usize>,
    pub(crate) error: Error,
    /// `true` if the device is lost. The caller then gives up the device and leaks the batch.
    pub(crate) lost: bool,
}
