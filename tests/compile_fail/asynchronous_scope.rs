//! A scope that is given an asynchronous function, whose future would run outside of it.

fn main() {
    let (ctx, queue) = fencepost::doctest();
    let _ = queue.scope(async || ctx.marker().await);
}
