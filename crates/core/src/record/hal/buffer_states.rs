//! Buffer states, for the exact backends: on these a buffer must be in exactly the state of its use (`Backend::EXACT`).

use crate::memory::heap::BlockId;
use crate::record::hal::barriers::BarrierUse;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use wgpu::BufferUses as Uses;

/// State of every buffer at the start and at the end of an encoder.
const SETTLED: Uses = Uses::STORAGE_READ_WRITE;

/// A buffer with its states before and after a barrier. The two states are equal if the barrier only makes writes
/// visible.
pub(crate) type StateChange<B> = (B, Uses, Uses);

/// Current state of each buffer that the encoder has used.
pub(crate) struct BufferStates<B>(FxHashMap<BlockId, (B, Uses)>);

impl<B: Copy> BufferStates<B> {
    pub(crate) fn new() -> Self {
        Self(FxHashMap::default())
    }

    /// Returns the state changes that must come before a command. `hazard` lists the buffers of the barrier that
    /// the barrier tracker requires before it, if there is one.
    pub(crate) fn admit(
        &mut self,
        touches: &[BarrierUse<'_, B>],
        hazard: Option<&[(B, Uses)]>,
    ) -> SmallVec<[StateChange<B>; 8]> {
        let mut changes: SmallVec<[StateChange<B>; 8]> = SmallVec::new();
        for (at, touch) in touches.iter().enumerate() {
            if touches[..at].iter().any(|earlier| earlier.block == touch.block) {
                continue;
            }
            let to = state(touches, touch);
            let from = self.0.insert(touch.block, (touch.buffer, to)).map_or(SETTLED, |(_, from)| from);
            if from != to || hazard.is_some() {
                changes.push((touch.buffer, from, to));
            }
        }
        for &(buffer, uses) in hazard.into_iter().flatten().filter(|(_, uses)| uses.contains(SETTLED)) {
            changes.push((buffer, uses & SETTLED, SETTLED));
        }
        changes
    }

    /// Returns the changes that bring every buffer back to `SETTLED`, and forgets the buffers.
    pub(crate) fn restore(&mut self) -> SmallVec<[StateChange<B>; 8]> {
        let away = self.0.drain().filter(|(_, (_, state))| *state != SETTLED);
        away.map(|(_, (buffer, state))| (buffer, state, SETTLED)).collect()
    }
}

/// Returns the state of a block during a command: the command's use of the block, or `SETTLED` if its uses differ.
fn state<B>(touches: &[BarrierUse<'_, B>], touch: &BarrierUse<B>) -> Uses {
    let same = touches.iter().filter(|other| other.block == touch.block);
    if same.clone().all(|other| other.uses == touch.uses) { touch.uses } else { SETTLED }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    static MARK: AtomicU64 = AtomicU64::new(0);

    fn touch(uses: Uses, write: bool) -> BarrierUse<'static, u32> {
        BarrierUse { block: BlockId(1), mark: &MARK, buffer: 1, uses, write }
    }

    #[test]
    fn a_buffer_takes_the_state_of_its_use_and_returns_at_the_end() {
        let mut states = BufferStates::new();
        let (copy, read) = (touch(Uses::COPY_DST, true), touch(Uses::STORAGE_READ_ONLY, false));
        assert_eq!(states.admit(&[copy], None)[..], [(1, SETTLED, Uses::COPY_DST)]);
        assert_eq!(states.admit(&[read], None)[..], [(1, Uses::COPY_DST, Uses::STORAGE_READ_ONLY)]);
        assert!(states.admit(&[read], None).is_empty());
        assert_eq!(states.restore()[..], [(1, Uses::STORAGE_READ_ONLY, SETTLED)]);
        assert!(states.restore().is_empty());
    }

    #[test]
    fn a_block_with_two_uses_in_one_command_has_the_state_for_both() {
        let mut states = BufferStates::new();
        let both = [touch(Uses::STORAGE_READ_ONLY, false), touch(SETTLED, false)];
        assert!(states.admit(&both, None).is_empty());
        assert!(states.admit(&both, Some(&[(1, SETTLED)])).contains(&(1, SETTLED, SETTLED)));
    }
}
