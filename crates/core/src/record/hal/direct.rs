//! Native encoders and submissions to the native queue, without wgpu. On Vulkan, a submission may start before earlier
//! ones end, so that long kernels of several queues overlap even in separate batches.
//!
//! A stretch of a graph can have a native body: commands that are recorded once and submitted in each replay.
#![allow(unsafe_code, reason = "commands and submissions that wgpu itself does not see")]

use crate::device::SubmitFailure;
use crate::device::wgpu_device::WgpuDevice;
use crate::driver::backend::Backend;
use crate::driver::native_queue::NativeQueue;
use crate::driver::reusable_encoders::ReusableEncoders;
use crate::memory::pool::{FreeList, TakenItem};
use crate::memory::wgpu_memory::refused;
use crate::record::hal::barriers::Epochs;
use crate::record::hal::encoder::{FinishedBuffers, NativeEncoder};
use crate::record::hal::stretch::UsedStretch;
use fencepost_sync::TimelineValue;
use fencepost_sync::backend::HalFence;
use smallvec::SmallVec;
use std::sync::Arc;
use wgpu::hal;
use wgpu::hal::{CommandEncoder as _, Device as _, DeviceError, Queue as _};

/// Native recording and submission for the device's only lane. Only the thread that holds the lane's token may call the
/// methods.
pub(crate) struct Direct<A: Backend> {
    device: Arc<WgpuDevice>,
    fence: Arc<HalFence<A>>,
    queue: Option<Box<dyn NativeQueue<A>>>,
    /// Encoders whose commands are complete on the device.
    idle: FreeList<Encoder<A>>,
}

/// An encoder, and the commands that it recorded last. They are submitted in order, with native bodies of graphs
/// between them.
pub(crate) struct Encoder<A: Backend> {
    native: A::CommandEncoder,
    recorded: FinishedBuffers<A>,
}

/// The order of a submission relative to the earlier ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SubmissionOrder {
    /// The barriers in the batch order it after earlier batches.
    Early,
    /// The submission starts after the earlier ones of this lane.
    After,
    /// The submission starts after the earlier ones of this lane and of wgpu. User code and other contexts submit
    /// through wgpu.
    AfterWgpu,
}

/// Recorded commands. Dropping them makes the encoder idle, so they must be complete by then.
pub(crate) type RecordedEncoder<A> = TakenItem<Encoder<A>>;

impl<A: Backend> Direct<A> {
    pub(crate) fn new(device: Arc<WgpuDevice>, fence: Arc<HalFence<A>>) -> Self {
        let queue =
            A::native_queue(device.raw(), device.queue()).filter(|queue| queue.signals(fence.native()));
        Self { device, fence, queue, idle: FreeList::default() }
    }

    /// Returns the queue below wgpu-hal, where submissions may start before earlier ones end.
    pub(crate) fn queue(&self) -> Option<&dyn NativeQueue<A>> {
        self.queue.as_deref()
    }

    pub(crate) fn device(&self) -> &Arc<WgpuDevice> {
        &self.device
    }

    pub(crate) fn fence(&self) -> &Arc<HalFence<A>> {
        &self.fence
    }

    /// Records commands into an idle or a new encoder, for the submission that signals `signal`.
    ///
    /// # Errors
    /// Returns the error of `commands`, or the driver's.
    pub(crate) fn record<T>(
        &self,
        signal: TimelineValue,
        commands: impl FnOnce(&mut A::CommandEncoder, &mut FinishedBuffers<A>) -> Result<T, SubmitFailure>,
    ) -> Result<(RecordedEncoder<A>, T), SubmitFailure> {
        let mut recorded = self.encoder().map_err(|error| self.failure(&error))?;
        let encoder = &mut *recorded;
        // SAFETY: the encoder is closed, and the commands that it recorded before were reset.
        unsafe { encoder.native.begin_encoding(None) }.map_err(|error| self.failure(&error))?;
        self.fence.watch(&encoder.native, signal);
        match commands(&mut encoder.native, &mut encoder.recorded) {
            Ok(outcome) if encoder.recorded.rest_is_empty && !encoder.recorded.buffers.is_empty() => {
                // SAFETY: the encoder is open.
                unsafe { encoder.native.discard_encoding() };
                Ok((recorded, outcome))
            }
            Ok(outcome) => {
                encoder
                    .recorded
                    .handles
                    .extend(self.queue.as_ref().map(|queue| queue.handle(&encoder.native)));
                // SAFETY: the encoder is open, and no pass is open in it.
                let ended = unsafe { encoder.native.end_encoding() };
                encoder.recorded.buffers.push(ended.map_err(|error| self.failure(&error))?);
                Ok((recorded, outcome))
            }
            Err(failure) => {
                if !encoder.recorded.is_closed {
                    // SAFETY: the encoder is open.
                    unsafe { encoder.native.discard_encoding() };
                }
                Err(failure)
            }
        }
    }

