//! Records the current action of each thread, for the message of a hang.

use std::sync::{Mutex, PoisonError};

/// A line for each thread.
pub struct Progress(Vec<Mutex<String>>);

impl Progress {
    pub fn new(threads: usize) -> Self {
        Self((0..threads).map(|_| Mutex::default()).collect())
    }

    /// Records the current action of a thread.
    pub fn note(&self, thread: usize, text: String) {
        *self.0[thread].lock().unwrap_or_else(PoisonError::into_inner) = text;
    }

    /// Returns the current action of a thread.
    pub fn of(&self, thread: usize) -> String {
        self.0[thread].lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the current actions of all threads.
    pub fn shown(&self) -> String {
        let lines = (0..self.0.len()).map(|thread| format!("thread {thread}: {}", self.of(thread)));
        lines.collect::<Vec<_>>().join("\n")
    }
}
