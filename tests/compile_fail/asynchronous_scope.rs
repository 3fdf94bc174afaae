//! A scope takes an asynchronous function, whose future would run outside of the scope.

fn main() {
    let (ctx, queue) = fencepost::doctest();
    let _ = queue.scope(async || ctx.current_queue().marker().await);
}
