//! R01: mistakes with objects of another context.

use crate::common::{Case, Subject, assert_error, case};
use crate::kernels::shaders::saxpy;
use fencepost::{Context, Download, ErrorDetail, Grid, HostArray, Result, Upload, args};

pub fn cases() -> Vec<Case> {
    vec![case("r01_every_verb_refuses_objects_of_another_context", every_verb)]
}

fn every_verb(s: &Subject) {
    let [ctx, other] = [0; 2].map(|_| s.ctx());
    for (name, found) in all(s, &ctx, &other) {
        assert_error!(found, ErrorDetail::ForeignContext { .. }, "{name}");
    }
    let queue = ctx.queue("q");
    assert!(queue.take_error().is_none());
    queue.finish().wait().unwrap();
}

fn all(s: &Subject, ctx: &Context, other: &Context) -> Vec<(&'static str, Result<()>)> {
    let queue = ctx.queue("q");
    let kernel = saxpy(s, ctx);
    let their_kernel = saxpy(s, other);
    let [x, y] = [0; 2].map(|_| ctx.zeros([64]).unwrap());
    let theirs = other.zeros::<f32, 1>([64]).unwrap();
    let groups = other.full([3], 1_u32).unwrap();
    let source: HostArray<f32, Upload> = other.pinned([64]).unwrap();
    let mut target: HostArray<f32, Download> = other.pinned([64]).unwrap();
    let grid = || Grid::threads([64]);
    let mut z = y.clone();
    let mut results = vec![
        ("fill", queue.fill(&mut theirs.clone(), 1.0)),
        ("upload", queue.upload(&[0.0; 64], &mut theirs.clone())),
        ("set", queue.set(&mut theirs.clone(), [0], 1.0)),
        ("get", queue.get(&theirs, [0]).wait().map(drop)),
        ("read", queue.read(&theirs).wait().map(|_| ())),
        ("read into", queue.read_into(&theirs, &mut [0.0; 64])),
        ("download from", queue.download(&theirs, &mut ctx.pinned([64]).unwrap())),
        ("download to", queue.download(&x, &mut target)),
        ("upload from", queue.upload(&source, &mut z)),
        ("upload a slice from", queue.upload(&source.slice(0..63).unwrap(), &mut z.slice(0..63).unwrap())),
        ("their kernel", queue.launch_dyn(&their_kernel, grid(), args![1.0_f32, &x, &mut z])),
        ("their argument", queue.launch_dyn(&kernel, grid(), args![1.0_f32, &theirs, &mut z])),
        ("their grid", queue.launch_dyn(&kernel, Grid::indirect(&groups, 0), args![1.0_f32, &x, &mut z])),
        ("record their event", other.event().record(&queue)),
    ];
    let mut plain = ctx.zeros::<f32, 1>([64]).unwrap();
    results.push(("launch with their output", {
        let mut theirs = theirs.clone();
        queue.launch_dyn(&kernel, grid(), args![1.0_f32, &plain.clone(), &mut theirs])
    }));
    queue.fill(&mut plain, 1.0).unwrap();
    results
}
