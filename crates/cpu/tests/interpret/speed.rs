//! The time that kernels take: `cargo test -p fencepost-cpu --test interpret -- --ignored --nocapture speed`.

use crate::harness::{Buffer, OUT, prepare_source, run};
use fencepost_kernels::ShaderSource;
use std::time::Instant;

const SUM: &str = "
    var<workgroup> w: array<f32, 64>;
    @group(0) @binding(0) var<storage, read> x: array<f32>;
    @group(0) @binding(1) var<storage, read_write> out: array<f32>;
    @compute @workgroup_size(64) fn sum(
        @builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) id: vec3<u32>,
        @builtin(workgroup_id) group: vec3<u32>,
    ) {
        w[i] = x[id.x];
        for (var n = 32u; n > 0u; n /= 2u) {
            workgroupBarrier();
            if i < n { w[i] += w[i + n]; }
        }
        if i == 0u { out[group.x] = w[0]; }
    }";

const MANDELBROT: &str = "
    @group(0) @binding(0) var<storage, read_write> out: array<u32>;
    @compute @workgroup_size(64) fn mandelbrot(@builtin(global_invocation_id) id: vec3<u32>) {
        let c = vec2(f32(id.x % 64u) / 24.0 - 2.0, f32(id.x / 64u) / 24.0 - 1.3);
        var z = vec2(0.0); var n = 0u;
        loop {
            if n == 100u || dot(z, z) > 4.0 { break; }
            z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c; n++;
        }
        out[id.x] = n;
    }";

/// Prints the nanoseconds that each of `units` takes.
fn time(
    name: &str,
    source: &ShaderSource,
    groups: u32,
    params: &[u32],
    mut buffers: Vec<Buffer>,
    units: u64,
) {
    let kernel = prepare_source(source, &[]).unwrap();
    let start = Instant::now();
    run(&kernel, [groups, 1, 1], 0, bytemuck::cast_slice(params), &mut buffers).unwrap();
    println!("{name}: {:.1} ns", start.elapsed().as_nanos() as f64 / units as f64);
}

#[test]
#[ignore = "a measurement, which checks nothing: it prints times"]
fn speed_of_kernels() {
    let text = |wgsl: &'static str| ShaderSource::text("k.wgsl", wgsl);
    let builtin = |name| ShaderSource::builtin(name).unwrap();
    let words = |count: usize| Buffer::new(&vec![1_u32; count]);
    let rounds = 64 * 1000;
    time("a round of spin (12 instructions)", &builtin("spin.wgsl"), 1, &[1000], vec![words(64)], rounds);
    let pair = || vec![words(65536), words(65536)];
    time("an invocation of saxpy", &builtin("saxpy.wgsl"), 1024, &[0], pair(), 65536);
    time("an invocation of a sum with 6 barriers", &text(SUM), 1024, &[], pair(), 65536);
    let chunks = vec![words(65536), words(512)];
    time("a byte of BLAKE3", &builtin("blake3_chunks.wgsl"), 1, &[65536, 0, 0, 0], chunks, 65536);
    let calls = |name: &str, call: &str| {
        let body = format!("for (var n = 0u; n < 1000u; n++) {{ x = {call}; }}");
        let text =
            format!("{OUT} @compute @workgroup_size(64) fn k() {{ var x = 0.5; {body} out[0] = u32(x); }}");
        time(name, &ShaderSource::text("k.wgsl", text), 1, &[], vec![words(1)], 64 * 1000);
    };
    calls("an iteration of an empty loop", "x");
    calls("an iteration with sin", "sin(x)");
    calls("an iteration with clamp", "clamp(x, 0.25, 0.5)");
    calls("an iteration with length and normalize", "length(normalize(vec3(x)))");
    let mut buffers = [words(4096)];
    let kernel = prepare_source(&text(MANDELBROT), &[]).unwrap();
    let start = Instant::now();
    run(&kernel, [64, 1, 1], 0, &[], &mut buffers).unwrap();
    let nanos = start.elapsed().as_nanos() as f64;
    let steps: u32 = buffers[0].values::<u32>().iter().sum();
    println!("a step of mandelbrot: {:.1} ns", nanos / f64::from(steps));
}
