//! Commands that the program has recorded with wgpu.

use super::wgpu::passes::CommandBuffers;
use crate::command::{Step, Work};

/// The program's commands, if that is what a batch is.
pub(super) fn commands(steps: &[Step]) -> Option<CommandBuffers> {
    match steps {
        [Step { work: Work::Encoded(encoded), .. }] => Some(encoded.take().into()),
        _ => None,
    }
}

/// # Panics
/// Always: they are alone in their batch, and no batch of the CPU recorder's.
pub(super) fn astray() -> ! {
    unreachable!("bug: commands of the program among others")
}
