//! Recorders: each turns a batch into calls of a graphics interface or executes it on host bytes.

#[cfg(cpu)]
pub(crate) mod cpu;
#[cfg(native)]
pub(crate) mod hal;
pub(crate) mod lanes;
pub(crate) mod own_kernels;
pub(crate) mod submitter;
pub(crate) mod time_pages;
pub(crate) mod transfers;
pub(crate) mod walk;
pub(crate) mod wgpu;
