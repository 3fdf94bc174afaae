//! A pinned array that was made for uploads as the target of a download.

use fencepost::prelude::*;

fn main() {
    let (ctx, queue) = fencepost::doctest();
    let x = queue.array(&[1.0_f32, 2.0]).unwrap();
    let mut host: HostArray<f32, Upload> = ctx.pinned([2]).unwrap();
    queue.download(&x, &mut host).unwrap();
}
