//! G01: a capture alone changes nothing, and a replay uses the bytes at its time.

use crate::common::counted::Counted;
use crate::common::kernels::Iota;
use crate::common::{Calls, Case, Subject, case};
use fencepost::prelude::*;
use fencepost::{Bound, Capture, Download, HostArray, Result, Upload, region};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub fn cases() -> Vec<Case> {
    vec![
        case("g01_a_capture_alone_leaves_every_array_and_counter_untouched", untouched).host_side(),
        case("g01_replays_use_bytes_that_a_launch_an_upload_and_a_map_have_written", three_writers),
    ]
}

const N: usize = 64;

/// Captures a node of each kind.
fn every_node(c: &Capture, arrays: &[DeviceArray<u32>; 3], calls: &Arc<AtomicU32>) -> Result<()> {
    let [x, y, flag] = arrays;
    let flag = flag.slice(0..1)?;
    let side = c.fork("side");
    side.mix(2, 1, x, &mut y.clone())?;
    c.wait_for(&side)?;
    c.fill(&mut x.clone(), 9)?;
    c.upload(&[8_u32; N], &mut y.clone())?;
    c.copy(x, &mut y.clone())?;
    c.copy_region(x, region![..; 2], &mut y.clone(), region![..; 2])?;
    c.if_(&flag, |body| body.fill(&mut x.clone(), 7))?;
    c.repeat(&flag, Bound::AtMost(3), |body| body.copy(y, &mut x.clone()))?;
    let calls = calls.clone();
    c.host(move || _ = calls.fetch_add(1, Ordering::SeqCst))?;
    let own = c.full([N], 5_u32)?;
    c.copy(&own, &mut y.clone())?;
    c.read_as("own", &own).map(drop)
}

fn untouched(subject: &Subject) {
    let counted = Counted::new(subject);
    let ctx = counted.ctx.clone();
    let queue = ctx.queue("main");
    let arrays = [1, 2, 3].map(|value| queue.full([N], value).unwrap());
    let pinned: HostArray<u32, Upload> = ctx.pinned([N]).unwrap();
    let mut back: HostArray<u32, Download> = ctx.pinned([N]).unwrap();
    let calls = Arc::new(AtomicU32::new(0));
    queue.finish().wait().unwrap();
    let submitted = counted.submissions();
    let used = ctx.pool().stats().used;
    for outcome in ["a graph", "an error", "a graph"] {
        let captured = queue.capture(|c| {
            every_node(c, &arrays, &calls)?;
            c.upload(&pinned, &mut arrays[0].clone())?;
            c.download(&arrays[0], &mut back)?;
            if outcome == "an error" { c.flush() } else { Ok(()) }
        });
        assert_eq!(captured.is_ok(), outcome == "a graph");
    }
    assert_eq!(counted.submissions(), submitted, "a capture submits");
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    assert_eq!(back.host().unwrap().to_vec(), [0; N]);
    for (array, value) in arrays.iter().zip(1..) {
        assert_eq!(queue.read(array).wait().unwrap(), [value; N]);
    }
    assert_eq!(ctx.pool().stats().used, used);
    assert!(queue.take_error().is_none());
}

fn three_writers(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let iota = ctx.kernel::<Iota>().unwrap();
    let [mut x, mut y] = [(); 2].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
    let (graph, shown) = queue.graph_of(|c| {
        c.mix(0, 1, &x, &mut y)?;
        c.read_as("y", &y)
    });
    let each = |value: &dyn Fn(u32) -> u32| (0..N as u32).map(|at| value(at) + 1).collect::<Vec<_>>();
    let first = {
        queue.launch(&iota, Grid::threads([N]), Iota { start: 5, step: 3, out: &mut x }).unwrap();
        queue.replay(&graph).unwrap()
    };
    let second = {
        queue.upload(&[40_u32; N], &mut x).unwrap();
        queue.replay(&graph).unwrap()
    };
    // The map waits for both replays, and the third replay waits for the end of the map.
    x.map_write().wait().unwrap().fill(50);
    let third = queue.replay(&graph).unwrap();
    let right = [each(&|at| 5 + 3 * at), each(&|_| 40), each(&|_| 50)];
    for (run, right) in [first, second, third].iter().zip(right) {
        assert_eq!(run.read(&shown).unwrap().wait().unwrap(), right);
    }
}
