//! Tests of files that decode but do not fit their kernels or the device.

use crate::api::context::Context;
use crate::api::graph::Graph;
use crate::api::graph::loading::LoadOptions;
use crate::api::grid::Grid;
use crate::api::queue::CommandQueue;
use crate::error::{Error, ErrorDetail};
use crate::record::cpu::cpu_recorder::SimulatorOptions;
use fencepost_graph_file::{
    BlockContents, FileBlock, FileCommand, FileElement, FileInput, FileLaunch, FileRange, FileWork,
    GraphFile, decode, encode,
};
use fencepost_kernels::{HostBuffer, args};
use std::sync::Arc;

const TEXT: &str = "struct Params { k: u32 }
    @group(0) @binding(0) var<uniform> params: Params;
    @group(0) @binding(1) var<storage, read> x: array<u32>;
    @group(0) @binding(2) var<storage, read_write> y: array<vec4<u32>>;
    @compute @workgroup_size(64) fn k() { y[0].x = params.k * x[0]; }";

fn context() -> (Context, CommandQueue) {
    let ctx = Context::simulated(SimulatorOptions::default().threads(false).memory(1 << 26));
    let nothing = |_: [u32; 3], _: [u32; 3], _: &[u8], _: &mut [HostBuffer<'_>]| ();
    ctx.host_kernel("k", Arc::new(nothing)).expect("it is the CPU recorder");
    let queue = ctx.queue("main");
    (ctx, queue)
}

/// Returns the file of a graph with two blocks and one launch.
fn saved() -> GraphFile {
    let (ctx, queue) = context();
    let kernel = ctx.kernel_from(TEXT, "k").expect("it compiles");
    let captured = queue.capture(|c| {
        let x = c.full([256], 3_u32)?;
        let mut y = c.zeros::<[u32; 4], 1>([64])?;
        c.launch_dyn(&kernel, Grid::groups([1]), args![k = 2_u32, x = &x, y = &mut y])
    });
    let bytes = captured.expect("it is captured").0.to_bytes().expect("it is saved");
    decode(&bytes).map_err(|fault| fault.reason).expect("it is a file").graph
}

fn launch_of(file: &mut GraphFile) -> &mut FileLaunch {
    let launch = file.commands.iter_mut().find_map(|command| match &mut command.work {
        FileWork::Launch(launch) => Some(launch),
        _ => None,
    });
    launch.expect("the graph has a launch")
}

/// Changes a saved file with `change`, and returns the error of loading it. Indices, ranges and checksums are valid.
fn refused(change: impl FnOnce(&mut GraphFile)) -> Error {
    let (ctx, queue) = context();
    let mut file = saved();
    change(&mut file);
    let error = Graph::from_bytes(&ctx, &encode(&file)).unwrap_err();
    let loaded = Graph::from_bytes(&ctx, &encode(&saved())).expect("the context works");
    queue.replay(&loaded).expect("it is enqueued").wait().expect("it runs");
    error
}

#[test]
fn a_launch_that_the_device_cannot_run_is_the_error_of_a_launch() {
    let alignment = refused(|file| {
        let binding = &mut launch_of(file).bindings[0];
        binding.offset = 4;
        binding.size = 4;
    });
    assert!(matches!(alignment.detail(), ErrorDetail::Alignment { offset: 4, .. }), "{alignment}");
    let small = refused(|file| launch_of(file).bindings[1].size = 8);
    assert!(matches!(small.detail(), ErrorDetail::BindingTooSmall { found: 8, needed: 16, .. }), "{small}");
    let aliased = refused(|file| launch_of(file).bindings[0].block = 1);
    assert!(matches!(aliased.detail(), ErrorDetail::Aliased { .. }), "{aliased}");
    let large = refused(|file| {
        let size = 1 << 32;
        let offset = 0;
        let shape = vec![size / 4];
        let padded = vec![size / 4];
        let element = FileElement { name: "u32".into(), size: 4 };
        let input = FileInput { name: "huge".into(), element, offset, shape, padded };
        let block = file.blocks.len() as u32;
        file.blocks.push(FileBlock { label: "huge".into(), size, contents: BlockContents::Input(input) });
        launch_of(file).bindings[0] = FileRange { block, offset, size };
    });
    assert!(matches!(large.detail(), ErrorDetail::BindingTooLarge { .. }), "{large}");
    let grid = refused(|file| launch_of(file).groups = [u32::MAX; 3]);
    assert!(matches!(grid.detail(), ErrorDetail::GridTooLarge { .. }), "{grid}");
}

const READS_AROUND_A_WRITE: &str = "
    @group(0) @binding(0) var<storage, read> a: array<u32>;
    @group(0) @binding(1) var<storage, read_write> y: array<u32>;
    @group(0) @binding(2) var<storage, read> b: array<u32>;
    @compute @workgroup_size(64) fn k() { y[0] = a[0] + b[0]; }";

#[test]
fn only_arguments_that_are_read_may_share_bytes() {
    let (ctx, queue) = context();
    let kernel = ctx.kernel_from(READS_AROUND_A_WRITE, "k").expect("it compiles");
    let captured = queue.capture(|c| {
        let x = c.full([512], 3_u32)?;
        let mut y = c.zeros::<u32, 1>([256])?;
        c.launch_dyn(&kernel, Grid::groups([1]), args![a = &x, y = &mut y, b = &x])
    });
    let bytes = captured.expect("it is captured").0.to_bytes().expect("it is saved");
    let load = |changes: &[(usize, u64)]| {
        let mut file = decode(&bytes).map_err(|fault| fault.reason).expect("it is a file").graph;
        let bindings = &mut launch_of(&mut file).bindings;
        let block = bindings[0].block;
        for &(at, offset) in changes {
            bindings[at] = FileRange { block, offset, size: 512 };
        }
        Graph::from_bytes(&ctx, &encode(&file))
    };
    load(&[]).expect("two arguments that are read may share bytes");
    load(&[(0, 0), (1, 512), (2, 0)]).expect("the arguments share a block and no bytes");
    // The written argument overlaps the one before it, and then the one after it.
    for apart in [[0, 256, 1024], [1024, 256, 0]] {
        let changes: Vec<(usize, u64)> = apart.into_iter().enumerate().collect();
        let error = load(&changes).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::Aliased { .. }), "{error}");
    }
}

