//! Lists of free items, which later users take instead of making new ones.

use crate::memory::byte_meter::MeteredBytes;
use fencepost_sync::prim::{Mutex, lock};
use std::ops::{Deref, DerefMut, RangeInclusive};
use std::sync::Arc;

/// Items that have no user. Each lent item refers to its list.
pub(crate) struct FreeList<T>(Arc<Mutex<Vec<T>>>);

/// An item that is not in the list. The drop returns the item to the list.
pub(crate) struct TakenItem<T> {
    /// `Some` until the drop.
    item: Option<T>,
    list: FreeList<T>,
}

impl<T> Default for FreeList<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> FreeList<T> {
    /// Removes the item that was returned last, if there is one.
    pub(crate) fn take(&self) -> Option<T> {
        lock(&self.0).pop()
    }

    /// Gives an item to a user until the drop of the result.
    pub(crate) fn lend(&self, item: T) -> TakenItem<T> {
        TakenItem { item: Some(item), list: Self(self.0.clone()) }
    }
}

impl<T> Deref for TakenItem<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.item.as_ref().expect("bug: only the drop takes the item")
    }
}

impl<T> DerefMut for TakenItem<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.item.as_mut().expect("bug: only the drop takes the item")
    }
}

impl<T> Drop for TakenItem<T> {
    fn drop(&mut self) {
        lock(&self.list.0).extend(self.item.take());
    }
}

/// Free staging memory, each item with the count of its bytes. The sum of the counts is at most `limit`.
///
/// A [`FreeList`] is not enough here: a user needs an item of a certain size, and the bytes of the list are limited.
pub(crate) struct FreeMemory<T> {
    limit: u64,
    items: Mutex<Vec<(MeteredBytes, T)>>,
}

impl<T> FreeMemory<T> {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, items: Mutex::new(Vec::new()) }
    }

    /// Removes the smallest item whose size is in `sizes`.
    pub(crate) fn take(&self, sizes: RangeInclusive<u64>) -> Option<(MeteredBytes, T)> {
        let mut items = lock(&self.items);
        let fitting = items.iter().enumerate().filter(|(_, (count, _))| sizes.contains(&count.bytes));
        let (at, _) = fitting.min_by_key(|(_, (count, _))| count.bytes)?;
        let (count, item) = items.swap_remove(at);
        Some((count.set_free(false), item))
    }

    /// Adds an item if the limit allows its bytes, and returns the item otherwise.
    pub(crate) fn keep(&self, count: MeteredBytes, item: T) -> Option<T> {
        let mut items = lock(&self.items);
        let free: u64 = items.iter().map(|(count, _)| count.bytes).sum();
        if free + count.bytes > self.limit {
            return Some(item);
        }
        items.push((count.set_free(true), item));
        None
    }

    /// Removes all items. Returns them with their bytes.
    pub(crate) fn drain(&self) -> (Vec<(MeteredBytes, T)>, u64) {
        let items = std::mem::take(&mut *lock(&self.items));
        let bytes = items.iter().map(|(count, _)| count.bytes).sum();
        (items, bytes)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        lock(&self.items).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_item_is_taken_again() {
        let list = FreeList::default();
        assert_eq!(list.take(), None);
        let mut item = list.lend(1);
        *item += 1;
        assert_eq!((*item, list.take()), (2, None));
        drop(item);
        assert_eq!((list.take(), list.take()), (Some(2), None));
    }
}
