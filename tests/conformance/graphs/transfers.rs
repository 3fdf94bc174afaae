//! G02: captured copies, fills, uploads and downloads, with offsets and in one to three dimensions.

use crate::common::kernels::{Iota, Saxpy};
use crate::common::{Calls, Case, Subject, case};
use fencepost::prelude::*;
use fencepost::{HostArray, Upload, region};

pub fn cases() -> Vec<Case> {
    vec![
        case("g02_captured_copies_have_offsets", offsets),
        case("g02_captured_copies_of_regions_have_two_and_three_dimensions", regions),
        case("g02_captured_fills_have_every_size_of_element", fills),
        case("g02_an_upload_is_a_constant_and_a_pinned_array_is_read_in_each_replay", uploads),
        case("g02_a_copy_inside_one_array_may_overlap_itself", overlapping),
        case("g02_the_grid_of_an_indirect_launch_is_read_at_the_replay", indirect),
        case("g02_the_output_of_a_replay_is_the_input_of_the_next", feedback),
        case("g02_a_partial_write_keeps_the_older_dependency", partial_write),
        case("g02_a_write_between_two_reads_orders_both", between_reads),
        case("g02_a_dot_product_runs_on_several_captured_queues", dot_product),
    ]
}

const N: usize = 256;

fn counted(len: usize) -> Vec<u32> {
    (0..len as u32).collect()
}

fn offsets(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let x = queue.array(&counted(N)).unwrap();
    let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
    let (graph, ()) = queue.graph_of(|c| {
        c.copy(&x.slice(10..30)?, &mut y.slice(100..120)?)?;
        c.copy(&y.slice(105..110)?, &mut y.slice(0..5)?)?;
        c.fill(&mut y.slice(200..201)?, 77)
    });
    for _ in 0..2 {
        queue.fill(&mut y, 0).unwrap();
        queue.replay(&graph).unwrap();
        let mut right = vec![0; N];
        right[100..120].copy_from_slice(&counted(30)[10..]);
        right[0..5].copy_from_slice(&counted(20)[15..]);
        right[200] = 77;
        assert_eq!(queue.read(&y).wait().unwrap(), right);
    }
}

fn regions(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let cube = queue.array(&counted(4 * 5 * 6)).unwrap().reshape([4, 5, 6]).unwrap();
    let mut part = ctx.zeros::<u32, 3>([2, 3, 2]).unwrap();
    let mut table = ctx.zeros::<u32, 2>([8, 9]).unwrap();
    let halves = queue.array(&(0..64_u16).collect::<Vec<_>>()).unwrap().reshape([8, 8]).unwrap();
    let mut odd = ctx.zeros::<u16, 2>([3, 3]).unwrap();
    let (graph, ()) = queue.graph_of(|c| {
        c.copy_region(&cube, region![1..3, 1..4, 2..6; 2], &mut part, region![])?;
        c.copy_region(&part, region![0, .., 1], &mut table, region![2..8; 2, 4])?;
        c.copy_region(&halves, region![1..4, 3..6], &mut odd, region![])
    });
    for _ in 0..2 {
        queue.fill(&mut table, 0).unwrap();
        queue.replay(&graph).unwrap();
        let at = |plane: u32, row: u32, column: u32| 30 * plane + 6 * row + column;
        let each = (1..3).flat_map(|p| (1..4).flat_map(move |r| [2, 4].map(move |column| (p, r, column))));
        let right: Vec<u32> = each.map(|(plane, row, column)| at(plane, row, column)).collect();
        assert_eq!(queue.read(&part).wait().unwrap(), right);
        let mut rows = vec![0; 72];
        (0..3).for_each(|row| rows[(2 + 2 * row) * 9 + 4] = right[2 * row + 1]);
        assert_eq!(queue.read(&table).wait().unwrap(), rows);
        let right: Vec<u16> = (1..4).flat_map(|row| (3..6).map(move |column| 8 * row + column)).collect();
        assert_eq!(queue.read(&odd).wait().unwrap(), right);
    }
}