    /// Submits the recorded commands, if any, with the native bodies of graphs in between. The fence reaches `signal`
    /// after them and after all earlier submissions, up to the value `last`.
    ///
    /// # Errors
    /// Treats any driver error as the loss of the device. In wgpu-hal each submission waits for a semaphore of the
    /// previous one, even if the previous one has failed, so the next submission would wait forever.
    pub(crate) fn submit(
        &self,
        recorded: Option<&RecordedEncoder<A>>,
        stretches: &[UsedStretch<A>],
        (order, last): (SubmissionOrder, TimelineValue),
        signal: TimelineValue,
    ) -> Result<(), SubmitFailure> {
        if let Some(queue) = &self.queue {
            let is_exposed = self.device.exposed();
            if order != SubmissionOrder::AfterWgpu && !*is_exposed {
                let after = (order == SubmissionOrder::After && last > TimelineValue(0)).then_some(last);
                return self.submit_past_wgpu(&**queue, recorded, stretches, after, signal);
            }
        }
        self.hold_next(last)?;
        // SAFETY: the queue is only used to submit, and only wgpu destroys it.
        let queue = unsafe { self.device.queue().as_hal::<A>() };
        let queue = queue.ok_or_else(|| self.failure(&DeviceError::Lost))?;
        let own = recorded.map_or(&[][..], |encoder| &encoder.recorded.buffers);
        let mut buffers: SmallVec<[_; 3]> = own.iter().collect();
        for (earlier, (after, body)) in stretches.iter().filter_map(UsedStretch::body).enumerate() {
            buffers.insert(after + earlier, body.commands());
        }
        // SAFETY: an encoder of this device recorded the commands. They, and all that they use, are kept until the
        // fence reaches `signal`. The values of a lane grow, so the fence's values grow from submission to submission.
        let submitted = unsafe { queue.submit(&buffers, &[], (self.fence.native(), signal.0)) };
        submitted.map_err(|error| self.lose(&error))?;
        self.device.note_past_wgpu(false);
        self.fence.submitted(signal);
        Ok(())
    }

    /// Makes the fence reach `signal` after the work that wgpu has just submitted, with a submission without commands.
    ///
    /// # Errors
    /// Treats any driver error as the loss of the device, as [`submit`](Self::submit) does.
    pub(crate) fn follow(&self, signal: TimelineValue) -> Result<(), SubmitFailure> {
        // SAFETY: the queue is only used to submit, and only wgpu destroys it.
        let queue = unsafe { self.device.queue().as_hal::<A>() };
        let queue = queue.ok_or_else(|| self.failure(&DeviceError::Lost))?;
        // SAFETY: there are no commands, and the values of a lane grow.
        let submitted = unsafe { queue.submit(&[], &[], (self.fence.native(), signal.0)) };
        submitted.map_err(|error| self.lose(&error))?;
        self.device.note_past_wgpu(false);
        self.fence.submitted(signal);
        Ok(())
    }

    /// Makes wgpu's next submission start after this lane's submissions up to `value`, which is the last one.
    ///
    /// # Errors
    /// Returns the loss of the device if wgpu has dropped it.
    pub(crate) fn hold_next(&self, value: TimelineValue) -> Result<(), SubmitFailure> {
        if let Some(native) = &self.queue
            && value > TimelineValue(0)
        {
            // SAFETY: the queue is only used to submit, and only wgpu destroys it.
            let queue = unsafe { self.device.queue().as_hal::<A>() };
            let queue = queue.ok_or_else(|| self.failure(&DeviceError::Lost))?;
            native.hold_next(&queue, (self.fence.native(), value));
        }
        Ok(())
    }

    /// Submits below wgpu-hal. The submission starts once the fence has passed `after`. If `after` is `None`, it may
    /// start before earlier ones end.
    fn submit_past_wgpu(
        &self,
        queue: &dyn NativeQueue<A>,
        recorded: Option<&RecordedEncoder<A>>,
        stretches: &[UsedStretch<A>],
        after: Option<TimelineValue>,
        signal: TimelineValue,
    ) -> Result<(), SubmitFailure> {
        let own = recorded.map_or(&[][..], |encoder| &encoder.recorded.handles);
        let mut handles: SmallVec<[_; 4]> = own.iter().copied().collect();
        for (earlier, (after, body)) in stretches.iter().filter_map(UsedStretch::body).enumerate() {
            handles.insert(after + earlier, body.handle().expect("bug: a body without a handle"));
        }
        self.device.note_past_wgpu(true);
        // SAFETY: an encoder of this device recorded the commands. They, and all that they use, are kept until the
        // fence reaches `signal`. The values of a lane grow. The caller holds the lane's token and the lock that keeps
        // user code from the queue.
        let submitted = unsafe { queue.submit(&handles, after, (self.fence.native(), signal)) };
        submitted.map_err(|error| self.lose(&error))?;
        self.fence.submitted(signal);
        Ok(())
    }

