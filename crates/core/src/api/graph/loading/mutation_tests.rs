//! Tests of files with control flow that decode but that no capture would make. Each byte is changed in turn, with a
//! corrected checksum, and bodies have ranges and counts that no device allows.

use crate::api::context::Context;
use crate::api::graph::Graph;
use crate::api::graph::control_flow::Bound;
use crate::api::grid::Grid;
use crate::api::queue::CommandQueue;
use crate::error::{Error, ErrorDetail, Result};
use crate::record::cpu::cpu_recorder::SimulatorOptions;
use crate::region;
use crate::runtime::event::EventOptions;
use fencepost_graph_file::container::{assemble, open};
use fencepost_graph_file::{
    BlockContents, FileAxis, FileBlock, FileInput, FileRange, FileRegion, FileWork, GraphFile, decode, encode,
};
use fencepost_kernels::{HostBuffer, args};
use std::sync::Arc;

const TEXT: &str = "struct Params { k: u32 }
    @group(0) @binding(0) var<uniform> params: Params;
    @group(0) @binding(1) var<storage, read_write> y: array<u32>;
    @compute @workgroup_size(64) fn k() { y[0] += params.k; }";

fn context() -> (Context, CommandQueue) {
    let ctx = Context::simulated(SimulatorOptions::default().threads(false).memory(1 << 24));
    let add = |_: [u32; 3], _: [u32; 3], params: &[u8], buffers: &mut [HostBuffer<'_>]| {
        let k = u32::from_ne_bytes([params[0], params[1], params[2], params[3]]);
        let bytes = &mut buffers[0].bytes_mut()[..4];
        let sum = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]).wrapping_add(k);
        bytes.copy_from_slice(&sum.to_ne_bytes());
    };
    ctx.host_kernel("k", Arc::new(add)).expect("it is the CPU recorder");
    let queue = ctx.queue("main");
    (ctx, queue)
}

/// Both kinds of bounds of the loop in [`saved`].
const BOUNDS: [Bound; 2] = [Bound::AtMost(3), Bound::Chunked(3)];

/// Returns the file of a graph with each kind of node, in bodies and outside.
fn saved(bound: Bound) -> Vec<u8> {
    let (ctx, queue) = context();
    let kernel = ctx.kernel_from(TEXT, "k").expect("it compiles");
    let default = ctx.zeros::<u32, 1>([16]).expect("there is memory");
    let captured = queue.capture(|c| {
        let gain = c.value("gain", 2_u32)?;
        let x = c.input("x", &default)?;
        let counts = c.array(&[1_u32, 1, 1])?;
        let mut left = c.full([1], 2_u32)?;
        let times = c.full([1], 2_u32)?;
        let mut y = c.zeros::<u32, 1>([64])?;
        let mut z = c.zeros::<u32, 1>([64])?;
        c.launch_dyn(&kernel, Grid::groups([1]), args![k = &gain, y = &mut y])?;
        c.label_node("first")?;
        c.marker_with(EventOptions { timing: true });
        let condition = left.clone();
        let rounds = c.while_(&condition, bound, |body| {
            let side = body.fork("side");
            side.launch_dyn(&kernel, Grid::indirect(&counts, 0), args![k = 5_u32, y = &mut y])?;
            body.launch_dyn(&kernel, Grid::groups([1]), args![k = u32::MAX, y = &mut left])?;
            body.wait_for(&side)?;
            body.repeat(&times, Bound::AtMost(2), |inner| {
                let mut head = z.slice(0..16)?;
                let tail = y.slice(0..16)?;
                let mut copy = |half: &CommandQueue| half.copy(&tail, &mut head);
                inner.if_else(&condition, |half| copy(half), |half| half.fill(&mut z.clone(), 9))
            })?;
            body.upload(&[7_u32; 4], &mut z.slice(32..36)?)?;
            body.copy_region(&x, region![..8; 2], &mut z, region![40..44])
        })?;
        c.label_loop("rounds", &rounds)?;
        c.read_as("y", &y)?;
        c.read_as("z", &z)
    });
    captured.expect("it is captured").0.to_bytes().expect("it is saved")
}

/// Loads a file, replays the graph and returns its outputs.
fn run(ctx: &Context, file: &[u8]) -> Result<[Vec<u32>; 2]> {
    let graph = Graph::from_bytes(ctx, file)?;
    let queue = ctx.queue("main");
    let bound = match ctx.full([16], 6_u32).and_then(|x| graph.with().input("x", &x)) {
        Ok(bound) => bound,
        Err(_) => graph.with(), // the changed file may declare another input
    };
    let replay = queue.replay(&bound)?;
    replay.wait()?;
    let [y, z] = [graph.output::<u32>("y")?, graph.output::<u32>("z")?];
    Ok([replay.read(&y)?.wait()?, replay.read(&z)?.wait()?])
}

#[test]
fn a_graph_with_control_flow_gives_the_same_result_after_a_load() {
    BOUNDS.into_iter().for_each(loads_as_it_was);
}

