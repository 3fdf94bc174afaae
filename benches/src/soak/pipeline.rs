//! The pipeline: one queue uploads and one computes, with two buffers and events in both directions.

use std::collections::VecDeque;
use std::pin::pin;
use std::task::{Context as Task, Waker};
use std::time::Duration;

use anyhow::{Result, ensure};
use fastrand::Rng;
use fencepost::prelude::*;
use fencepost::{Event, Kernel};

use super::summary::Counts;

#[derive(KernelArgs)]
#[kernel(source = "mix.wgsl")] // y[i] = y[i] * a + x[i] + b, wrapping
struct Mix<'a> {
    a: u32,
    b: u32,
    x: &'a DeviceArray<u32>,
    y: &'a mut DeviceArray<u32>,
}

/// Elements of the largest block.
const MOST: usize = 1 << 14;
/// Maximum number of pending results.
const RESULTS: usize = 6;

/// One of the two buffers, with the events that complete when each queue has finished with it.
struct Slot {
    staging: HostArray<u32, Upload>,
    x: DeviceArray<u32>,
    uploaded: Event,
    used: Event,
}

/// A pending result, with the seed of its expected elements.
struct Coming {
    block: u64,
    seed: u32,
    len: usize,
    reading: Pending<Vec<u32>>,
}

pub(super) struct Pipeline {
    rng: Rng,
    seed: u64,
    mix: Kernel<Mix<'static>>,
    copy: CommandQueue,
    compute: CommandQueue,
    slots: [Slot; 2],
    coming: VecDeque<Coming>,
    counts: Counts,
}

impl Pipeline {
    pub(super) fn new(ctx: &Context, seed: u64) -> Result<Self> {
        let slot = || -> Result<Slot> {
            let staging = ctx.pinned([MOST])?;
            let x = ctx.zeros([MOST])?;
            Ok(Slot { staging, x, uploaded: ctx.event(), used: ctx.event() })
        };
        Ok(Self {
            rng: Rng::with_seed(seed),
            seed,
            mix: ctx.kernel::<Mix>()?,
            copy: ctx.queue("copy"),
            compute: ctx.queue("compute"),
            slots: [slot()?, slot()?],
            coming: VecDeque::new(),
            counts: Counts::default(),
        })
    }

    /// Enqueues one block, and takes a random number of results.
    pub(super) fn turn(&mut self) -> Result<()> {
        let coming = self.enqueue()?;
        self.coming.push_back(coming);
        self.counts.blocks += 1;
        if self.rng.u32(..5) == 0 {
            self.give_up_a_wait()?;
        }
        while self.coming.len() > self.rng.usize(..=RESULTS) {
            self.take()?;
        }
        Ok(())
    }

    /// Counts the blocks so far.
    pub(super) fn blocks(&self) -> u64 {
        self.counts.blocks
    }

    /// Waits for the remaining results.
    pub(super) fn end(mut self) -> Result<Counts> {
        while !self.coming.is_empty() {
            self.take()?;
        }
        self.copy.finish().wait()?;
        self.compute.finish().wait()?;
        Ok(self.counts)
    }

    fn enqueue(&mut self) -> Result<Coming> {
        let block = self.counts.blocks;
        let seed = self.rng.u32(..);
        let len = self.rng.usize(1..=MOST);
        if self.rng.u32(..8) == 0 {
            self.renew(block)?;
        }
        let slot = &mut self.slots[block as usize % 2];
        slot.staging.host_mut()?[..len].iter_mut().enumerate().for_each(|(i, x)| *x = element(seed, i));
        self.copy.wait_for(&slot.used)?;
        let mut x = slot.x.slice(0..len)?;
        self.copy.upload(&slot.staging.slice(0..len)?, &mut x)?;
        slot.uploaded.record(&self.copy)?;
        self.compute.wait_for(&slot.uploaded)?;
        let mut y = self.compute.full([len], seed)?;
        let args = Mix { a: 3, b: block as u32, x: &x, y: &mut y };
        self.compute.launch(&self.mix, Grid::threads([len]), args)?;
        slot.used.record(&self.compute)?;
        let reading = self.compute.read(&y);
        if self.rng.u32(..6) == 0 {
            drop(self.compute.read(&y)); // a read whose result is dropped
            self.counts.results_dropped += 1;
        }
        self.counts.bytes += 4 * len as u64;
        self.counts.arrays_dropped += 1; // `y` is dropped while its work is pending
        Ok(Coming { block, seed, len, reading })
    }

