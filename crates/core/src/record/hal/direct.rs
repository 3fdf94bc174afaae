//! Submissions past wgpu, in encoders of our own.
#![allow(unsafe_code, reason = "submissions that wgpu itself does not see")]

use crate::device::Device as _;
use crate::device::recorder::Failure;
use crate::device::wgpu_device::WgpuDevice;
use crate::driver::backend::Backend;
use crate::error::{Error, Kind};
use crate::memory::wgpu_memory::refused;
use fencepost_sync::Value;
use fencepost_sync::backend::HalFence;
use fencepost_sync::prim::{Mutex, lock};
use smallvec::SmallVec;
use std::sync::Arc;
use wgpu::hal::{self, CommandEncoder as _, Device as _, DeviceError, Queue as _};

/// Encoders that nothing of the device's is in.
type IdleEncoders<A> = Arc<Mutex<Vec<Encoder<A>>>>;

/// Submits for the one lane of a device. Whoever holds the lane's token is alone with it.
pub(crate) struct Direct<A: Backend> {
    device: Arc<WgpuDevice>,
    fence: Arc<HalFence<A>>,
    idle: IdleEncoders<A>,
}

/// An encoder, with what it recorded last.
struct Encoder<A: Backend> {
    native: A::CommandEncoder,
    recorded: Option<A::CommandBuffer>,
}

/// Recorded commands. Goes back to the idle encoders when it is dropped: not before the device has passed it.
pub(crate) struct RecordedEncoder<A: Backend> {
    encoder: Option<Encoder<A>>,
    external_states: IdleEncoders<A>,
}

impl<A: Backend> Direct<A> {
    pub(crate) fn new(device: Arc<WgpuDevice>, fence: Arc<HalFence<A>>) -> Self {
        Self { device, fence, idle: IdleEncoders::default() }
    }

    pub(crate) fn device(&self) -> &Arc<WgpuDevice> {
        &self.device
    }

    pub(crate) fn fence(&self) -> &Arc<HalFence<A>> {
        &self.fence
    }

    /// Records commands into an encoder of its own.
    ///
    /// # Errors
    /// Those of `commands`, and the driver's.
    pub(crate) fn record<T>(
        &self,
        commands: impl FnOnce(&mut A::CommandEncoder) -> Result<T, Failure>,
    ) -> Result<(RecordedEncoder<A>, T), Failure> {
        let mut recorded = self.encoder().map_err(|error| self.failure(&error))?;
        let encoder = recorded.encoder.as_mut().expect("it is there until the drop");
        // SAFETY: the encoder is closed, and what it recorded before was reset.
        unsafe { encoder.native.begin_encoding(None) }.map_err(|error| self.failure(&error))?;
        match commands(&mut encoder.native) {
            Ok(outcome) => {
                // SAFETY: the encoder is open, and no pass is.
                let ended = unsafe { encoder.native.end_encoding() };
                encoder.recorded = Some(ended.map_err(|error| self.failure(&error))?);
                Ok((recorded, outcome))
            }
            Err(failure) => {
                // SAFETY: the encoder is open.
                unsafe { encoder.native.discard_encoding() };
                Err(failure)
            }
        }
    }

    /// Submits what was recorded, if anything; the fence will pass `signal` behind it and all that was submitted before.
    ///
    /// # Errors
    /// The device's loss, which any error of the driver is: wgpu-hal has each submission wait for a semaphore of the one
    /// before, and goes on as if this one had been made; the next would wait for ever.
    pub(crate) fn submit(&self, recorded: Option<&RecordedEncoder<A>>, signal: Value) -> Result<(), Failure> {
        // SAFETY: the handle is only used to submit.
        let queue = unsafe { self.device.queue().as_hal::<A>() };
        let queue = queue.ok_or_else(|| self.failure(&DeviceError::Lost))?;
        let buffers: SmallVec<[_; 1]> = recorded.and_then(RecordedEncoder::commands).into_iter().collect();
        // SAFETY: recorded by an encoder of this device and kept, with all that it uses, until the fence has passed
        // `signal`; values grow from submission to submission, as the lane's do.
        let submitted = unsafe { queue.submit(&buffers, &[], (self.fence.native(), signal.0)) };
        submitted.map_err(|error| self.lose(&error))?;
        self.fence.submitted(signal);
        Ok(())
    }

    /// Has the fence pass `signal` behind what wgpu has just submitted.
    ///
    /// # Errors
    /// The device's loss, which it is if the work cannot be followed.
    pub(crate) fn follow(&self, signal: Value) -> Result<(), Failure> {
        self.submit(None, signal)
    }

    /// An idle encoder, or a new one.
    fn encoder(&self) -> Result<RecordedEncoder<A>, DeviceError> {
        let idle = lock(&self.idle).pop();
        let encoder = match idle {
            Some(mut encoder) => {
                // SAFETY: the device has passed what it recorded, as it is idle.
                unsafe { encoder.native.reset_all(encoder.recorded.take().into_iter()) };
                encoder
            }
            None => Encoder { native: self.new_encoder()?, recorded: None },
        };
        Ok(RecordedEncoder { encoder: Some(encoder), external_states: self.idle.clone() })
    }

    fn new_encoder(&self) -> Result<A::CommandEncoder, DeviceError> {
        // SAFETY: the handle is only used to make an encoder of our own.
        let device = unsafe { self.device.raw().as_hal::<A>() }.ok_or(DeviceError::Lost)?;
        // SAFETY: the handle is only used to make an encoder of our own.
        let queue = unsafe { self.device.queue().as_hal::<A>() }.ok_or(DeviceError::Lost)?;
        let desc = hal::CommandEncoderDescriptor { label: Some("batch"), queue: &*queue };
        // SAFETY: device and queue belong together.
        unsafe { device.create_command_encoder(&desc) }
    }

    /// Gives the device up.
    fn lose(&self, error: &DeviceError) -> Failure {
        self.device.lost().raise(&format!("a submission failed: {error}"));
        self.failure(error)
    }

    /// What went wrong, as the scheduler wants to know it.
    pub(crate) fn failure(&self, error: &DeviceError) -> Failure {
        let lost = self.device.lost();
        if matches!(error, DeviceError::Lost) {
            lost.raise(&error.to_string());
        }
        let error: Error = match lost.check() {
            Ok(()) => refused(error, "a submission", 0),
            Err(lost) => {
                Kind::DeviceLost { device: self.device.caps().adapter.clone(), reason: lost.reason }.into()
            }
        };
        Failure { step: None, error, lost: lost.is_raised() }
    }
}

impl<A: Backend> RecordedEncoder<A> {
    fn commands(&self) -> Option<&A::CommandBuffer> {
        self.encoder.as_ref().and_then(|encoder| encoder.recorded.as_ref())
    }
}

impl<A: Backend> Drop for RecordedEncoder<A> {
    fn drop(&mut self) {
        lock(&self.external_states).extend(self.encoder.take());
    }
}
