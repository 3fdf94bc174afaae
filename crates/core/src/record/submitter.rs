//! Submissions through wgpu, each with a value that the lane's fence passes when the submission is complete.
//!
//! Also batches of commands that user code recorded with wgpu, the external buffers of a batch, and the description of
//! a dispatch for both GPU recorders.

#[cfg(target_arch = "wasm32")]
use crate::device::ExecutionFailure;
use crate::device::SubmitFailure;
use crate::device::wgpu_device::WgpuDevice;
use crate::device::wgpu_pipeline::BindGroups;
use crate::driver::error_scopes::{LateErrors, Operation, Scoped, scoped};
use crate::error::{ErrorDetail, text_of};
use crate::memory::block::Block;
use crate::record::lanes::LaneFence;
use crate::record::submitter;
use crate::record::transfers::DownloadBuffer;
use crate::work::kernel_launch::Launch;
#[cfg(target_arch = "wasm32")]
use crate::work::step::firsts;
use crate::work::step::{Step, Work};
use fencepost_sync::TimelineValue;
use fencepost_sync::backend::Arrival;
#[cfg(target_arch = "wasm32")]
use fencepost_sync::prim::lock;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Command buffers of a recorded batch, usually just one.
pub(crate) type CommandBuffers = SmallVec<[wgpu::CommandBuffer; 2]>;

/// The submissions of one lane of a wgpu device.
#[derive(Clone)]
pub(crate) struct Submitter {
    device: Arc<WgpuDevice>,
    fence: LaneFence,
}

impl Submitter {
    pub(crate) fn new(device: Arc<WgpuDevice>, fence: LaneFence) -> Self {
        Self { device, fence }
    }

    pub(crate) fn device(&self) -> &Arc<WgpuDevice> {
        &self.device
    }

    pub(crate) fn fence(&self) -> &LaneFence {
        &self.fence
    }

    /// Submits the command buffers of `steps` that `record` returns, and arms the lane's fence to pass `signal` when the
    /// submission is complete and wgpu has mapped the buffers in `reads`. Returns the resources to keep until then.
    pub(crate) fn submit<K>(
        &self,
        steps: &[Step],
        signal: TimelineValue,
        record: impl FnOnce() -> Result<(CommandBuffers, K), SubmitFailure>,
        reads: impl FnOnce(&K) -> &[DownloadBuffer],
    ) -> Result<K, SubmitFailure> {
        let follow = |kept: &K, late: LateErrors| {
            let arrival = self.fence.arm(self.device.queue(), signal, reads(kept));
            fail_late(&self.device, steps, late, arrival);
            Ok(())
        };
        submit(&self.device, record, follow)
    }
}

/// Fails the commands of a batch if a browser reports an error for it. The batch is complete after `arrival` is dropped.
#[cfg(target_arch = "wasm32")]
fn fail_late(device: &WgpuDevice, steps: &[Step], late: LateErrors, arrival: Option<Arrival>) {
    let firsts = firsts(steps, None);
    let failures = device.late_failures.clone();
    let raw = device.raw().clone();
    wasm_bindgen_futures::spawn_local(async move {
        let whole = |error: &wgpu::Error| Operation { object: "a submission", bytes: 0 }.failed(error);
        if let Some(error) = late.of_batch(raw, whole).await {
            let failed = |(slot, first)| ExecutionFailure { slot, first, error: error.clone() };
            lock(&failures).extend(firsts.into_iter().map(failed));
        }
        drop(arrival);
    });
}

/// Does nothing: outside a browser there are no late errors.
#[cfg(not(target_arch = "wasm32"))]
fn fail_late(_: &WgpuDevice, _: &[Step], _: LateErrors, _: Option<Arrival>) {}

/// Submits the command buffers that `record` returns, and calls `follow`, which makes a fence report the end of the
/// submission. Returns the resources to keep until then.
pub(crate) fn submit<K>(
    device: &WgpuDevice,
    record: impl FnOnce() -> Result<(CommandBuffers, K), SubmitFailure>,
    follow: impl FnOnce(&K, LateErrors) -> Result<(), SubmitFailure>,
) -> Result<K, SubmitFailure> {
    if device.lost().is_raised() {
        return Err(failure(device, None, false));
    }
    let _inside = device.gate().enter_to_submit();
    let mut recorded = None;
    let submit = || {
        let (commands, kept) = record()?;
        recorded = Some(kept);
        device.queue().submit(commands);
        Ok(device.responds())
    };
    // wgpu panics on some internal errors, and in destructors at the end of a thread.
    let submitted = catch_unwind(AssertUnwindSafe(|| scoped(device.raw(), submit)));
    let Scoped { made: outcome, error, late } = match submitted {
        Ok(submitted) => submitted,
        Err(panic) => return Err(panicked(device, recorded, &*panic)),
    };
    if error.is_some() {
        device.with_groups(BindGroups::clear); // the cache may hold a bind group that could not be created
    }
    if error.is_some() || outcome.is_err() {
        device.probe(); // a lost device reports many different errors
    }
    let responds = match outcome {
        Err(_) if device.lost().is_raised() => return Err(failure(device, None, false)),
        outcome => outcome?,
    };
    let kept = recorded.expect("bug: a submission has no resources");
    let gone = !responds && error.is_none(); // in that case wgpu has dropped the submission
    let failed = if gone || error.is_some() || device.lost().is_raised() {
        Err(failure(device, error.as_ref(), gone))
    } else {
        follow(&kept, late)
    };
    match failed {
        Ok(()) => Ok(kept),
        Err(failure) => {
            if failure.lost {
                std::mem::forget(kept); // the device may still use it, and no fence reports the end
            }
            Err(failure)
        }
    }
}

