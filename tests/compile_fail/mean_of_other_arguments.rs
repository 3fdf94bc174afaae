//! A program takes the mean of a reference to a reference, and of an array without its NaNs.

use fencepost::prelude::*;

fn main() {
    let ctx = Context::new().wait().unwrap();
    let queue = ctx.queue("main");
    let x = &ctx.array(&[1.0_f32, f32::NAN]).unwrap();
    let mut mean = ctx.zeros([1]).unwrap();
    queue.mean(&x, &mut mean).unwrap();
    queue.mean(x.skip_nan(), &mut mean).unwrap();
}
