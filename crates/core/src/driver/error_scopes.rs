//! wgpu's errors as return values.
//!
//! A browser reports an error only after the call that caused it has returned. There, the memory of an array keeps the
//! browser's answer. The calls that make other objects note their errors, and the first part of a batch that fails because
//! of such an object takes the note.

use crate::error::{Error, ErrorDetail, Result};
#[cfg(target_arch = "wasm32")]
pub(crate) use late::{LateErrors, earlier_answers, forget_note, forget_notes_of};
use std::sync::{Arc, OnceLock};
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
        let scoped = scoped(device, work);
        if let Some(error) = scoped.error {
            return Err(self.failed(&error));
        }
        if cfg!(target_arch = "wasm32") {
            let object = self.object.to_owned();
            let bytes = self.bytes;
            scoped.late.note(device, move |error| Operation { object: &object, bytes }.failed(error));
        }
        Ok(scoped.made)
    }

    /// Runs `work` inside error scopes on a device whose errors are late. Returns its result, and the answer that will hold
    /// the error that a scope catches, as [`failed`](Self::failed) converts it.
    pub(crate) fn run_late<T>(&self, device: &wgpu::Device, work: impl FnOnce() -> T) -> (T, LateAnswer) {
        let Scoped { made, error, late } = scoped(device, work);
        let object = self.object.to_owned();
        let bytes = self.bytes;
        let answer = LateAnswer::default();
        late.with(error).tell(&answer, move |error| Operation { object: &object, bytes }.failed(error));
        (made, answer)
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

/// The device's answer to a call that made an object: nothing until it arrives, then the error with which the device has
/// refused the object, or `None`.
#[derive(Clone, Default)]
pub(crate) struct LateAnswer(Arc<OnceLock<Option<Error>>>);

impl LateAnswer {
    /// Returns the error, if the device has refused the object.
    pub(crate) fn refusal(&self) -> Option<&Error> {
        self.0.get()?.as_ref()
    }

    /// Returns `true` if the device has made the object.
    pub(crate) fn is_made(&self) -> bool {
        matches!(self.0.get(), Some(None))
    }

    /// Records the answer.
    pub(crate) fn set(&self, error: Option<Error>) {
        let is_first = self.0.set(error).is_ok();
        debug_assert!(is_first, "bug: a device answers twice");
    }
}

/// Result of a call inside error scopes.
pub(crate) struct Scoped<T> {
    pub(crate) made: T,
    /// The error that a scope caught; in a browser `None`.
    pub(crate) error: Option<wgpu::Error>,
    /// The errors that a browser reports later.
    pub(crate) late: LateErrors,
}

/// Runs `work` inside error scopes of `device` on this thread.
pub(crate) fn scoped<T>(device: &wgpu::Device, work: impl FnOnce() -> T) -> Scoped<T> {
    let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
    let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let made = work();
    // The scopes end in the reverse order of their beginning.
    let validation = validation.pop();
    let memory = memory.pop();
    let internal = internal.pop();
    #[cfg(not(target_arch = "wasm32"))]
    let error = {
        let validation = ready(validation);
        ready(memory).or(validation).or(ready(internal))
    };
    #[cfg(not(target_arch = "wasm32"))]
    let late = LateErrors(None);
    #[cfg(target_arch = "wasm32")]
    let error = None;
    #[cfg(target_arch = "wasm32")]
    let late = LateErrors([Box::pin(memory), Box::pin(validation), Box::pin(internal)]);
    Scoped { made, error, late }
}

/// Runs `work` inside an out-of-memory error scope. Returns the result, and `true` if the device ran out of memory.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn scoped_memory<T>(device: &wgpu::Device, work: impl FnOnce() -> T) -> (T, bool) {
    let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let made = work();
    (made, ready(memory.pop()).is_some())
}

/// Runs `work` and returns `false`, because in a browser errors arrive later.
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

/// The errors that a browser reports later. Outside a browser there are none, except the error that a test makes late.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) struct LateErrors(Option<wgpu::Error>);

