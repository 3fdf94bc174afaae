//! Runs the code of kernels on the CPU.

use super::failed_steps::FailedSteps;
#[cfg(cpu_code)]
use super::fault_error::ended_early;
use super::host_bytes;
use super::kernel_checks::KernelChecks;
#[cfg(cpu_code)]
use super::launch_timer::LaunchTimer;
use crate::device::function_mark::FunctionMark;
use crate::error::panic_text::panic_text;
use crate::error::{Kind, Result};
use crate::work::compiled_kernel::Pipeline;
use crate::work::host_code::HostCode;
use crate::work::kernel_launch::Launch;
#[cfg(cpu_code)]
use fencepost_cpu::{CpuKernel, GridRun};
use fencepost_kernels::{HostBuffer, HostKernel, ParamsBlock};
use std::panic::{AssertUnwindSafe, catch_unwind};
#[cfg(cpu_code)]
use std::time::Duration;

/// Most workgroups of a launch along each axis.
pub(super) const MAX_GROUPS: u32 = 65535;

/// Returns the code of a launch's kernel.
///
/// # Panics
/// Panics if the kernel was compiled for another recorder, which is a bug.
pub(super) fn code_of(launch: &Launch) -> &HostCode {
    match launch.kernel().pipeline.compiled() {
        Pipeline::Host(code) => code,
        _ => unreachable!("bug: a kernel of another recorder"),
    }
}

/// Returns the workgroup counts of a launch. If one of them is 0 all are 0, because host kernels check only the first.
/// If a count in the memory of an indirect launch exceeds the limit all are 0, as on every device.
pub(super) fn groups(launch: &Launch) -> [u32; 3] {
    let groups = launch.indirect.as_ref().map_or(launch.groups, |span| {
        let bytes = host_bytes::copy(&span.block, span.range());
        std::array::from_fn(|i| bytemuck::pod_read_unaligned(&bytes[4 * i..4 * i + 4]))
    });
    let refused = |&count: &u32| count == 0 || count > MAX_GROUPS;
    if groups.iter().any(refused) { [0; 3] } else { groups }
}

/// Executes a launch of a host function for the device with the failures `failed`. `checks` are told which arrays it
/// writes.
///
/// # Errors
/// Returns `LaunchFailed` if the function panics. The arrays keep their earlier bytes then.
pub(super) fn run_function(
    function: &dyn HostKernel,
    launch: &Launch,
    params: &ParamsBlock,
    failed: &FailedSteps,
    checks: Option<&KernelChecks>,
) -> Result<()> {
    let (groups, workgroup) = (groups(launch), launch.kernel().interface.workgroup);
    run_on_copies(launch, |buffers| {
        let _mark = FunctionMark::set(failed.device());
        let run = AssertUnwindSafe(|| function.run(groups, workgroup, params.bytes(), buffers));
        catch_unwind(run).map_err(|panic| {
            let problem = format!("the host function panicked: {}", panic_text(panic));
            let (kernel, launch) = (launch.kernel().name.to_string(), launch.at);
            Kind::LaunchFailed { kernel, launch, problem }.into()
        })
    })?;
    if let Some(checks) = checks {
        let written = launch.bindings.iter().filter(|bound| bound.used.is_some_and(|used| used.writes()));
        written.for_each(|bound| checks.wrote(&bound.block, bound.range()));
    }
    Ok(())
}

/// Executes a launch of a program on this thread, for no longer than `limit`. `seed` chooses the order of the
/// invocations. With `checks`, the launch is checked.
///
/// # Errors
/// Returns the error of a launch that [ended early](ended_early) or whose mistakes end its queue. The arrays keep their
/// earlier bytes then.
#[cfg(cpu_code)]
pub(super) fn run_program(
    program: &CpuKernel,
    launch: &Launch,
    params: &ParamsBlock,
    seed: u64,
    limit: Duration,
    checks: Option<&KernelChecks>,
) -> Result<()> {
    let timer = LaunchTimer::start(limit);
    run_on_copies(launch, |buffers| {
        let (groups, params, stop) = (groups(launch), params.bytes(), timer.stop());
        GridRun::on_copies(groups, params, buffers, seed, stop, |run| match checks {
            None => program.run_groups(run).map_err(|fault| ended_early(launch, &fault, limit)),
            Some(checks) => checks.run(program, run, launch, limit),
        })
    })
}

/// Executes code on copies of the arrays of a launch, because two bindings may be ranges of one block. Writes the
/// results back if the code returns no error, and the messages in any case.
fn run_on_copies(launch: &Launch, run: impl FnOnce(&mut [HostBuffer<'_>]) -> Result<()>) -> Result<()> {
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
    let ran = run(&mut buffers);
    drop(buffers);
    let messages = launch.message_buffer().map(|buffer| buffer.id);
    for (bound, bytes) in launch.bindings.iter().zip(&copies) {
        let is_kept = ran.is_ok() || Some(bound.block.id) == messages;
        if is_kept && bound.used.is_some_and(|used| used.writes()) {
            host_bytes::write(&bound.block, bound.offset, bytes);
        }
    }
    ran
}
