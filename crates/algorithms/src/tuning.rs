//! Workgroup sizes for kinds of devices: the defaults of kernels with [variants](crate::variants), and the choices of all
//! others.
//!
//! Choices depend on the kind and the limits of the device, never on its name. Each choice works on every device, so a
//! saved graph can be loaded wherever its features are supported.

use crate::variants::KernelVariant;
use fencepost_core::trusted_kernel;
use fencepost_core::{AdapterKind, CommandQueue, Context};

/// Override of the workgroup size.
pub(crate) const SIZE: &str = "WORKGROUP";
/// Override of the number of elements per invocation in a tile.
pub(crate) const PER: &str = "PER";
/// Workgroup size of a kernel without barriers: a GPU starts few large workgroups faster than many small ones.
pub(crate) const WIDE: [(&str, f64); 1] = [(SIZE, 256.0)];
/// Number of invocations of a workgroup on a processor.
const ON_PROCESSOR: f64 = 16.0;

/// Returns the overrides of a kernel with barriers, with the size of its workgroups.
///
/// A GPU hides memory latency with many invocations, so there the kernel keeps its own size. A processor executes a
/// workgroup in parts of a few invocations, and switches parts at each barrier, so fewer parts lose less time.
pub(crate) fn tuned<'a>(queue: &CommandQueue, overrides: &[(&'a str, f64)]) -> Vec<(&'a str, f64)> {
    if !is_processor(queue) {
        return overrides.to_vec();
    }
    let others = overrides.iter().copied().filter(|(name, _)| *name != SIZE);
    others.chain([(SIZE, ON_PROCESSOR)]).collect()
}

/// Returns the overrides of a kernel with barriers as [`tuned`] does, or with the values of a variant.
pub(crate) fn tuned_as<'a>(
    queue: &CommandQueue,
    variant: KernelVariant,
    overrides: &[(&'a str, f64)],
) -> Vec<(&'a str, f64)> {
    if variant == KernelVariant::DEFAULT {
        return tuned(queue, overrides);
    }
    let others = overrides.iter().copied().filter(|(name, _)| variant.get(name).is_none());
    let own = variant.overrides().map(|(name, value)| -> (&'a str, f64) { (name, value) });
    others.chain(own).collect()
}

/// Returns the value for a processor or the one for a GPU, depending on the queue's adapter.
pub(crate) fn by_adapter<V>(queue: &CommandQueue, on_processor: V, on_card: V) -> V {
    if is_processor(queue) { on_processor } else { on_card }
}

/// Returns the number of invocations that a processor executes with one instruction; a loop with large loads should not
/// span more of them. Returns `None` for a GPU, which loads one element at a time.
pub(crate) fn lanes(queue: &CommandQueue) -> Option<f64> {
    let [fewest, most] = [4, 8];
    let lanes = queue.context().info().subgroup.map_or(fewest, |[_, largest]| largest.next_power_of_two());
    is_processor(queue).then_some(f64::from(lanes.clamp(fewest, most)))
}

/// Returns `true` if a barrier takes longer than a scattered access. This is so on a processor that executes workgroups
/// in subgroups and switches between them at each barrier.
pub(crate) fn barriers_are_dear(queue: &CommandQueue) -> bool {
    is_processor(queue) && queue.context().info().subgroup.is_some()
}

/// Returns `true` if the device has native code for some kernels, in place of machine code made of their texts.
pub(crate) fn has_twins(context: &Context) -> bool {
    #[cfg(feature = "validation")]
    if FORCED.get().is_some_and(|forced| forced.card) {
        return false;
    }
    trusted_kernel::has_twins(context)
}

/// Returns `true` if, according to the graphics interface, a processor executes the kernels of the queue.
fn is_processor(queue: &CommandQueue) -> bool {
    #[cfg(feature = "validation")]
    if let Some(forced) = FORCED.get() {
        return !forced.card;
    }
    queue.context().info().kind == AdapterKind::Software
}

/// Returns a number of elements from which on a verb divides its work, or the small number that a test forces.
pub(crate) fn limit(usual: usize, small: usize) -> usize {
    if is_small() { small } else { usual }
}

#[cfg(feature = "validation")]
fn is_small() -> bool {
    FORCED.get().is_some_and(|forced| forced.small)
}

#[cfg(not(feature = "validation"))]
fn is_small() -> bool {
    false
}

/// Choices that a test forces on the verbs.
#[cfg(feature = "validation")]
#[derive(Clone, Copy, Debug)]
pub struct Forced {
    /// `true` for the kernels of a card, and `false` for those of a processor.
    pub card: bool,
    /// If `true`, few elements are divided into several shares.
    pub small: bool,
}

#[cfg(feature = "validation")]
thread_local! {
    static FORCED: std::cell::Cell<Option<Forced>> = const { std::cell::Cell::new(None) };
}

/// Calls `run`. Meanwhile, the verbs of this thread take the forced choices.
#[cfg(feature = "validation")]
pub fn with_forced<R>(forced: Forced, run: impl FnOnce() -> R) -> R {
    FORCED.set(Some(forced));
    let result = run();
    FORCED.set(None);
    result
}
