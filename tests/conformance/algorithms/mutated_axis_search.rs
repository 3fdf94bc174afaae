//! A05: a mistake in the kernels of searches along an axis is detected.

use super::mutated::{Mistake, all_caught, mistake};
use crate::common::{Case, Subject, case};
use fencepost::prelude::*;
use fencepost_oracles::{self as host, Nan};

pub fn cases() -> Vec<Case> {
    vec![case("a05_each_mistake_in_the_kernels_of_searches_along_an_axis_is_caught", caught)]
}

pub(super) const MISTAKES: &[Mistake] = &[
    mistake("arg_rows", "select(LAST, 0u, KEEP_NAN == 1u)", "0u"),
    mistake("arg_columns", "select(LAST, 0u, KEEP_NAN == 1u)", "LAST"),
    mistake("arg_rows", "workgroupBarrier();", ""),
    mistake("arg_rows", "group.y * groups.x + group.x", "group.x"),
    mistake("arg_rows", "g / params.in_row", "g"),
    mistake("arg_rows", "g % params.in_row * params.share", "0u"),
    mistake("arg_rows", "min(params.n, start + params.share)", "start + params.share"),
    mistake("arg_rows", "min(params.n, start + params.share)", "params.n"),
    mistake("arg_rows", "start + lane", "lane"),
    mistake("arg_rows", "i < end; i", "i <= end; i"),
    mistake("arg_rows", "if GATHER == 1u { place", "if GATHER == 2u { place"),
    mistake("arg_rows", "places[row * params.n + i]", "places[i]"),
    mistake("arg_rows", "x[row * params.row + place]", "x[row * params.n + place]"),
    mistake("arg_rows", "width > 0u", "width > 1u"),
    mistake("arg_rows", "lane < width &&", "lane <= width &&"),
    mistake("arg_rows", "best[lane] = best[lane + width]", "best[lane] = best[width]"),
    mistake("arg_rows", "lane == 0u && g < params.shares", "lane == 0u"),
    mistake("arg_rows", "if bits == SIGN { return SIGN; }", ""),
    mistake("arg_rows", "place < other_place", "place > other_place"),
    mistake("arg_columns", "if t >= params.count { return; }", ""),
    mistake("arg_columns", "share % params.in_column * params.share", "0u"),
    mistake("arg_columns", "min(params.n, start + params.share)", "start + params.share"),
    mistake("arg_columns", "min(params.n, start + params.share)", "params.n"),
    mistake("arg_columns", "share / params.in_column", "share"),
    mistake("arg_columns", "t % params.inner", "0u"),
    mistake("arg_columns", "i < end; i", "i <= end; i"),
    mistake("arg_columns", "if GATHER == 1u { place", "if GATHER == 2u { place"),
    mistake("arg_columns", "places[(outer * params.n + i)", "places[(outer * params.column + i)"),
    mistake("arg_columns", "* params.inner + inner], params.column", "* params.inner], params.column"),
    mistake("arg_columns", "outer * params.column + place", "outer * params.n + place"),
    mistake("arg_columns", "least = own;", ""),
    mistake("arg_columns", "select(0u, LAST, LARGEST == 1u)", "0u"),
];

fn caught(s: &Subject) {
    all_caught(s, MISTAKES, |ctx, shader, text| {
        let (rows, shape) = if shader == "arg_rows" { (true, [3, 130, 1]) } else { (false, [2, 34, 7]) };
        let len: usize = shape.iter().product();
        // Zeros of both signs and equal numbers, and NaNs in some shares.
        let number = |i: usize| match i % 5 {
            0 => 0x8000_0000,
            1 => 0,
            _ if i % 200 == 199 => 0x7FC0_0000,
            _ => (i as u32 / 7 + 1).wrapping_mul(0x9E37_79B1) & 0xBFFF_FFFF,
        };
        let positive = |i: usize| number(i) & 0x3FFF_FFFF;
        let zero = |i: usize| if i % 3 == 1 { 0x8000_0000 } else { 0 };
        let lists = [
            (0..len).map(number).collect::<Vec<u32>>(),
            (0..len).map(positive).collect(),
            (0..len).map(zero).collect(),
        ];
        let search = |which: u32| Search {
            largest: which & 1 == 1,
            gather: which & 2 == 2,
            is_float: which & 4 == 4,
            nan: if which & 8 == 8 { Nan::Ignore } else { Nan::Propagate },
        };
        // Only floats can be NaN, so the options that ignore NaNs are tested only for floats.
        let which = (0..8).chain([12, 15]).map(search);
        which.into_iter().all(|which| lists.iter().all(|list| is_right(ctx, text, rows, shape, which, list)))
    });
}

