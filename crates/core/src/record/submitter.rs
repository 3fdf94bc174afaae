//! Submissions through wgpu, each batch with a value that the lane's fence passes when the batch is complete.
//!
//! Also batches of commands that user code recorded with wgpu, the external buffers of a batch, and the description of
//! a dispatch for both GPU recorders.
//!
//! If the device reports errors after the submission, as a browser does, a batch is submitted in parts: each has
//! consecutive steps of one queue. wgpu executes nothing of a part with an error, and everything of the others. So the
//! error fails the queue of the part, as a refused command fails its queue on other devices. Steps of the context itself
//! are in one part only if they do not use different blocks that may have no memory.

use crate::device::SubmitFailure;
use crate::device::wgpu_device::{LateFailures, WgpuDevice};
use crate::device::wgpu_pipeline::BindGroups;
use crate::driver::error_scopes::{LateAnswer, LateErrors, Operation, Scoped, scoped};
use crate::error::{Error, ErrorDetail, text_of};
use crate::memory::block::{Block, BlockId};
use crate::record::lanes::LaneFence;
use crate::record::submitter;
use crate::record::transfers::DownloadBuffer;
use crate::work::graph::run::GraphStep;
use crate::work::kernel_launch::Launch;
use crate::work::step::{Step, Work, firsts};
use crate::work::time_slot::TimeSlot;
use fencepost_sync::backend::Arrival;
use fencepost_sync::prim::MutexGuard;
use fencepost_sync::{Slot, Stamp, TimelineValue};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Command buffers of a recorded batch or part, usually just one.
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

    /// Submits the command buffers that `record` returns, and arms the lane's fence to pass `signal` when the
    /// submission is complete. Returns the resources to keep until then.
    #[cfg(native)]
    pub(crate) fn submit<K>(
        &self,
        signal: TimelineValue,
        record: impl FnOnce() -> Result<(CommandBuffers, K), SubmitFailure>,
    ) -> Result<K, SubmitFailure> {
        let follow = |_: &K| {
            drop(self.fence.arm(self.device.queue(), signal, &[], 0));
            Ok(())
        };
        submit(&self.device, record, follow)
    }

    /// Submits a batch, and arms the lane's fence to pass `signal` when the batch is complete and wgpu has mapped the
    /// buffers in `reads`. `record` returns the command buffers of steps: of the whole batch or, if errors are late, of
    /// one part after the other. Returns the resources to keep until the batch is complete.
    pub(crate) fn submit_steps<K>(
        &self,
        steps: &[Step],
        signal: TimelineValue,
        mut record: impl FnMut(&[Step]) -> Result<(CommandBuffers, K), SubmitFailure>,
        reads: impl Fn(&K) -> &[DownloadBuffer],
    ) -> Result<SmallVec<[K; 1]>, SubmitFailure> {
        let device = &*self.device;
        let has_late_errors = device.parts.late_errors;
        let _inside = enter(device)?;
        let mut kept: SmallVec<[K; 1]> = SmallVec::new();
        let mut late = Vec::new();
        let mut failed = FailedParts::default();
        for part in parts(steps, has_late_errors) {
            if let Some(error) = failed.error_before(part) {
                RefusablePart::of(part).fail(&device.late_failures, error);
                continue;
            }
            match submit_inside(device, || record(part)) {
                Ok((resources, errors)) => {
                    kept.push(resources);
                    late.extend(has_late_errors.then(|| (RefusablePart::of(part), errors)));
                }
                // Nothing is submitted, so the scheduler can submit the rest of the batch again. A part has one queue.
                Err(failure) if kept.is_empty() => {
                    let step = failure.step.or(has_late_errors.then_some(0));
                    return Err(SubmitFailure { step, ..failure });
                }
                Err(failure) if failure.lost => {
                    std::mem::forget(kept); // the device may still use it, and no fence reports the end
                    return Err(failure);
                }
                Err(failure) => {
                    let refused = RefusablePart::of(part);
                    if !refused.fails_alone() {
                        failed.add(part, failure.error.clone());
                    }
                    refused.fail(&device.late_failures, &failure.error);
                }
            }
        }
        let reads: Vec<&DownloadBuffer> = kept.iter().flat_map(&reads).collect();
        let arrivals = self.fence.arm(device.queue(), signal, &reads, late.len());
        for ((part, errors), arrival) in late.into_iter().zip(arrivals) {
            fail_late(device, part, errors, arrival);
        }
        Ok(kept)
    }
}

/// Returns the steps that are submitted together: all of them or, if `apart` is `true`, consecutive steps of one queue.
/// No step needs a later one of the list, so the parts can execute one after the other.
fn parts(steps: &[Step], apart: bool) -> impl Iterator<Item = &[Step]> {
    let whole = (!apart).then_some(steps);
    let of_queues: &[Step] = if apart { steps } else { &[] };
    let of_queues = of_queues.chunk_by(|one, next| one.slot == next.slot);
    whole.into_iter().chain(of_queues.flat_map(parts_of_queue))
}

