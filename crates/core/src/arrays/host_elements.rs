//! Access to the elements of a block for a thread that holds a host access.

use crate::memory::block::Memory;
use crate::memory::host_access::HostAccess;
use fencepost_kernels::Element;

/// Returns `len` elements that start at byte `offset` of the block, or `None` if the host has no view of the block, or
/// if the memory is not aligned for `T`: a type may ask for more than devices give.
pub(crate) fn in_place<T: Element>(access: &HostAccess, offset: u64, len: usize) -> Option<&[T]> {
    let view = access.block().view()?;
    bytemuck::try_cast_slice(view.slice(offset..offset + size::<T>(len), access.right())).ok()
}

/// Calls `f` with `len` elements that start at byte `offset` of the block: in place if that is possible, and otherwise
/// with a copy.
pub(crate) fn with<T: Element, R>(
    access: &HostAccess,
    offset: u64,
    len: usize,
    f: impl FnOnce(&[T]) -> R,
) -> R {
    match in_place(access, offset, len) {
        Some(elements) => f(elements),
        None => f(&copied(access, offset, len)),
    }
}

/// Calls `f` as [`with`] does, with elements that `f` may change. A changed copy is written back.
pub(crate) fn with_mut<T: Element, R>(
    access: &mut HostAccess,
    offset: u64,
    len: usize,
    f: impl FnOnce(&mut [T]) -> R,
) -> R {
    let block = access.block().clone();
    if let Some(view) = block.view()
        && in_place::<T>(access, offset, len).is_some()
    {
        let range = offset..offset + size::<T>(len);
        return f(bytemuck::cast_slice_mut(view.slice_mut(range, access.right_mut())));
    }
    let mut elements = copied(access, offset, len);
    let result = f(&mut elements);
    access.write(offset, bytemuck::cast_slice(&elements));
    result
}

/// Copies the elements out of the block.
pub(crate) fn copied<T: Element>(access: &HostAccess, offset: u64, len: usize) -> Vec<T> {
    debug_assert!(matches!(access.block().memory, Memory::Host(_)) || access.block().direct());
    let mut elements = vec![T::zeroed(); len];
    access.read(offset, bytemuck::cast_slice_mut(&mut elements));
    elements
}

fn size<T: Element>(len: usize) -> u64 {
    len as u64 * T::DTYPE.size() as u64
}
