//! G11: verbs of the algorithms in the bodies of conditions and loops, and the scratch memory that the graph owns.

use crate::algorithms::with_shares;
use crate::common::full::full;
use crate::common::partners::partners;
use crate::common::{Calls, Case, Subject, assert_error, assert_says, case};
use crate::graphs::temporaries::has_returned;
use fencepost::prelude::*;
use fencepost::{Capture, Result};

pub fn cases() -> Vec<Case> {
    vec![
        case("g11_a_loop_with_verbs_equals_a_loop_of_the_host", |s| with_shares(s, || loops(s))),
        case("g11_verbs_work_in_conditions_and_loops_outside_of_a_capture", |s| {
            with_shares(s, || outside(s))
        }),
        case("g11_verbs_work_in_bodies_inside_of_bodies", |s| with_shares(s, || nested(s))),
        case("g11_verbs_on_the_forks_of_a_body_do_not_share_scratch_memory", |s| with_shares(s, || forks(s))),
        case("g11_replays_with_verbs_in_bodies_do_not_overlap", |s| with_shares(s, || replays(s))),
        case("g11_no_other_array_gets_the_scratch_memory_of_a_body", |s| with_shares(s, || other_arrays(s))),
        case("g11_the_iterations_and_replays_of_a_loop_share_scratch_memory", |s| {
            with_shares(s, || memory(s))
        }),
        case("g11_bodies_that_replay_one_graph_share_its_scratch_memory", |s| with_shares(s, || shared(s))),
        case("g11_equal_captures_in_used_memory_are_equal_graphs", |s| with_shares(s, || equal_captures(s))),
        case("g11_a_loaded_graph_has_the_scratch_memory_of_its_bodies", |s| with_shares(s, || loaded(s))),
        case("g11_an_edit_of_a_body_keeps_its_scratch_memory", |s| with_shares(s, || edited(s))),
        case("g11_a_refused_body_keeps_no_memory", |s| with_shares(s, || refused(s))),
        case("g11_an_error_about_scratch_memory_names_the_verb", |s| with_shares(s, || exhausted(s))),
    ]
}

/// Arrays of an iteration.
struct Arrays {
    /// Number of iterations that are left.
    left: DeviceArray<u32>,
    one: DeviceArray<u32>,
    x: DeviceArray<u32>,
    keys: DeviceArray<u32>,
    sorted_keys: DeviceArray<u32>,
    sorted: DeviceArray<u32>,
    kept: DeviceArray<u32>,
    maxima: DeviceArray<u32>,
    runs: DeviceArray<u32>,
    place: DeviceArray<u32>,
    total: DeviceArray<u32>,
}

impl Arrays {
    /// Makes the arrays on a queue, which may be captured, for loops of `left` iterations.
    fn new(queue: &CommandQueue, n: usize, left: u32) -> Result<Self> {
        let zeros = |len: usize| queue.zeros::<u32, 1>([len]);
        Ok(Self {
            left: queue.array(&[left])?,
            one: queue.array(&[1])?,
            x: queue.array(&numbers(n))?,
            keys: zeros(n)?,
            sorted_keys: zeros(n)?,
            sorted: zeros(n)?,
            kept: zeros(n)?,
            maxima: zeros(n)?,
            runs: zeros(1)?,
            place: zeros(1)?,
            total: zeros(1)?,
        })
    }

    /// Starts again, for `left` iterations.
    fn begin(&mut self, queue: &CommandQueue, left: u32) {
        queue.fill(&mut self.left, left).unwrap();
        queue.upload(&numbers(self.x.len()), &mut self.x).unwrap();
        for array in [&mut self.maxima, &mut self.runs, &mut self.place, &mut self.total] {
            queue.fill(array, 0).unwrap();
        }
    }

    /// Enqueues an iteration, which takes scratch memory several times. Each iteration gives other results.
    fn iterate(&mut self, queue: &CommandQueue) -> Result<()> {
        queue.sum(&self.x, &mut self.total)?;
        queue.argmin(&self.x, &mut self.place)?;
        queue.map(&self.x, "x >> 29u", &mut self.keys)?;
        let sort = Sort::ascending().bits(0..3);
        queue.sort_pairs(&self.keys, &self.x, &mut self.sorted_keys, &mut self.sorted, sort)?;
        let Self { sorted_keys, sorted, kept, maxima, runs, .. } = self;
        queue.reduce_by_key(sorted_keys, sorted, Operation::Largest, kept, maxima, runs)?;
        queue.scan(&self.sorted, &mut self.x, Scan::inclusive(Operation::Sum))?;
        queue.axpy(u32::MAX, &self.one, &mut self.left)
    }

