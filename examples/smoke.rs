use anyhow::Result;
use fencepost::prelude::*;

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl")]
struct Saxpy<'a> {
    a: f32,
    x: &'a DeviceArray<f32>,
    y: &'a mut DeviceArray<f32>,
}

fn run(ctx: &Context) -> Result<()> {
    println!("{}", ctx.info());
    let queue = ctx.queue("main");
    let saxpy = ctx.kernel::<Saxpy>()?;
    let x = queue.array(&[1.0, 2.0, 3.0, 4.0])?;
    let mut y = ctx.zeros([x.len()])?;
    for _ in 0..10 {
        queue.launch(&saxpy, Grid::threads([y.len()]), Saxpy { a: 2.0, x: &x, y: &mut y })?;
    }
    println!("{:?}", queue.read(&y).wait()?);
    queue.fill(&mut y, 7.0)?;
    let r = queue.read(&y);
    queue.fill(&mut y, 8.0)?;
    println!("{:?} {:?}", r.wait()?, queue.read(&y).wait()?);
    println!("{}", ctx.state_dump());
    Ok(())
}

fn main() -> Result<()> {
    env_logger::init();
    run(&Context::on_cpu(Default::default()))?;
    for a in fencepost::adapters() {
        let o = fencepost::ContextOptions { adapter: fencepost::AdapterChoice::Name(a.name.clone()), ..Default::default() };
        run(&Context::with_options(o).wait()?)?;
    }
    Ok(())
}
