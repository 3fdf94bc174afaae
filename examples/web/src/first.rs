//! The first program of the page, its speed, and its bits on the CPU.

use fencepost::prelude::*;
use wasm_bindgen::prelude::wasm_bindgen;
use web_time::Instant;

use crate::device::{self, Device};
use crate::units;

/// The arguments of the built-in kernel `saxpy`, which computes `a * x + y`.
#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl")]
struct Saxpy<'a> {
    a: f32,
    x: &'a DeviceArray<f32>,
    y: &'a mut DeviceArray<f32>,
}

/// Elements whose bits are compared.
const COMPARED: usize = 1 << 16;
/// Seconds that a measurement takes.
const MEASURED: f64 = 0.1;
/// Maximum number of commands of a measurement.
const MOST: u32 = 500;

/// Doubles numbers on a device.
///
/// # Errors
/// Fails if no device fits the options, or if the device fails.
pub async fn doubled(options: ContextOptions, numbers: &[f32]) -> Result<Vec<f32>> {
    // The page shows these lines:
    let ctx = Context::with_options(options).await?;
    let queue = ctx.queue("main");
    let saxpy = ctx.kernel::<Saxpy>()?;
    let x = queue.array(numbers)?;
    let mut y = ctx.zeros([numbers.len()])?;
    let grid = Grid::threads([numbers.len()]);
    queue.launch(&saxpy, grid, Saxpy { a: 2.0, x: &x, y: &mut y })?;
    queue.read(&y).await
}

/// Returns the lines of the first program.
pub fn eight_lines() -> String {
    let lines = include_str!("first.rs").lines().map(str::trim);
    let body = lines.skip_while(|line| *line != "// The page shows these lines:").skip(1);
    body.take_while(|line| *line != "}").collect::<Vec<_>>().join("\n")
}

/// Runs the first program and returns a line about its results.
///
/// # Errors
/// Fails as [`doubled`] does.
pub async fn run(device: &Device) -> Result<String> {
    let numbers: Vec<f32> = (0..COMPARED).map(|i| i as f32).collect();
    let begin = Instant::now();
    let found = doubled(device.options(), &numbers).await?;
    let seconds = begin.elapsed().as_secs_f64();
    let right = found.iter().zip(&numbers).filter(|(found, number)| **found == 2.0 * **number).count();
    let time = units::time(seconds);
    Ok(format!("{} of {} results are right, after {time}.", units::count(right), units::count(COMPARED)))
}

/// The speed of a launch beside that of a copy.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone, Debug, PartialEq)]
pub struct Speed {
    /// Bytes a second that a launch of the kernel moves, with a unit.
    pub launch: String,
    /// Bytes a second that a copy moves, with a unit.
    pub copy: String,
    /// Speed of the launch, as a part of the speed of the copy.
    pub share: f64,
}

impl Speed {
    /// Makes the speeds of a launch that reads two arrays and writes one, and of a copy, which reads one and writes
    /// one. Each array has `bytes` bytes.
    fn new(bytes: f64, launch_seconds: f64, copy_seconds: f64) -> Self {
        let launch = units::rate(3.0 * bytes, launch_seconds);
        let copy = units::rate(2.0 * bytes, copy_seconds);
        let share = if launch_seconds > 0.0 { 1.5 * copy_seconds / launch_seconds } else { 0.0 };
        Self { launch, copy, share }
    }
}

/// Measures the speed of the kernel and of a copy on large arrays.
///
/// # Errors
/// Fails if the device has no memory for two arrays, or fails.
pub async fn speed(device: &Device) -> Result<Speed> {
    let Device { ctx, .. } = device;
    let queue = ctx.queue("speed");
    let elements = device.elements();
    let saxpy = ctx.kernel::<Saxpy>()?;
    let x = ctx.full([elements], 1.0)?;
    let mut y = ctx.zeros([elements])?;
    let grid = Grid::threads([elements]);
    let launch =
        seconds_of(&queue, || queue.launch(&saxpy, grid, Saxpy { a: 1.0, x: &x, y: &mut y })).await?;
    let copy = seconds_of(&queue, || queue.copy(&x, &mut y)).await?;
    Ok(Speed::new((elements * size_of::<f32>()) as f64, launch, copy))
}

/// Returns the seconds of one command: the mean of as many as take about [`MEASURED`].
async fn seconds_of(queue: &CommandQueue, mut enqueue: impl FnMut() -> Result<()>) -> Result<f64> {
    time_of(queue, 1, &mut enqueue).await?; // the first command pays for memory and caches
    let one = time_of(queue, 1, &mut enqueue).await?;
    let times = repeats(one);
    Ok(time_of(queue, times, &mut enqueue).await? / f64::from(times))
}

