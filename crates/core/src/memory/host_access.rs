//! Permission for the host to access the bytes of a block, and the proof that the scheduler admitted the access.

use crate::memory::block::{Block, BlockState, HostUse, Memory};
use std::ops::Range;
use std::sync::Arc;

/// Permission for the host to read or write a block. The bytes are accessible only through this type.
///
/// A block admits several readers at once, or one writer. The scheduler grants read access only when no earlier command
/// can still write the range, and write access only when no earlier command can still use the range. Later commands
/// wait for the end of the access, or are refused while the block is mapped. So write access is exclusive.
pub(crate) struct HostAccess {
    block: Arc<Block>,
    want: HostUseKind,
    right: HostRight,
}

/// The kind of access that the host wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HostUseKind {
    Read,
    Write,
    /// The host writes all of the bytes and reads none of them.
    Overwrite,
    /// The host keeps the bytes mapped. Meanwhile, commands on them are refused instead of waiting.
    Map {
        write: bool,
    },
}

impl HostUseKind {
    pub(crate) fn writes(self) -> bool {
        matches!(self, HostUseKind::Write | HostUseKind::Overwrite | HostUseKind::Map { write: true })
    }
}

impl HostAccess {
    /// Grants the host an access. Returns `None` if a current access excludes the new one.
    pub(crate) fn join(block: &Arc<Block>, order: &mut BlockState, want: HostUseKind) -> Option<Self> {
        order.admit_host(want).then(|| Self { block: block.clone(), want, right: HostRight::granted() })
    }

    /// Returns read access for a lazy read. The block still holds the bytes of the read, because every later writer,
    /// even the host, first saves them.
    pub(crate) fn of_lazy_read(block: &Arc<Block>, order: &mut BlockState) -> Self {
        order.readers += 1;
        Self { block: block.clone(), want: HostUseKind::Read, right: HostRight::granted() }
    }

    /// Ends the access in the block's state `order`. Must be called once, before the access is dropped.
    pub(crate) fn leave(&self, order: &mut BlockState) {
        order.dismiss_host(self.want);
    }

    /// Returns the proof that the host may read in place.
    pub(crate) fn right(&self) -> &HostRight {
        &self.right
    }

    /// Returns the proof that the host may write in place.
    pub(crate) fn right_mut(&mut self) -> &mut HostRight {
        &mut self.right
    }

    pub(crate) fn want(&self) -> HostUseKind {
        self.want
    }

    pub(crate) fn block(&self) -> &Arc<Block> {
        &self.block
    }

    /// Returns the bytes of a range in place. The slice is empty if the host cannot view the memory.
    pub(crate) fn bytes(&self, range: Range<u64>) -> &[u8] {
        self.block.view().map_or(&[], |view| view.slice(range, &self.right))
    }

    /// Copies the bytes of the block from `offset` into `out`.
    ///
    /// # Panics
    /// Panics if the host cannot access the block. The caller must check [`Block::direct`] first.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) {
        match (&self.block.memory, self.block.view()) {
            (Memory::Host(memory), _) => memory.read(offset, out),
            (_, Some(view)) => view.read(offset, out, &self.right),
            _ => unreachable!("bug: the host cannot reach {:?}", self.block),
        }
    }

    /// Copies `bytes` to `offset` of the block.
    ///
    /// # Panics
    /// Panics as [`read`](Self::read) does.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) {
        match (&self.block.memory, self.block.view()) {
            (Memory::Host(memory), _) => memory.write(offset, bytes),
            (_, Some(view)) => view.write(offset, bytes, &self.right),
            _ => unreachable!("bug: the host cannot reach {:?}", self.block),
        }
    }
}

impl BlockState {
    /// Records an access of the host if the current ones allow it. Returns `true` if it was granted.
    fn admit_host(&mut self, want: HostUseKind) -> bool {
        let free = match want {
            HostUseKind::Read => self.host != HostUse::Writing,
            HostUseKind::Write | HostUseKind::Overwrite | HostUseKind::Map { write: true } => {
                self.host == HostUse::Idle && self.readers == 0
            }
            HostUseKind::Map { write: false } => self.host == HostUse::Idle,
        };
        match want {
            _ if !free => {}
            HostUseKind::Read => self.readers += 1,
            HostUseKind::Write | HostUseKind::Overwrite => self.host = HostUse::Writing,
            HostUseKind::Map { .. } => self.host = HostUse::Mapped,
        }
        debug_assert!(
            self.readers == 0 || !matches!(self.host, HostUse::Writing),
            "bug: the host reads while it writes"
        );
        free
    }

    /// Records the end of an access of the host.
    pub(crate) fn dismiss_host(&mut self, want: HostUseKind) {
        match want {
            HostUseKind::Read => self.readers -= 1,
            HostUseKind::Write | HostUseKind::Overwrite | HostUseKind::Map { .. } => {
                self.host = HostUse::Idle
            }
        }
    }

    pub(crate) fn host_idle(&self) -> bool {
        self.host == HostUse::Idle && self.readers == 0
    }
}
/// Proof that the scheduler has granted the host an access. [`HostAccess`](super::host_access::HostAccess) lends it
/// only by reference, so the proof ends with the access.
pub(crate) struct HostRight(());

impl HostRight {
    /// Makes a proof. Only `HostAccess` may call this, after it has updated the state of the block.
    pub(crate) fn granted() -> Self {
        Self(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m06_the_host_writes_alone_and_reads_with_other_readers() {
        let map = |write| HostUseKind::Map { write };
        // Each row: the current access, and the expected results of a read, a write, a map to read and a map to write.
        let table = [
            (None, [true, true, true, true]),
            (Some(HostUseKind::Read), [true, false, true, false]),
            (Some(HostUseKind::Write), [false, false, false, false]),
            (Some(map(false)), [true, false, false, false]),
            (Some(map(true)), [true, false, false, false]),
        ];
        for (there, expected) in table {
            let joins = [HostUseKind::Read, HostUseKind::Write, map(false), map(true)].map(|want| {
                let mut order = BlockState::default();
                assert!(there.is_none_or(|there| order.admit_host(there)));
                order.admit_host(want)
            });
            assert_eq!(joins, expected, "beside {there:?}");
        }
    }

    #[test]
    fn m06_the_host_is_idle_only_after_its_last_use() {
        let mut order = BlockState::default();
        assert!(order.admit_host(HostUseKind::Read) && order.admit_host(HostUseKind::Read));
        order.dismiss_host(HostUseKind::Read);
        assert!(!order.host_idle());
        order.dismiss_host(HostUseKind::Read);
        assert!(order.host_idle() && order.admit_host(HostUseKind::Write) && !order.host_idle());
        order.dismiss_host(HostUseKind::Write);
        assert!(order.host_idle());
    }
}
