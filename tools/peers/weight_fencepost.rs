use fencepost::prelude::*;

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl")]
struct Saxpy<'a> {
    a: f32,
    x: &'a DeviceArray<f32>,
    y: &'a mut DeviceArray<f32>,
}

fn main() -> Result<()> {
    let ctx = Context::new().wait()?;
    let queue = ctx.queue("main");
    let saxpy = ctx.kernel::<Saxpy>()?;
    let x = queue.array(&[1.0, 2.0, 3.0, 4.0])?;
    let mut y = queue.array(&[1.0; 4])?;
    queue.launch(&saxpy, Grid::threads([4]), Saxpy { a: 2.0, x: &x, y: &mut y })?;
    println!("{:?}", queue.read(&y).wait()?);
    Ok(())
}