    /// Returns an idle encoder, or makes one.
    fn encoder(&self) -> Result<RecordedEncoder<A>, DeviceError> {
        let encoder = match self.idle.take() {
            Some(mut encoder) => {
                // SAFETY: the encoder is idle, so the device has completed the commands that it recorded.
                unsafe { encoder.native.reset_all(std::iter::from_fn(|| encoder.recorded.buffers.pop())) };
                encoder.recorded.buffers.clear(); // the noop backend leaves them in the list
                encoder.recorded.handles.clear();
                encoder.recorded.is_closed = false;
                encoder
            }
            None => Encoder { native: self.new_encoder()?, recorded: FinishedBuffers::default() },
        };
        Ok(self.idle.lend(encoder))
    }

    fn new_encoder(&self) -> Result<A::CommandEncoder, DeviceError> {
        // SAFETY: the device is only used to make an encoder, and only wgpu destroys it.
        let device = unsafe { self.device.raw().as_hal::<A>() }.ok_or(DeviceError::Lost)?;
        // SAFETY: the queue is only used to make an encoder, and only wgpu destroys it.
        let queue = unsafe { self.device.queue().as_hal::<A>() }.ok_or(DeviceError::Lost)?;
        let desc = hal::CommandEncoderDescriptor { label: Some("batch"), queue: &*queue };
        // SAFETY: the queue belongs to the device.
        unsafe { device.create_command_encoder(&desc) }
    }

    /// Raises the loss of the device and returns it.
    fn lose(&self, error: &DeviceError) -> SubmitFailure {
        self.device.lost().raise(&format!("a submission failed: {error}"));
        self.failure(error)
    }

    /// Returns the failure of a whole batch, for the scheduler. If `error` is the loss of the device, raises that too.
    pub(crate) fn failure(&self, error: &DeviceError) -> SubmitFailure {
        if matches!(error, DeviceError::Lost) {
            self.device.lost().raise(&error.to_string());
        }
        self.device.failure(|| refused(error, "a submission", 0))
    }
}

impl<A: Backend> Drop for Direct<A> {
    /// Submits an empty batch that waits for nothing, and destroys the fence only once that batch is complete.
    ///
    /// Mesa's queue threads signal the end of a batch before they release the fence that the batch waited for. If the
    /// fence were destroyed in between, it would be used after being freed.
    fn drop(&mut self) {
        let last = self.fence.last_submitted();
        if self.queue.is_some() && last > TimelineValue(0) && !self.device.lost().is_raised() {
            let _ = self.follow(TimelineValue(last.0 + 1)); // an error raises the loss of the device
        }
    }
}

/// Recorded commands that may be submitted many times. A batch that submits them keeps the body alive until the batch
/// is complete; the steps of the batch keep the blocks and kernels alive. The fields are dropped in their order.
pub(crate) struct NativeBody<A: Backend> {
    commands: A::CommandBuffer,
    handle: Option<u64>,
    /// Owner of the commands' memory.
    _encoder: A::CommandEncoder,
    /// Owner of the encoder's device.
    _maker: Arc<dyn ReusableEncoders<A>>,
}

impl<A: Backend> NativeBody<A> {
    /// Records `commands` once, including the end of a batch, because a batch may consist of the body alone.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub(crate) fn new(
        maker: &Arc<dyn ReusableEncoders<A>>,
        queue: Option<&dyn NativeQueue<A>>,
        commands: impl FnOnce(&mut NativeEncoder<'_, A>),
    ) -> Result<Self, DeviceError> {
        let mut encoder = maker.encoder()?;
        maker.open(&mut encoder)?;
        let mut calls = NativeEncoder::new(&mut encoder, None, None, Epochs::default().ordered(), None);
        commands(&mut calls);
        calls.end_pass();
        let handle = queue.map(|queue| {
            queue.end_batch(&mut encoder);
            queue.handle(&encoder)
        });
        // SAFETY: the encoder is open, and no pass is open in it.
        let recorded = unsafe { encoder.end_encoding() }?;
        Ok(Self { commands: recorded, handle, _encoder: encoder, _maker: maker.clone() })
    }

    /// Returns the commands.
    pub(crate) fn commands(&self) -> &A::CommandBuffer {
        &self.commands
    }

    /// Returns the raw handle of the commands, if the queue below wgpu-hal is known.
    pub(crate) fn handle(&self) -> Option<u64> {
        self.handle
    }
}
