//! G01, G02: pinned arrays in graphs, even on devices where a pinned array is ordinary memory.

use crate::common::kernels::Mix;
use crate::common::{Calls, Case, Subject, case};
use fencepost::{Bound, CommandQueue, Download, ErrorDetail, HostArray, Shape, Upload, region};

pub fn cases() -> Vec<Case> {
    vec![
        case("g01_a_replay_uploads_the_bytes_that_a_pinned_array_has_then", uploads),
        case("g01_each_replay_downloads_to_a_pinned_array", downloads),
        case("g01_the_last_of_many_replays_decides_a_download", last_download),
        case("g02_pinned_arrays_are_used_by_forks_and_by_graphs_inside_graphs", forks_and_children),
        case("g06_a_body_refuses_a_graph_that_uses_a_pinned_array", refused_in_a_body),
        case("g10_pinned_arrays_and_graphs_that_use_them_are_dropped_in_any_order", drops),
    ]
}

const N: usize = 64;

/// Uploads whole arrays, a range, elements of two bytes with a gap between them, and an array with padding.
fn uploads(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut words: HostArray<u32, Upload> = ctx.pinned([N]).unwrap();
    let mut halves: HostArray<u16, Upload> = ctx.pinned([6]).unwrap();
    let mut padded: HostArray<u32, Upload, 2> = ctx.pinned(Shape::padded([2, 3], [3, 4])).unwrap();
    let mut whole = ctx.zeros::<u32, 1>([N]).unwrap();
    let mut part = ctx.zeros::<u32, 1>([4]).unwrap();
    let mut spread = ctx.zeros::<u16, 2>([3, 5]).unwrap();
    let mut dense = ctx.zeros::<u32, 2>([2, 3]).unwrap();
    let mut alike = ctx.zeros::<u32, 2>(Shape::padded([2, 3], [3, 4])).unwrap();
    let (graph, ()) = queue.graph_of(|c| {
        c.upload(&words, &mut whole)?;
        c.upload(&words.slice(8..12)?, &mut part)?;
        c.upload_region(&halves, &mut spread, region![.., 1..3])?;
        c.upload(&padded, &mut dense)?;
        c.upload(&padded, &mut alike)
    });
    for round in 1..4 {
        let value = |at: usize| 100 * round + at as u32;
        words.host_mut().unwrap().iter_mut().enumerate().for_each(|(at, x)| *x = value(at));
        halves.host_mut().unwrap().iter_mut().enumerate().for_each(|(at, x)| *x = value(at) as u16);
        padded.host_mut().unwrap().iter_mut().enumerate().for_each(|(at, x)| *x = value(at));
        queue.replay(&graph).unwrap();
        // The caller may refill the arrays after the call, because the replay has copied the bytes.
        words.host_mut().unwrap().fill(0);
        halves.host_mut().unwrap().fill(0);
        padded.host_mut().unwrap().fill(0);
        assert_eq!(queue.read(&whole).wait().unwrap(), (0..N).map(value).collect::<Vec<_>>());
        assert_eq!(queue.read(&part).wait().unwrap(), [8, 9, 10, 11].map(value));
        let mut right = [0; 15];
        (0..6).for_each(|at| right[at / 2 * 5 + 1 + at % 2] = value(at) as u16);
        assert_eq!(queue.read(&spread).wait().unwrap(), right);
        let elements = [0, 1, 2, 4, 5, 6].map(value);
        assert_eq!(queue.read(&dense).wait().unwrap(), elements);
        assert_eq!(queue.read(&alike).wait().unwrap(), elements);
    }
}

fn downloads(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    let mut whole: HostArray<u32, Download> = ctx.pinned([N]).unwrap();
    let mut part: HostArray<u32, Download> = ctx.pinned([2]).unwrap();
    let mut column: HostArray<u32, Download> = ctx.pinned([8]).unwrap();
    let mut padded: HostArray<u32, Download, 2> = ctx.pinned(Shape::padded([8, 8], [8, 9])).unwrap();
    let (graph, ()) = queue.graph_of(|c| {
        c.download(&x, &mut whole)?;
        c.download(&x.slice(4..6)?, &mut part)?;
        let square = x.reshape([8, 8])?;
        c.download_region(&square, region![.., 3], &mut column)?;
        c.download(&square, &mut padded)?;
        c.fill(&mut x, 0)
    });
    for round in 1..4 {
        let value = |at: usize| 100 * round + at as u32;
        let all: Vec<u32> = (0..N).map(value).collect();
        queue.upload(&all, &mut x).unwrap();
        queue.replay(&graph).unwrap();
        assert_eq!(whole.host().unwrap().to_vec(), all);
        assert_eq!(part.host().unwrap().to_vec(), [4, 5].map(value));
        assert_eq!(column.host().unwrap().to_vec(), [3, 11, 19, 27, 35, 43, 51, 59].map(value));
        let rows = padded.host().unwrap().to_vec();
        let right: Vec<u32> = all.chunks(8).flat_map(|row| row.iter().copied().chain([0])).collect();
        assert_eq!(rows, right);
        assert_eq!(queue.read(&x).wait().unwrap(), [0; N]);
    }
}

