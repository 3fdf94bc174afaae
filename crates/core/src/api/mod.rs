//! Contexts, queues, kernels and their verbs, which programs call.

pub(crate) mod context;
pub(crate) mod display;
pub(crate) mod event_times;
pub(crate) mod graph;
pub(crate) mod grid;
pub mod group_checks;
#[cfg(feature = "image")]
pub(crate) mod image_arrays;
pub(crate) mod kernel;
#[cfg(cpu)]
pub mod kernel_check;
#[cfg(feature = "ndarray")]
pub(crate) mod ndarray_arrays;
pub(crate) mod options;
pub(crate) mod profiler;
pub(crate) mod queue;
pub mod testing;
pub mod trusted_kernel;
pub mod verb_tuning;