/// Returns the failure of a batch for which wgpu panicked. If the panic came after the recording, the device may be
/// executing the batch, so the device is marked as lost and the resources are leaked.
fn panicked<K>(device: &WgpuDevice, recorded: Option<K>, panic: &(dyn Any + Send)) -> SubmitFailure {
    if recorded.is_some() {
        device.lost().raise("wgpu panicked in a submission");
        std::mem::forget(recorded);
    }
    let message = format!("wgpu panicked: {}", text_of(panic));
    device.failure(|| ErrorDetail::Device { object: "a submission".into(), message }.into())
}

/// Returns the failure of a whole batch, for the scheduler. If `gone` is `true`, wgpu no longer records for the device,
/// and the device is marked as lost.
pub(crate) fn failure(device: &WgpuDevice, error: Option<&wgpu::Error>, gone: bool) -> SubmitFailure {
    if gone {
        device.lost().raise("wgpu no longer records for the device");
    }
    let object = "a submission";
    device.failure(|| match error {
        Some(error) => Operation { object, bytes: 0 }.failed(error),
        None => {
            ErrorDetail::Device { object: object.into(), message: "wgpu reported no reason".into() }.into()
        }
    })
}

/// Takes the user's commands out of a batch that consists of them. Returns `None` for any other batch.
pub(crate) fn of(steps: &[Step]) -> Option<CommandBuffers> {
    match steps {
        [Step { work: Work::WgpuCommands(encoded), .. }] => Some(encoded.take().into()),
        _ => None,
    }
}

/// Submits the user's commands through wgpu. Returns an empty list, which the caller must still submit for the sake of
/// the fence.
///
/// # Errors
/// Returns `Device` if wgpu panics, as it does for commands of another wgpu instance. Returns `DeviceLost` if wgpu no
/// longer records for the device, because some fences would not report that. Other errors go to wgpu's error scope.
pub(crate) fn send(device: &WgpuDevice, commands: CommandBuffers) -> Result<CommandBuffers, SubmitFailure> {
    let submit = AssertUnwindSafe(|| device.queue().submit(commands));
    let panicked = |_| {
        let object = "commands of the program".into();
        let message = "wgpu panicked when they were submitted".into();
        SubmitFailure { step: None, error: ErrorDetail::Device { object, message }.into(), lost: false }
    };
    catch_unwind(submit).map_err(panicked)?;
    if device.still_records() {
        Ok(CommandBuffers::new())
    } else {
        Err(submitter::failure(device, None, true))
    }
}

/// An external block, and the index of the first step that uses it.
pub(crate) type NamedExternal<'a> = (usize, &'a Arc<Block>);

/// Returns the external blocks that `steps` use, each once, with the index of the first step that uses it.
pub(crate) fn named<'a>(device: &WgpuDevice, steps: &'a [Step]) -> Vec<NamedExternal<'a>> {
    let mut named = Vec::new();
    if !device.external().has_blocks() {
        return named;
    }
    let mut seen = FxHashSet::default();
    for (at, step) in steps.iter().enumerate() {
        step.work.each_block(|block| {
            if block.is_external() && seen.insert(block.id) {
                named.push((at, block));
            }
        });
    }
    named
}

/// Attributes the failure of a whole batch to the first step with an external buffer that wgpu refuses because it is
/// mapped or destroyed, if there is one.
pub(crate) fn attribute(device: &WgpuDevice, steps: &[Step], failure: SubmitFailure) -> SubmitFailure {
    if failure.lost || failure.step.is_some() {
        return failure;
    }
    let refused = |&(at, block): &NamedExternal<'_>| {
        let label = block.order().label.clone();
        device.refusal(block.wgpu_buffer(), &label).map(|error| (at, error))
    };
    match named(device, steps).iter().find_map(refused) {
        Some((at, error)) => SubmitFailure { step: Some(at), error, lost: false },
        None => failure,
    }
}

/// A range of a block that a dispatch binds.
#[derive(Clone, Copy)]
pub(crate) struct BoundRange<'a> {
    pub(crate) block: &'a Block,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// Number of workgroups in a dispatch. `B` is the recorder's buffer type.
pub(crate) enum GroupCount<'a, B> {
    Fixed([u32; 3]),
    /// Counts that the device reads from three words of this buffer, starting at this byte.
    Indirect(&'a B, u64),
}

/// A dispatch whose arguments are ranges of blocks.
pub(crate) struct Dispatch<'a, Pipeline, Buffer, P> {
    pub(crate) pipeline: &'a Pipeline,
    /// Parameters, in whole words.
    pub(crate) params: &'a [u32],
    /// Bound ranges, in the order of the interface.
    pub(crate) parts: P,
    pub(crate) size: GroupCount<'a, Buffer>,
}

/// Iterates over the ranges that a dispatch binds.
pub(crate) trait BoundRanges<'p>: Iterator<Item = BoundRange<'p>> + Clone {}

impl<'p, P: Iterator<Item = BoundRange<'p>> + Clone> BoundRanges<'p> for P {}

/// Returns the ranges that a launch binds.
pub(crate) fn bound_ranges(launch: &Launch) -> impl BoundRanges<'_> {
    let bindings = launch.bindings.iter();
    bindings.map(|bound| BoundRange { block: &bound.block, offset: bound.offset, size: bound.size })
}
