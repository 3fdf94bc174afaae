//! The CPU as a device. For tests, the CPU recorder executes batches in an order that a seed chooses. The CPU device
//! executes them on threads, as a GPU does.

pub(crate) mod cpu_device;
#[cfg(cpu_code)]
pub(crate) mod cpu_lane;
pub(crate) mod cpu_recorder;
pub(crate) mod cpu_work;
#[cfg(all(test, cpu_code))]
mod failing_tests;
#[cfg(cpu_code)]
mod kernel_checks;
#[cfg(not(cpu_code))]
#[path = "no_kernel_checks.rs"]
mod kernel_checks;
#[cfg(cpu_code)]
mod launch_timer;
pub(crate) mod run_order;
#[cfg(cpu_code)]
mod shared_kernels;
#[cfg(cpu_code)]
mod side_by_side;
