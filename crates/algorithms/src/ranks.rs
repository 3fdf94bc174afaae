//! Search for the element at a rank, and for the elements up to it: digit by digit of their keys, without a sort.

use crate::counted::SizedKernel;
use crate::shares::Shares;
use crate::stages::{Stage, Stages};
use crate::trusted;
use crate::tuning::tuned;
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Grid, Kernel, Result};
use fencepost_derive::KernelArgs;

/// Number of words in the table of a search: counts for 256 digits, the key, and a rank.
const TABLE: usize = 258;
/// Lowest bit of each digit of a key, the highest digit first.
const SHIFTS: [u32; 4] = [24, 16, 8, 0];

/// Kernels and scratch memory of the search for the element at a rank.
pub(crate) struct RankSearch {
    count: SizedKernel<RankCountArgs<'static>>,
    digit: Kernel<RankDigitArgs<'static>>,
    table: DeviceArray<u32>,
    flips: [u32; 2],
    shares: Shares,
    /// Number of first elements, if not all elements are searched.
    first: Option<DeviceArray<u32>>,
}

impl RankSearch {
    /// Compiles the kernels and takes the memory; for first elements if there is a count. There must be at least one
    /// element. `flips` are the bits that are inverted to make keys.
    #[track_caller]
    pub(crate) fn new(
        queue: &VerbQueue<'_>,
        elements: usize,
        first: Option<&DeviceArray<u32>>,
        flips: [u32; 2],
    ) -> Result<Self> {
        let count = SizedKernel::compiled(queue, &tuned(queue, &[]), first)?;
        let digit = trusted::kernel::<RankDigitArgs>(queue)?;
        let table = queue.scratch(TABLE)?;
        Ok(Self { count, digit, table, flips, shares: Shares::of(elements), first: first.cloned() })
    }

    /// Enqueues found = the element at a rank, counted from 0. Afterwards the table has its key, and the number of
    /// earlier elements with the same key. If there are not more elements than the rank, `found` does not change, and
    /// all elements count as elements up to the rank.
    #[track_caller]
    pub(crate) fn enqueue(
        &mut self,
        queue: &VerbQueue<'_>,
        x: &DeviceArray<u32>,
        rank: usize,
        found: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let [flip_clear, flip_set] = self.flips;
        let n = self.shares.elements as u32;
        let share = self.shares.share as u32;
        let rank = rank as u32;
        queue.fill(&mut self.table, 0)?;
        for shift in SHIFTS {
            let table = &mut self.table;
            let args = RankCountArgs { n, share, shift, flip_clear, flip_set, x, table };
            self.count.launch(queue, self.shares.count, args)?;
            let table = &mut self.table;
            let found = &mut *found;
            let args = RankDigitArgs { rank, shift, flip_clear, flip_set, table, found };
            queue.launch(&self.digit, Grid::groups([1]), args)?;
        }
        Ok(())
    }

    /// Returns the verb that writes the elements up to the rank, in the order of `x`, and their places.
    pub(crate) fn taken(
        &self,
        x: &DeviceArray<u32>,
        values: &DeviceArray<u32>,
        places: &DeviceArray<u32>,
    ) -> Taken {
        let x = x.clone();
        let values = values.clone();
        let places = places.clone();
        let first = self.first.clone();
        Taken { x, first, table: self.table.clone(), values, places, flips: self.flips }
    }
}

/// Verb that writes the elements up to a rank.
pub(crate) struct Taken {
    x: DeviceArray<u32>,
    /// Number of first elements, if the others are not taken.
    first: Option<DeviceArray<u32>>,
    table: DeviceArray<u32>,
    values: DeviceArray<u32>,
    places: DeviceArray<u32>,
    flips: [u32; 2],
}

impl Stages for Taken {
    const WORDS: usize = 2;
    type Kernel = SizedKernel<TakeRankedArgs<'static>>;

    fn kernel(&self, queue: &VerbQueue<'_>, stage: Stage) -> Result<Self::Kernel> {
        SizedKernel::compiled(queue, &tuned(queue, &[("STAGE", stage.number())]), self.first.as_ref())
    }

    #[track_caller]
    fn launch(
        &self,
        queue: &VerbQueue<'_>,
        kernel: &Self::Kernel,
        shares: Shares,
        partials: Option<&DeviceArray<u32>>,
        states: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let n = shares.elements as u32;
        let share = shares.share as u32;
        let ([flip_clear, flip_set], x, table) = (self.flips, &self.x, &self.table);
        let mut values = self.values.clone();
        let mut places = self.places.clone();
        let values = &mut values;
        let places = &mut places;
        // A stage without partial results does not read the array that is passed for them.
        let partials = partials.unwrap_or(table);
        let args =
            TakeRankedArgs { n, share, flip_clear, flip_set, x, table, partials, values, places, states };
        kernel.launch(queue, shares.count, args)
    }
}

#[derive(KernelArgs)]
#[kernel(source = "rank_count.wgsl", crate = fencepost_kernels)]
struct RankCountArgs<'a> {
    n: u32,
    share: u32,
    shift: u32,
    flip_clear: u32,
    flip_set: u32,
    x: &'a DeviceArray<u32>,
    table: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "rank_digit.wgsl", crate = fencepost_kernels)]
struct RankDigitArgs<'a> {
    rank: u32,
    shift: u32,
    flip_clear: u32,
    flip_set: u32,
    table: &'a mut DeviceArray<u32>,
    found: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "take_ranked.wgsl", crate = fencepost_kernels)]
pub(crate) struct TakeRankedArgs<'a> {
    n: u32,
    share: u32,
    flip_clear: u32,
    flip_set: u32,
    x: &'a DeviceArray<u32>,
    table: &'a DeviceArray<u32>,
    partials: &'a DeviceArray<u32>,
    values: &'a mut DeviceArray<u32>,
    places: &'a mut DeviceArray<u32>,
    states: &'a mut DeviceArray<u32>,
}
