//! The last use of the blocks of a graph, which its next replay repeats.
//!
//! The first replay records its use in each block. While no other command is recorded in one of these blocks, the next
//! replay only replaces the stamp, which all blocks share. It costs the same for one block and for a thousand.

use crate::memory::repeated_use::RepeatedUse;
use crate::memory::uses::UseDetails;
use fencepost_sync::prim::{Mutex, lock};
use fencepost_sync::{Clock, Slot, Stamp};
use std::panic::Location;
use std::sync::Arc;

/// The use that the next command on the same blocks may repeat.
#[derive(Default)]
pub(crate) struct LastUse(Mutex<Option<Arc<UseDetails>>>);

impl LastUse {
    /// Returns `true` if the last use of each block is the kept one, and a command of `slot` made it. Then the next
    /// command of `slot` already comes after all uses that it has to follow.
    pub(crate) fn is_of(&self, slot: Slot) -> bool {
        let kept = lock(&self.0);
        matches!(kept.as_deref(), Some(UseDetails::Repeated(kept)) if kept.is_last_of(slot))
    }

    /// Records a repetition of the kept use in all blocks. Returns `false` if it must be recorded in each block,
    /// because another command was recorded in one of them, because another queue or line enqueues this command, or
    /// because the queue has waited since.
    pub(crate) fn repeat(
        &self,
        slot: Slot,
        at: &'static Location<'static>,
        stamp: Stamp,
        clock: &Clock,
    ) -> bool {
        let kept = lock(&self.0);
        matches!(kept.as_deref(), Some(UseDetails::Repeated(kept)) if kept.repeat(slot, at, stamp, clock))
    }

    /// Forgets the kept use, so that the next command is recorded in each block.
    #[cfg(test)]
    pub(crate) fn forget(&self) {
        *lock(&self.0) = None;
    }

    /// Keeps the use of a command, which the caller records in each block.
    pub(crate) fn begin(
        &self,
        slot: Slot,
        at: &'static Location<'static>,
        stamp: Stamp,
        clock: &Clock,
    ) -> Arc<UseDetails> {
        let begun = Arc::new(UseDetails::Repeated(RepeatedUse::new(slot, at, stamp, clock.clone())));
        *lock(&self.0) = Some(begun.clone());
        begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::site::CommandKind;
    use crate::memory::uses::{BlockUses, Use};

    const SLOT: Slot = Slot(1);

    fn used(slot: Slot, stamp: u64, write: bool, more: Option<Arc<UseDetails>>) -> Use {
        let (what, at) = (CommandKind::Copy, Location::caller());
        Use { slot, first: Stamp(stamp), range: 0..8, write, what, at, more }
    }

    /// Makes two blocks with the use of one command.
    fn two_blocks(last: &LastUse, at: &'static Location<'static>) -> [BlockUses; 2] {
        let begun = last.begin(SLOT, at, Stamp(1), &Clock::default());
        [true, false].map(|write| {
            let mut uses = BlockUses::default();
            uses.record(used(SLOT, 1, write, Some(begun.clone())), &Clock::default());
            uses
        })
    }

    #[test]
    fn a_repetition_changes_the_stamp_in_each_block() {
        let (last, at) = (LastUse::default(), Location::caller());
        assert!(!last.is_of(SLOT) && !last.repeat(SLOT, at, Stamp(1), &Clock::default()), "nothing is kept");
        let blocks = two_blocks(&last, at);
        assert!(last.is_of(SLOT) && last.repeat(SLOT, at, Stamp(7), &Clock::default()));
        for block in blocks {
            assert_eq!(block.all().map(Use::stamp).collect::<Vec<_>>(), [Stamp(7)]);
        }
    }

    #[test]
    fn another_queue_or_line_and_a_queue_that_has_waited_repeat_nothing() {
        let (last, at) = (LastUse::default(), Location::caller());
        let blocks = two_blocks(&last, at);
        assert!(!last.is_of(Slot(2)) && !last.repeat(Slot(2), at, Stamp(7), &Clock::default()));
        assert!(!last.repeat(SLOT, Location::caller(), Stamp(7), &Clock::default()));
        assert!(!last.repeat(SLOT, at, Stamp(7), &Clock::after_all(Stamp(1))));
        assert!(blocks.iter().all(|block| block.all().all(|u| u.stamp() == Stamp(1))));
    }

    #[test]
    fn a_use_of_one_block_or_its_removal_ends_the_repetitions() {
        let ends: [fn(&mut BlockUses); 5] = [
            |uses| {
                uses.record(used(SLOT, 2, true, None), &Clock::default());
            },
            |uses| {
                uses.record(used(SLOT, 2, false, None), &Clock::default());
            },
            |uses| {
                uses.record(used(Slot(2), 2, false, None), &Clock::default());
            },
            |uses| uses.retain(|_| false),
            BlockUses::clear,
        ];
        for (end, block) in ends.into_iter().zip([0, 1, 0, 1, 0]) {
            let (last, at) = (LastUse::default(), Location::caller());
            let mut blocks = two_blocks(&last, at);
            end(&mut blocks[block]);
            assert!(!last.is_of(SLOT) && !last.repeat(SLOT, at, Stamp(7), &Clock::default()));
            assert_eq!(
                blocks[1 - block].all().map(Use::stamp).collect::<Vec<_>>(),
                [Stamp(1)],
                "the other block keeps the use"
            );
        }
    }

    #[test]
    fn a_use_of_the_same_command_in_the_same_block_ends_nothing() {
        let (last, at) = (LastUse::default(), Location::caller());
        let begun = last.begin(SLOT, at, Stamp(1), &Clock::default());
        let mut uses = BlockUses::default();
        for write in [false, true] {
            uses.record(used(SLOT, 1, write, Some(begun.clone())), &Clock::default());
        }
        assert!(last.repeat(SLOT, at, Stamp(2), &Clock::default()));
    }
}
