//! Tests of barriers against a model of Vulkan's rules: a command must come after earlier commands on the same bytes,
//! and must see their writes.

use super::*;
use wgpu::BufferUses as Uses;

const BLOCKS: usize = 6;
const COMMANDS: usize = 60;
const PROGRAMS: u64 = 3000;

/// An earlier use of a block, and the effect of the barriers since then.
#[derive(Clone)]
struct Access {
    uses: Uses,
    /// Union of the uses that start only after this use has ended.
    before: Uses,
    /// `true` once a barrier has named the block with a writing use.
    available: bool,
    /// Union of the uses that see the write.
    visible: Uses,
}

/// For each block, its last write and the reads since then.
#[derive(Default)]
struct Model {
    blocks: [(Option<Access>, Vec<Access>); BLOCKS],
}

/// Returns all uses in the same pipeline stages, because a barrier orders stages.
fn stages(uses: Uses) -> Uses {
    let of = [OF_KERNELS, Uses::COPY_SRC | Uses::COPY_DST, Uses::INDIRECT];
    of.into_iter().filter(|stage| stage.intersects(uses)).fold(Uses::empty(), |all, stage| all | stage)
}

impl Model {
    fn barrier(&mut self, barrier: Barrier<'_, usize>) {
        if barrier.is_global {
            return self.global(barrier.to);
        }
        let from = barrier.buffers.iter().fold(Uses::empty(), |from, (_, uses)| from | *uses);
        for (block, (write, reads)) in self.blocks.iter_mut().enumerate() {
            let named = barrier.buffers.iter().filter(|(named, _)| *named == block);
            let named = named.fold(Uses::empty(), |all, (_, uses)| all | *uses);
            for access in write.iter_mut().chain(reads) {
                if stages(from).intersects(stages(access.uses) | access.before) {
                    access.before |= stages(barrier.to);
                }
                access.available |= named.contains(access.uses);
                if access.available && !named.is_empty() {
                    access.visible |= barrier.to;
                }
            }
        }
    }

    /// Orders all earlier commands before later commands with one of the uses `to`, which then see all writes.
    fn global(&mut self, to: Uses) {
        for access in self.blocks.iter_mut().flat_map(|(write, reads)| write.iter_mut().chain(reads)) {
            access.before |= stages(to);
            access.available = true;
            access.visible |= to;
        }
    }

    /// Adds a command. Returns an error if the barriers so far are not enough for it.
    fn command(&mut self, touches: &[BarrierUse<'_, usize>]) -> Result<(), String> {
        for touch in touches {
            let (write, reads) = &self.blocks[touch.buffer];
            let is_before = |access: &Access| access.before.contains(stages(touch.uses));
            if let Some(write) = write {
                if !is_before(write) {
                    return Err(format!("{touch:?} is not after the write {:?}", write.uses));
                }
                if !write.visible.contains(touch.uses) {
                    return Err(format!("{touch:?} does not see the write {:?}", write.uses));
                }
            }
            if touch.write && !reads.iter().all(is_before) {
                return Err(format!("{touch:?} is not after a read"));
            }
        }
        for touch in touches {
            let (write, reads) = &mut self.blocks[touch.buffer];
            let access =
                Access { uses: touch.uses, before: Uses::empty(), available: false, visible: Uses::empty() };
            if touch.write {
                *write = Some(access);
                reads.clear();
            } else {
                reads.push(access);
            }
        }
        Ok(())
    }
}

/// Draws the uses of a command: a kernel, a kernel with an indirect grid, a copy or a fill.
fn drawn<'m>(random: &mut fastrand::Rng, marks: &'m [AtomicU64]) -> Vec<BarrierUse<'m, usize>> {
    let mut free: Vec<usize> = (0..BLOCKS).collect();
    random.shuffle(&mut free);
    let mut next = |uses: Uses, write: bool| {
        let at = free.pop().expect("a command uses fewer blocks than there are");
        BarrierUse { block: BlockId(at as u64), mark: &marks[at], buffer: at, uses, write }
    };
    match random.u32(..10) {
        0..6 => vec![next(Uses::STORAGE_READ_WRITE, false), next(Uses::STORAGE_READ_WRITE, true)],
        6 => vec![next(Uses::STORAGE_READ_WRITE, true), next(Uses::INDIRECT, false)],
        7 | 8 => vec![next(Uses::COPY_SRC, false), next(Uses::COPY_DST, true)],
        _ => vec![next(Uses::COPY_DST, true)],
    }
}

#[test]
fn each_command_of_a_random_batch_comes_after_the_uses_it_depends_on_and_sees_their_writes() {
    let marks: [AtomicU64; BLOCKS] = Default::default();
    let mut epochs = Epochs::default();
    for seed in 0..PROGRAMS {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut tracker = BarrierTracker::new(epochs.ordered(), false);
        let mut model = Model::default();
        for at in 0..COMMANDS {
            let touches = drawn(&mut random, &marks);
            if let Some(barrier) = tracker.barrier_before(&touches) {
                model.barrier(barrier);
            }
            let checked = model.command(&touches);
            assert_eq!(checked, Ok(()), "program {seed}, command {at}");
        }
        epochs = tracker.epochs();
    }
}