#[cfg(not(target_arch = "wasm32"))]
impl LateErrors {
    /// Does nothing, because there is no late error.
    pub(crate) fn note(self, _: &wgpu::Device, _: impl Fn(&wgpu::Error) -> Error + 'static) {}

    /// Records the answer to a call that made an object.
    pub(crate) fn tell(self, answer: &LateAnswer, convert: impl Fn(&wgpu::Error) -> Error + 'static) {
        answer.set(self.0.map(|error| convert(&error)));
    }

    /// Adds the error that a scope caught.
    pub(crate) fn with(self, error: Option<wgpu::Error>) -> Self {
        Self(self.0.or(error))
    }

    /// Returns the error of a part of a batch, if there is one.
    pub(crate) fn of_part(self, convert: impl Fn(&wgpu::Error) -> Error) -> Option<Error> {
        self.0.map(|error| convert(&error))
    }
}

#[cfg(target_arch = "wasm32")]
mod late {
    use super::LateAnswer;
    use crate::error::Error;
    use std::cell::RefCell;
    use std::pin::Pin;

    /// Maximum number of notes. Further ones are dropped: they have the same cause, such as the end of the memory.
    const MOST_NOTES: usize = 64;

    thread_local! {
        /// Errors of objects that no submission has used yet, each with its device.
        static NOTES: RefCell<Vec<(wgpu::Device, Error)>> = RefCell::default();
    }

    /// The errors that a browser reports later.
    pub(crate) struct LateErrors(pub(super) [Pin<Box<dyn Future<Output = Option<wgpu::Error>>>>; 3]);

    impl LateErrors {
        /// Notes the error of a call that made an object, once the browser reports one.
        pub(crate) fn note(self, device: &wgpu::Device, convert: impl Fn(&wgpu::Error) -> Error + 'static) {
            let device = device.clone();
            wasm_bindgen_futures::spawn_local(async move {
                if let Some(error) = self.first().await {
                    let error = convert(&error);
                    NOTES.with_borrow_mut(|notes| {
                        if notes.len() < MOST_NOTES {
                            notes.push((device, error));
                        }
                    });
                }
            });
        }

        /// Records the answer to a call that made an object, once the browser gives it.
        pub(crate) fn tell(self, answer: &LateAnswer, convert: impl Fn(&wgpu::Error) -> Error + 'static) {
            let answer = answer.clone();
            wasm_bindgen_futures::spawn_local(async move {
                let error = self.first().await;
                answer.set(error.map(|error| convert(&error)));
            });
        }

        /// Returns `self`, because in a browser no scope catches an error at once.
        pub(crate) fn with(self, _: Option<wgpu::Error>) -> Self {
            self
        }

        /// Returns the error of a part of a batch, if the browser reports one: that of its arrays, which `refusal` returns,
        /// or that of another object that could not be made, or else the error that `convert` returns.
        pub(crate) async fn of_part(
            self,
            device: wgpu::Device,
            refusal: impl FnOnce() -> Option<Error>,
            convert: impl Fn(&wgpu::Error) -> Error,
        ) -> Option<Error> {
            let error = self.first().await?;
            if let Some(refusal) = refusal() {
                return Some(refusal);
            }
            let note = NOTES.with_borrow_mut(|notes| {
                let at = notes.iter().position(|(of, _)| *of == device)?;
                Some(notes.remove(at).1)
            });
            Some(note.unwrap_or_else(|| convert(&error)))
        }

        async fn first(self) -> Option<wgpu::Error> {
            let mut first = None;
            for scope in self.0 {
                first = first.or(scope.await);
            }
            first
        }
    }

    /// Returns once the browser has answered all earlier calls: their errors are noted.
    pub(crate) async fn earlier_answers(device: wgpu::Device) {
        // The browser answers in order.
        super::scoped(&device, || ()).late.first().await;
    }

    /// Removes the notes of a device that its context no longer needs.
    pub(crate) fn forget_notes_of(device: &wgpu::Device) {
        NOTES.with_borrow_mut(|notes| notes.retain(|(of, _)| of != device));
    }

    /// Removes the note of an error that the program has received.
    pub(crate) fn forget_note(error: &Error) {
        NOTES.with_borrow_mut(|notes| notes.retain(|(_, noted)| !noted.is(error)));
    }
}
