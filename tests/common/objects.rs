//! Makes queues, and holds them back.

use fencepost::{CommandQueue, Context, UserEvent};

/// Makes a queue for each label, in this order.
pub fn queues<const N: usize>(ctx: &Context, labels: [&str; N]) -> [CommandQueue; N] {
    labels.map(|label| ctx.queue(label))
}

/// Makes a queue wait for a new user event `gate`. Returns the event.
#[track_caller]
pub fn hold(queue: &CommandQueue) -> UserEvent {
    let gate = queue.context().user_event("gate");
    queue.wait_for(&gate).expect("a queue that has not failed");
    gate
}
