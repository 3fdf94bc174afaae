//! An array has elements of a type that no device supports.

fn main() {
    let (ctx, _) = fencepost::doctest();
    let _ = ctx.full([4], "text");
}
