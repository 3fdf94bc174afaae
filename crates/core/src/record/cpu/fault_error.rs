//! The error that a user gets for a launch that ended early on the CPU.

use crate::error::{Error, Kind};
use crate::work::kernel_launch::Launch;
use fencepost_cpu::Fault;
use std::time::Duration;

/// Returns the error of a launch that ended with a fault. Only the time limit stops a launch.
pub(super) fn ended_early(launch: &Launch, fault: &Fault, limit: Duration) -> Error {
    let (kernel, launch) = (launch.kernel().name.to_string(), launch.at);
    let kind = match fault {
        Fault::Stopped => Kind::LaunchTooLong { kernel, launch, limit },
        fault => Kind::LaunchFailed { kernel, launch, problem: fault.to_string() },
    };
    kind.into()
}