    /// Returns the arrays with the results of the iterations so far.
    fn results(&self) -> [&DeviceArray<u32>; 5] {
        [&self.x, &self.maxima, &self.runs, &self.place, &self.total]
    }

    fn read(&self, queue: &CommandQueue) -> [Vec<u32>; 5] {
        self.results().map(|result| queue.read(result).wait().unwrap())
    }
}

/// Returns `n` numbers with all bits in use.
fn numbers(n: usize) -> Vec<u32> {
    (0..n as u32).map(|i| i.wrapping_mul(0x9E37_79B1) ^ (i >> 3)).collect()
}

/// Number of elements: several shares of each verb. The CPU recorder interprets the kernels of fewer elements.
fn elements(subject: &Subject) -> usize {
    if subject.is_cpu() { 640 } else { 20_480 }
}

/// Returns `K` sets of arrays of the subject.
fn several<const K: usize>(queue: &CommandQueue, subject: &Subject) -> [Arrays; K] {
    [(); K].map(|()| Arrays::new(queue, elements(subject), 0).unwrap())
}

/// Calls the iteration on an ordinary queue.
fn repeat(queue: &CommandQueue, arrays: &mut Arrays, times: u32) {
    (0..times).for_each(|_| arrays.iterate(queue).unwrap());
}

fn loops(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let [mut looped, mut eager] = several(&queue, subject);
    for bound in [Bound::AtMost(6), Bound::Chunked(1000)] {
        let left = looped.left.clone();
        let (graph, steps) = queue.graph_of(|c| c.while_(&left, bound, |body| looped.iterate(body)));
        for length in [2, 0, 6] {
            for arrays in [&mut looped, &mut eager] {
                arrays.begin(&queue, length);
            }
            let run = queue.replay(&graph).unwrap();
            repeat(&queue, &mut eager, length);
            assert_eq!(run.iterations(&steps).unwrap().wait().unwrap(), length, "{bound:?}");
            assert!(looped.read(&queue) == eager.read(&queue), "{bound:?}, {length} iterations");
        }
    }
}

fn outside(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let [mut looped, mut eager] = several(&queue, subject);
    let flag = queue.full([1], 1_u32).unwrap();
    looped.begin(&queue, 3);
    eager.begin(&queue, 3);
    ctx.synchronize().wait().unwrap();
    let before = ctx.pool().stats().used;
    let left = looped.left.clone();
    queue.while_(&left, Bound::AtMost(5), |body| looped.iterate(body)).unwrap();
    queue.if_(&flag, |body| looped.iterate(body)).unwrap();
    queue.do_while(&left, Bound::AtMost(1), |body| looped.iterate(body)).unwrap();
    repeat(&queue, &mut eager, 3 + 1 + 1);
    assert!(looped.read(&queue) == eager.read(&queue));
    has_returned(&ctx, before);
}

fn nested(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let [mut graphs, mut eager] = [(); 2].map(|()| several::<5>(&queue, subject));
    let [outer, inner, flag] = [0_u32; 3].map(|value| queue.full([1], value).unwrap());
    let (graph, ()) = queue.graph_of(|c| {
        let [around, first, second, third, fourth] = &mut graphs;
        around.iterate(c)?;
        c.repeat(&outer, Bound::AtMost(2), |body| {
            first.iterate(body)?;
            body.repeat(&inner, Bound::AtMost(2), |body| second.iterate(body))?;
            body.if_else(&flag, |body| third.iterate(body), |body| fourth.iterate(body))?;
            first.iterate(body)
        })?;
        around.iterate(c)
    });
    for [outers, inners, chosen] in [[2, 1, 1], [1, 2, 0]] {
        graphs.iter_mut().chain(&mut eager).for_each(|arrays| arrays.begin(&queue, 0));
        for (word, value) in [(&outer, outers), (&inner, inners), (&flag, chosen)] {
            queue.fill(&mut word.clone(), value).unwrap();
        }
        queue.replay(&graph).unwrap();
        let times = [2, 2 * outers, outers * inners, outers * chosen, outers * (1 - chosen)];
        for (arrays, times) in eager.iter_mut().zip(times) {
            repeat(&queue, arrays, times);
        }
        for (at, (found, right)) in graphs.iter().zip(&eager).enumerate() {
            assert!(found.read(&queue) == right.read(&queue), "set {at}: {outers}, {inners}, {chosen}");
        }
    }
}

