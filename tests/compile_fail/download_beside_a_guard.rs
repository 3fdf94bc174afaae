//! A download writes to a pinned array while the program holds a guard of it.

use fencepost::prelude::*;

fn main() {
    let ctx = Context::new().wait().unwrap();
    let queue = ctx.queue("main");
    let x = queue.array(&[1.0_f32, 2.0]).unwrap();
    let mut host: HostArray<f32, Download> = ctx.pinned([2]).unwrap();
    let seen = host.host().unwrap();
    queue.download(&x, &mut host).unwrap();
    println!("{}", seen[0]);
}
