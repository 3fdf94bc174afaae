//! Waits and copies between contexts.
//!
//! No thread holds the locks of two contexts at once. A queue that waits for another context is held on the host, as
//! for a user event, until a relay signals that the other context has reached the awaited point. Any two contexts can
//! therefore be combined, whatever their devices are. Contexts on one wgpu device submit to one hardware queue: there
//! the wait ends on the host once the awaited work is submitted, and the hardware queue keeps the order.

pub(crate) mod context_copy;
pub(crate) mod event_wait;
