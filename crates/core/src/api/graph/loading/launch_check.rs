//! Checks of a loaded launch against its kernel and the limits of the device, as for a new launch.

use crate::api::queue::launch::LAUNCH_PARTS;
use crate::driver::caps::Caps;
use crate::error::{Error, Kind, Result};
use crate::memory::heap::overlap;
use crate::work::compiled_kernel::KernelInner;
use crate::work::graph_data::graph_file::{FileBlock, FileLaunch, FileRange};
use fencepost_kernels::Binding;

/// Checks a launch. `misfit` makes the error of a launch that no kernel with this interface can have.
///
/// # Errors
/// Returns `GridTooLarge`, `Alignment`, `BindingTooSmall`, `BindingTooLarge`, `Aliased`, or the error of `misfit`.
pub(super) fn check_launch(
    caps: &Caps,
    kernel: &KernelInner,
    launch: &FileLaunch,
    blocks: &[FileBlock],
    misfit: impl Fn(String) -> Error,
) -> Result<()> {
    let (name, interface) = (&kernel.name, &kernel.interface);
    if interface.messages.is_some() {
        return Err(misfit(format!("kernel `{name}` prints or asserts, which a kernel of a file does not")));
    }
    let (found, needed) = (launch.bindings.len(), interface.bindings.len());
    if found != needed {
        return Err(misfit(format!("kernel `{name}` has {needed} arrays, and its launch has {found}")));
    }
    let needed = interface.params.as_ref().map_or(0, |params| params.size as usize);
    if launch.params.len() != needed {
        let found = launch.params.len();
        return Err(misfit(format!(
            "kernel `{name}` has {needed} bytes of parameters, and its launch has {found}"
        )));
    }
    let (limit, folds) = (caps.max_groups, interface.folds);
    if launch.groups.iter().any(|&groups| groups > limit) {
        let (kernel, groups) = (name.to_string(), launch.groups.map(u64::from));
        return Err(Kind::GridTooLarge { kernel, groups, limit, folds }.into());
    }
    for (binding, range) in interface.bindings.iter().zip(&launch.bindings) {
        let label = &blocks[range.block as usize].label;
        check_binding(caps, (kernel, binding), range, label)?;
        if !is_whole_elements(binding, range.size) {
            let (size, name) = (range.size, &binding.name);
            return Err(misfit(format!("{size} bytes of argument `{name}` are not whole elements")));
        }
    }
    check_aliases(kernel, launch, blocks)
}

fn check_binding(
    caps: &Caps,
    (kernel, binding): (&KernelInner, &Binding),
    range: &FileRange,
    label: &str,
) -> Result<()> {
    let (name, arg, found) = (kernel.name.to_string(), binding.name.clone(), range.size);
    let (needed, limit) = (binding.min_size, caps.max_binding);
    if !range.offset.is_multiple_of(caps.binding_alignment) {
        let (array, offset, needed) = (label.into(), range.offset, caps.binding_alignment);
        return Err(Kind::Alignment { array, offset, needed }.into());
    }
    if found < needed {
        return Err(Kind::BindingTooSmall { kernel: name, arg, found, needed }.into());
    }
    if found > limit {
        return Err(Kind::BindingTooLarge {
            subject: kernel.subject(),
            arg,
            found,
            limit,
            remedy: LAUNCH_PARTS,
        }
        .into());
    }
    Ok(())
}

/// Returns `true` unless the binding is an array of elements and the size has a part of an element.
fn is_whole_elements(binding: &Binding, size: u64) -> bool {
    let stride = u64::from(binding.stride);
    let is_plain = binding.runtime_sized && binding.min_size == stride && stride.is_multiple_of(4);
    !is_plain || stride == 0 || size.is_multiple_of(stride)
}

/// Checks that two arguments share bytes only if the kernel declares both as read-only.
fn check_aliases(kernel: &KernelInner, launch: &FileLaunch, blocks: &[FileBlock]) -> Result<()> {
    let bindings = &kernel.interface.bindings;
    for (at, later) in launch.bindings.iter().enumerate() {
        for (before, earlier) in launch.bindings[..at].iter().enumerate() {
            let shares = earlier.block == later.block
                && overlap(&(earlier.offset..earlier.end()), &(later.offset..later.end()));
            let writes = bindings[at].declared.writes() || bindings[before].declared.writes();
            if shares && writes {
                let (first, second) = (bindings[before].name.clone(), bindings[at].name.clone());
                let array = blocks[later.block as usize].label.clone();
                let (subject, node) = (kernel.subject(), String::new());
                return Err(Kind::Aliased { subject, node, first, second, array }.into());
            }
        }
    }
    Ok(())
}
