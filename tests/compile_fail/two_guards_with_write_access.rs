//! A program opens two guards with write access to one pinned array.

use fencepost::prelude::*;

fn main() {
    let ctx = Context::new().wait().unwrap();
    let mut host: HostArray<f32, Upload> = ctx.pinned([2]).unwrap();
    let mut first = host.host_mut().unwrap();
    let mut second = host.host_mut().unwrap();
    first[0] = 1.0;
    second[1] = 2.0;
}
