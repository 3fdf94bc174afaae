//! 7. Filters a picture: bytes of pixels, arrays of two dimensions, and three kernels of one file.
//!
//! Run `cargo run --example 07_image -- photo.jpg --picture edges.png`. `--trace FILE.html` shows when each
//! command ran.

#[path = "image/filtered.rs"]
mod filtered;
#[path = "common/outputs.rs"]
mod outputs;

use anyhow::{Result, ensure};
use clap::Parser;
use fencepost::prelude::*;
use image::{Rgba, RgbaImage, imageops};
use outputs::Outputs;
use std::path::PathBuf;

/// Writes a picture, with its edges beside it.
#[derive(Parser)]
struct Options {
    /// A PNG or JPEG file; without one the example makes a picture
    input: Option<PathBuf>,
    #[command(flatten)]
    outputs: Outputs,
}

#[derive(KernelArgs)]
#[kernel(source = "../../examples/image/filters.wgsl", entry = "to_grey")]
struct ToGrey<'a> {
    size: [u32; 2],
    pixels: &'a DeviceArray<[u8; 4], 2>, // each is a u32 in the shader
    grey: &'a mut DeviceArray<f32, 2>,
}

#[derive(KernelArgs)]
#[kernel(source = "../../examples/image/filters.wgsl", entry = "blur")]
struct Blur<'a> {
    size: [u32; 2],
    source: &'a DeviceArray<f32, 2>,
    blurred: &'a mut DeviceArray<f32, 2>,
}

#[derive(KernelArgs)]
#[kernel(source = "../../examples/image/filters.wgsl", entry = "sobel")]
struct Sobel<'a> {
    size: [u32; 2],
    source: &'a DeviceArray<f32, 2>,
    edges: &'a mut DeviceArray<[u8; 4], 2>,
}

fn main() -> Result<()> {
    let Options { input, outputs: Outputs { picture, trace } } = Options::parse();
    let image = match input {
        Some(file) => image::open(file)?.into_rgba8(),
        None => RgbaImage::from_fn(300, 210, made_up),
    };
    let (width, height) = image.dimensions();
    let ctx = Context::new().wait()?;
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));
    let queue = ctx.queue("filters");
    let to_grey = ctx.kernel::<ToGrey>()?;
    let blur = ctx.kernel::<Blur>()?;
    let sobel = ctx.kernel::<Sobel>()?;

    // The shape of an array begins with its rows, and a grid begins with its columns.
    let shape = [height as usize, width as usize];
    let size = [width, height];
    let grid = Grid::threads([width, height]);
    let pixels = queue.array::<[u8; 4]>(bytemuck::cast_slice(&image))?.reshape(shape)?;
    let mut grey = ctx.zeros(shape)?;
    let mut blurred = ctx.zeros(shape)?;
    let mut edges = ctx.zeros(shape)?;
    queue.launch(&to_grey, grid, ToGrey { size, pixels: &pixels, grey: &mut grey })?;
    queue.launch(&blur, grid, Blur { size, source: &grey, blurred: &mut blurred })?;
    queue.launch(&sobel, grid, Sobel { size, source: &blurred, edges: &mut edges })?;
    let found = queue.read(&edges).wait()?;

    for (at, (found, expected)) in found.iter().zip(filtered::filtered(&image)).enumerate() {
        let off = (f32::from(found[0]) - 255.0 * expected).abs();
        ensure!(off <= 1.0, "pixel {at} is {found:?}, and {expected} on the CPU");
    }

    let edges =
        RgbaImage::from_raw(width, height, found.into_flattened()).expect("as many bytes as there were");
    let mut both = RgbaImage::new(2 * width, height);
    imageops::replace(&mut both, &image, 0, 0);
    imageops::replace(&mut both, &edges, width.into(), 0);
    both.save(&picture)?;
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    println!("the edges of {width} by {height} pixels, verified on the CPU, are in {}", picture.display());
    Ok(())
}

/// Draws a sun over hills.
fn made_up(x: u32, y: u32) -> Rgba<u8> {
    let x = x as f32;
    let y = y as f32;
    let hills = 130.0 + 20.0 * (x / 25.0).sin() + 15.0 * (x / 60.0).cos();
    let sun = (x - 205.0).hypot(y - 60.0) < 32.0;
    match (y > hills, sun) {
        (true, _) => Rgba([60, (170.0 - 0.5 * y) as u8, 70, 255]),
        (_, true) => Rgba([250, 215, 110, 255]),
        _ => Rgba([120, 160, (235.0 - 0.4 * y) as u8, 255]),
    }
}