    /// Drops the array of a buffer while work uses it, and replaces it.
    fn renew(&mut self, block: u64) -> Result<()> {
        self.slots[block as usize % 2].x = self.copy.zeros([MOST])?;
        self.counts.arrays_dropped += 1;
        Ok(())
    }

    /// Waits for a queue with a short timeout, or polls a future once, and gives the wait up.
    fn give_up_a_wait(&mut self) -> Result<()> {
        let queue = if self.rng.bool() { &self.copy } else { &self.compute };
        if self.rng.bool() {
            let limit = Duration::from_micros(self.rng.u64(..300));
            self.counts.waits_given_up += u64::from(queue.finish().wait_timeout(limit)?.is_none());
        } else {
            let future = pin!(queue.marker().done());
            let first = future.poll(&mut Task::from_waker(Waker::noop()));
            self.counts.results_dropped += u64::from(first.is_pending());
        }
        if let Some(oldest) = self.coming.front_mut().filter(|_| self.rng.bool()) {
            let found = oldest.reading.wait_timeout(Duration::ZERO)?;
            match found {
                Some(found) => {
                    let Coming { block, seed, len, .. } = *oldest;
                    self.coming.pop_front();
                    check(&found, block, seed, len, self.seed)?;
                }
                None => self.counts.waits_given_up += 1,
            }
        }
        Ok(())
    }

    /// Takes the oldest result, in one of several ways.
    fn take(&mut self) -> Result<()> {
        let Some(Coming { block, seed, len, mut reading }) = self.coming.pop_front() else { return Ok(()) };
        let found = match self.rng.u32(..3) {
            0 => reading.wait()?,
            1 => pollster::block_on(reading)?,
            _ => loop {
                match reading.wait_timeout(Duration::from_micros(self.rng.u64(..500)))? {
                    Some(found) => break found,
                    None => self.counts.waits_given_up += 1,
                }
            },
        };
        check(&found, block, seed, len, self.seed)
    }
}

/// Returns element `i` of a block.
fn element(seed: u32, i: usize) -> u32 {
    seed.rotate_left(7) ^ (i as u32).wrapping_mul(2_654_435_761)
}

fn check(found: &[u32], block: u64, seed: u32, len: usize, run: u64) -> Result<()> {
    ensure!(found.len() == len, "block {block} of seed {run} has {} elements instead of {len}", found.len());
    let expected = |i| seed.wrapping_mul(3).wrapping_add(element(seed, i)).wrapping_add(block as u32);
    let wrong = (0..len).find(|&i| found[i] != expected(i));
    match wrong {
        Some(i) => anyhow::bail!(
            "block {block} of seed {run}: element {i} is {}, it must be {}",
            found[i],
            expected(i)
        ),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_element_is_found() {
        let right = |i| 5_u32.wrapping_mul(3).wrapping_add(element(5, i)).wrapping_add(9);
        let mut found: Vec<u32> = (0..40).map(right).collect();
        check(&found, 9, 5, 40, 1).expect("it is right");
        found[39] ^= 1;
        let error = check(&found, 9, 5, 40, 1).expect_err("the last one is wrong").to_string();
        assert!(error.contains("block 9 of seed 1: element 39"), "{error}");
        assert!(check(&found[..39], 9, 5, 40, 1).is_err());
    }
}
