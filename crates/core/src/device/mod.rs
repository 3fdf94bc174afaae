//! The contract of a new backend.
//!
//! A backend makes a device and one [`Lane`] for each of its hardware queues. It implements four traits. The
//! documentation of each method says what the caller guarantees and what the implementer must do:
//!
//! - [`Device`], below: limits, staging memory, compilation, and detection of a loss;
//! - [`Allocate::allocate`], a supertrait of `Device`: the memory of blocks (`memory/block.rs`);
//! - [`Recorder::submit`], below, one recorder for each lane: turns a batch into calls of a graphics interface, or into
//!   operations on host bytes;
//! - [`Fence::completed`] and [`Fence::wait`], one fence for each lane: the value that the lane has reached
//!   (`crates/sync/src/backend/mod.rs`).
//!
//! New kinds of memory, of staged bytes or of kernels are new variants of `Memory`, `Staged` and `Pipeline`.

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
use crate::work::kernel_launch::{Pipeline, PipelineDescriptor};
use crate::work::step::Step;
use fencepost_sync::backend::Fence;
use fencepost_sync::{Slot, Stamp, TimelineValue};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Default time limit of a launch on the CPU.
pub(crate) const LAUNCH_LIMIT: Duration = Duration::from_secs(60);

/// The device of a context: its limits, its memory and its compiler. The lanes of the device are separate objects.
///
/// Any thread may call any method, and several threads may call at the same time. The caller does not hold the state
/// lock S, except possibly for `caps`, `recorder`, `hardware`, `nanoseconds_a_tick`, `tracks_writes`, `begin_array`,
/// `host_writes` and `postpones`, which return at once.
///
/// When the device is lost, the fences of all lanes return [`Lost`](fencepost_sync::Lost). Fallible methods may then
/// return any error; the caller replaces it by `DeviceLost`.
pub(crate) trait Device: Allocate + Send + Sync {
    /// Returns the limits and features of the device, the same in each call. Arguments are checked against them when
    /// commands are enqueued, so recorders never receive a command that exceeds them.
    fn caps(&self) -> &Caps;

    /// Returns the name of the recorder, for messages and profiles.
    fn recorder(&self) -> &'static str;

    /// Returns a number that identifies the native device, or `None` if the implementer cannot identify it.
    ///
    /// If the devices of two contexts return the same number, the scheduler relies on submission order alone to order
    /// the work of one context after that of the other. So an implementer may return the same number only if all their
    /// submissions go to one hardware queue.
    fn hardware(&self) -> Option<usize>;

    /// Returns `true` if the device has pinned memory. The implementer then gives each block of `Heap::Upload` and
    /// `Heap::Download` memory that the host can access in place. If not, pinned arrays are ordinary host memory, and
    /// the caller requests no such block.
    fn pinned(&self) -> bool;

    /// Returns staging memory of `size` bytes, for an upload.
    ///
    /// The implementer must call `fill` with `size` bytes. A recorder reads the memory when it submits the upload, and
    /// the caller drops the memory after that submission is complete. A failed call must have no effect, because after
    /// `OutOfMemory` the caller frees memory and tries once more.
    ///
    /// # Errors
    /// Returns `OutOfMemory`, `DeviceLost`, or `Device` with the driver's message.
    fn stage(&self, size: u64, fill: &mut dyn FnMut(&mut [u8])) -> Result<Staged>;

    /// Returns the number of bytes of staging memory in use, and the number kept for later use.
    fn staging(&self) -> (u64, u64);

    /// Frees the staging memory that is kept for later use, and returns its size in bytes. Must not free staging memory
    /// in use.
    fn trim_staging(&self) -> u64;

