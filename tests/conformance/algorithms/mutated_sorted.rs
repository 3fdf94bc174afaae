//! A14: a mistake in the kernels that search and merge sorted arrays is detected.

use super::mutated::{Mistake, all_caught, mistake};
use crate::common::{Case, Subject, case};
use fencepost::algorithms::Reducible;
use fencepost::args;
use fencepost::prelude::*;
use fencepost_oracles as host;

pub fn cases() -> Vec<Case> {
    vec![case("a14_each_mistake_in_the_kernels_of_searches_and_merges_is_caught", caught)]
}

const SEARCH: &str = "search_sorted";
const MERGE: &str = "merge";
pub(super) const MISTAKES: &[Mistake] = &[
    mistake(SEARCH, "i >= params.m", "i > params.m"),
    mistake(SEARCH, "order_key(queries[i])", "queries[i]"),
    mistake(SEARCH, "behind = params.n;", "behind = params.n - 1u;"),
    mistake(SEARCH, "behind = params.n;", "behind = params.n + 1u;"),
    mistake(SEARCH, "key < query ||", "key <= query ||"),
    mistake(SEARCH, "params.right == 1u && key", "params.right == 0u && key"),
    mistake(SEARCH, "before = middle + 1u", "before = middle + 2u"),
    mistake(SEARCH, "out[i] = before", "out[i] = before + 1u"),
    mistake(SEARCH, "out[i] = before", "out[i + 1u] = before"),
    mistake(MERGE, "<= order_key(y[j])", "> order_key(y[j])"),
    mistake(MERGE, "order_key(y[j])", "y[j]"),
    mistake(MERGE, "first - min(first, params.m)", "0u"),
    mistake(MERGE, "min(first, params.n)", "params.n"),
    mistake(MERGE, "first - 1u - middle", "first - middle"),
    mistake(MERGE, "least = middle + 1u", "least = middle + 2u"),
    mistake(MERGE, "groups, WORKGROUP) * PER", "groups, WORKGROUP)"),
    mistake(MERGE, "min(first + PER, all)", "first + PER"),
    mistake(MERGE, "from_x = i < params.n;", "from_x = i <= params.n;"),
    mistake(MERGE, "if from_x && j < params.m", "if from_x"),
    mistake(MERGE, "i++;", ""),
    mistake(MERGE, "j++;", ""),
    mistake(MERGE, "out[at] = x[i]", "out[at + 1u] = x[i]"),
];

fn caught(s: &Subject) {
    let words: Vec<u32> = (0..401_u32).map(|i| (i / 2).wrapping_mul(0x9E37_79B1)).collect();
    all_caught(s, MISTAKES, |ctx, shader, text| {
        (0..3).all(|element| match element {
            0 => is_right::<u32>(ctx, shader, text, &words, element),
            1 => is_right::<i32>(ctx, shader, text, bytemuck::cast_slice(&words), element),
            _ => is_right::<f32>(ctx, shader, text, bytemuck::cast_slice(&words), element),
        })
    });
}

/// Word in elements that are not written.
const STAYS: u32 = 77;

fn is_right<T: Reducible>(ctx: &Context, shader: &str, text: &str, list: &[T], element: usize) -> bool {
    let flips = [[0, 0], [1 << 31, 1 << 31], [1 << 31, u32::MAX]][element];
    if shader == SEARCH {
        let sorted = host::sort(&list[..300], Sort::ascending()).unwrap();
        return [Side::Left, Side::Right].into_iter().all(|side| {
            let found = searched(ctx, text, flips, side, [&sorted, list]);
            found == [host::searchsorted(&sorted, list, side), vec![STAYS]].concat()
        });
    }
    [0, 1, 250, 400, 401].into_iter().all(|at| {
        let [x, y] = [&list[..at], &list[at..]].map(|part| host::sort(part, Sort::ascending()).unwrap());
        let found = merged(ctx, text, flips, [&x, &y]);
        found == [bytemuck::cast_slice(&host::merge(&x, &y)), &[STAYS][..]].concat()
    })
}

fn searched<T: Reducible>(
    ctx: &Context,
    text: &str,
    [flip_clear, flip_set]: [u32; 2],
    side: Side,
    inputs: [&[T]; 2],
) -> Vec<u32> {
    let kernel = ctx.kernel_from_with(text, SEARCH, &[("WORKGROUP", 16.0)]).unwrap();
    let queue = ctx.queue("q");
    let [n, m] = inputs.map(|list| list.len() as u32);
    let [x, queries] = inputs.map(|list| queue.array::<u32>(bytemuck::cast_slice(list)).unwrap());
    let mut out = queue.full([m as usize + 1], STAYS).unwrap();
    let args = args![
        n = n,
        m = m,
        flip_clear = flip_clear,
        flip_set = flip_set,
        right = u32::from(side == Side::Right),
        x = &x,
        queries = &queries,
        out = &mut out
    ];
    queue.launch_dyn(&kernel, Grid::threads([m]), args).unwrap();
    queue.read(&out).wait().unwrap()
}

fn merged<T: Reducible>(
    ctx: &Context,
    text: &str,
    [flip_clear, flip_set]: [u32; 2],
    inputs: [&[T]; 2],
) -> Vec<u32> {
    let kernel = ctx.kernel_from_with(text, MERGE, &[("WORKGROUP", 16.0)]).unwrap();
    let queue = ctx.queue("q");
    let [n, m] = inputs.map(|list| list.len() as u32);
    let [x, y] = inputs.map(|list| queue.array::<u32>(bytemuck::cast_slice(list)).unwrap());
    let mut out = queue.full([(n + m) as usize + 1], STAYS).unwrap();
    let args =
        args![n = n, m = m, flip_clear = flip_clear, flip_set = flip_set, x = &x, y = &y, out = &mut out];
    queue.launch_dyn(&kernel, Grid::threads([(n + m).div_ceil(8)]), args).unwrap();
    queue.read(&out).wait().unwrap()
}
