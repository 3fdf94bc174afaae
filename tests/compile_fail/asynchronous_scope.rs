//! A scope takes an asynchronous function, whose future would run outside of the scope.

fn main() {
    let ctx = fencepost::Context::new().wait().unwrap();
    let queue = ctx.queue("main");
    let _ = queue.scope(async || ctx.current_queue().marker().await);
}
