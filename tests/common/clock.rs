//! Work whose completion shows that a device had time to execute other work.

use fencepost::{CommandQueue, Context, DeviceArray};

/// An unblocked queue. Make the clock before the work with which it is compared, because a new queue waits for
/// everything enqueued before.
pub struct Clock {
    queue: CommandQueue,
    array: DeviceArray<u32>,
    ticks: u32,
}

impl Clock {
    pub fn new(ctx: &Context) -> Self {
        let queue = ctx.queue("clock");
        let array = queue.zeros([1]).expect("memory");
        Self { queue, array, ticks: 0 }
    }

    /// Executes work on the device, and waits for it.
    pub fn tick(&mut self) {
        self.ticks += 1;
        self.queue.fill(&mut self.array, self.ticks).expect("a fill");
        assert_eq!(self.queue.read(&self.array).wait().expect("a read"), [self.ticks]);
    }
}
