//! A queue waits for a pending result, which is neither an event nor a queue.

use fencepost::prelude::*;

fn main() {
    let ctx = Context::new().wait().unwrap();
    let [first, second] = ["first", "second"].map(|label| ctx.queue(label));
    second.wait_for(&first.finish()).unwrap();
}
