//! A02: a mistake in a kernel that moves elements is detected by the comparison with the host or by the CPU's checks.

use super::mutated::{Mistake, all_caught, mistake};
use crate::common::{Case, Subject, case};
use fencepost::prelude::*;
use fencepost_oracles as host;

pub fn cases() -> Vec<Case> {
    vec![case("a02_each_mistake_in_the_kernels_that_move_elements_is_caught", caught)]
}

pub(super) const MISTAKES: &[Mistake] = &[
    mistake("gather", "i >= params.n", "i > params.n"),
    mistake("gather", "min(place, params.count - 1u)", "place"),
    mistake("gather", "place < params.count ||", "place <= params.count ||"),
    mistake("gather", " || CLAMP == 1u", ""),
    mistake("gather", "CLAMP == 1u", "CLAMP == 0u"),
    mistake("scatter", "i >= params.n", "i > params.n"),
    mistake("scatter", "place < params.count", "place <= params.count"),
    mistake("scatter", "&out[place], x[i]", "&out[i], x[place]"),
    mistake("scatter_add", "i >= params.n", "i > params.n"),
    mistake("scatter_add", "place < params.count", "place <= params.count"),
    mistake("scatter_add", "atomicAdd", "atomicStore"),
    mistake("scatter_add", "atomicAdd(&out[place], x[i])", "atomicAdd(&out[place], x[place])"),
    mistake("transpose", "workgroupBarrier();", ""),
    mistake("transpose", "params.rows * params.columns * (at", "params.rows * (at"),
    mistake("transpose", "% params.tiles_y", ""),
    mistake("transpose", "group.y * groups.x + group.x", "group.x"),
    mistake("transpose", "row + lane.y < params.rows &&", ""),
    mistake("transpose", "&& column + lane.x < params.columns", ""),
    mistake("transpose", "column + lane.y < params.columns &&", "column + lane.y <= params.columns &&"),
    mistake("transpose", "row + lane.x < params.rows {", "row + lane.x <= params.rows {"),
    mistake("transpose", "at < params.tiles", "true"),
    mistake("transpose", "tile[lane.x * (TILE + 1u) + lane.y]", "tile[lane.y * (TILE + 1u) + lane.x]"),
    mistake("transpose", "(column + lane.y) * params.rows", "(column + lane.y) * params.columns"),
    mistake("permute", "i >= params.n", "i > params.n"),
    mistake("permute", "params.count_5 * params.stride_5", "params.count_5 * params.stride_4"),
    mistake("permute", "rest % params.count_3 * params.stride_3", "rest % params.count_4 * params.stride_3"),
    mistake("permute", "rest /= params.count_2;", ""),
    mistake("permute", "rest % params.count_1 * params.stride_1", "rest * params.stride_1"),
    mistake("permute", " + rest * params.stride_0", ""),
    mistake("strided", "i >= params.n", "i > params.n"),
    mistake("strided", "params.first_from + index * params.from_5", "index * params.from_5"),
    mistake("strided", "params.first_to + index * params.to_5", "index * params.to_5"),
    mistake("strided", "index * params.from_4", "index * params.to_4"),
    mistake("strided", "rest /= params.count_3;", ""),
    mistake("strided", "index = rest % params.count_2", "index = rest % params.count_3"),
    mistake("strided", " + rest * params.from_0", ""),
    mistake("strided", " + rest * params.to_0", ""),
    mistake("strided", "x[source]", "x[source + 1u]"),
];

fn caught(s: &Subject) {
    all_caught(s, MISTAKES, |ctx, shader, text| match shader {
        "transpose" => transposes(ctx, text),
        "permute" => permutes(ctx, text),
        "strided" => copies_strided(ctx, text),
        _ => moves(ctx, shader, text),
    });
}

