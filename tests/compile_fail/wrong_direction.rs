//! A download writes to a pinned array that was made for uploads.

use fencepost::prelude::*;

fn main() {
    let ctx = Context::new().wait().unwrap();
    let queue = ctx.queue("main");
    let x = queue.array(&[1.0_f32, 2.0]).unwrap();
    let mut host: HostArray<f32, Upload> = ctx.pinned([2]).unwrap();
    queue.download(&x, &mut host).unwrap();
}