fn forks(subject: &Subject) {
    // Only the order of the capture keeps the two forks apart.
    let (ctx, queue) = subject.with_queue_under(Policy::Unchecked, "main");
    let [mut one, mut two, mut eager] = several(&queue, subject);
    let count = queue.full([1], 3_u32).unwrap();
    ctx.synchronize().wait().unwrap();
    let (graph, _) = queue.graph_of(|c| {
        c.repeat(&count, Bound::AtMost(3), |body| {
            let side = body.fork("side");
            two.iterate(&side)?;
            one.iterate(body)?;
            body.wait_for(&side)
        })
    });
    repeat(&queue, &mut eager, 2 * 3);
    (0..2).for_each(|_| drop(queue.replay(&graph).unwrap()));
    let right = eager.read(&queue);
    assert!(one.read(&queue) == right, "the first fork");
    assert!(two.read(&queue) == right, "the second fork");
}

fn replays(subject: &Subject) {
    // Nothing but the memory of the graph orders its replays.
    let ctx = subject.ctx_with(Policy::Unchecked);
    let queues = ["one", "two"].map(|label| ctx.queue(label));
    let [mut looped, mut eager] = several(&queues[0], subject);
    let count = queues[0].full([1], 2_u32).unwrap();
    ctx.synchronize().wait().unwrap();
    for bound in [Bound::AtMost(2), Bound::Chunked(2)] {
        let (graph, _) = queues[0].graph_of(|c| c.repeat(&count, bound, |body| looped.iterate(body)));
        let runs: Vec<_> = (0..4).map(|at| queues[at % 2].replay(&graph).unwrap()).collect();
        runs.iter().for_each(|run| run.wait().unwrap());
        repeat(&queues[0], &mut eager, 4 * 2);
        assert!(looped.read(&queues[0]) == eager.read(&queues[0]), "{bound:?}");
    }
}

/// Element of the arrays that a graph does not use.
const OTHER: u32 = 0xA5A5_A5A5;

fn other_arrays(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let n = elements(subject);
    let [mut looped, mut eager] = several(&queue, subject);
    let count = queue.full([1], 2_u32).unwrap();
    let (graph, _) = queue.graph_of(|c| c.repeat(&count, Bound::AtMost(4), |body| looped.iterate(body)));
    for round in 0..2 {
        // The arrays get all free memory of these sizes, which are those of the scratch memory.
        let lengths = [1, 2, 16, 64, 100, 256, n / 2, n].map(|len| [len; 8]);
        let full = |&len: &usize| queue.full([len], OTHER).unwrap();
        let others: Vec<DeviceArray<u32>> = lengths.as_flattened().iter().map(full).collect();
        queue.replay(&graph).unwrap();
        repeat(&queue, &mut eager, 2);
        assert!(looped.read(&queue) == eager.read(&queue), "round {round}");
        for other in &others {
            let found = queue.read(other).wait().unwrap();
            assert!(found.iter().all(|&element| element == OTHER), "round {round}: {} elements", found.len());
        }
    }
}

fn memory(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let [mut arrays] = several(&queue, subject);
    arrays.begin(&queue, 5);
    ctx.synchronize().wait().unwrap();
    let before = ctx.pool().stats().used;
    // The first capture gets new memory. The others get memory that arrays had before.
    let mut scratch = Vec::new();
    for bound in [Bound::AtMost(1), Bound::AtMost(40), Bound::Chunked(1000), Bound::AtMost(1)] {
        let left = arrays.left.clone();
        let tracker = ctx.pool().track();
        let (graph, _) = queue.graph_of(|c| c.while_(&left, bound, |body| arrays.iterate(body)));
        let report = tracker.report();
        let of_verbs = report.live.iter().filter(|array| array.label.starts_with("scratch memory of "));
        scratch.push(of_verbs.map(|array| array.bytes).sum::<u64>());
        let kept = ctx.pool().stats().used;
        assert_eq!(kept - before, graph.statistics().owned_bytes, "{bound:?}");
        for _ in 0..3 {
            queue.fill(&mut arrays.left, 5).unwrap();
            queue.replay(&graph).unwrap();
        }
        has_returned(&ctx, kept);
        drop(graph);
        has_returned(&ctx, before);
        let report = tracker.finish();
        assert!(report.live.is_empty(), "the graph has returned its memory: {report}");
    }
    assert!(scratch[0] > 0 && scratch.iter().all(|&bytes| bytes == scratch[0]), "{scratch:?}");
}

