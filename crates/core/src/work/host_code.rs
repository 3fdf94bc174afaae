//! The code of a kernel on the CPU.

#[cfg(cpu_code)]
use fencepost_cpu::CpuKernel;
use fencepost_kernels::HostKernel;
use std::sync::Arc;

/// Code of a kernel on the CPU.
#[derive(Clone)]
pub(crate) enum HostCode {
    /// The program or the library gives a function for the whole grid.
    Function(Arc<dyn HostKernel>),
    /// The text of the kernel is compiled or interpreted.
    #[cfg(cpu_code)]
    Program(Arc<CpuKernel>),
}
