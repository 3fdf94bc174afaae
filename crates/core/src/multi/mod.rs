//! What goes from one context to another: waits and copies.
//!
//! Two contexts never hold their locks together. A queue that waits for another context is held on the host, as for a
//! user event, until the other side says that it is there; so any two contexts fit, whatever they run on. Contexts on one
//! wgpu device submit to one queue: there a wait becomes a step of the device's as soon as what it is for was submitted.

pub(crate) mod context_copy;
pub(crate) mod copy_pieces;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held while waits and copies between contexts are enqueued, and nothing else is done. A copy has a place in two contexts; nobody may come
/// between the two with a wait of one context for the other, or each could wait for the other for ever.
pub(crate) fn enqueueing() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