fn shared(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let [mut arrays, mut eager] = several(&queue, subject);
    let count = queue.full([1], 2_u32).unwrap();
    let (child, ()) = queue.graph_of(|c| arrays.iterate(c));
    let tracker = ctx.pool().track();
    let (graph, ()) = queue.graph_of(|c| {
        let body = |body: &Capture| body.replay(&child).map(drop);
        c.repeat(&count, Bound::AtMost(2), body)?;
        c.repeat(&count, Bound::Chunked(2), body).map(drop)
    });
    let report = tracker.finish();
    assert!(report.live.iter().all(|array| &*array.label == "table of a graph"), "{report}");
    for _ in 0..2 {
        queue.replay(&graph).unwrap();
    }
    repeat(&queue, &mut eager, 2 * (2 + 2));
    assert!(arrays.read(&queue) == eager.read(&queue));
}

fn equal_captures(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let n = elements(subject);
    let before = ctx.pool().stats().used;
    let captured = || {
        let (graph, _) = queue.graph_of(|c| {
            let mut arrays = Arrays::new(c, n, 3)?;
            let left = arrays.left.clone();
            c.while_(&left, Bound::AtMost(5), |body| arrays.iterate(body))?;
            c.read_as("total", &arrays.total)
        });
        graph
    };
    let found = |graph: &Graph| (graph.statistics().owned_bytes, graph.to_text(), graph.to_bytes().unwrap());
    let mut first = None;
    for round in 0..3 {
        // Only the first capture gets new memory.
        let graph = captured();
        let (owned, text, bytes) = first.get_or_insert_with(|| found(&graph));
        let now = found(&graph);
        assert_eq!((now.0, &now.1), (*owned, &*text), "round {round}");
        assert!(now.2 == *bytes, "round {round}");
        queue.replay(&graph).unwrap();
        drop(graph);
        has_returned(&ctx, before);
    }
    let elsewhere = queue.graph_of(|c| c.read_as("own", &c.full([n], 7_u32)?)).0.to_bytes().unwrap();
    let same = queue.graph_of(|c| c.read_as("own", &c.full([n], 7_u32)?)).0.to_bytes().unwrap();
    assert!(elsewhere == same, "a file has no source lines");
}

