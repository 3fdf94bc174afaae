//! The right of the host to the bytes of a block.

use crate::memory::block::{Block, BlockState, HostUse, Memory};
use crate::memory::host_right::HostRight;
use std::ops::Range;
use std::sync::Arc;

/// The right of the host to read, or to write, a block. The bytes can be reached with it only.
///
/// A block admits several readers at once, or one writer. The scheduler makes one only while no work that was enqueued before
/// can still touch the range, or write it if the right is to read; so the holder of a right to write is alone with the bytes.
pub(crate) struct HostAccess {
    block: Arc<Block>,
    want: HostUseKind,
    right: HostRight,
}

/// What the host wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HostUseKind {
    Read,
    Write,
    /// To keep the bytes mapped: whatever is enqueued meanwhile is refused, not held.
    Map {
        write: bool,
    },
}

impl HostUseKind {
    pub(crate) fn writes(self) -> bool {
        matches!(self, HostUseKind::Write | HostUseKind::Map { write: true })
    }
}

impl HostAccess {
    /// Admits one more use of the host; `None` if the uses that there are exclude it.
    pub(crate) fn join(block: &Arc<Block>, order: &mut BlockState, want: HostUseKind) -> Option<Self> {
        order.admit_host(want).then(|| Self { block: block.clone(), want, right: HostRight::granted() })
    }

    /// Returns the right to read what a read has left in place: every later writer of those bytes, the host too, saves them
    /// first.
    pub(crate) fn of_lazy_read(block: &Arc<Block>, order: &mut BlockState) -> Self {
        order.readers += 1;
        Self { block: block.clone(), want: HostUseKind::Read, right: HostRight::granted() }
    }

    /// Ends the use in the block's books, which are given as `order`. The caller does it once, when it drops the right.
    pub(crate) fn leave(&self, order: &mut BlockState) {
        order.dismiss_host(self.want);
    }

    /// Returns the proof to read where the bytes are.
    pub(crate) fn right(&self) -> &HostRight {
        &self.right
    }

    /// Returns the proof to write where the bytes are.
    pub(crate) fn right_mut(&mut self) -> &mut HostRight {
        &mut self.right
    }

    pub(crate) fn want(&self) -> HostUseKind {
        self.want
    }

    pub(crate) fn block(&self) -> &Arc<Block> {
        &self.block
    }

    /// The bytes of a range, in place; none if the host has no view.
    pub(crate) fn bytes(&self, range: Range<u64>) -> &[u8] {
        self.block.view().map_or(&[], |view| view.slice(range, &self.right))
    }

    /// Copies bytes of the block from `offset` on into `out`.
    ///
    /// # Panics
    /// If the host cannot reach the block: who asks has looked at [`Block::direct`].
    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) {
        match (&self.block.memory, self.block.view()) {
            (Memory::Host(cells), _) => cells.read(offset, out),
            (_, Some(view)) => view.read(offset, out, &self.right),
            _ => unreachable!("bug: the host cannot reach {:?}", self.block),
        }
    }

    /// Copies `bytes` to `offset` of the block and on.
    ///
    /// # Panics
    /// As [`read`](Self::read).
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) {
        match (&self.block.memory, self.block.view()) {
            (Memory::Host(cells), _) => cells.write(offset, bytes),
            (_, Some(view)) => view.write(offset, bytes, &self.right),
            _ => unreachable!("bug: the host cannot reach {:?}", self.block),
        }
    }
}

impl BlockState {
    /// Takes one more use of the host in, if it can be at once with those there are.
    fn admit_host(&mut self, want: HostUseKind) -> bool {
        let free = match want {
            HostUseKind::Read => self.host != HostUse::Writing,
            HostUseKind::Write | HostUseKind::Map { write: true } => {
                self.host == HostUse::Idle && self.readers == 0
            }
            HostUseKind::Map { write: false } => self.host == HostUse::Idle,
        };
        match want {
            _ if !free => {}
            HostUseKind::Read => self.readers += 1,
            HostUseKind::Write => self.host = HostUse::Writing,
            HostUseKind::Map { .. } => self.host = HostUse::Mapped,
        }
        free
    }

    fn dismiss_host(&mut self, want: HostUseKind) {
        match want {
            HostUseKind::Read => self.readers -= 1,
            HostUseKind::Write | HostUseKind::Map { .. } => self.host = HostUse::Idle,
        }
    }

    pub(crate) fn host_idle(&self) -> bool {
        self.host == HostUse::Idle && self.readers == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m06_the_host_writes_alone_and_reads_beside_readers() {
        let map = |write| HostUseKind::Map { write };
        // What is there, and whether a read, a write, a map to read and a map to write may join it.
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
