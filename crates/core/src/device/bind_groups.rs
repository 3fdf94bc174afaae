//! A cache of bind groups that does not keep dropped buffers alive.

use crate::memory::heap::BlockId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::atomic::{AtomicU32, Ordering};

/// Most cached groups. When the limit is reached, the cache drops all groups and makes them again on demand.
const MOST_GROUPS: usize = 8192;

/// Id of a bind group layout. No two layouts of a process share an id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LayoutId(u32);

impl LayoutId {
    /// Returns an id that no layout has.
    #[cfg(native)]
    pub(crate) fn none() -> Self {
        Self(u32::MAX)
    }

    pub(crate) fn next() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    #[cfg(test)]
    pub(crate) fn for_test(id: u32) -> Self {
        Self(id)
    }
}

/// The contents of a group: a layout, and for each binding the block, its offset and its size.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct GroupKey {
    pub(crate) layout: LayoutId,
    pub(crate) parts: Vec<(BlockId, u64, u64)>,
}

/// The cached groups of a device by their contents.
///
/// Each number in `users` has an entry in `keys`, and each key in `keys` has a group in `groups`.
pub(crate) struct BindGroups<G = wgpu::BindGroup> {
    /// Each group with its number.
    groups: FxHashMap<GroupKey, (u64, G)>,
    keys: FxHashMap<u64, GroupKey>,
    /// Numbers of the groups that bind a block.
    users: FxHashMap<BlockId, FxHashSet<u64>>,
    /// Number of the newest group.
    next: u64,
}

impl<G> Default for BindGroups<G> {
    fn default() -> Self {
        Self {
            groups: FxHashMap::default(),
            keys: FxHashMap::default(),
            users: FxHashMap::default(),
            next: 0,
        }
    }
}

impl<G: Clone> BindGroups<G> {
    /// Returns the group of `key`, if it is cached.
    #[cfg(native)]
    pub(crate) fn known(&self, key: &GroupKey) -> Option<&G> {
        self.groups.get(key).map(|(_, group)| group)
    }

    /// Returns the group of `key`, and calls `make` if it is not cached.
    pub(crate) fn get(&mut self, key: &GroupKey, make: impl FnOnce() -> G) -> G {
        if let Some((_, group)) = self.groups.get(key) {
            return group.clone();
        }
        if self.groups.len() >= MOST_GROUPS {
            self.clear();
        }
        let group = make();
        self.insert(key, group.clone());
        group
    }

    fn insert(&mut self, key: &GroupKey, group: G) {
        self.next += 1;
        for (block, _, _) in &key.parts {
            self.users.entry(*block).or_default().insert(self.next);
        }
        self.keys.insert(self.next, key.clone());
        self.groups.insert(key.clone(), (self.next, group));
    }

    /// Drops the groups that bind `block`.
    pub(crate) fn forget(&mut self, block: BlockId) {
        for number in self.users.remove(&block).unwrap_or_default() {
            let Some(key) = self.keys.remove(&number) else { continue };
            self.groups.remove(&key);
            for (other, _, _) in &key.parts {
                if let Some(users) = self.users.get_mut(other) {
                    users.remove(&number);
                }
            }
        }
    }

    /// Drops all groups.
    pub(crate) fn clear(&mut self) {
        self.groups.clear();
        self.keys.clear();
        self.users.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    fn key(blocks: &[u64]) -> GroupKey {
        let parts = blocks.iter().map(|&block| (BlockId(block), 0, 64)).collect();
        GroupKey { layout: LayoutId::for_test(1), parts }
    }

    #[test]
    fn a_group_is_made_once() {
        let mut groups = BindGroups::default();
        assert_eq!(groups.get(&key(&[1, 2]), || "first"), "first");
        assert_eq!(groups.get(&key(&[1, 2]), || "second"), "first");
        assert_eq!(groups.get(&key(&[2, 1]), || "other"), "other");
    }

    #[test]
    fn no_group_keeps_a_dropped_block() {
        let mut groups = BindGroups::default();
        let made: Vec<Rc<()>> = (0..3).map(|_| Rc::new(())).collect();
        groups.get(&key(&[1, 2]), || made[0].clone());
        groups.get(&key(&[3, 1]), || made[1].clone());
        groups.get(&key(&[2, 3]), || made[2].clone());
        groups.forget(BlockId(1));
        let left: Vec<_> = made.iter().map(|group| Rc::strong_count(group) - 1).collect();
        assert_eq!(left, [0, 0, 1]);
        assert_eq!((groups.keys.len(), groups.users[&BlockId(2)].len()), (1, 1));
    }

    #[test]
    fn the_number_of_groups_is_bounded() {
        let mut groups = BindGroups::default();
        for block in 0..3 * MOST_GROUPS as u64 {
            groups.get(&key(&[block]), || ());
        }
        assert!(groups.groups.len() <= MOST_GROUPS && groups.users.len() <= MOST_GROUPS);
    }
}