fn loaded(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let n = elements(subject);
    let (graph, ()) = queue.graph_of(|c| {
        let mut arrays = Arrays::new(c, n, 3)?;
        let left = arrays.left.clone();
        c.while_(&left, Bound::AtMost(5), |body| arrays.iterate(body))?;
        for (at, result) in arrays.results().into_iter().enumerate() {
            c.read_as(&at.to_string(), result)?;
        }
        Ok(())
    });
    let [mut eager] = several(&queue, subject);
    repeat(&queue, &mut eager, 3);
    let right = eager.read(&queue);
    let bytes = graph.to_bytes().unwrap();
    // The last partner has no threads, and interprets the kernels of many elements.
    let most = if full() { usize::MAX } else { 2 };
    for (name, partner) in partners(subject, Policy::Ordered).into_iter().take(most) {
        let loaded = Graph::from_bytes(&partner, &bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let queue = partner.queue("loaded");
        for _ in 0..2 {
            let run = queue.replay(&loaded).unwrap();
            let found = [0, 1, 2, 3, 4].map(|at: usize| {
                let output = loaded.output::<u32>(&at.to_string()).unwrap();
                run.read(&output).unwrap().wait().unwrap()
            });
            assert!(found == right, "{name}");
        }
    }
    let again = Graph::from_bytes(&ctx, &bytes).unwrap();
    assert!(again.to_bytes().unwrap() == bytes, "a loaded graph is the same graph");
}

fn edited(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let n = elements(subject);
    let [count, zeros] = [(1, 3_u32), (n, 0)].map(|(len, value)| queue.full([len], value).unwrap());
    let mut x = queue.full([n], 0_u32).unwrap();
    let [mut sums, mut total] = [n, 1].map(|len| queue.full([len], 0_u32).unwrap());
    ctx.synchronize().wait().unwrap();
    let before = ctx.pool().stats().used;
    let (mut graph, _) = queue.graph_of(|c| {
        c.repeat(&count, Bound::AtMost(4), |body| {
            body.mix(1, 1, &zeros, &mut x)?;
            body.label_node("step")?;
            body.scan(&x, &mut sums, Scan::inclusive(Operation::Sum))?;
            body.sum(&sums, &mut total)
        })
    });
    let old = graph.clone();
    graph.edit().unwrap().node("step").unwrap().parameter("b", 5_u32).unwrap().apply().unwrap();
    // All elements are equal, and the sums of the scan are 1, 2, 3 and so on times that element.
    let triangle = (1..=n as u32).fold(0, u32::wrapping_add);
    let mut element = 0_u32;
    for (graph, step) in [(&old, 1), (&graph, 5), (&old, 1), (&graph, 5)] {
        element += 3 * step;
        assert_eq!(queue.read_after(graph, &total), [triangle.wrapping_mul(element)]);
    }
    drop((graph, old));
    has_returned(&ctx, before);
}

fn refused(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let [mut arrays, mut eager] = several(&queue, subject);
    let flag = queue.full([1], 1_u32).unwrap();
    ctx.synchronize().wait().unwrap();
    let before = ctx.pool().stats().used;
    type Wrong = fn(&Capture, &mut Arrays) -> Result<()>;
    let wrong: [(&str, Wrong); 6] = [
        ("read the array after the condition or the loop", |body, arrays| {
            body.read(&arrays.x).wait().map(drop)
        }),
        ("read the array after the condition or the loop", |body, arrays| {
            body.get(&arrays.x, [0]).wait().map(drop)
        }),
        ("read the array after the condition or the loop", |body, arrays| {
            body.read_as("x", &arrays.x).map(drop)
        }),
        ("copy before or after the condition or the loop", |body, arrays| {
            let mut host: HostArray<u32, Download> = body.context().pinned([arrays.x.len()])?;
            body.download(&arrays.x, &mut host)
        }),
        ("access the array after a replay", |_, arrays| arrays.x.map_read().wait().map(drop)),
        ("read that array after the replay", |body, arrays| {
            body.value_of(|out| body.sum(&arrays.x, out)).wait().map(drop)
        }),
    ];
    for (remedy, wrong) in wrong {
        let refused = queue.if_(&flag, |body| {
            arrays.iterate(body)?;
            wrong(body, &mut arrays)
        });
        let error = assert_says(refused, remedy);
        assert!(matches!(error.detail(), ErrorDetail::Captured { .. }), "{error}");
        has_returned(&ctx, before);
    }
    // A wrong argument is the verb's own error, and nothing of the body is enqueued.
    let refused = queue.if_(&flag, |body| {
        arrays.iterate(body)?;
        body.sum(&arrays.x, &mut arrays.kept)
    });
    assert_error!(refused, ErrorDetail::Shape { .. });
    has_returned(&ctx, before);
    assert!(arrays.read(&queue) == eager.read(&queue), "the refused bodies execute nothing");
    queue.if_(&flag, |body| arrays.iterate(body)).unwrap();
    repeat(&queue, &mut eager, 1);
    assert!(arrays.read(&queue) == eager.read(&queue));
}

fn exhausted(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let [mut arrays] = several(&queue, subject);
    let flag = queue.full([1], 1_u32).unwrap();
    ctx.synchronize().wait().unwrap();
    ctx.pool().trim();
    ctx.pool().set_limit(Some(ctx.pool().stats().used));
    let x = arrays.x.clone();
    for in_body in [true, false] {
        let sorted = &mut arrays.sorted;
        let refused = match in_body {
            true => queue.if_(&flag, |body| body.sort(&x, sorted, Sort::ascending())),
            false => queue.sort(&x, sorted, Sort::ascending()),
        };
        let error = assert_says(refused, "array `scratch memory of sort, line ");
        assert!(matches!(error.detail(), ErrorDetail::OutOfMemory { .. }), "{error}");
    }
    ctx.pool().set_limit(None);
    queue.if_(&flag, |body| body.sort(&x, &mut arrays.sorted, Sort::ascending())).unwrap();
    let mut expected = numbers(x.len());
    expected.sort_unstable();
    assert!(queue.read(&arrays.sorted).wait().unwrap() == expected);
}
