//! wgpu's errors as values.

use crate::error::{Error, Kind};
#[cfg(not(target_arch = "wasm32"))]
use std::task::{Context, Poll, Waker};

/// What was being done when wgpu complained, for the message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation<'a> {
    pub(crate) object: &'a str,
    pub(crate) bytes: u64,
}

impl Operation<'_> {
    /// The error of ours for one of wgpu's.
    pub(crate) fn failed(&self, error: &wgpu::Error) -> Error {
        let object = self.object.to_owned();
        match error {
            wgpu::Error::OutOfMemory { .. } => {
                Kind::OutOfMemory { object, bytes: self.bytes, limit: None }.into()
            }
            other => Kind::Device { object, message: reasons(other) }.into(),
        }
    }
}

/// Runs `work` with all errors of `device` on this thread caught; the first of them, if any.
///
/// In the browser errors come later than the call: there the device's own handler hears of them.
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

/// As on other targets, but every error goes to the device's handler.
#[cfg(target_arch = "wasm32")]
pub(crate) fn scoped<T>(_: &wgpu::Device, work: impl FnOnce() -> T) -> (T, Option<wgpu::Error>) {
    (work(), None)
}

/// As [`scoped`], of what there is no memory for; whether that was so.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn scoped_memory<T>(device: &wgpu::Device, work: impl FnOnce() -> T) -> (T, bool) {
    let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let made = work();
    (made, ready(memory.pop()).is_some())
}

/// As on other targets, but every error goes to the device's handler.
#[cfg(target_arch = "wasm32")]
pub(crate) fn scoped_memory<T>(_: &wgpu::Device, work: impl FnOnce() -> T) -> (T, bool) {
    (work(), false)
}

/// The answer of a future that has it already, as a popped scope does outside the browser.
#[cfg(not(target_arch = "wasm32"))]
fn ready(future: impl Future<Output = Option<wgpu::Error>>) -> Option<wgpu::Error> {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(error) => error,
        Poll::Pending => None,
    }
}

/// An error with what lies below it, on one line.
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
