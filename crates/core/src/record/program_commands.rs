//! Commands that the program has recorded with wgpu.

use crate::device::recorder::Failure;
use crate::device::wgpu_device::WgpuDevice;
use crate::error::Kind;
use crate::record::submitter;
use crate::record::submitter::CommandBuffers;
use crate::work::step::{Step, Work};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The program's commands, if that is what a batch is.
pub(crate) fn of(steps: &[Step]) -> Option<CommandBuffers> {
    match steps {
        [Step { work: Work::WgpuCommands(encoded), .. }] => Some(encoded.take().into()),
        _ => None,
    }
}

/// Has wgpu submit them; nothing is left for the submission that a fence follows.
///
/// # Errors
/// wgpu panicked, as it does at commands of another wgpu instance; the device is gone, which some fences would not notice.
/// What wgpu says otherwise it says to the error scope.
pub(crate) fn send(device: &WgpuDevice, commands: CommandBuffers) -> Result<CommandBuffers, Failure> {
    let submit = AssertUnwindSafe(|| device.queue().submit(commands));
    let panicked = |_| {
        let (object, message) =
            ("commands of the program".into(), "wgpu panicked when they were submitted".into());
        Failure { step: None, error: Kind::Device { object, message }.into(), lost: false }
    };
    catch_unwind(submit).map_err(panicked)?;
    if device.is_known() { Ok(CommandBuffers::new()) } else { Err(submitter::failure(device, None, true)) }
}
