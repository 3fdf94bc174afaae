//! The size of the workgroups whose invocations share memory, as it suits an adapter.

use fencepost_core::{AdapterKind, CommandQueue};

/// Names the override of the size.
const SIZE: &str = "WORKGROUP";
/// Is the number of invocations of a workgroup on a processor.
const ON_PROCESSOR: f64 = 16.0;

/// Returns overrides of a kernel with barriers, and the size of its workgroups.
///
/// A card hides the time of its memory behind many invocations, so the kernel keeps its own size there. A processor executes a
/// workgroup in parts of a few invocations, and changes the part at each barrier: with few parts, less time is lost.
pub(crate) fn tuned<'a>(queue: &CommandQueue, overrides: &[(&'a str, f64)]) -> Vec<(&'a str, f64)> {
    if queue.info().kind != AdapterKind::Software {
        return overrides.to_vec();
    }
    let others = overrides.iter().copied().filter(|(name, _)| *name != SIZE);
    others.chain([(SIZE, ON_PROCESSOR)]).collect()
}
