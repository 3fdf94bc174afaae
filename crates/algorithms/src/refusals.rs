//! The refusals of verbs with several commands.

use crate::elementwise::ConvertArgs;
use crate::typed_kernel::{compiled, value};
use fencepost_core::{CommandQueue, DeviceArray, Grid, IntoArg, Result};

/// Returns the error of a later launch that reads or writes arrays of the program. It enqueues nothing, because a
/// launch without workgroups enqueues nothing and refuses what other launches refuse.
#[track_caller]
pub(crate) fn check(
    queue: &CommandQueue,
    reads: &[&DeviceArray<u32>],
    writes: &[&DeviceArray<u32>],
) -> Result<()> {
    let (one, two) = (compiled::<u32>(queue, "iota", &[])?, queue.kernel::<ConvertArgs>()?);
    for (at, written) in writes.iter().enumerate() {
        let mut out = written.handle();
        for x in reads.iter().chain(&writes[..at]) {
            queue.launch(&two, Grid::groups([0]), ConvertArgs { n: 0, x, out: &mut out })?;
        }
        let args = [value("start", 0_u32), value("step", 0_u32), (Some("out".into()), (&mut out).into_arg())];
        queue.launch_dyn(&one, Grid::groups([0]), args)?;
    }
    Ok(())
}
