//! The native body of a stretch of a graph: commands that are recorded once and submitted at each replay.
#![allow(unsafe_code, reason = "commands that wgpu itself does not see")]

use crate::driver::backend::Backend;
use crate::driver::native_queue::NativeQueue;
use crate::driver::reusable_encoders::ReusableEncoders;
use crate::record::hal::barriers::Epochs;
use crate::record::hal::encoder::NativeEncoder;
use std::sync::Arc;
use wgpu::hal::{CommandEncoder as _, DeviceError};

/// Recorded commands that may be submitted many times. A batch that submits them keeps the body until it is complete,
/// and its steps keep the blocks and the kernels. The drop destroys the fields in their order.
pub(crate) struct NativeBody<A: Backend> {
    commands: A::CommandBuffer,
    handle: Option<u64>,
    /// Owner of the commands' memory.
    _encoder: A::CommandEncoder,
    /// Owner of the encoder's device.
    _maker: Arc<dyn ReusableEncoders<A>>,
}

impl<A: Backend> NativeBody<A> {
    /// Records `commands` once, with the end of a batch, because a batch may consist of the body alone.
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

    /// Returns the handle of the commands, if the queue below wgpu-hal is known.
    pub(crate) fn handle(&self) -> Option<u64> {
        self.handle
    }
}