fn loads_as_it_was(bound: Bound) {
    let ((ctx, _queue), saved) = (context(), saved(bound));
    let [y, z] = run(&ctx, &saved).expect("the file is valid");
    assert_eq!(y[..2], [12, 0]);
    // The last iteration has changed the condition to 0, so its inner loop fills.
    assert_eq!((z[0], z[16], z[32], z[36], z[40]), (9, 9, 7, 9, 6));
    let graph = Graph::from_bytes(&ctx, &saved).expect("the file is valid");
    let x = ctx.full([16], 6_u32).expect("there is memory");
    let queue = ctx.queue("main");
    let bound = graph.with().input("x", &x).expect("it fits");
    // Each replay counts from 0.
    for _ in 0..2 {
        let replay = queue.replay(&bound).expect("it is enqueued");
        let count = |of| replay.iterations(&of).expect("it is a loop of the graph").wait().expect("it runs");
        assert_eq!(count(graph.loop_("rounds").expect("it has the label")), 2);
        let mut counts: Vec<u32> = graph.loops().into_iter().map(count).collect();
        counts.sort_unstable();
        assert_eq!(counts, [2, 4]);
    }
    assert!(graph.to_bytes().expect("it is saved") == saved, "a loaded graph is the same graph");
}

#[test]
fn a_change_of_any_byte_after_a_correct_checksum_is_an_error_or_a_graph() {
    BOUNDS.into_iter().for_each(changes_of);
}

fn changes_of(bound: Bound) {
    let ((ctx, _queue), file) = (context(), saved(bound));
    let (_, sections) = open(&file).expect("the file is valid");
    let parts: Vec<(u32, u32, Vec<u8>)> =
        sections.iter().map(|section| (section.kind, 0, section.bytes.to_vec())).collect();
    let mut loaded = 0;
    let mut refused = 0;
    for part in 0..parts.len() {
        for at in 0..parts[part].2.len() {
            let mut changed = parts.clone();
            changed[part].2[at] ^= 1 << (at % 8);
            match run(&ctx, &assemble(&changed)) {
                Ok(_) => loaded += 1,
                Err(_) => refused += 1,
            }
        }
    }
    assert!(loaded > 100 && refused > 100, "both ways are taken: {loaded} and {refused}");
    assert!(run(&ctx, &file).is_ok(), "the context works");
}

/// Changes a saved file with `change`, and returns the error of loading it. The checksums are correct.
fn refused(change: impl FnOnce(&mut GraphFile)) -> Error {
    let (ctx, _queue) = context();
    let mut file =
        decode(&saved(Bound::AtMost(3))).map_err(|fault| fault.reason).expect("the file is valid").graph;
    change(&mut file);
    Graph::from_bytes(&ctx, &encode(&file)).unwrap_err()
}

#[test]
fn a_node_of_a_body_that_does_not_come_after_its_gate_is_an_error() {
    let error = refused(|file| {
        let of_side = file.nodes.iter_mut().find(|node| node.queue > 0 && node.gate.is_some());
        of_side.expect("a fork is in the body").after.clear();
    });
    assert!(matches!(error.detail(), ErrorDetail::GraphFile { offset: 1.., .. }), "{error}");
    assert!(error.to_string().contains("does not come after the gate"), "{error}");
}

#[test]
fn an_input_with_elements_of_another_size_is_an_error() {
    let error = refused(|file| {
        let inputs = file.blocks.iter_mut().filter_map(|block| match &mut block.contents {
            BlockContents::Input(input) => Some(input),
            _ => None,
        });
        // The number of bytes does not change.
        inputs.for_each(|input| {
            input.element.size = 8;
            input.shape = vec![8];
            input.padded = vec![8];
        });
    });
    assert!(error.to_string().contains("input `x` of type `u32` has elements of 8 bytes"), "{error}");
}

/// Adds a huge input, which has no memory. Returns its block.
fn add_huge_input(file: &mut GraphFile) -> u32 {
    let size = 1 << 60;
    let element = file.outputs[0].element.clone();
    let shape = vec![size / 4];
    let padded = vec![size / 4];
    let input = FileInput { name: "huge".into(), element, offset: 0, shape, padded };
    file.blocks.push(FileBlock { label: "huge".into(), size, contents: BlockContents::Input(input) });
    file.blocks.len() as u32 - 1
}

#[test]
fn bodies_of_too_many_dispatches_are_an_error() {
    let is_too_long = |error: Error| {
        assert!(matches!(error.detail(), ErrorDetail::GraphTooLong { limit: 65_536, .. }), "{error}");
    };
    is_too_long(refused(|file| {
        let block = add_huge_input(file);
        let fills = file.commands.iter_mut().filter_map(|command| match &mut command.work {
            FileWork::Fill { dst, .. } => Some(dst),
            _ => None,
        });
        fills.for_each(|dst| *dst = FileRange { block, offset: 0, size: 1 << 59 });
    }));
    is_too_long(refused(|file| {
        let block = add_huge_input(file);
        let copies = file.commands.iter_mut().filter_map(|command| match &mut command.work {
            FileWork::Copy { src, dst } => Some((src, dst)),
            _ => None,
        });
        for (src, dst) in copies {
            *src = FileRange { block, offset: 0, size: 1 << 58 };
            *dst = FileRange { block, offset: 1 << 58, size: 1 << 58 };
        }
    }));
    // Each of the outer rows is a dispatch of its own, because a dispatch has four axes.
    is_too_long(refused(|file| {
        let block = add_huge_input(file);
        let axes: Vec<FileAxis> =
            (0..20).map(|at| FileAxis { count: 2, src: 0, dst: 8 << (19 - at) }).collect();
        for command in &mut file.commands {
            if let FileWork::Region(region) = &mut command.work {
                let to = 1 << 40;
                let row = 4;
                let axes = axes.clone();
                *region = FileRegion { src: region.src, dst: block, from: region.from, to, row, axes };
            }
        }
    }));
}