/// Returns the parts of consecutive steps of one queue: those of the context itself are apart if they use different
/// [doubtful](Block::is_doubtful) blocks, so that an array without memory fails no other array of the context.
fn parts_of_queue(steps: &[Step]) -> Vec<&[Step]> {
    if steps.first().is_none_or(|step| step.slot != Slot::CONTEXT) || doubtful_block(steps).is_none() {
        return vec![steps];
    }
    let mut parts = Vec::new();
    let mut rest = steps;
    // A command and its times have one stamp.
    while let Some(first) = rest.chunk_by(|one, next| one.stamp == next.stamp).next() {
        let block = doubtful_block(first);
        let commands = rest.chunk_by(|one, next| one.stamp == next.stamp);
        let same = commands.take_while(|command| doubtful_block(command) == block);
        let (part, after) = rest.split_at(same.map(<[Step]>::len).sum());
        parts.push(part);
        rest = after;
    }
    parts
}

/// Returns the first block of some steps that may have no memory.
fn doubtful_block(steps: &[Step]) -> Option<BlockId> {
    let mut touches = steps.iter().flat_map(|step| step.work.touches());
    touches.find(|touch| touch.block.is_doubtful()).map(|touch| touch.block.id)
}

/// The queues of the parts of a batch that could not be recorded. Their later parts are not submitted.
#[derive(Default)]
struct FailedParts(SmallVec<[(Slot, Error); 1]>);

impl FailedParts {
    fn add(&mut self, part: &[Step], error: Error) {
        self.0.extend(part.first().map(|step| (step.slot, error)));
    }

    /// Returns the error with which a later part fails: that of its own queue, or that of the context, whose results it may
    /// need.
    fn error_before(&self, part: &[Step]) -> Option<&Error> {
        let slot = part.first()?.slot;
        self.0.iter().find(|(failed, _)| *failed == slot || *failed == Slot::CONTEXT).map(|(_, error)| error)
    }
}

/// Queues, times and replays that fail with a part of a batch.
struct RefusablePart {
    /// The queues of the part, each with its first command there.
    firsts: Vec<(Slot, Stamp)>,
    /// The answers to the allocations of the part's blocks, except those that have memory.
    answers: Vec<LateAnswer>,
    /// The commands of the context itself, if the part consists of them.
    own: Vec<Stamp>,
    /// The same answers for the blocks that the part writes; `None` for a block that has memory.
    written: Vec<Option<LateAnswer>>,
    /// Times of the commands, and replays with times.
    times: Vec<Arc<TimeSlot>>,
    replays: Vec<GraphStep>,
}

impl RefusablePart {
    fn of(steps: &[Step]) -> Self {
        let mut part = Self {
            firsts: firsts(steps, None),
            answers: Vec::new(),
            own: Vec::new(),
            written: Vec::new(),
            times: Vec::new(),
            replays: Vec::new(),
        };
        for step in steps {
            part.own.extend((step.slot == Slot::CONTEXT).then_some(step.stamp));
            for touch in step.work.touches() {
                let answer = touch.block.answer().filter(|answer| !answer.is_made()).cloned();
                part.written.extend(touch.write.then(|| answer.clone()));
                part.answers.extend(answer);
            }
            match &step.work {
                Work::Start(time) => part.times.push(time.clone()),
                Work::Graph(graph) if graph.run.times.get().is_some() => part.replays.push((**graph).clone()),
                _ => {}
            }
        }
        part
    }

    /// Returns the error of a block of the part that has no memory.
    fn refusal(&self) -> Option<&Error> {
        self.answers.iter().find_map(LateAnswer::refusal)
    }

    /// Returns `true` if the part consists of commands of the context itself, and each block that they write has no memory.
    /// Then no other command misses their bytes, because those that use the blocks fail too.
    fn fails_alone(&self) -> bool {
        let mut written = self.written.iter().map(|answer| answer.as_ref().and_then(LateAnswer::refusal));
        !self.own.is_empty() && written.all(|refusal| refusal.is_some())
    }

    /// Fails the queues from their first commands on, or only the commands if they fail [alone](Self::fails_alone): with the
    /// error of a block that has no memory, or else with `error`. The commands have no times, because none of them ran. The
    /// scheduler takes the failures before the batch is complete.
    fn fail(self, failures: &LateFailures, error: &Error) {
        self.times.iter().for_each(|time| time.forget());
        self.replays.iter().for_each(GraphStep::forget_times);
        let error = self.refusal().unwrap_or(error).clone();
        if self.fails_alone() {
            failures.add_alone(self.own, &error);
        } else {
            failures.add(self.firsts, &error);
        }
    }
}

