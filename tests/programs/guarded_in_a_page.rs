//! Stands for the module that ends programs that hang: a page does that itself, and shows the message of a panic.

use super::common::page;
use fencepost::ContextWatch;
use std::sync::mpsc::Sender;

/// Start of the message of a hang.
pub const HANG: &str = "not over within";

/// Runs `body`. If it does not end in time, the page shows the state of the contexts that it sent.
pub fn guarded<R>(body: impl FnOnce(Sender<ContextWatch>) -> Result<R, String>) -> Result<R, String> {
    body(page::watcher())
}