async fn time_of(queue: &CommandQueue, times: u32, enqueue: &mut impl FnMut() -> Result<()>) -> Result<f64> {
    let begin = Instant::now();
    for _ in 0..times {
        enqueue()?;
    }
    queue.finish().await?;
    Ok(begin.elapsed().as_secs_f64())
}

/// Returns the number of commands of a measurement, of which one takes `seconds`.
fn repeats(seconds: f64) -> u32 {
    // A float above the range becomes the largest integer.
    ((MEASURED / seconds.max(1e-9)) as u32).clamp(1, MOST)
}

/// Runs the kernel on the page's device and on the CPU device, and returns a line that compares the bits.
///
/// # Errors
/// Fails if one of the devices fails.
pub async fn compare(device: &Device) -> Result<String> {
    let [x, y] = [numbers(1), numbers(2)];
    let cpu = device::cpu().await?;
    let begin = Instant::now();
    let on_cpu = bits(&cpu, &x, &y).await?;
    let seconds = begin.elapsed().as_secs_f64();
    let on_device = bits(&device.ctx, &x, &y).await?;
    Ok(comparison(&on_device, &on_cpu, seconds))
}

/// Returns the bits of `2 * x + y`.
async fn bits(ctx: &Context, x: &[f32], y: &[f32]) -> Result<Vec<u32>> {
    let queue = ctx.queue("bits");
    let saxpy = ctx.kernel::<Saxpy>()?;
    let x = queue.array(x)?;
    let mut y = queue.array(y)?;
    queue.launch(&saxpy, Grid::threads([y.len()]), Saxpy { a: 2.0, x: &x, y: &mut y })?;
    Ok(queue.read(&y).await?.into_iter().map(f32::to_bits).collect())
}

/// Returns numbers from 1 to 2 with random digits. Doubling one is exact, so a result is rounded once, also by a device
/// that fuses the multiplication with the addition.
fn numbers(seed: u32) -> Vec<f32> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        1.0 + (state >> 9) as f32 / (1 << 23) as f32
    };
    (0..COMPARED).map(next).collect()
}

fn comparison(on_device: &[u32], on_cpu: &[u32], seconds: f64) -> String {
    let same = on_device.iter().zip(on_cpu).filter(|(one, other)| one == other).count();
    let [same, all] = [same, on_device.len()].map(units::count);
    let time = units::time(seconds);
    format!("{same} of {all} results have the same bits. The CPU, in WebAssembly, took {time}.")
}

#[cfg(test)]
mod tests {
    use pollster::block_on;

    use super::*;
    use crate::device::tests::on_cpu;

    #[test]
    fn the_shown_program_has_eight_lines_from_the_context_to_the_read() {
        let text = eight_lines();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 8, "{text}");
        assert!(lines[0].starts_with("let ctx = ") && lines[7].ends_with(".await"), "{text}");
    }

    #[test]
    fn every_result_of_the_first_program_is_right() {
        let line = block_on(run(&on_cpu())).expect("it runs");
        assert!(line.starts_with("65,536 of 65,536 results are right, after "), "{line}");
    }

    #[test]
    fn the_speed_counts_the_bytes_that_each_command_moves() {
        let speed = Speed::new(1e9, 0.3, 0.1);
        assert_eq!((&*speed.launch, &*speed.copy), ("10.0 GB/s", "20.0 GB/s"));
        assert!((speed.share - 0.5).abs() < 1e-12, "{speed:?}");
        assert_eq!(Speed::new(1e9, 0.0, 0.1).share, 0.0);
    }

    #[test]
    fn a_measurement_repeats_a_short_command_and_runs_a_long_one_once() {
        assert_eq!([1e-3, 1.0, 0.0, 1e-12].map(repeats), [100, 1, MOST, MOST]);
    }

    #[test]
    fn the_speed_is_measured_on_the_cpu_too() {
        let speed = block_on(speed(&on_cpu())).expect("it runs");
        assert!(speed.launch.ends_with("B/s") && speed.copy.ends_with("B/s"), "{speed:?}");
    }

    #[test]
    fn the_same_kernel_has_the_same_bits_on_two_contexts() {
        let line = block_on(compare(&on_cpu())).expect("it runs");
        assert!(line.starts_with("65,536 of 65,536 results have the same bits."), "{line}");
    }

    #[test]
    fn a_different_bit_is_counted() {
        assert!(comparison(&[1, 2, 3], &[1, 0, 3], 0.5).starts_with("2 of 3 results"));
    }

    #[test]
    fn the_numbers_use_all_digits_of_a_float() {
        let numbers = numbers(1);
        assert!(numbers.iter().all(|number| (1.0..2.0).contains(number)));
        let odd = numbers.iter().filter(|number| number.to_bits() % 2 == 1).count();
        assert!(odd > COMPARED / 4, "{odd} numbers end in a digit 1");
    }
}