/// Fails a part of a batch if a browser reports an error for it. The batch is complete only after `arrival` is dropped.
#[cfg(target_arch = "wasm32")]
fn fail_late(device: &WgpuDevice, part: RefusablePart, late: LateErrors, arrival: Arrival) {
    let failures = device.late_failures.clone();
    let raw = device.raw().clone();
    wasm_bindgen_futures::spawn_local(async move {
        let error = late.of_part(raw, || part.refusal().cloned(), of_submission).await;
        match error {
            Some(error) => part.fail(&failures, &error),
            None => drop(part),
        }
        drop(arrival);
    });
}

/// Fails a part of a batch if a test has made an error of it late. The batch is complete only after `arrival` is dropped.
#[cfg(not(target_arch = "wasm32"))]
fn fail_late(device: &WgpuDevice, part: RefusablePart, late: LateErrors, arrival: Arrival) {
    match late.of_part(of_submission) {
        Some(error) => part.fail(&device.late_failures, &error),
        None => drop(part),
    }
    drop(arrival);
}

/// Takes the device's lock for submissions.
///
/// # Errors
/// Returns the loss of the device, which may have happened during a call that still holds the lock.
fn enter(device: &WgpuDevice) -> Result<MutexGuard<'_, ()>, SubmitFailure> {
    check_not_lost(device)?;
    Ok(device.gate().enter_to_submit())
}

fn check_not_lost(device: &WgpuDevice) -> Result<(), SubmitFailure> {
    if device.lost().is_raised() { Err(failure(device, None, false)) } else { Ok(()) }
}

/// Submits the command buffers that `record` returns, and calls `follow`, which makes a fence report the end of the
/// submission. Returns the resources to keep until then.
#[cfg(native)]
pub(crate) fn submit<K>(
    device: &WgpuDevice,
    record: impl FnOnce() -> Result<(CommandBuffers, K), SubmitFailure>,
    follow: impl FnOnce(&K) -> Result<(), SubmitFailure>,
) -> Result<K, SubmitFailure> {
    let _inside = enter(device)?;
    let (kept, _) = submit_inside(device, record)?;
    match follow(&kept) {
        Ok(()) => Ok(kept),
        Err(failure) => {
            if failure.lost {
                std::mem::forget(kept); // the device may still use it, and no fence reports the end
            }
            Err(failure)
        }
    }
}

/// Submits the command buffers that `record` returns. Returns the resources to keep until the submission is complete, and
/// the errors that the device reports later. The caller holds the lock of [`enter`].
fn submit_inside<K>(
    device: &WgpuDevice,
    record: impl FnOnce() -> Result<(CommandBuffers, K), SubmitFailure>,
) -> Result<(K, LateErrors), SubmitFailure> {
    check_not_lost(device)?;
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
    let refusal = error.as_ref().filter(|_| !device.parts.late_errors);
    if gone || refusal.is_some() || device.lost().is_raised() {
        let failure = failure(device, refusal, gone);
        if failure.lost {
            std::mem::forget(kept); // the device may still use it, and no fence reports the end
        }
        return Err(failure);
    }
    Ok((kept, late.with(error)))
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
    device.failure(|| match error {
        Some(error) => of_submission(error),
        None => {
            let object = "a submission".into();
            ErrorDetail::Device { object, message: "wgpu reported no reason".into() }.into()
        }
    })
}

