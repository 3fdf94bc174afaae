use fencepost::algorithms::{Algorithms as _, Monoid, Operation, Scan};
use fencepost_oracles as host;
use rayon::prelude::*;

use super::{Size, bytes, exact, words_below};
use crate::cpu::case::Case;
use crate::cpu::values::Values;

/// Elements of a task of plain Rust.
const TASK: usize = 1 << 16;

/// Finds the largest of the elements before each one.
pub(super) fn exclusive(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 38);
    let expected = host::scan(x.words(), Scan::exclusive(Operation::Largest));
    exact(
        "scan, exclusive max",
        vec![x],
        Values::U32(expected),
        bytes(8 * size.many()),
        |_| {
            let scan = Scan::exclusive(Operation::Largest);
            Ok(Box::new(move |queue, inputs, out| {
                Ok(queue.scan(inputs[0].words(), out.words_mut(), scan)?)
            }))
        },
        |inputs, out| {
            let x = inputs[0].words();
            let out = out.words_mut();
            let largest = x.par_chunks(TASK).map(|task| task.iter().copied().max().unwrap_or_default());
            let tasks = x.par_chunks(TASK).zip(out.par_chunks_mut(TASK)).zip(before(largest, u32::max));
            tasks.for_each(|((x, out), mut most)| {
                for (x, out) in x.iter().zip(out) {
                    *out = most;
                    most = most.max(*x);
                }
            });
        },
    )
}

/// Sums each element and all elements after it.
pub(super) fn reversed(size: Size) -> Case {
    let x = words_below(size.many(), 100, 53);
    let expected = host::scan(x.words(), Scan::inclusive(Operation::Sum).reversed());
    exact(
        "scan, reversed",
        vec![x],
        Values::U32(expected),
        bytes(8 * size.many()),
        |_| {
            let scan = Scan::inclusive(Operation::Sum).reversed();
            Ok(Box::new(move |queue, inputs, out| {
                Ok(queue.scan(inputs[0].words(), out.words_mut(), scan)?)
            }))
        },
        |inputs, out| {
            let x = inputs[0].words();
            let out = out.words_mut();
            let sums = x.par_chunks(TASK).map(|task| task.iter().sum::<u32>()).rev();
            let after = before(sums, |a, b| a + b).into_par_iter().rev();
            x.par_chunks(TASK).zip(out.par_chunks_mut(TASK)).zip(after).for_each(|((x, out), mut sum)| {
                for (x, out) in x.iter().zip(out).rev() {
                    sum += *x;
                    *out = sum;
                }
            });
        },
    )
}

/// Sums the elements by a user's expression.
pub(super) fn monoid(size: Size) -> Case {
    let x = words_below(size.many(), 100, 54);
    let expected = host::scan(x.words(), Scan::inclusive(Operation::Sum));
    exact(
        "scan, monoid",
        vec![x],
        Values::U32(expected),
        bytes(8 * size.many()),
        |_| {
            let scan = Scan::inclusive(Monoid::new("a + b", 0));
            Ok(Box::new(move |queue, inputs, out| {
                Ok(queue.scan(inputs[0].words(), out.words_mut(), scan)?)
            }))
        },
        |inputs, out| {
            let x = inputs[0].words();
            let out = out.words_mut();
            let sums = x.par_chunks(TASK).map(|task| task.iter().sum::<u32>());
            let tasks = x.par_chunks(TASK).zip(out.par_chunks_mut(TASK)).zip(before(sums, |a, b| a + b));
            tasks.for_each(|((x, out), mut sum)| {
                for (x, out) in x.iter().zip(out) {
                    sum += *x;
                    *out = sum;
                }
            });
        },
    )
}

pub(super) fn in_place(size: Size) -> Case {
    let start = words_below(size.many(), 100, 39);
    let expected = host::scan(start.words(), Scan::inclusive(Operation::Sum));
    let row = exact(
        "scan in place",
        vec![],
        Values::U32(expected),
        bytes(8 * size.many()),
        |_| {
            let scan = Scan::inclusive(Operation::Sum);
            Ok(Box::new(move |queue, _, out| Ok(queue.scan_in_place(out.words_mut(), scan)?)))
        },
        |_, out| {
            let out = out.words_mut();
            let sums = before(out.par_chunks(TASK).map(|task| task.iter().sum()), |a, b| a + b);
            out.par_chunks_mut(TASK).zip(sums).for_each(|(task, mut sum)| {
                for element in task {
                    sum += *element;
                    *element = sum;
                }
            });
        },
    );
    Case { start, ..row }
}

/// Returns for each task the combined results of the tasks before it.
fn before(results: impl IndexedParallelIterator<Item = u32>, combined: fn(u32, u32) -> u32) -> Vec<u32> {
    let mut tasks: Vec<u32> = results.collect();
    let mut all = 0;
    for task in &mut tasks {
        let next = combined(all, *task);
        *task = all;
        all = next;
    }
    tasks
}