#[test]
fn a_barrier_at_the_end_of_a_random_batch_makes_all_writes_visible() {
    let marks: [AtomicU64; BLOCKS] = Default::default();
    let mut epochs = Epochs::default();
    for seed in 0..PROGRAMS {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut tracker = BarrierTracker::new(epochs.ordered(), false);
        let mut model = Model::default();
        for _ in 0..random.usize(..COMMANDS) {
            let touches = drawn(&mut random, &marks);
            if let Some(barrier) = tracker.barrier_before(&touches) {
                model.barrier(barrier);
            }
            model.command(&touches).expect("the test above checks the barriers inside the batch");
        }
        if let Some(barrier) = tracker.close() {
            model.barrier(barrier);
        }
        epochs = tracker.epochs();
        for (block, (write, _)) in model.blocks.iter().enumerate() {
            let visible = write.as_ref().is_none_or(|write| write.visible.contains(ANYTHING));
            assert!(
                visible,
                "program {seed}, block {block}: {:?}",
                write.as_ref().map(|write| write.visible)
            );
        }
    }
}

#[test]
fn a_barrier_before_a_kernel_does_not_order_copies_and_one_before_a_copy_names_all_earlier_writes() {
    let marks: [AtomicU64; 3] = Default::default();
    let touch = |at: usize, uses, write| BarrierUse {
        block: BlockId(at as u64),
        mark: &marks[at],
        buffer: at,
        uses,
        write,
    };
    let kernel = |from, to| [touch(from, OF_KERNELS, false), touch(to, Uses::STORAGE_READ_WRITE, true)];
    let mut tracker = BarrierTracker::new(Epochs::default().ordered(), false);
    assert!(tracker.barrier_before(&kernel(0, 1)).is_none());
    let narrow =
        tracker.barrier_before(&kernel(1, 2)).expect("the second kernel reads what the first one writes");
    assert_eq!((narrow.to, narrow.buffers.len()), (OF_KERNELS, 1));
    let copy = [touch(1, Uses::COPY_SRC, false)];
    let wide =
        tracker.barrier_before(&copy).expect("the write of the first kernel is visible to kernels only");
    let mut named: Vec<usize> = wide.buffers.iter().map(|&(buffer, _)| buffer).collect();
    named.sort_unstable();
    assert_eq!((wide.to, named), (ANYTHING, vec![1, 2]));
    assert!(tracker.barrier_before(&copy).is_none(), "the wide barrier serves the second copy too");
}

/// The barrier at the end of a batch orders all earlier commands before later copies and indirect launches.
const BEHIND_BATCH: Uses = Uses::COPY_SRC.union(Uses::COPY_DST).union(Uses::INDIRECT);

#[test]
fn each_command_of_random_batches_that_start_early_comes_after_those_of_earlier_batches() {
    let marks: [AtomicU64; BLOCKS] = Default::default();
    let mut epochs = Epochs::default().ordered();
    let mut early = 0;
    for seed in 0..PROGRAMS {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut model = Model::default();
        epochs = epochs.ordered(); // each model starts without earlier batches
        for batch in 0..8 {
            let mut tracker = BarrierTracker::new(epochs, false);
            let mut is_after = false;
            for at in 0..random.usize(..COMMANDS / 8) {
                let touches = drawn(&mut random, &marks);
                if random.u32(..16) == 0 && tracker.follow_earlier_batches() {
                    model.global(ANYTHING);
                }
                if let Some(barrier) = tracker.barrier_before(&touches) {
                    assert!(!(is_after && barrier.is_global), "program {seed}: a second global barrier");
                    is_after = true;
                    model.barrier(barrier);
                }
                early += usize::from(batch > 0 && !is_after);
                let checked = model.command(&touches);
                assert_eq!(checked, Ok(()), "program {seed}, batch {batch}, command {at}");
            }
            model.global(BEHIND_BATCH);
            epochs = tracker.epochs();
        }
    }
    assert!(early > 1000, "only {early} commands may start before earlier batches end");
}

#[test]
fn kernels_of_two_batches_on_different_blocks_need_no_barrier() {
    let marks: [AtomicU64; 2] = Default::default();
    let kernel = |at: usize| {
        let block = BlockId(at as u64);
        let uses = Uses::STORAGE_READ_WRITE;
        [BarrierUse { block, mark: &marks[at], buffer: at, uses, write: true }]
    };
    let mut first = BarrierTracker::new(Epochs::default().ordered(), false);
    assert!(first.barrier_before(&kernel(0)).is_none());
    let mut second = BarrierTracker::new(first.epochs(), false);
    assert!(second.barrier_before(&kernel(1)).is_none(), "the blocks differ");
    let barrier = second.barrier_before(&kernel(0)).expect("the first batch may still write the block");
    assert!(barrier.is_global);
    let mut third = BarrierTracker::new(second.epochs().ordered(), false);
    assert!(third.barrier_before(&kernel(0)).is_none(), "the batch is ordered");
}
