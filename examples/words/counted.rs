//! Sorts and counts words by verbs of the library: no custom kernel is needed.

use super::words::Words;
use anyhow::Result;
use fencepost::algorithms::prelude::*;
use fencepost::{CommandQueue, DeviceArray};

/// The distinct words, with their counts.
pub(crate) struct Counted<'a> {
    /// Words in the order of their bytes.
    pub(crate) words: Vec<(&'a str, u32)>,
    /// Words with the largest counts, the largest first.
    pub(crate) most_frequent: Vec<(&'a str, u32)>,
}

impl<'a> Counted<'a> {
    /// Sorts the words, and counts equal ones. Calls `sorted` for each column.
    pub(crate) fn of(queue: &CommandQueue, words: &'a Words, top: usize, sorted: impl Fn()) -> Result<Self> {
        let n = words.list().len();
        if n == 0 {
            return Ok(Self { words: Vec::new(), most_frequent: Vec::new() });
        }
        let columns: Vec<DeviceArray<u32>> = (0..words.columns())
            .map(|at| queue.array(&words.column(at)))
            .collect::<fencepost::Result<_>>()?;
        let order = sorted_places(queue, &columns, n, sorted)?;
        let differ = first_of_equals(queue, &columns, &order)?;

        let [mut firsts, mut count] = [queue.zeros([n])?, queue.zeros([1])?];
        queue.select(&order, &differ, &mut firsts, &mut count)?;
        // The number of distinct words, up to each word, is equal only for equal words.
        let [mut numbers, mut kept, mut lengths] = [queue.zeros([n])?, queue.zeros([n])?, queue.zeros([n])?];
        queue.scan(&differ, &mut numbers, Scan::inclusive(Operation::Sum))?;
        queue.run_lengths(&numbers, &mut kept, &mut lengths, &mut count)?;

        let count = queue.get(&count, [0]).wait()? as usize;
        let top = top.min(count);
        let [mut most, mut places] = [queue.zeros([top])?, queue.zeros([top])?];
        queue.top_k(&lengths, &mut most, &mut places)?;
        let firsts = queue.read(&firsts).wait()?;
        let lengths = queue.read(&lengths).wait()?;
        let word = |place: usize| (words.list()[firsts[place] as usize].as_str(), lengths[place]);
        let most_frequent =
            queue.read(&places).wait()?.into_iter().map(|place| word(place as usize)).collect();
        Ok(Self { words: (0..count).map(word).collect(), most_frequent })
    }
}

/// Returns the places of the words in sorted order. A stable sort by each column, the last one first, sorts by all
/// columns.
fn sorted_places(
    queue: &CommandQueue,
    columns: &[DeviceArray<u32>],
    n: usize,
    sorted: impl Fn(),
) -> Result<DeviceArray<u32>> {
    let [mut order, mut keys] = [queue.zeros([n])?, queue.zeros([n])?];
    queue.iota(&mut order, 0, 1)?;
    for column in columns.iter().rev() {
        queue.gather(column, &order, Outside::Zero, &mut keys)?;
        queue.sort_pairs_in_place(&mut keys, &mut order, Sort::ascending())?;
        queue.marker().wait()?; // only for the progress bar
        sorted();
    }
    Ok(order)
}

/// Returns a mask of the words that differ from the word before them.
fn first_of_equals(
    queue: &CommandQueue,
    columns: &[DeviceArray<u32>],
    order: &DeviceArray<u32>,
) -> Result<DeviceArray<u32>> {
    let n = order.len();
    let [mut places, mut before] = [queue.zeros([n])?, queue.zeros([n])?];
    queue.iota(&mut places, u32::MAX, 1)?; // the word before the first one is outside
    queue.gather(order, &places, Outside::Zero, &mut before)?;
    let [mut one, mut other, mut differ, mut mask] =
        [queue.zeros([n])?, queue.zeros([n])?, queue.zeros([n])?, queue.zeros([n])?];
    queue.map(&places, "select(0u, 1u, i == 0u)", &mut mask)?;
    for column in columns {
        queue.gather(column, order, Outside::Zero, &mut one)?;
        queue.gather(column, &before, Outside::Zero, &mut other)?;
        queue.zip(&one, &other, "select(0u, 1u, x != y)", &mut differ)?;
        queue.axpy(1, &differ, &mut mask)?;
    }
    let mut flags = queue.zeros([n])?;
    queue.map(&mask, "min(x, 1u)", &mut flags)?;
    Ok(flags)
}
