//! Batches of commands that user code recorded with wgpu.

use crate::device::recorder::Failure;
use crate::device::wgpu_device::WgpuDevice;
use crate::error::Kind;
use crate::record::submitter;
use crate::record::submitter::CommandBuffers;
use crate::work::step::{Step, Work};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Takes the user's commands out of a batch that consists of them. Returns `None` for any other batch.
pub(crate) fn of(steps: &[Step]) -> Option<CommandBuffers> {
    match steps {
        [Step { work: Work::WgpuCommands(encoded), .. }] => Some(encoded.take().into()),
        _ => None,
    }
}

/// Submits the user's commands through wgpu. Returns an empty list, which the caller still submits so that the fence
/// follows.
///
/// # Errors
/// Returns `Device` if wgpu panics, as it does for commands of another wgpu instance. Returns `DeviceLost` if wgpu no
/// longer records for the device, because some fences would not report this loss. wgpu reports other errors to the
/// error scope.
pub(crate) fn send(device: &WgpuDevice, commands: CommandBuffers) -> Result<CommandBuffers, Failure> {
    let submit = AssertUnwindSafe(|| device.queue().submit(commands));
    let panicked = |_| {
        let (object, message) =
            ("commands of the program".into(), "wgpu panicked when they were submitted".into());
        Failure { step: None, error: Kind::Device { object, message }.into(), lost: false }
    };
    catch_unwind(submit).map_err(panicked)?;
    if device.still_records() {
        Ok(CommandBuffers::new())
    } else {
        Err(submitter::failure(device, None, true))
    }
}
