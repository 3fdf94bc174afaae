//! What each thread does at this moment, for the message of a hang.

use std::sync::{Mutex, PoisonError};

/// A line for each thread.
pub struct Board(Vec<Mutex<String>>);

impl Board {
    pub fn new(threads: usize) -> Self {
        Self((0..threads).map(|_| Mutex::default()).collect())
    }

    /// Notes what a thread does now.
    pub fn note(&self, thread: usize, text: String) {
        *self.0[thread].lock().unwrap_or_else(PoisonError::into_inner) = text;
    }

    /// What a thread does.
    pub fn of(&self, thread: usize) -> String {
        self.0[thread].lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What all threads do.
    pub fn shown(&self) -> String {
        let lines = (0..self.0.len()).map(|thread| format!("thread {thread}: {}", self.of(thread)));
        lines.collect::<Vec<_>>().join("\n")
    }
}
