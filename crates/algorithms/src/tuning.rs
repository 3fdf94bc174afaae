//! The size of the workgroups whose invocations share memory, as it suits an adapter.

use fencepost_core::{AdapterKind, CommandQueue};

/// Names the override of the size.
pub(crate) const SIZE: &str = "WORKGROUP";
/// Sets the size of the workgroups of a kernel without barriers: a card starts few large workgroups sooner than many small ones.
pub(crate) const WIDE: [(&str, f64); 1] = [(SIZE, 256.0)];
/// Is the number of invocations of a workgroup on a processor.
const ON_PROCESSOR: f64 = 16.0;
/// Is the backend of the CPU recorder. It stands for any device in tests, so its kernels have the sizes of a card.
const RECORDER: &str = "host";
/// Is the backend of the CPU.
const CPU: &str = "native code";

/// Returns overrides of a kernel with barriers, and the size of its workgroups.
///
/// A card hides the time of its memory behind many invocations, so the kernel keeps its own size there. A processor executes a
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

/// Returns `true` if a software driver executes the kernels of the queue. A barrier takes it longer than a scattered access.
pub(crate) fn is_driver(queue: &CommandQueue) -> bool {
    is_processor(queue) && queue.info().backend != CPU
}

/// Names how a kernel loads the elements of rows that it combines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Load {
    /// A load has one element.
    Element,
    /// A load has eight elements, as four integers of 8 bytes.
    Long,
    /// A load has 16 elements, as the columns of a matrix.
    Vectors,
}

/// Returns the load with which the adapter of the queue combines rows in the least time. llvmpipe takes about as long for a number
/// of 8 bytes as for one of 4 bytes. SwiftShader, another software driver of Vulkan, has no integers of 8 bytes, and takes less
/// time for one load of many elements than for many loads.
pub(crate) fn load(queue: &CommandQueue) -> Load {
    let adapter = queue.info();
    if !is_processor(queue) || adapter.backend != "Vulkan" {
        Load::Element
    } else if adapter.abilities.contains(&"int64") {
        Load::Long
    } else {
        Load::Vectors
    }
}

/// Returns `true` if a processor executes the kernels of the queue.
fn is_processor(queue: &CommandQueue) -> bool {
    let adapter = queue.info();
    adapter.kind == AdapterKind::Software && adapter.backend != RECORDER
}