#[derive(Clone, Copy)]
struct Search {
    largest: bool,
    gather: bool,
    is_float: bool,
    nan: Nan,
}

/// Compares the indices found in shares of 70 or 15 elements. With gathered elements, every second one is searched.
fn is_right(ctx: &Context, text: &str, rows: bool, shape: [usize; 3], search: Search, list: &[u32]) -> bool {
    let Search { largest, gather, is_float, nan } = search;
    let [outer, along, inner] = shape;
    let (stem, share) = if rows { ("arg_rows", 70) } else { ("arg_columns", 15) };
    let kind = if is_float { 2.0 } else { 0.0 };
    let number = |is: bool| f64::from(u8::from(is));
    let overrides = [
        ("TYPE", kind),
        ("LARGEST", number(largest)),
        ("KEEP_NAN", number(nan == Nan::Propagate)),
        ("GATHER", number(gather)),
        ("WORKGROUP", 16.0),
    ];
    let kernel = ctx.kernel_from_with(text, stem, &overrides).unwrap();
    let (n, step) = if gather { (along.div_ceil(2), 2) } else { (along, 1) };
    // The indices begin with 0 or 1 in alternating rows and columns.
    let first = |row: usize, column: usize| if gather { (row + column) % 2 } else { 0 };
    let place = |at: usize| at / inner % n * step + first(at / inner / n, at % inner);
    let places: Vec<u32> = (0..outer * n * inner).map(|at| place(at) as u32).collect();
    let in_each = n.div_ceil(share);
    let count = outer * in_each * inner;
    let queue = ctx.queue("q");
    let (x, places, mut out) = (
        queue.array(list).unwrap(),
        queue.array(&places).unwrap(),
        queue.zeros::<u32, 1>([count + 1]).unwrap(),
    );
    let [n_u32, share_u32, in_each_u32, inner_u32, count_u32, along_u32] =
        [n, share, in_each, inner, count, along].map(|n| n as u32);
    // The grid has one more row of workgroups than the results need.
    let launched = if rows {
        let args = args![
            n = n_u32,
            share = share_u32,
            in_row = in_each_u32,
            shares = count_u32,
            row = along_u32,
            x = &x,
            places = &places,
            out = &mut out
        ];
        queue.launch_dyn(&kernel, Grid::groups([2, count_u32.div_ceil(2) + 1]), args)
    } else {
        let args = args![
            n = n_u32,
            share = share_u32,
            in_column = in_each_u32,
            inner = inner_u32,
            count = count_u32,
            column = along_u32,
            x = &x,
            places = &places,
            out = &mut out
        ];
        queue.launch_dyn(&kernel, Grid::threads([count_u32 + 16]), args)
    };
    launched.unwrap();
    let mut expected = Vec::new();
    for o in 0..outer {
        for start in (0..n).step_by(share) {
            for i in 0..inner {
                let element = |j: usize| list[(o * along + j * step + first(o, i)) * inner + i];
                let part: Vec<u32> = (start..n.min(start + share)).map(element).collect();
                let numbers: &[f32] = bytemuck::cast_slice(&part);
                let place = match (is_float, largest) {
                    (true, false) => host::argmin_with(numbers, nan),
                    (true, true) => host::argmax_with(numbers, nan),
                    (false, false) => host::argmin(&part),
                    (false, true) => host::argmax(&part),
                };
                expected.push(((start + place.unwrap()) * step + first(o, i)) as u32);
            }
        }
    }
    expected.push(0);
    queue.read(&out).wait().unwrap() == expected
}
