//! A program adds floats at places, which only integers can be.

use fencepost::prelude::*;

fn main() {
    let ctx = Context::new().wait().unwrap();
    let queue = ctx.queue("main");
    let x = ctx.array(&[1.0_f32, 2.0]).unwrap();
    let places = ctx.array(&[0_u32, 0]).unwrap();
    let mut out = ctx.zeros([1]).unwrap();
    queue.scatter_add(&x, &places, &mut out).unwrap();
}
