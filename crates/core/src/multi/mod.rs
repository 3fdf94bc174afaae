//! What goes from one context to another: waits and copies.
//!
//! Two contexts never hold their locks together. A queue that waits for another context is held on the host, as for a
//! user event, until the other side says that it is there; so any two contexts fit, whatever they run on. Contexts on one
//! wgpu device submit to one queue: there a wait becomes a step of the device's as soon as what it is for was submitted.

pub(crate) mod context_copy;
pub(crate) mod copy_pieces;
pub(crate) mod event_wait;
