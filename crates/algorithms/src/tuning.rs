//! The size of the workgroups whose invocations share memory, as it suits a kind of device.
//!
//! A choice follows the kind and the limits that the graphics interface reports, never a name. Every choice runs on
//! every device, so a saved graph loads wherever its features are.

use fencepost_core::{AdapterKind, CommandQueue};

/// Override of the workgroup size.
pub(crate) const SIZE: &str = "WORKGROUP";
/// Workgroup size of a kernel without barriers: a card starts few large workgroups sooner than many small ones.
pub(crate) const WIDE: [(&str, f64); 1] = [(SIZE, 256.0)];
/// Number of invocations of a workgroup on a processor.
const ON_PROCESSOR: f64 = 16.0;

/// Returns overrides of a kernel with barriers, and the size of its workgroups.
///
/// A card hides memory latency with many invocations, so the kernel keeps its own size there. A processor executes a
/// workgroup in parts of a few invocations, and changes the part at each barrier: with few parts, less time is lost.
pub(crate) fn tuned<'a>(queue: &CommandQueue, overrides: &[(&'a str, f64)]) -> Vec<(&'a str, f64)> {
    if !is_processor(queue) {
        return overrides.to_vec();
    }
    let others = overrides.iter().copied().filter(|(name, _)| *name != SIZE);
    others.chain([(SIZE, ON_PROCESSOR)]).collect()
}

/// Returns the value for a processor or the one for a card, as the adapter of the queue is.
pub(crate) fn by_adapter<V>(queue: &CommandQueue, on_processor: V, on_card: V) -> V {
    if is_processor(queue) { on_processor } else { on_card }
}

/// Returns the invocations that a processor executes with one instruction: a loop with large loads is slower if it
/// belongs to more of them. Returns `None` for a card, which loads one element at a time.
pub(crate) fn lanes(queue: &CommandQueue) -> Option<f64> {
    let [fewest, most] = [4, 8];
    let lanes = queue.info().subgroup.map_or(fewest, |[_, largest]| largest.next_power_of_two());
    is_processor(queue).then_some(f64::from(lanes.clamp(fewest, most)))
}

/// Returns `true` if a barrier takes longer than a scattered access: on a processor that executes workgroups in
/// subgroups, and changes between them at each barrier.
pub(crate) fn barriers_are_dear(queue: &CommandQueue) -> bool {
    is_processor(queue) && queue.info().subgroup.is_some()
}

/// Returns `true` if a processor executes the kernels of the queue, as the graphics interface reports it.
fn is_processor(queue: &CommandQueue) -> bool {
    queue.info().kind == AdapterKind::Software
}
