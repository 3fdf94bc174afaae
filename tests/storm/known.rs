//! What is known to go wrong today, and is left out until it is mended: set to true, the storm does it.

/// Maps that are awaited. One may never end while batches wait to be submitted, where the host does not reach the array or
/// the context has just made it (rule M06).
pub const AWAITED_MAPS: bool = true;

/// Blocking waits inside callbacks. One that is refused as `WouldDeadlock` counts as if it had succeeded, so that later work
/// is not ordered (rule P01); and callbacks of two contexts that wait for each other never end (rule Q11).
pub const WAITS_IN_CALLBACKS: bool = true;

/// Results that are awaited inside callbacks, which may never end (rule Q11).
pub const AWAITS_IN_CALLBACKS: bool = true;

/// A queue that was timed and is gone lets go of the staging memory of its times. Today it does so when another queue takes its
/// slot in the context (rule M08).
pub const TIMED_QUEUES_LEAVE_NO_STAGING: bool = true;
