//! G09: files of graphs whose inputs an edit has changed, and the policy of the context that loads a file.

use crate::common::{Case, Subject, assert_error, case};
use fencepost::graph::Contents;
use fencepost::prelude::*;
use fencepost::{Capture, ErrorDetail, Graph, Result};

pub fn cases() -> Vec<Case> {
    vec![
        case("g09_inputs_keep_their_names_after_an_edit_makes_them_overlap", overlapping),
        case("g09_a_constant_stays_apart_from_an_input_that_an_edit_gives_its_array", constant),
        case("g09_the_policy_of_the_context_applies_to_a_loaded_graph", policy),
    ]
}

const N: usize = 128;

/// Returns the first and the last element of the output of a replay, for inputs `a` and `b`.
fn run(ctx: &Context, graph: &Graph) -> [u32; 2] {
    let queue = ctx.queue("replays");
    let [a, b] = [10_u32, 20].map(|value| queue.full([N], value).unwrap());
    let bound = graph.with().input("a", &a).unwrap().input("b", &b).unwrap();
    let out = graph.output::<u32>("out").unwrap();
    let out = queue.replay(&bound).unwrap().read(&out).unwrap().wait().unwrap();
    [out[0], out[2 * N - 1]]
}

/// Returns a graph that concatenates copies of the inputs `a` and `b`.
fn joined(queue: &CommandQueue, a: &DeviceArray<u32>, b: &DeviceArray<u32>) -> Graph {
    let captured = queue.capture(|c| {
        let a = c.input("a", a)?;
        let b = c.input("b", b)?;
        let out = c.zeros::<u32, 1>([2 * N])?;
        c.copy(&a, &mut out.slice(0..N)?)?;
        c.copy(&b, &mut out.slice(N..2 * N)?)?;
        c.read_as("out", &out)
    });
    captured.unwrap().0
}

fn overlapping(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let base = queue.full([512], 1_u32).unwrap();
    let part = |start: usize| base.slice(start..start + N).unwrap();
    for (a, b) in [(0, 0), (0, 64), (64, 0), (192, 128), (256, 320)] {
        let mut graph = joined(&queue, &part(0), &part(256));
        graph.edit().unwrap().input("a", &part(a)).unwrap().input("b", &part(b)).unwrap().apply().unwrap();
        let loaded = Graph::from_bytes(&ctx, &graph.to_bytes().unwrap()).unwrap();
        assert_eq!((run(&ctx, &graph), run(&ctx, &loaded)), ([10, 20], [10, 20]), "{a} and {b}");
    }
}

fn constant(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let [fixed, default] = [2_u32, 1].map(|value| queue.full([N], value).unwrap());
    let captured = queue.capture(|c| {
        let a = c.input("a", &default)?;
        let _b = c.input("b", &queue.full([N], 3_u32)?)?;
        let out = c.zeros::<u32, 1>([2 * N])?;
        c.copy(&a, &mut out.slice(0..N)?)?;
        c.copy(&fixed, &mut out.slice(N..2 * N)?)?;
        c.read_as("out", &out)
    });
    let mut graph = captured.unwrap().0;
    graph.edit().unwrap().input("a", &fixed).unwrap().apply().unwrap();
    let bytes = graph.to_bytes_with(Contents::Included).unwrap();
    let loaded = Graph::from_bytes(&ctx, &bytes).unwrap();
    assert_eq!((run(&ctx, &graph), run(&ctx, &loaded)), ([10, 2], [10, 2]));
}

/// Captures two unordered fills of one array.
fn unordered(c: &Capture) -> Result<()> {
    let mut x = c.zeros::<u32, 1>([N])?;
    let side = c.fork("side");
    side.fill(&mut x.clone(), 7)?;
    c.fill(&mut x, 8)?;
    c.wait_for(&side)
}

fn policy(subject: &Subject) {
    let saved = |policy| {
        let ctx = subject.ctx_with(policy);
        ctx.queue("main").capture(unordered).unwrap().0.to_bytes().unwrap()
    };
    let load = |policy, bytes: &[u8]| {
        let loaded = Graph::from_bytes(&subject.ctx_with(policy), bytes);
        loaded.map(|graph| graph.statistics().levels)
    };
    let relying = saved(Policy::Ordered);
    let unchecked = saved(Policy::Unchecked);
    // A fill with zeros comes first; the two others are in one level, or one after the other.
    assert_eq!(load(Policy::Unchecked, &unchecked).unwrap(), 2);
    assert_eq!(load(Policy::Ordered, &unchecked).unwrap(), 3);
    assert_eq!(load(Policy::Unchecked, &relying).unwrap(), 3, "the graph relies on the added order");
    for bytes in [&relying, &unchecked] {
        assert_error!(load(Policy::Checked, bytes), ErrorDetail::Hazard { .. });
    }
}
