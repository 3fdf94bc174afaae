//! The steps with regions: windows and stepped rows of arrays that are reshaped to tables.

use super::array::{Access, Owned};
use super::waits::{Coming, Done};
use super::worker::Worker;
use fastrand::Rng;
use fencepost::prelude::*;
use fencepost::{Region, region};

/// Number of columns of the tables.
const COLUMNS: usize = 8;

/// A window of a table.
#[derive(Clone, Copy)]
struct Window {
    row: usize,
    rows: usize,
    row_step: usize,
    col: usize,
    cols: usize,
}

impl Window {
    fn draw(rng: &mut Rng, len: usize) -> Self {
        let all = len / COLUMNS;
        let row = rng.usize(..all);
        let row_step = rng.usize(1..4);
        let rows = rng.usize(1..=(all - row).div_ceil(row_step));
        let col = rng.usize(..COLUMNS);
        Self { row, rows, row_step, col, cols: rng.usize(1..=COLUMNS - col) }
    }

    /// Draws a window of the same shape elsewhere, in a table that has room for it.
    fn like(self, rng: &mut Rng, len: usize) -> Option<Self> {
        let row_step = rng.usize(1..3);
        let span = (self.rows - 1) * row_step + 1;
        let row = rng.usize(..=(len / COLUMNS).checked_sub(span)?);
        Some(Self { row, row_step, col: rng.usize(..=COLUMNS - self.cols), ..self })
    }

    fn region(self) -> Region {
        let end = self.row + (self.rows - 1) * self.row_step + 1;
        region![self.row..end; self.row_step as isize, self.col..self.col + self.cols]
    }

    /// Returns the positions of its elements, in C order.
    fn places(self) -> Vec<usize> {
        let row = |at: usize| (self.row + at * self.row_step) * COLUMNS + self.col;
        (0..self.rows).flat_map(|at| row(at)..row(at) + self.cols).collect()
    }
}

fn table(owned: &Owned) -> Done<DeviceArray<u32, 2>> {
    Ok(owned.array.reshape([owned.len() / COLUMNS, COLUMNS])?)
}

impl Worker<'_> {
    /// Copies a window of one array to a window of another. The two may belong to different contexts.
    pub fn copy_region(&mut self) -> Done {
        let Some(from) = self.some_array(|_| true) else { return Ok(()) };
        let Some(to) = self.some_array(|_| true).filter(|to| *to != from) else { return Ok(()) };
        let window = Window::draw(&mut self.rng, self.arrays[from].len());
        let Some(target) = window.like(&mut self.rng, self.arrays[to].len()) else { return Ok(()) };
        let home = self.arrays[if self.rng.bool() { from } else { to }].home;
        let lane = self.lane_at(home);
        self.order(from, &lane, Access::Read)?;
        self.order(to, &lane, Access::Write)?;
        let src = table(&self.arrays[from])?;
        let mut dst = table(&self.arrays[to])?;
        lane.queue.copy_region(&src, window.region(), &mut dst, target.region())?;
        for (src, dst) in window.places().into_iter().zip(target.places()) {
            self.arrays[to].words[dst] = self.arrays[from].words[src];
        }
        self.used(from, &lane, Access::Read);
        self.used(to, &lane, Access::Write);
        Ok(())
    }

    pub fn upload_region(&mut self) -> Done {
        let Some((at, lane)) = self.chosen(Access::Write, |_| true)? else { return Ok(()) };
        let window = Window::draw(&mut self.rng, self.arrays[at].len());
        let places = window.places();
        let words = self.some_words(places.len());
        lane.queue.upload_region(&words[..], &mut table(&self.arrays[at])?, window.region())?;
        for (place, word) in places.into_iter().zip(words) {
            self.arrays[at].words[place] = word;
        }
        self.used(at, &lane, Access::Write);
        Ok(())
    }

    pub fn read_region(&mut self) -> Done {
        let Some((at, lane)) = self.chosen(Access::Read, |_| true)? else { return Ok(()) };
        let window = Window::draw(&mut self.rng, self.arrays[at].len());
        let reading = lane.queue.read_region(&table(&self.arrays[at])?, window.region());
        let expected = window.places().into_iter().map(|place| self.arrays[at].words[place]).collect();
        self.used(at, &lane, Access::Read);
        self.comings.push(Coming { reading, expected, from: self.on(&lane) });
        Ok(())
    }
}