fn fills(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut bytes = ctx.zeros::<u8, 1>([12]).unwrap();
    let mut halves = ctx.zeros::<u16, 1>([12]).unwrap();
    let mut words = ctx.zeros::<u32, 1>([12]).unwrap();
    let mut vectors = ctx.zeros::<[f32; 4], 1>([3]).unwrap();
    let mut nothing = ctx.zeros::<u32, 1>([0]).unwrap();
    let (graph, ()) = queue.graph_of(|c| {
        c.fill(&mut bytes, 0xAB)?;
        c.fill(&mut halves, 0xABCD)?;
        c.fill(&mut words, 0xABCD_EF01)?;
        c.fill(&mut vectors, [1.0, 2.0, 3.0, 4.0])?;
        c.fill(&mut nothing, 1)
    });
    for _ in 0..2 {
        queue.fill(&mut words, 0).unwrap();
        queue.fill(&mut vectors, [0.0; 4]).unwrap();
        assert_eq!(queue.read_after(&graph, &bytes), [0xAB; 12]);
        assert_eq!(queue.read(&halves).wait().unwrap(), [0xABCD; 12]);
        assert_eq!(queue.read(&words).wait().unwrap(), [0xABCD_EF01; 12]);
        assert_eq!(queue.read(&vectors).wait().unwrap(), [[1.0, 2.0, 3.0, 4.0]; 3]);
    }
}

fn uploads(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut host = counted(N);
    let mut pinned: HostArray<u32, Upload> = ctx.pinned([N]).unwrap();
    let [mut x, mut y] = [(); 2].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
    let (constant, ()) = queue.capture(|c| c.upload(&host, &mut x)).unwrap();
    // An upload uses the bytes at the capture, not those at the replay.
    host.fill(9);
    for _ in 0..3 {
        queue.fill(&mut x, 1).unwrap();
        assert_eq!(queue.read_after(&constant, &x), counted(N));
    }
    let (at_replay, ()) = queue.capture(|c| c.upload(&pinned.slice(0..N)?, &mut y)).unwrap();
    for round in 4..7 {
        pinned.host_mut().unwrap().fill(round);
        assert_eq!(queue.read_after(&at_replay, &y), [round; N]);
    }
}

fn overlapping(subject: &Subject) {
    let (_ctx, queue) = subject.with_queue("main");
    let mut x = queue.array(&counted(8)).unwrap();
    let (graph, ()) = queue.capture(|c| c.copy(&x.slice(0..7)?, &mut x.slice(1..8)?)).unwrap();
    for right in [[0, 0, 1, 2, 3, 4, 5, 6], [0, 0, 0, 1, 2, 3, 4, 5]] {
        assert_eq!(queue.read_after(&graph, &x), right);
    }
    queue.upload(&counted(8), &mut x).unwrap();
    assert_eq!(queue.read_after(&graph, &x), [0, 0, 1, 2, 3, 4, 5, 6]);
}

fn indirect(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let iota = ctx.kernel::<Iota>().unwrap();
    let group = iota.workgroup()[0] as usize;
    let mut counts = ctx.zeros::<u32, 1>([4]).unwrap();
    let mut out = ctx.zeros::<u32, 1>([4 * group]).unwrap();
    let (graph, ()) = queue.graph_of(|c| {
        c.fill(&mut out, 0)?;
        c.launch(&iota, Grid::indirect(&counts, 1), Iota { start: 1, step: 0, out: &mut out })
    });
    for groups in [0, 2, 1, 4] {
        queue.upload(&[9, groups, 1, 1], &mut counts).unwrap();
        queue.replay(&graph).unwrap();
        let found = queue.read(&out).wait().unwrap();
        assert_eq!(found.iter().filter(|&&n| n == 1).count(), groups as usize * group);
    }
}

