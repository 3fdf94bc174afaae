//! A program that gets Fencepost from its packages, with the newest versions of crates whose types Fencepost accepts.
//!
//! `cargo xtask outside` copies, builds and runs it. It runs on every adapter, and fails if a result is wrong.

use std::sync::atomic::{AtomicUsize, Ordering};

use fencepost::prelude::*;
use fencepost::{AdapterChoice, adapters};
use half::f16;
use image::{DynamicImage, GrayImage, Luma};
use ndarray::Array2;
use num_complex::Complex;
use serde::Deserialize;
use serde::de::value::{Error as Invalid, MapDeserializer};

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

#[derive(KernelArgs)]
#[kernel(source = "turn.wgsl")]
struct Turn<'a> {
    factor: Complex<f32>,
    data: &'a mut DeviceArray<Complex<f32>, 2>,
}

#[derive(KernelArgs)]
#[kernel(source = "brighten.wgsl")]
struct Brighten<'a> {
    bytes: &'a mut DeviceArray<u8, 2>,
}

/// Contents of a settings file.
#[derive(Deserialize)]
struct Settings {
    re: f32,
    im: f32,
}

/// Number of messages so far.
struct Counter(AtomicUsize);

impl log::Log for Counter {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, _: &log::Record<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn flush(&self) {}
}

static MESSAGES: Counter = Counter(AtomicUsize::new(0));

fn main() -> Outcome {
    log::set_logger(&MESSAGES)?;
    log::set_max_level(log::LevelFilter::Info);
    let count = adapters().len();
    for at in 0..count {
        let options = ContextOptions::default().adapter(AdapterChoice::Index(at));
        let ctx = Context::with_options(options).wait()?;
        let queue = ctx.queue("main");
        turned(&ctx, &queue)?;
        brightened(&ctx, &queue)?;
        halved(&queue)?;
        drawn(&ctx);
        log::info!("{at} is right");
        println!("right on {}", ctx.info());
    }
    assert!(count > 0, "there is no adapter");
    assert!(MESSAGES.0.load(Ordering::Relaxed) >= count, "the log has a message for each adapter");
    Ok(())
}

/// Checks a kernel from a file of this package, a parameter read with serde, and an ndarray array of num-complex
/// elements.
fn turned(ctx: &Context, queue: &CommandQueue) -> Outcome {
    let settings = MapDeserializer::<_, Invalid>::new([("re", 0.6_f32), ("im", 0.8)].into_iter());
    let Settings { re, im } = Settings::deserialize(settings)?;
    let factor = Complex::new(re, im);
    let mut random = fastrand::Rng::with_seed(7);
    let table = Array2::from_shape_simple_fn([5, 7], || Complex::new(random.f32(), random.f32()));

    let mut data = DeviceArray::from_ndarray(&ctx, &table)?;
    queue.launch(&ctx.kernel::<Turn>()?, Grid::threads([data.len()]), Turn { factor, data: &mut data })?;
    let turned = data.read_ndarray(&queue).wait()?;
    for (got, given) in turned.iter().zip(&table) {
        assert!((got - factor * given).norm() < 1e-5, "{given} became {got}");
    }
    Ok(())
}

/// Checks a kernel on a picture; its shader includes a snippet of the library.
fn brightened(ctx: &Context, queue: &CommandQueue) -> Outcome {
    let grey = GrayImage::from_fn(9, 4, |x, y| Luma([(20 * x + 30 * y) as u8]));
    let expected = GrayImage::from_fn(9, 4, |x, y| Luma([grey[(x, y)].0[0].saturating_add(10)]));
    let mut bytes = DeviceArray::<u8, 2>::from_image(&ctx, &DynamicImage::ImageLuma8(grey))?;
    let words = bytes.len().div_ceil(4);
    queue.launch(&ctx.kernel::<Brighten>()?, Grid::threads([words]), Brighten { bytes: &mut bytes })?;
    queue.finish().wait()?;
    assert_eq!(bytes.to_image()?, DynamicImage::ImageLuma8(expected));
    Ok(())
}

/// Checks an array with elements of the crate half.
fn halved(queue: &CommandQueue) -> Outcome {
    let halves = [0.5, 1.0, -2.0, 0.25].map(f16::from_f32);
    assert_eq!(queue.read(&queue.array(&halves)?).wait()?, halves);
    Ok(())
}

/// Makes an egui renderer on the context's device; this compiles only if both use the same version of wgpu.
fn drawn(ctx: &Context) {
    let (device, _) = ctx.wgpu().expect("an adapter's context is on wgpu");
    let format = egui_wgpu::wgpu::TextureFormat::Rgba8Unorm;
    let renderer = egui_wgpu::Renderer::new(device, format, egui_wgpu::RendererOptions::default());
    drop(renderer);
}