/// Returns this crate's error for an error of wgpu in a submission.
fn of_submission(error: &wgpu::Error) -> Error {
    Operation { object: "a submission", bytes: 0 }.failed(error)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::block::{Heap, Memory};
    use crate::memory::read_slot::ReadSlot;
    use crate::memory::wgpu_memory::WgpuMemory;
    use crate::work::step::{Pattern, Span};

    /// Returns all bytes of a block whose allocation has this answer.
    fn span(answer: &LateAnswer) -> Span {
        let memory = Memory::Wgpu(WgpuMemory::answered(answer));
        Span { block: Arc::new(Block::new(BlockId::next(), Heap::Device, 64, memory)), offset: 0, size: 64 }
    }

    fn fill(dst: &Span) -> Work {
        Work::Fill { dst: dst.clone(), pattern: Pattern::ZERO }
    }

    fn step(slot: u32, stamp: u64, work: Work) -> Step {
        Step { slot: Slot(slot), stamp: Stamp(stamp), level: 0, after: SmallVec::new(), work }
    }

    fn refusal() -> Error {
        ErrorDetail::OutOfMemory { object: "x".into(), bytes: 64, limit: None }.into()
    }

    /// Fails a part. Returns the commands that fail: the number of their queue, the stamp, and `true` for a command that
    /// fails alone.
    fn failed(part: &[Step]) -> Vec<(u32, u64, bool)> {
        let failures = LateFailures::default();
        let error = ErrorDetail::Device { object: "a submission".into(), message: "invalid".into() }.into();
        RefusablePart::of(part).fail(&failures, &error);
        failures.take().into_iter().map(|failure| (failure.slot.0, failure.first.0, failure.alone)).collect()
    }

    #[test]
    fn commands_of_the_context_share_a_part_unless_different_blocks_of_them_may_have_no_memory() {
        let [one, made, other] = [(); 3].map(|()| LateAnswer::default());
        made.set(None);
        let [one, made, other] = [&one, &made, &other].map(span);
        let time = Arc::<TimeSlot>::default();
        let steps = [
            step(0, 1, Work::Start(time.clone())),
            step(0, 1, fill(&one)),
            step(0, 1, Work::End(time)),
            step(0, 2, fill(&one)),
            step(0, 3, fill(&made)),
            step(0, 4, Work::QueueFence),
            step(0, 5, fill(&other)),
            step(1, 6, fill(&one)),
            step(1, 7, fill(&other)),
        ];
        let lengths = |apart| parts(&steps, apart).map(<[Step]>::len).collect::<Vec<_>>();
        assert_eq!((lengths(true), lengths(false)), (vec![4, 2, 1, 2], vec![9]));
    }

    #[test]
    fn a_command_of_the_context_fails_alone_if_only_blocks_without_memory_miss_its_bytes() {
        let [refused, made, unknown] = [(); 3].map(|()| LateAnswer::default());
        refused.set(Some(refusal()));
        made.set(None);
        let [refused, made, unknown] = [&refused, &made, &unknown].map(span);
        let read = |src: &Span| Work::Read { src: src.clone(), slot: ReadSlot::new() };
        assert_eq!(
            failed(&[step(0, 1, fill(&refused)), step(0, 2, read(&refused))]),
            [(0, 1, true), (0, 2, true)]
        );
        assert_eq!(failed(&[step(0, 1, read(&made))]), [(0, 1, true)], "a read writes no block");
        for block in [&made, &unknown] {
            assert_eq!(failed(&[step(0, 1, fill(&refused)), step(0, 2, fill(block))]), [(0, 1, false)]);
        }
        assert_eq!(failed(&[step(1, 1, fill(&refused)), step(1, 2, fill(&made))]), [(1, 1, false)]);
    }

    #[test]
    fn a_part_without_memory_fails_with_the_error_of_its_array() {
        let answer = LateAnswer::default();
        let steps = [step(1, 1, fill(&span(&answer)))];
        answer.set(Some(refusal()));
        let failures = LateFailures::default();
        let error = ErrorDetail::Device { object: "a submission".into(), message: "invalid".into() }.into();
        RefusablePart::of(&steps).fail(&failures, &error);
        let failures = failures.take();
        let [failure] = failures.as_slice() else { panic!("{} failures", failures.len()) };
        assert!(matches!(failure.error.detail(), ErrorDetail::OutOfMemory { .. }), "{}", failure.error);
    }

    #[test]
    fn a_part_is_not_submitted_after_a_part_of_its_queue_or_of_the_context_has_failed() {
        let queue = [step(1, 1, Work::QueueFence)];
        let other = [step(2, 2, Work::QueueFence)];
        let context = [step(0, 3, Work::QueueFence)];
        let mut failed = FailedParts::default();
        assert!(failed.error_before(&queue).is_none());
        failed.add(&queue, refusal());
        let after =
            |failed: &FailedParts| [&queue, &other, &context].map(|part| failed.error_before(part).is_some());
        assert_eq!(after(&failed), [true, false, false]);
        failed.add(&context, refusal());
        assert_eq!(after(&failed), [true; 3]);
    }

    #[test]
    fn a_batch_has_a_part_for_each_run_of_one_queue_only_if_errors_are_late() {
        let slots = [1, 1, 2, 0, 1].into_iter().zip(5..);
        let steps: Vec<Step> = slots.map(|(slot, stamp)| step(slot, stamp, Work::QueueFence)).collect();
        let failing =
            |apart| parts(&steps, apart).map(|part| firsts(part, None)).collect::<Vec<Vec<(Slot, Stamp)>>>();
        let run = |slot, stamp| vec![(Slot(slot), Stamp(stamp))];
        assert_eq!(failing(true), [run(1, 5), run(2, 7), run(0, 8), run(1, 9)]);
        assert_eq!(failing(false), [[run(1, 5), run(2, 7), run(0, 8)].concat()]);
        assert_eq!([true, false].map(|apart| parts(&[], apart).count()), [0, 1]);
    }
}