fn feedback(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut state = ctx.full([N], 1_u32).unwrap();
    let mut shown = ctx.zeros::<u32, 1>([N]).unwrap();
    let (graph, output) = queue.graph_of(|c| {
        let mut own = c.zeros::<u32, 1>([N])?;
        c.mix(0, 5, &state, &mut own)?;
        c.mix(3, 0, &own, &mut state)?;
        c.copy(&state, &mut shown)?;
        c.read_as("own", &own)
    });
    let mut right = 1_u32;
    let mut outputs = Vec::new();
    let runs: Vec<_> = (0..6).map(|_| queue.replay(&graph).unwrap()).collect();
    for _ in 0..6 {
        outputs.push(right + 5);
        right = right.wrapping_mul(3).wrapping_add(right).wrapping_add(5);
    }
    assert_eq!(queue.read(&shown).wait().unwrap(), [right; N]);
    for (run, right) in runs.iter().zip(outputs) {
        assert_eq!(run.read(&output).unwrap().wait().unwrap(), [right; N]);
    }
}

fn partial_write(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let [mut x, mut y] = [(); 2].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
    let (graph, ()) = queue.graph_of(|c| {
        let forks: Vec<_> = (0..3).map(|at| c.fork(&format!("fork {at}"))).collect();
        forks[0].fill(&mut x, 1)?;
        // This write covers a part of the first one. A read of everything comes after both.
        forks[1].fill(&mut x.slice(0..N / 2)?, 2)?;
        forks[2].copy(&x, &mut y)?;
        forks.iter().try_for_each(|fork| c.wait_for(fork))
    });
    for _ in 0..5 {
        queue.fill(&mut x, 0).unwrap();
        queue.replay(&graph).unwrap();
        let right = [vec![2; N / 2], vec![1; N / 2]].concat();
        assert_eq!(queue.read(&y).wait().unwrap(), right);
    }
}

fn between_reads(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = ctx.full([N], 1_u32).unwrap();
    let [mut y, mut z] = [(); 2].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
    let (graph, ()) = queue.graph_of(|c| {
        let side = c.fork("side");
        let writer = c.fork("writer");
        c.copy(&x, &mut y)?;
        writer.fill(&mut x, 2)?;
        side.copy(&x, &mut z)?;
        c.wait_for(&writer)?;
        c.wait_for(&side)
    });
    for first in [1, 2, 2] {
        assert_eq!(queue.read_after(&graph, &y), [first; N]);
        assert_eq!(queue.read(&z).wait().unwrap(), [2; N]);
    }
}

fn dot_product(subject: &Subject) {
    let (ctx, queue) = subject.with_queue_under(Policy::Checked, "main");
    let saxpy = ctx.kernel::<Saxpy<u32>>().unwrap();
    let x = queue.array(&counted(N)).unwrap();
    let mut y = queue.full([N], 1_u32).unwrap();
    let (graph, sum) = queue.graph_of(|c| {
        let mut halves = Vec::new();
        for at in 0..2 {
            let fork = c.fork("half");
            let range = at * N / 2..(at + 1) * N / 2;
            let mut part = fork.zeros::<u32, 1>([N / 2])?;
            fork.copy(&y.slice(range.clone())?, &mut part)?;
            fork.launch(&saxpy, Grid::threads([N / 2]), Saxpy { a: 2, x: &x.slice(range)?, y: &mut part })?;
            halves.push((fork, part));
        }
        let mut sum = c.zeros::<u32, 1>([N / 2])?;
        for (fork, part) in &halves {
            c.wait_for(fork)?;
            c.launch(&saxpy, Grid::threads([N / 2]), Saxpy { a: 1, x: part, y: &mut sum })?;
        }
        c.read_as("sum", &sum)
    });
    for value in 1..4 {
        queue.fill(&mut y, value).unwrap();
        let run = queue.replay(&graph).unwrap();
        let half = N as u32 / 2;
        let right: Vec<u32> = (0..half).map(|i| 2 * i + 2 * (i + half) + 2 * value).collect();
        assert_eq!(run.read(&sum).unwrap().wait().unwrap(), right);
    }
}
