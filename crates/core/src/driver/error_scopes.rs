//! wgpu's errors as return values.

use crate::error::{Error, ErrorDetail, Result};
#[cfg(not(target_arch = "wasm32"))]
use std::task::{Context, Poll, Waker};

/// The operation during which wgpu may report an error, for the message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation<'a> {
    pub(crate) object: &'a str,
    pub(crate) bytes: u64,
}

impl Operation<'_> {
    /// Runs `work` inside error scopes, and returns its result or the error that a scope caught.
    ///
    /// # Errors
    /// Returns the caught error as [`failed`](Self::failed) converts it.
    pub(crate) fn run<T>(&self, device: &wgpu::Device, work: impl FnOnce() -> T) -> Result<T> {
        let (made, error) = scoped(device, work);
        error.map_or(Ok(made), |error| Err(self.failed(&error)))
    }

    /// Returns this crate's error for a wgpu error.
    pub(crate) fn failed(&self, error: &wgpu::Error) -> Error {
        let object = self.object.to_owned();
        match error {
            wgpu::Error::OutOfMemory { .. } => {
                ErrorDetail::OutOfMemory { object, bytes: self.bytes, limit: None }.into()
            }
            other => ErrorDetail::Device { object, message: reasons(other) }.into(),
        }
    }
}

/// Runs `work` inside error scopes of `device` on this thread. Returns the result and the error that a scope caught, if
/// any.
///
/// In a browser, errors are reported only after the call has returned, to the device's own error handler.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn scoped<T>(device: &wgpu::Device, work: impl FnOnce() -> T) -> (T, Option<wgpu::Error>) {
    let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
    let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let made = work();
    let validation = ready(validation.pop());
    let memory = ready(memory.pop());
    let internal = ready(internal.pop());
    (made, memory.or(validation).or(internal))
}

/// Runs `work` and returns no error, because in a browser the device's error handler receives all errors.
#[cfg(target_arch = "wasm32")]
pub(crate) fn scoped<T>(_: &wgpu::Device, work: impl FnOnce() -> T) -> (T, Option<wgpu::Error>) {
    (work(), None)
}

/// Runs `work` inside an out-of-memory error scope. Returns the result, and `true` if the device ran out of memory.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn scoped_memory<T>(device: &wgpu::Device, work: impl FnOnce() -> T) -> (T, bool) {
    let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let made = work();
    (made, ready(memory.pop()).is_some())
}

/// Runs `work` and returns `false`, because in a browser the device's error handler receives all errors.
#[cfg(target_arch = "wasm32")]
pub(crate) fn scoped_memory<T>(_: &wgpu::Device, work: impl FnOnce() -> T) -> (T, bool) {
    (work(), false)
}

/// Returns the result of the future of a popped error scope, which is ready at once outside the browser.
#[cfg(not(target_arch = "wasm32"))]
fn ready(future: impl Future<Output = Option<wgpu::Error>>) -> Option<wgpu::Error> {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(error) => error,
        Poll::Pending => None,
    }
}

/// Returns the messages of an error and of its causes, on one line.
pub(crate) fn reasons(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(below) = cause {
        let text = below.to_string();
        if !message.contains(&text) {
            message += &format!(": {text}");
        }
        cause = below.source();
    }
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}
