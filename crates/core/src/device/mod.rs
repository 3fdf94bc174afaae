//! A hardware queue and the device it belongs to.

pub(crate) mod adapter;
pub(crate) mod adapter_choice;
pub(crate) mod adapter_info;
pub(crate) mod bind_groups;
pub(crate) mod bind_layout;
pub(crate) mod driver_remedy;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) mod gl_instance;
#[cfg(native)]
pub(crate) mod hal_pipeline;
pub(crate) mod instance;
pub(crate) mod kernel_folder;
pub(crate) mod kernel_origin;
pub(crate) mod native_backend;
pub(crate) mod open;
pub(crate) mod pipeline_cache;
pub(crate) mod recorder;
pub(crate) mod wgpu_device;
pub(crate) mod wgpu_pipeline;

use crate::device::recorder::Recorder;
use crate::driver::caps::Caps;
use crate::error::Result;
use crate::memory::block::{Allocate, Block};
use crate::memory::staged_bytes::Staged;
use crate::work::compiled_kernel::{Pipeline, Recipe};
use fencepost_sync::backend::Fence;

use std::sync::Arc;
use std::time::Duration;

/// What a context needs of a device besides its lanes.
pub(crate) trait Device: Allocate + Send + Sync {
    /// What it can do.
    fn caps(&self) -> &Caps;

    /// What records for it, for messages.
    fn recorder(&self) -> &'static str;

    /// What tells the device below wgpu from every other, if anything does: it has one queue, which may be other
    /// contexts' as well.
    fn hardware(&self) -> Option<usize>;

    /// Whether pinned memory can be had, to which the host keeps a pointer.
    fn pinned(&self) -> bool;

    /// Staging memory of `size` bytes that `fill` has filled.
    fn stage(&self, size: u64, fill: &mut dyn FnMut(&mut [u8])) -> Result<Staged>;

    /// Bytes of staging memory that hold something, and of what is kept for later.
    fn staging(&self) -> (u64, u64);

    /// Gives back staging memory that is kept for later use; the bytes of that.
    fn trim_staging(&self) -> u64;

    /// Compiles one entry point.
    fn compile(&self, recipe: &Recipe<'_>) -> Result<Pipeline>;

    /// What a tick of its clock is.
    fn nanoseconds_a_tick(&self) -> f64;

    /// Drops whatever is cached for a block that is about to go.
    fn forget(&self, block: &Block);

    /// Lets the driver's housekeeping run and returns at once; false if another call is in its way.
    fn tick(&self) -> bool;

    /// [Ticks](Self::tick), and asks now and then whether the device is still there: a driver reports some losses only when it
    /// is asked. Its fences say it then.
    fn poll_loss(&self) -> bool;

    /// Asks now whether the device is gone.
    fn is_gone(&self) -> bool;
}

/// A hardware queue: who records for it, and how far it is.
pub(crate) struct Lane {
    pub(crate) recorder: Box<dyn Recorder>,
    pub(crate) fence: Arc<dyn Fence>,
    /// Whether submitting to an idle queue returns before the work is done, so that a waiting caller may submit
    /// itself and see its timeout kept.
    pub(crate) async_submit: bool,
    pub(crate) pace: CostModel,
}

/// How it is known what a lane's commands take.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CostModel {
    /// From the time that their batches took; a batch ends before a result in it is so much device time late.
    Measured(Duration),
    /// The device does nothing: what was seen once takes no time.
    Instant,
    /// From a seed: now and then a command counts as a long one, the same ones in each run.
    Drawn(u64),
    /// Not at all: no command counts as long.
    Unknown,
}

impl CostModel {
    /// How much device time late a result may be, unless the program says otherwise.
    pub(crate) const LATENESS: Duration = Duration::from_millis(1);
}