    /// Compiles one entry point. The caller has already parsed and reflected the module. The implementer must check
    /// that the device supports the kernel, and return a pipeline for its recorders. The call may take long.
    ///
    /// # Errors
    /// Returns `Unsupported` or `TooManyParameters` if the device does not support the kernel, `Compile` if the driver
    /// rejects it, and `DeviceLost`.
    fn compile(&self, recipe: &PipelineDescriptor<'_>) -> Result<Pipeline>;

    /// Returns the error with which the device has refused a kernel that [`compile`](Self::compile) has returned, if it has
    /// done so by now. A browser refuses kernels late; its other devices refuse none.
    #[cfg(target_arch = "wasm32")]
    fn refusal_of<'k>(&self, _kernel: &'k Pipeline) -> Option<&'k Error> {
        None
    }

    /// Returns `true` if [`compile`](Self::compile) is fast, so that a verb may call it on the caller's thread.
    fn compiles_at_once(&self) -> bool {
        false
    }

    /// Returns the length of a tick of the device's clock in nanoseconds. The caller multiplies differences of
    /// [`Ticks`](crate::work::time_slot::Ticks) by it.
    fn nanoseconds_a_tick(&self) -> f64;

    /// Drops all objects cached for `block`, such as bind groups.
    ///
    /// Called once for each block whose memory goes back to the driver, before the pool drops it. No command in flight
    /// uses the block. Must return soon: if a cache is locked, drop the objects later.
    fn forget(&self, block: &Block);

    /// Returns the number of a device that executes host functions as kernels; `None` for other devices. While such a
    /// device executes a function, it does nothing else, so the function must not wait for it.
    fn number_for_functions(&self) -> Option<DeviceNumber> {
        None
    }

    /// Returns `true` if the device knows which bytes of a block were written. If so, the pool gives a new array only a
    /// block that no command refers to.
    fn tracks_writes(&self) -> bool {
        false
    }

    /// Records that a new array takes a block of the pool, so that no byte of it counts as written. No command in
    /// flight uses the block.
    fn begin_array(&self, _block: &Block) {}

    /// Records that the host writes a range, or that the bytes of new memory count as written zeros. Earlier commands
    /// on the range are complete, and later ones run after this call.
    fn host_writes(&self, _block: &Block, _range: Range<u64>) {}

    /// Returns `true` if the caller must postpone work that it could do at once. In that case an upload goes through
    /// staging memory, `zeros` fills even new memory, and a flush only marks its commands as requested.
    ///
    /// The CPU recorder draws the answer from its seed, so that tests can detect a missing wait for an upload to idle
    /// memory or for a flushed command.
    fn postpones(&self) -> bool {
        false
    }

    /// Runs the driver's callbacks and deferred frees, and returns without blocking.
    ///
    /// Returns `false` if another call has locked the driver. Then the caller tries again later.
    fn tick(&self) -> bool;

    /// Calls [`tick`](Self::tick), and checks for device loss if the driver reports a loss only when asked.
    ///
    /// The scheduler calls this at least every 100 ms while a thread or a task waits. The implementer may limit the
    /// rate of its checks. If it finds a loss, the fences of the lanes report it. Returns what `tick` returns.
    fn poll_loss(&self) -> bool;

    /// Returns the commands that have failed during their execution, each once.
    ///
    /// The scheduler makes their queues fail, from those commands up to the context's last stamp, `last`. It calls this
    /// before it submits a batch, and before it marks a batch as complete, so an implementer must record a failure before
    /// the fence passes the value of the batch. The caller holds the state lock S.
    fn take_failures(&self, _last: Stamp) -> Vec<ExecutionFailure> {
        Vec::new()
    }

    /// Checks if the device is lost now, and returns `true` if so.
    ///
    /// Called after a device call has failed. If the fences then return [`Lost`](fencepost_sync::Lost), the caller
    /// reports `DeviceLost` instead of the error. If the fences find every loss themselves, an implementer may return
    /// `false`.
    fn is_gone(&self) -> bool;
}

/// The recorder and the fence of one hardware queue.
///
/// The submissions of one lane execute as if in submission order, and their values increase. The context owns its
/// lanes.
pub(crate) struct Lane {
    /// Recorder of the lane. Only the thread that holds the lane's token calls it.
    pub(crate) recorder: Box<dyn Recorder>,
    /// Fence with the values that the recorder's submissions signal. Any number of threads may call it at the same
    /// time.
    pub(crate) fence: Arc<dyn Fence>,
    /// `true` if a submission to an idle queue returns before its work is complete. Then a waiting thread may submit
    /// itself and still return at its timeout. Otherwise only the lane thread submits.
    pub(crate) async_submit: bool,
    /// `true` if a submission executes its work before it returns, and no thread can read the fence meanwhile. Then the
    /// scheduler submits a batch only after it has seen the end of the previous one.
    pub(crate) executes_in_submit: bool,
    /// Source of the scheduler's estimates of device time.
    pub(crate) cost_model: CostModel,
}