#[test]
fn a_launch_that_its_kernel_cannot_have_is_an_error_of_the_file() {
    let expect = |error: Error, text: &str| {
        assert!(matches!(error.detail(), ErrorDetail::GraphFile { offset: 1.., .. }), "{error}");
        assert!(error.to_string().contains(text), "{error}");
    };
    let fewer = |file: &mut GraphFile| launch_of(file).bindings.truncate(1);
    expect(refused(fewer), "has 2 arrays, and its launch has 1");
    let longer = |file: &mut GraphFile| launch_of(file).params.push(0);
    expect(refused(longer), "4 bytes of parameters, and its launch has 5");
    let part = |file: &mut GraphFile| launch_of(file).bindings[1].size = 20;
    expect(refused(part), "20 bytes of argument `y` are not whole elements");
    let other = |file: &mut GraphFile| file.kernels[0].interface ^= 1;
    expect(refused(other), "arguments of kernel `k` differ");
    let renamed = |file: &mut GraphFile| {
        file.texts[0].wgsl = file.texts[0].wgsl.replace("y:", "z:").replace("y[", "z[")
    };
    expect(refused(renamed), "arguments of kernel `k` differ");
}

#[test]
fn a_kernel_that_does_not_compile_is_the_error_of_the_kernel() {
    let changes: [fn(&mut GraphFile); 3] = [
        |file| file.texts[0].wgsl = "fn k( {".into(),
        |file| file.kernels[0].entry = "l".into(),
        |file| file.kernels[0].overrides = vec![("W".into(), f64::NAN.to_bits())],
    ];
    for change in changes {
        let error = refused(change);
        assert!(matches!(error.detail(), ErrorDetail::Kernel(_)), "{error}");
    }
}

#[test]
fn memory_above_the_limit_is_refused_before_anything_is_allocated() {
    let (ctx, _queue) = context();
    let before = ctx.pool().stats();
    let huge = |size| FileBlock { label: "huge".into(), size, contents: BlockContents::Owned };
    for sizes in [vec![1 << 40], vec![1 << 29; 3], vec![u64::MAX - 3; 2]] {
        let mut file = saved();
        file.blocks.extend(sizes.into_iter().map(huge));
        let error = Graph::from_bytes(&ctx, &encode(&file)).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::GraphMemory { .. }), "{error}");
    }
    // The clocks of many queues take memory too.
    let mut file = saved();
    file.queues = vec![String::new(); 40_000];
    let error = Graph::from_bytes(&ctx, &encode(&file)).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::GraphMemory { .. }), "{error}");
    assert_eq!(ctx.pool().stats().used, before.used);
    let options = LoadOptions { memory_limit: 1024 };
    let error = Graph::from_bytes_with(&ctx, &encode(&saved()), options).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::GraphMemory { needed: 2048, limit: 1024, .. }), "{error}");
    let options = LoadOptions { memory_limit: 2048 };
    assert!(Graph::from_bytes_with(&ctx, &encode(&saved()), options).is_ok());
    // The device has less memory than the limit allows.
    let mut file = saved();
    file.blocks.push(huge(1 << 28));
    let error = Graph::from_bytes(&ctx, &encode(&file)).unwrap_err();
    assert!(
        matches!(error.detail(), ErrorDetail::OutOfMemory { .. } | ErrorDetail::TooLarge { .. }),
        "{error}"
    );
}

#[test]
fn a_graph_with_changed_numbers_loads_or_is_an_error() {
    let (ctx, _queue) = context();
    let mut rng = fastrand::Rng::with_seed(9);
    let original = saved();
    let mut loaded = 0;
    for _ in 0..400 {
        let mut file = original.clone();
        let commands: &mut [FileCommand] = &mut file.commands;
        let at = rng.usize(0..commands.len());
        let value = *rng.choice(&[0, 1, 4, 16, 256, 1 << 20, u64::MAX]).expect("there are values");
        match (&mut commands[at].work, rng.u32(0..4)) {
            (FileWork::Launch(launch), 0) => launch.groups[rng.usize(0..3)] = value as u32,
            (FileWork::Launch(launch), 1) => launch.bindings[rng.usize(0..2)].size = value,
            (FileWork::Launch(launch), 2) => launch.bindings[rng.usize(0..2)].offset = value,
            (FileWork::Launch(launch), _) => launch.bindings[rng.usize(0..2)].block = value as u32,
            (FileWork::Fill { dst, .. }, 0) => dst.size = value,
            (FileWork::Fill { dst, .. }, 1) => dst.offset = value,
            (FileWork::Fill { dst, .. }, _) => dst.block = value as u32,
            _ => file.blocks[0].size = value,
        }
        loaded += u32::from(Graph::from_bytes(&ctx, &encode(&file)).is_ok());
    }
    assert!((10..390).contains(&loaded), "both ways are taken: {loaded}");
}
