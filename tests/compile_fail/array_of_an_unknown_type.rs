//! An array has elements of a type that no device supports.

fn main() {
    let ctx = fencepost::Context::new().wait().unwrap();
    let _ = ctx.full([4], "text");
}
