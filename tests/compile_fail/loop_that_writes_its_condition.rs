//! The body of a loop writes the array of the loop's condition, which the loop borrows.

use fencepost::prelude::*;

fn main() {
    let ctx = Context::new().wait().unwrap();
    let queue = ctx.queue("main");
    let mut go = queue.array(&[1_u32]).unwrap();
    queue.while_(&go, Bound::AtMost(3), |body| body.fill(&mut go, 0)).unwrap();
}