fn last_download(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let other = ctx.queue("other");
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    let one = ctx.full([N], 1_u32).unwrap();
    let mut back: HostArray<u32, Download> = ctx.pinned([N]).unwrap();
    let (graph, ()) = queue.graph_of(|c| {
        c.mix(1, 0, &one, &mut x)?;
        c.download(&x, &mut back)
    });
    let right = |rounds: u32| (0..rounds).fold(0, |y, _| Mix::of(1, 0, 1, y));
    for round in 0..10 {
        let queue = if round % 2 == 0 { &queue } else { &other };
        queue.replay(&graph).unwrap();
    }
    assert_eq!(back.host().unwrap().to_vec(), [right(10); N]);
    // A later eager download overwrites the array, and so does a later replay.
    queue.fill(&mut x, 0).unwrap();
    queue.replay(&graph).unwrap();
    queue.download(&one, &mut back).unwrap();
    assert_eq!(back.host().unwrap().to_vec(), [1; N]);
    queue.replay(&graph).unwrap();
    assert_eq!(back.host().unwrap().to_vec(), [right(2); N]);
}

fn forks_and_children(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut up: HostArray<u32, Upload> = ctx.pinned([N]).unwrap();
    let mut back: HostArray<u32, Download> = ctx.pinned([N]).unwrap();
    let mut also: HostArray<u32, Download> = ctx.pinned([N]).unwrap();
    let (child, ()) = queue.graph_of(|c| {
        let side = c.fork("side");
        let mut x = c.zeros::<u32, 1>([N])?;
        let mut y = c.full([N], 2_u32)?;
        side.upload(&up, &mut x)?;
        c.wait_for(&side)?;
        c.mix(3, 1, &x, &mut y)?;
        c.download(&y, &mut back)?;
        c.download(&x, &mut also)
    });
    let (parent, ()) = queue.capture(|c| (0..2).try_for_each(|_| c.replay(&child).map(drop))).unwrap();
    assert_eq!(parent.nodes(), 2 * child.nodes());
    for (round, graph) in [(5, &child), (6, &parent), (7, &child), (8, &parent)] {
        up.host_mut().unwrap().fill(round);
        queue.replay(graph).unwrap();
        assert_eq!(back.host().unwrap().to_vec(), [Mix::of(3, 1, round, 2); N]);
        assert_eq!(also.host().unwrap().to_vec(), [round; N]);
    }
}

fn refused_in_a_body(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let up: HostArray<u32, Upload> = ctx.pinned([N]).unwrap();
    let mut back: HostArray<u32, Download> = ctx.pinned([N]).unwrap();
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    let flag = ctx.full([1], 1_u32).unwrap();
    let (uploads, ()) = queue.capture(|c| c.upload(&up, &mut x)).unwrap();
    let (downloads, ()) = queue.capture(|c| c.download(&x, &mut back)).unwrap();
    for graph in [&uploads, &downloads] {
        let body = |c: &CommandQueue| c.if_(&flag, |body| body.replay(graph).map(drop));
        for error in [queue.capture(|c| body(c)).unwrap_err(), body(&queue).unwrap_err()] {
            let ErrorDetail::Captured { call, .. } = error.detail() else { panic!("{error}") };
            assert!(call.starts_with("a replay of a graph "), "{error}");
        }
        // A loop elsewhere in the same graph does not count as a body around it.
        let beside = queue.capture(|c| {
            c.repeat(&flag, Bound::AtMost(2), |body| body.fill(&mut x.clone(), 3))?;
            c.replay(graph).map(drop)
        });
        queue.replay(&beside.unwrap().0).unwrap().wait().unwrap();
    }
    queue.fill(&mut x, 4).unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), [4; N]);
}

fn drops(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
    queue.finish().wait().unwrap();
    let before = (ctx.pool().stats().used, ctx.pool().stats().pinned);
    for graph_first in [true, false] {
        let mut up: HostArray<u32, Upload> = ctx.pinned([N]).unwrap();
        let mut back: HostArray<u32, Download> = ctx.pinned([N]).unwrap();
        up.host_mut().unwrap().fill(9);
        let (graph, ()) = queue.graph_of(|c| {
            c.upload(&up, &mut x)?;
            c.download(&x, &mut back)
        });
        if graph_first {
            drop((queue.replay(&graph).unwrap(), graph));
            assert_eq!(back.host().unwrap().to_vec(), [9; N]);
            drop((up, back));
        } else {
            drop((up, back));
            queue.replay(&graph).unwrap();
            drop(graph);
        }
        assert_eq!(queue.read(&x).wait().unwrap(), [9; N]);
        queue.fill(&mut x, 0).unwrap();
        queue.finish().wait().unwrap();
        super::temporaries::has_returned(&ctx, before.0);
    }
}
