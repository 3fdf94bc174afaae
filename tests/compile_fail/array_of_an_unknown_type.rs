//! An array of something that no device can hold.

fn main() {
    let (ctx, _) = fencepost::doctest();
    let _ = ctx.full([4], "text");
}
