//! The error of the program for a launch that ended early on the CPU.

use crate::error::{Error, Kind};
use crate::work::kernel_launch::Launch;
use fencepost_cpu::Fault;
use std::time::Duration;

/// Returns the error of a launch that ended with a fault. Only the limit of time stops a launch.
pub(super) fn ended_early(launch: &Launch, fault: &Fault, limit: Duration) -> Error {
    let kernel = launch.kernel().name.to_string();
    let kind = match fault {
        Fault::Stopped => Kind::LaunchTooLong { kernel, limit },
        fault => Kind::LaunchFailed { kernel, problem: fault.to_string() },
    };
    kind.into()
}
