//! The run of an input.

use fencepost::prelude::*;
use fencepost::{SimulatorOptions, Graph, HostBuffer, Result};
use fencepost::graph::LoadOptions;
use std::sync::Arc;

/// Memory limit of a graph, and of the context that loads it.
const MEMORY: u64 = 1 << 24;
/// Maximum number of iterations of a loop in chunks in a replay.
const LONGEST: u32 = 1000;
/// Kernel of the seeds.
pub const ADD: &str = "struct Params { k: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(64)
fn add(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&y) { y[id.x] += params.k; }
}
";

/// Returns a context on the CPU recorder, which knows the kernel of the seeds.
pub fn context() -> Context {
    let options = SimulatorOptions::default().threads(false).memory(4 * MEMORY);
    let ctx = Context::simulated(options);
    let add = |_: [u32; 3], _: [u32; 3], params: &[u8], buffers: &mut [HostBuffer<'_>]| {
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_ne_bytes);
        let k = word(params);
        for y in buffers.iter_mut().flat_map(|buffer| buffer.bytes_mut().chunks_exact_mut(4)) {
            let sum = word(y).wrapping_add(k);
            y.copy_from_slice(&sum.to_ne_bytes());
        }
    };
    ctx.host_kernel("add", Arc::new(add)).expect("it is the CPU recorder");
    ctx
}

/// Loads a file on the CPU recorder, replays the graph once and saves it again. Errors are expected, panics are not.
pub fn run(file: &[u8]) {
    let ctx = context();
    let Ok(graph) = Graph::from_bytes_with(&ctx, file, LoadOptions::default().memory_limit(MEMORY)) else { return };
    // A replay fails without an array for each input, and runs on the host without a time limit.
    if !has_long_loop(&graph) {
        let _ = replay(&ctx, &graph);
    }
    let again = graph.to_bytes().expect("a loaded graph can be saved");
    let loaded = Graph::from_bytes(&ctx, &again).expect("a saved graph can be loaded");
    assert_eq!(loaded.to_bytes().expect("a loaded graph can be saved"), again);
    if graph.nodes() < 200 {
        let _ = (graph.to_dot(), graph.to_text(), graph.to_svg(), graph.statistics());
    }
}

/// Returns `true` if a loop in chunks may have so many iterations that a replay takes long.
fn has_long_loop(graph: &Graph) -> bool {
    let text = graph.to_text();
    let bounds = text.split(" iterations of at most ").skip(1);
    bounds.map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().and_then(|bound| bound.parse().ok()))
        .any(|bound: Option<u32>| bound.is_none_or(|bound| bound > LONGEST))
}

fn replay(ctx: &Context, graph: &Graph) -> Result<()> {
    let queue = ctx.queue("main");
    let x = ctx.full([64], 6_u32)?;
    let run = match graph.with().input("x", &x) {
        Ok(bound) => queue.replay(&bound)?,
        Err(_) => queue.replay(graph)?,
    };
    run.wait()?;
    for of in graph.loops() {
        run.iterations(&of)?.wait()?;
        run.reached_bound(&of)?.wait()?;
    }
    let y = graph.output::<u32>("y")?;
    run.read(&y)?.wait()?;
    Ok(())
}