/// Launches a kernel with more invocations than work, and returns its last array.
fn launched(
    ctx: &Context,
    (text, entry): (&str, &str),
    overrides: &[(&str, f64)],
    grid: Grid<'_>,
    args: &[fencepost::interface::NamedArg<'_>],
    out: &DeviceArray<u32>,
) -> Vec<u32> {
    let kernel = ctx.kernel_from_with(text, entry, overrides).unwrap();
    let queue = ctx.queue("q");
    queue.launch_dyn(&kernel, grid, args).unwrap();
    queue.read(out).wait().unwrap()
}

/// Number of elements of each array that a kernel uses. The arrays have a few more.
const LEN: u32 = 100;

fn moves(ctx: &Context, shader: &str, text: &str) -> bool {
    let x: Vec<u32> = (0..LEN + 20).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
    let mut places: Vec<u32> = (0..LEN + 20).map(|i| (i * 37 + 1) % 120).collect();
    places[5] = u32::MAX;
    places[LEN as usize] = 3;
    let add = shader == "scatter_add";
    if add {
        places[7] = places[8];
    }
    [0, 1].into_iter().all(|clamp| {
        let arrays = [&x, &places].map(|list| ctx.array(list).unwrap());
        let mut out = ctx.full([120], 9_u32).unwrap();
        let result = out.clone();
        let overrides = [("CLAMP", f64::from(clamp))];
        let overrides = if shader == "gather" { &overrides[..] } else { &[] };
        let args = args![n = LEN, count = LEN, x = &arrays[0], places = &arrays[1], out = &mut out];
        let found = launched(ctx, (text, shader), overrides, Grid::threads([200]), &args, &result);
        let used = &x[..LEN as usize];
        let places = &places[..LEN as usize];
        let mut expected = vec![9; 120];
        match shader {
            "gather" => {
                let outside = if clamp == 1 { Outside::Last } else { Outside::Zero };
                expected[..LEN as usize].copy_from_slice(&host::gather(used, places, outside));
            }
            "scatter" => host::scatter(used, places, &mut expected[..LEN as usize]),
            _ => host::scatter_add(used, places, &mut expected[..LEN as usize]),
        }
        found == expected
    })
}

fn transposes(ctx: &Context, text: &str) -> bool {
    [[3, 17, 33], [1, 40, 5], [2, 16, 16]].into_iter().all(|shape: [usize; 3]| {
        let [batches, rows, columns] = shape;
        let x: Vec<u32> = (1..=(batches * rows * columns) as u32).collect();
        let (array, mut out) = (ctx.array(&x).unwrap(), ctx.zeros::<u32, 1>([x.len()]).unwrap());
        let tiles_x = columns.div_ceil(16);
        let tiles_y = rows.div_ceil(16);
        let tiles = batches * tiles_x * tiles_y;
        let word = |n: usize| n as u32;
        let result = out.clone();
        let args = args![
            rows = word(rows),
            columns = word(columns),
            tiles_x = word(tiles_x),
            tiles_y = word(tiles_y),
            tiles = word(tiles),
            x = &array,
            out = &mut out
        ];
        let grid = Grid::groups([tiles.div_ceil(2), 3]);
        let found = launched(ctx, (text, "transpose"), &[], grid, &args, &result);
        found == host::permute(&x, shape, [0, 2, 1]).unwrap()
    })
}

fn permutes(ctx: &Context, text: &str) -> bool {
    let shape = [2, 3, 4, 3, 2, 5];
    let axes = [5, 3, 1, 4, 2, 0];
    let x: Vec<u32> = (1..=720).collect();
    let (array, mut out) = (ctx.array(&x).unwrap(), ctx.zeros::<u32, 1>([720]).unwrap());
    let count = |k: usize| shape[axes[k]] as u32;
    let stride = |k: usize| shape[axes[k] + 1..].iter().product::<usize>() as u32;
    let result = out.clone();
    let args = args![
        n = 720_u32,
        count_1 = count(1),
        count_2 = count(2),
        count_3 = count(3),
        count_4 = count(4),
        count_5 = count(5),
        stride_0 = stride(0),
        stride_1 = stride(1),
        stride_2 = stride(2),
        stride_3 = stride(3),
        stride_4 = stride(4),
        stride_5 = stride(5),
        x = &array,
        out = &mut out
    ];
    let found = launched(ctx, (text, "permute"), &[], Grid::threads([800]), &args, &result);
    found == host::permute(&x, shape, axes).unwrap()
}

fn copies_strided(ctx: &Context, text: &str) -> bool {
    let shape = [2, 3, 4, 3, 2, 5];
    let from = Strides { first: 300, strides: [5, 9, -2, 11, 0, 30] };
    let to = Strides { first: 719, strides: [-360, -120, -30, -10, -5, -1] };
    let x: Vec<u32> = (1..=800).collect();
    let (array, mut out) = (ctx.array(&x).unwrap(), ctx.zeros::<u32, 1>([720]).unwrap());
    let count = |k: usize| shape[k] as u32;
    let result = out.clone();
    let source = |k: usize| from.strides[k] as u32;
    let place = |k: usize| to.strides[k] as u32;
    let args = args![
        n = 720_u32,
        count_1 = count(1),
        count_2 = count(2),
        count_3 = count(3),
        count_4 = count(4),
        count_5 = count(5),
        first_from = from.first as u32,
        from_0 = source(0),
        from_1 = source(1),
        from_2 = source(2),
        from_3 = source(3),
        from_4 = source(4),
        from_5 = source(5),
        first_to = to.first as u32,
        to_0 = place(0),
        to_1 = place(1),
        to_2 = place(2),
        to_3 = place(3),
        to_4 = place(4),
        to_5 = place(5),
        x = &array,
        out = &mut out
    ];
    let found = launched(ctx, (text, "strided"), &[], Grid::threads([800]), &args, &result);
    let mut expected = vec![0; 720];
    host::copy_strided(shape, &x, from, &mut expected, to).unwrap();
    found == expected
}
