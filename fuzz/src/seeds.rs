//! Files of graphs, which are the first inputs of the fuzzer: each kind of node, in bodies and outside.

use crate::run::{ADD, context};
use fencepost::prelude::*;
use fencepost::{Bound, Capture, EventOptions, Result, region};
use std::path::Path;

/// Writes the files.
pub fn write(folder: &Path) {
    let seeds: [(&str, fn(&Context, &Capture) -> Result<()>); 4] =
        [("plain", plain), ("conditions", conditions), ("loops", loops), ("chunks", chunks)];
    for (name, record) in seeds {
        let ctx = context();
        let queue = ctx.queue("main");
        let (graph, ()) = queue.capture(|c| record(&ctx, c)).expect("it is captured");
        graph.save(folder.join(name)).expect("it is saved");
    }
}

fn plain(ctx: &Context, c: &Capture) -> Result<()> {
    let add = ctx.kernel_from(ADD, "add")?;
    let gain = c.value("gain", 2_u32)?;
    let x = c.input("x", &ctx.zeros::<u32, 1>([64])?)?;
    let counts = c.array(&[1_u32, 1, 1])?;
    let mut y = c.zeros::<u32, 1>([64])?;
    c.launch_dyn(&add, Grid::groups([1]), args![k = &gain, y = &mut y])?;
    c.label_node("first")?;
    let side = c.fork("side");
    let mut z = side.full([64], 5_u32)?;
    side.launch_dyn(&add, Grid::indirect(&counts, 0), args![k = 1_u32, y = &mut z])?;
    c.wait_for(&side)?;
    c.marker_with(EventOptions::default().timing(true));
    c.copy(&z.slice(0..16)?, &mut y.slice(16..32)?)?;
    c.copy_region(&*x, region![..8; 2], &mut y, region![40..44])?;
    c.read_as("y", &y).map(drop)
}

fn conditions(ctx: &Context, c: &Capture) -> Result<()> {
    let add = ctx.kernel_from(ADD, "add")?;
    let go = c.array(&[1_u32])?;
    let mut y = c.zeros::<u32, 1>([64])?;
    let mut same = y.clone();
    let then = |body: &Capture| {
        body.launch_dyn(&add, Grid::groups([1]), args![k = 3_u32, y = &mut y])?;
        body.upload(&[1_u32, 2, 3, 4], &mut y.slice(8..12)?)
    };
    c.if_else(&go, then, |body| body.fill(&mut same, 9))?;
    c.read_as("y", &same).map(drop)
}

fn loops(ctx: &Context, c: &Capture) -> Result<()> {
    rounds(ctx, c, Bound::AtMost(4))
}

fn chunks(ctx: &Context, c: &Capture) -> Result<()> {
    rounds(ctx, c, Bound::Chunked(40))
}

fn rounds(ctx: &Context, c: &Capture, bound: Bound) -> Result<()> {
    let add = ctx.kernel_from(ADD, "add")?;
    let x = c.input("x", &ctx.zeros::<u32, 1>([64])?)?;
    let mut left = c.array(&[3_u32])?;
    let times = c.array(&[2_i32])?;
    let mut y = c.zeros::<u32, 1>([64])?;
    let mut z = c.zeros::<u32, 1>([64])?;
    let condition = left.clone();
    let rounds = c.while_(&condition, bound, |body| {
        let side = body.fork("side");
        side.launch_dyn(&add, Grid::groups([1]), args![k = 5_u32, y = &mut y])?;
        body.launch_dyn(&add, Grid::groups([1]), args![k = u32::MAX, y = &mut left])?;
        body.wait_for(&side)?;
        body.repeat(&times, Bound::AtMost(3), |inner| {
            let mut head = z.slice(0..16)?;
            let tail = y.slice(0..16)?;
            inner.copy(&tail, &mut head)?;
            inner.do_while(&condition, Bound::AtMost(2), |last| last.fill(&mut z.clone(), 9)).map(drop)
        })?;
        body.copy_region(&*x, region![..8; 2], &mut z, region![40..44])
    })?;
    c.label_loop("rounds", &rounds)?;
    c.read_as("y", &z).map(drop)
}
