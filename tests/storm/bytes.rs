//! Steps that make, change and read arrays.

use super::array::{Access, Owned};
use super::common::kernels::{Iota, Mix};
use super::shared::{CONSTANTS, Lane};
use super::waits::{Coming, Done};
use super::worker::Worker;
use fencepost::prelude::*;
use wgpu::BufferUsages as Usages;

/// Maximum number of arrays of a thread.
const MOST: usize = 8;
/// Number of elements of a large array, in units of 64. A copy of it between contexts has two pieces of at most 4 MiB.
const LARGE: usize = 20_000;

impl Worker<'_> {
    /// Makes an array of a context, or of a queue.
    pub fn make(&mut self) -> Done {
        if self.arrays.len() >= MOST {
            return self.drop_array();
        }
        let home = self.some_home();
        let policy = self.shared.homes[home].policy;
        let len = self.some_len();
        let words = self.some_words(len);
        let lane = self.lane_at(home);
        let ctx = &self.shared.homes[home].ctx;
        let value = words[0];
        let of_context = |array, words| Owned::of_context(array, home, policy, words);
        let (mut owned, by_queue) = match self.rng.u32(..8) {
            0 => (of_context(ctx.zeros([len])?, vec![0; len]), false),
            1 => (of_context(ctx.full([len], value)?, vec![value; len]), false),
            2 => (of_context(ctx.array(&words)?, words), false),
            3 if ctx.wgpu().is_some() => {
                let array = ctx.shared_array([len], Usages::empty())?;
                (Owned { shared: true, ..of_context(array, vec![0; len]) }, false)
            }
            4 => (of_context(lane.queue.zeros([len])?, vec![0; len]), true),
            5 => (of_context(lane.queue.full([len], value)?, vec![value; len]), true),
            6 => {
                let mut array = lane.queue.empty([len])?;
                lane.queue.upload(&words[..], &mut array)?;
                (of_context(array, words), true)
            }
            _ => (of_context(lane.queue.array(&words)?, words), true),
        };
        if by_queue {
            owned.used(&lane, Access::Write, &mut self.rng);
        }
        self.arrays.push(owned);
        Ok(())
    }

    /// Draws a number of elements, which is mostly small.
    fn some_len(&mut self) -> usize {
        64 * match self.rng.u32(..20) {
            0 if self.shared.drawn.large => LARGE,
            0 | 1 => self.rng.usize(1..=512),
            _ => self.rng.usize(1..=12),
        }
    }

    /// Drops an array, in use or not.
    pub fn drop_array(&mut self) -> Done {
        if let Some(at) = self.some_array(|owned| !owned.part) {
            drop(self.arrays.swap_remove(at));
        }
        Ok(())
    }

    /// Draws an array, and a queue of its context that waits for the uses of the array.
    pub fn chosen(&mut self, access: Access, fits: impl Fn(&Owned) -> bool) -> Done<Option<(usize, Lane)>> {
        let Some(at) = self.some_array(fits) else { return Ok(None) };
        let lane = self.lane_at(self.arrays[at].home);
        self.order(at, &lane, access)?;
        Ok(Some((at, lane)))
    }

    pub fn fill(&mut self) -> Done {
        let Some((at, lane)) = self.chosen(Access::Write, |_| true)? else { return Ok(()) };
        let range = self.some_range(self.arrays[at].len());
        let value = self.rng.u32(..);
        let mut part = self.arrays[at].array.slice(range.clone())?;
        if self.rng.u32(..6) == 0 {
            let ctx = &self.shared.homes[lane.home].ctx;
            lane.queue.scope(|| ctx.current_queue().fill(&mut part, value))?;
        } else {
            lane.queue.fill(&mut part, value)?;
        }
        self.arrays[at].change(range, |_, _| value);
        self.used(at, &lane, Access::Write);
        Ok(())
    }

    pub fn upload(&mut self) -> Done {
        let Some((at, lane)) = self.chosen(Access::Write, |_| true)? else { return Ok(()) };
        let range = self.some_range(self.arrays[at].len());
        let words = self.some_words(range.len());
        lane.queue.upload(&words[..], &mut self.arrays[at].array.slice(range.clone())?)?;
        self.arrays[at].change(range, |i, _| words[i]);
        self.used(at, &lane, Access::Write);
        Ok(())
    }

    /// Copies a part of an array, or of the array that all threads read, to another array. The two may belong to
    /// different contexts.
    pub fn copy(&mut self) -> Done {
        let Some(to) = self.some_array(|_| true) else { return Ok(()) };
        let from = self.some_array(|_| true).filter(|from| *from != to && self.rng.u32(..4) > 0);
        let dst_home = self.arrays[to].home;
        let src_home = match from {
            Some(from) => self.arrays[from].home,
            None => self.some_home(),
        };
        let lane = if self.rng.bool() { self.lane_at(dst_home) } else { self.lane_at(src_home) };
        let len = from.map_or(CONSTANTS, |from| self.arrays[from].len()).min(self.arrays[to].len());
        let range = self.some_range(len);
        let (src, words) = match from {
            Some(from) => {
                self.order(from, &lane, Access::Read)?;
                (
                    self.arrays[from].array.slice(range.clone())?,
                    self.arrays[from].words[range.clone()].to_vec(),
                )
            }
            None => {
                let home = &self.shared.homes[src_home];
                (home.constants.slice(range.clone())?, home.words[range.clone()].to_vec())
            }
        };
        self.order(to, &lane, Access::Write)?;
        lane.queue.copy(&src, &mut self.arrays[to].array.slice(range.clone())?)?;
        self.arrays[to].change(range, |i, _| words[i]);
        if let Some(from) = from {
            self.used(from, &lane, Access::Read);
        }
        self.used(to, &lane, Access::Write);
        Ok(())
    }

    /// Copies a part of an array to another part of it, which may overlap.
    pub fn copy_inside(&mut self) -> Done {
        let Some((at, lane)) = self.chosen(Access::Write, |_| true)? else { return Ok(()) };
        let len = self.arrays[at].len();
        let range = self.some_range(len);
        let start = self.rng.usize(..=len - range.len());
        let target = start..start + range.len();
        let owned = &mut self.arrays[at];
        lane.queue.copy(&owned.array.slice(range.clone())?, &mut owned.array.slice(target)?)?;
        owned.words.copy_within(range, start);
        self.used(at, &lane, Access::Write);
        Ok(())
    }

    pub fn launch(&mut self) -> Done {
        let Some((to, lane)) = self.chosen(Access::Write, |_| true)? else { return Ok(()) };
        let home = &self.shared.homes[lane.home];
        let from = self.some_array(|owned| owned.home == lane.home && !owned.part).filter(|from| *from != to);
        let a = self.rng.u32(..);
        let b = self.rng.u32(..);
        let range = self.some_range(self.arrays[to].len());
        let mut y = self.arrays[to].array.slice(range.clone())?;
        let grid = Grid::threads([range.len()]);
        let kind = self.rng.u32(..3);
        if kind == 0 {
            lane.queue.launch(&home.ctx.kernel::<Iota>()?, grid, Iota { start: a, step: b, out: &mut y })?;
            self.arrays[to].change(range, |i, _| a.wrapping_add(b.wrapping_mul(i as u32)));
            self.used(to, &lane, Access::Write);
            return Ok(());
        }
        let (x, words) = match from {
            Some(from) => {
                self.order(from, &lane, Access::Read)?;
                (self.arrays[from].array.clone(), self.arrays[from].words.clone())
            }
            None => (home.constants.clone(), home.words.clone()),
        };
        if kind == 1 {
            lane.queue.launch(&home.ctx.kernel::<Mix>()?, grid, Mix { a, b, x: &x, y: &mut y })?;
        } else {
            lane.queue.launch_dyn(&home.mixed()?, grid, args![a = a, b = b, x = &x, y = &mut y])?;
        }
        let shorter = range.start..range.end.min(range.start + words.len());
        self.arrays[to].change(shorter, |i, word| Mix::of(a, b, words[i], word));
        if let Some(from) = from {
            self.used(from, &lane, Access::Read);
        }
        self.used(to, &lane, Access::Write);
        Ok(())
    }

    /// Encodes wgpu commands on a shared array.
    pub fn encode(&mut self) -> Done {
        let Some((at, lane)) = self.chosen(Access::Write, |owned| owned.shared)? else { return Ok(()) };
        let range = self.some_range(self.arrays[at].len());
        let mut part = self.arrays[at].array.slice(range.clone())?;
        lane.queue.encode(|encoder, access| {
            let to = access.write(&mut part)?;
            encoder.clear_buffer(to.buffer(), to.offset(), Some(to.size()));
            Ok(())
        })?;
        self.arrays[at].change(range, |_, _| 0);
        self.used(at, &lane, Access::Write);
        Ok(())
    }

    /// Enqueues a read of a part of an array.
    pub fn read(&mut self) -> Done {
        let Some((at, lane)) = self.chosen(Access::Read, |_| true)? else { return Ok(()) };
        let range = self.some_range(self.arrays[at].len());
        let expected = self.arrays[at].words[range.clone()].to_vec();
        let part = self.arrays[at].array.slice(range)?;
        if self.rng.u32(..8) == 0 {
            self.release();
            let mut found = vec![0; expected.len()];
            lane.queue.read_into(&part, &mut found)?;
            self.used(at, &lane, Access::Read);
            return super::waits::compare(&found, &expected, || "a read that blocks".into());
        }
        let reading = match self.rng.bool() {
            true => lane.queue.read(&part),
            false => lane.queue.read_region(&part, region![..]),
        };
        self.used(at, &lane, Access::Read);
        self.comings.push(Coming { reading, expected, from: self.on(&lane) });
        Ok(())
    }

    pub fn read_constants(&mut self) -> Done {
        let lane = self.some_lane();
        let home = &self.shared.homes[lane.home];
        let reading = lane.queue.read(&home.constants);
        let expected = home.words.clone();
        self.comings.push(Coming { reading, expected, from: self.on(&lane) });
        Ok(())
    }
}
