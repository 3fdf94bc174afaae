//! Waits and copies between contexts.
//!
//! No thread holds the locks of two contexts at once. A queue that waits for another context is held on the host, as
//! for a user event, until a relay signals that the other context has reached the awaited point. So this works for any
//! two contexts, whatever their devices are. Contexts on the same wgpu device share a hardware queue, which keeps the
//! order itself: there the wait already ends when the awaited work is submitted.

pub(crate) mod context_copy;
pub(crate) mod event_wait;
