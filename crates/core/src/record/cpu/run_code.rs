//! Runs the code of kernels on the CPU.

use super::host_bytes;
use crate::work::compiled_kernel::Pipeline;
use crate::work::host_code::HostCode;
use crate::work::kernel_launch::Launch;
use fencepost_kernels::{HostBuffer, ParamsBlock};
use fencepost_sync::Lost;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Limits the workgroups of a launch along each axis.
pub(super) const MAX_GROUPS: u32 = 65535;

/// Returns the code of a launch's kernel.
///
/// # Panics
/// Panics if the kernel was compiled for another recorder, which is a bug.
pub(super) fn code_of(launch: &Launch) -> &HostCode {
    match &launch.kernel().pipeline {
        Pipeline::Host(code) => code,
        Pipeline::Device(_) => unreachable!("bug: a kernel of another recorder"),
    }
}

/// Returns the workgroup counts of a launch. If one of them is 0 all are 0, because host kernels check only the first. If
/// one in the memory of an indirect launch exceeds the limit all are 0, as on every device.
pub(super) fn groups(launch: &Launch) -> [u32; 3] {
    let groups = launch.indirect.as_ref().map_or(launch.groups, |span| {
        let bytes = host_bytes::copy(&span.block, span.range());
        std::array::from_fn(|i| bytemuck::pod_read_unaligned(&bytes[4 * i..4 * i + 4]))
    });
    let refused = |&count: &u32| count == 0 || count > MAX_GROUPS;
    if groups.iter().any(refused) { [0; 3] } else { groups }
}

/// Executes a whole launch on copies of its arrays, because two bindings may be ranges of one block. `seed` chooses the
/// order of the invocations.
///
/// # Errors
/// Returns the loss of the device if the code panics or ends early, as a GPU is lost if its kernel hangs.
pub(super) fn run_on_copies(launch: &Launch, params: &ParamsBlock, seed: u64) -> Result<(), Lost> {
    let interface = &launch.kernel().interface;
    let mut copies: Vec<Vec<u8>> = launch
        .bindings
        .iter()
        .map(|bound| host_bytes::copy(&bound.block, bound.offset..bound.offset + bound.size))
        .collect();
    let writes = |at: usize| interface.bindings[at].declared.writes();
    let mut buffers: Vec<HostBuffer<'_>> = copies
        .iter_mut()
        .enumerate()
        .map(|(at, bytes)| if writes(at) { HostBuffer::Write(bytes) } else { HostBuffer::Read(bytes) })
        .collect();
    let (groups, params) = (groups(launch), params.bytes());
    match code_of(launch) {
        HostCode::Function(function) => catch_unwind(AssertUnwindSafe(|| {
            function.run(groups, interface.workgroup, params, &mut buffers);
        }))
        .map_err(|_| panicked(launch))?,
        #[cfg(cpu_code)]
        HostCode::Program(program) => program
            .run_on_copies(groups, params, &mut buffers, seed)
            .map_err(|fault| Lost { reason: format!("kernel `{}`: {fault}", launch.kernel().name) })?,
    }
    drop(buffers);
    #[cfg(not(cpu_code))]
    let _ = seed;
    for (bound, bytes) in launch.bindings.iter().zip(&copies) {
        if bound.used.is_some_and(|used| used.writes()) {
            host_bytes::write(&bound.block, bound.offset, bytes);
        }
    }
    Ok(())
}

/// Returns the loss of the device for a host function that panicked.
pub(super) fn panicked(launch: &Launch) -> Lost {
    Lost { reason: format!("the host function of kernel `{}` panicked", launch.kernel().name) }
}
