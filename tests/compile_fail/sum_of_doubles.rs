//! A program sums numbers of a type that no verb takes.

use fencepost::prelude::*;

fn main() {
    let ctx = Context::new().wait().unwrap();
    let queue = ctx.queue("main");
    let x = ctx.array(&[1.0_f64, 2.0]).unwrap();
    let mut total = ctx.zeros([1]).unwrap();
    queue.sum(&x, &mut total).unwrap();
}