/// Source of the estimated device times of a lane's commands. The scheduler closes a batch early if later commands
/// would delay a result in it too much.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CostModel {
    /// The scheduler learns the times by measuring batches. A batch is closed before a result in it would be delayed by
    /// more than this device time.
    Measured(Duration),
    /// The device executes nothing: a command that was seen once is expected to take no time.
    Instant,
    /// A random generator with this seed draws the times. Some commands count as long, the same ones in each run.
    Drawn(u64),
    /// The times are unknown, and no command counts as long.
    Unknown,
}

impl CostModel {
    /// Default of the longest delay of a result, in device time.
    pub(crate) const LATENESS: Duration = Duration::from_millis(1);
}

/// Records and submits the batches of one lane.
///
/// The caller holds the lane's token, so calls for one lane never overlap. Calls for different lanes may.
pub(crate) trait Recorder: Send {
    /// Encodes `steps` and submits them as one submission that signals `signal` on the lane's fence. If errors are
    /// reported after a submission, they may be several submissions, of which the last one signals.
    ///
    /// The caller guarantees:
    /// - The calling thread does not hold the state lock S.
    /// - `steps` is a whole batch, and the bytes of each upload in it are staged.
    /// - `waits` has values that were submitted on other lanes before this call, at most one for each lane. So there
    ///   are no cycles of waits.
    /// - `signal` is larger than each value that this lane has signalled. The value of a refused call is reused.
    /// - The caller keeps `steps`, with the blocks and kernels in them, until the fence has passed `signal`. If the
    ///   device is lost first, the caller leaks them.
    /// - After `OutOfMemory` the caller frees memory and may call again with the same arguments.
    ///
    /// The implementer guarantees:
    /// - A step executes after all steps of lower levels. Steps of one level are independent and may execute in any
    ///   order, except that the steps of one stamp execute in the order of `steps`.
    /// - A recorder may ignore the levels and use a weaker order. A step then executes after the earlier steps of its
    ///   queue, the earlier steps of the context's own queue, and the steps in `Step::after`.
    /// - The device starts the submission after the other lanes have passed their values in `waits`. Steps that depend
    ///   on earlier submissions of this lane execute after those.
    /// - The writes of the submission are visible to each later submission.
    /// - For `Work::Read` the slot is set to `ReadState::Staged` before the submission completes. The bytes are valid
    ///   once the fence has passed `signal`.
    /// - For `Work::Start` and `Work::End` the time slot holds the ticks, or where to find them, once the fence has
    ///   passed `signal`.
    /// - The host sees all writes of the submission once the fence has passed `signal`.
    /// - The device executes the submission at the latest once `Fence::start` or `Fence::wait` is called with `signal`.
    /// - The fence passes `signal` even if no step needs the device.
    ///
    /// # Errors
    /// Returns a [`SubmitFailure`] if nothing was submitted. In that case the implementer must keep no clone of `steps` and
    /// signal nothing. If [`SubmitFailure::lost`] is `true`, the submission may have reached the device, so the implementer
    /// must leak the objects that it uses.
    fn submit(
        &mut self,
        steps: &Arc<Vec<Step>>,
        waits: &[LaneValue],
        signal: TimelineValue,
    ) -> Result<KeptResources, SubmitFailure>;
}

/// Objects that a submission needs in addition to its steps, such as staging memory and bind groups. The scheduler
/// drops them, outside the state lock S, after the fence has passed the submission's value. If the device is lost, it
/// leaks them.
pub(crate) type KeptResources = Option<Box<dyn Send>>;

/// A value of a lane's fence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LaneValue {
    pub(crate) lane: usize,
    pub(crate) value: TimelineValue,
}

/// A command whose execution has begun but failed.
pub(crate) struct ExecutionFailure {
    /// Queue of the command, which fails.
    pub(crate) slot: Slot,
    /// Stamp of the command. The queue fails from it on. The CPU executes no later work of the queue; a device whose errors
    /// are late may have executed some.
    pub(crate) first: Stamp,
    pub(crate) error: Error,
    /// `true` if the command has written nothing. A launch that fails on the CPU has written its messages.
    pub(crate) refused: bool,
    /// `true` if only this command fails, and not its queue: a command of the context itself, whose results no command can
    /// use without failing too.
    pub(crate) alone: bool,
}

/// Reason for a refused batch.
pub(crate) struct SubmitFailure {
    /// Index of the step that could not be encoded; `None` if no single step caused the failure.
    pub(crate) step: Option<usize>,
    pub(crate) error: Error,
    /// `true` if the device is lost. Then the caller gives up the device and leaks the batch.
    pub(crate) lost: bool,
}
