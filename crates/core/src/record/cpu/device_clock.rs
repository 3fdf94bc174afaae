//! The clock of the CPU as a device.

use std::time::Instant;

/// Clock of nanoseconds since `epoch`. Each reading is greater than the last.
pub(super) struct DeviceClock {
    epoch: Instant,
    last: u64,
}

impl DeviceClock {
    pub(super) fn new() -> Self {
        Self { epoch: Instant::now(), last: 0 }
    }

    pub(super) fn read(&mut self) -> u64 {
        self.last = (self.epoch.elapsed().as_nanos() as u64).max(self.last + 1);
        self.last
    }
}
