//! A program takes the mean of integers.

use fencepost::prelude::*;

fn main() {
    let ctx = Context::new().wait().unwrap();
    let queue = ctx.queue("main");
    let x = ctx.array(&[1_u32, 2, 6]).unwrap();
    let mut mean = ctx.zeros([1]).unwrap();
    queue.mean(&x, &mut mean).unwrap();
}
