//! Prints times. `cargo test --release -p fencepost-cpu speed -- --ignored --nocapture` runs it. `FENCEPOST_SPEED` selects
//! the kernels whose names contain its text.

use super::barriers::MATMUL;
use super::{Test, program};
use crate::compile::Compiled;
use crate::interpret::Interpreter;
use crate::run::GridRun;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

const SAXPY: &str = "struct Params { a: f32 }
        @group(0) @binding(0) var<uniform> params: Params;
        @group(0) @binding(1) var<storage, read> x: array<f32>;
        @group(0) @binding(2) var<storage, read_write> y: array<f32>;
        @compute @workgroup_size(64)
        fn saxpy(@builtin(global_invocation_id) gid: vec3<u32>) {
            let i = gid.x;
            if i >= min(arrayLength(&x), arrayLength(&y)) { return; }
            y[i] = params.a * x[i] + y[i];
        }";

/// Returns the shortest time of some runs.
fn best(mut run: impl FnMut()) -> Duration {
    let time = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..20).map(|_| time(&mut run)).min().expect("there are runs")
}

/// Prints the times of a kernel, on one thread. `work` is what the kernel does, in units a run.
fn print(name: &str, mut test: Test, groups: [u32; 3], work: f64, unit: &str) {
    if std::env::var("FENCEPOST_SPEED").is_ok_and(|text| !name.contains(&text)) {
        return;
    }
    println!("{name:12} {} expressions", crate::compile::expanded(&test.program));
    let compiling = best(|| drop(Compiled::new(&test.program, 1)));
    let stop = AtomicBool::new(false);
    let running = best(|| test.try_run(groups, &stop).expect("the run ends"));
    for lanes in [4, 8, 16] {
        match Compiled::new(&test.program, lanes) {
            Ok(vector) => {
                let running = best(|| {
                    let run = |run: &GridRun<'_>| vector.run(run);
                    super::execute(&mut test.buffers, &test.lens, &test.params, groups, &stop, run)
                        .expect("the run ends");
                });
                let compiling = best(|| drop(Compiled::new(&test.program, lanes)));
                let rate = work / running.as_secs_f64() / 1e9;
                println!(
                    "{name:12} {lanes:2} lanes compile {compiling:9.2?}, run {running:9.2?}, {rate:.3} G{unit}/s"
                );
            }
            Err(refused) => println!("{name:12} {lanes:2} lanes: {}", refused.reason),
        }
    }
    let interpreter = Interpreter::new(test.program.clone()).expect("the interpreter takes the kernel");
    let start = Instant::now();
    let run = |run: &GridRun<'_>| interpreter.run(run);
    super::execute(&mut test.buffers, &test.lens, &test.params, groups, &stop, run).expect("the run ends");
    let interpreting = start.elapsed();
    let rate = work / running.as_secs_f64() / 1e9;
    println!(
        "{name:12} compile {compiling:9.2?}, run {running:9.2?}, {rate:.3} G{unit}/s, interpreted {interpreting:9.2?}"
    );
}

#[test]
#[ignore = "a measurement, which checks nothing: it prints times"]
fn speed() {
    lines();
    arithmetic();
    loops();
    scattered();
}

/// Prints times of kernels that access one element after the other, or do nothing.
fn lines() {
    for n in [1 << 16, 1 << 20] {
        let (x, mut y) = (vec![1_f32; n], vec![2_f32; n]);
        let plain = best(|| {
            let pairs = std::hint::black_box(&x).iter().zip(std::hint::black_box(&mut y));
            pairs.for_each(|(x, y)| *y += 2.0 * x);
        });
        println!("saxpy of {n} in plain Rust: {:.3} GB/s", 12.0 * n as f64 / plain.as_secs_f64() / 1e9);
        let saxpy = Test::new(SAXPY).params(&[2_f32]).buffer(&x).buffer(&y);
        print("saxpy", saxpy, [n as u32 / 64, 1, 1], 12.0 * n as f64, "B");
    }
    let tiny = Test::new(
        "@group(0) @binding(0) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(64) fn tiny(@builtin(global_invocation_id) gid: vec3<u32>) { y[gid.x] = gid.x; }",
    );
    print("dispatch", tiny.buffer(&[0_u32; 64]), [1, 1, 1], 1.0, "dispatch");
}

/// Prints times of kernels that compute.
fn arithmetic() {
    let n = 256;
    let square = vec![1_f32; n * n];
    let matmul = Test::new(MATMUL).params(&[n as u32]).buffer(&square).buffer(&square).buffer(&square);
    print("matmul", matmul, [n as u32 / 8, n as u32 / 8, 1], 2.0 * (n * n * n) as f64, "FLOP");
    let wide = MATMUL.replace("f32, 8>, 8>", "f32, 16>, 16>").replace("(8, 8)", "(16, 16)");
    let wide = wide.replace("8u", "16u");
    let matmul = Test::new(&wide).params(&[n as u32]).buffer(&square).buffer(&square).buffer(&square);
    print("matmul 16", matmul, [n as u32 / 16, n as u32 / 16, 1], 2.0 * (n * n * n) as f64, "FLOP");
    let source =
        fencepost_kernels::ShaderSource::builtin("blake3_chunks.wgsl").expect("the shader is built in");
    let blake = Test::of(program(&source.whole_text().expect("the shader is whole"), &[]));
    let blake =
        blake.params(&[1_u32 << 20, 0, 0, 0]).buffer(&vec![7_u32; 1 << 18]).buffer(&vec![0_u32; 1 << 13]);
    print("blake3", blake, [16, 1, 1], f64::from(1 << 20), "B");
}

/// Prints times of kernels whose invocations execute different numbers of iterations.
fn loops() {
    let mandelbrot = Test::new(
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(64)
        fn mandelbrot(@builtin(global_invocation_id) id: vec3<u32>) {
            let c = vec2<f32>(f32(id.x % 256u), f32(id.x / 256u)) / vec2<f32>(85.0, 128.0) - vec2<f32>(2.0, 1.0);
            var z = vec2<f32>();
            var n = 0u;
            while n < 256u && dot(z, z) < 4.0 {
                z = vec2<f32>(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
                n++;
            }
            out[id.x] = n;
        }",
    );
    print(
        "mandelbrot",
        mandelbrot.buffer(&vec![0_u32; 1 << 16]),
        [1 << 10, 1, 1],
        f64::from(1 << 16),
        "pixel",
    );
    let collatz = Test::new(
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
        fn steps(start: u32) -> u32 {
            var n = start;
            var count = 0u;
            loop {
                if n <= 1u { return count; }
                if n % 2u == 0u { n /= 2u; count++; continue; }
                n = 3u * n + 1u;
                count++;
            }
            return 0u;
        }
        @compute @workgroup_size(64)
        fn collatz(@builtin(global_invocation_id) id: vec3<u32>) {
            if id.x >= arrayLength(&out) { return; }
            out[id.x] = steps(id.x + 1u);
        }",
    );
    print("collatz", collatz.buffer(&vec![0_u32; 1 << 16]), [1 << 10, 1, 1], f64::from(1 << 16), "number");
}

/// Prints times of kernels whose invocations access places apart from each other.
fn scattered() {
    let histogram = Test::new(
        "var<workgroup> bins: array<atomic<u32>, 256>;
        @group(0) @binding(0) var<storage, read> values: array<u32>;
        @group(0) @binding(1) var<storage, read_write> counts: array<atomic<u32>, 256>;
        @compute @workgroup_size(256)
        fn histogram(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
            for (var i = 0u; i < 64u; i++) {
                atomicAdd(&bins[values[(wid.x * 64u + i) * 256u + lid] % 256u], 1u);
            }
            workgroupBarrier();
            atomicAdd(&counts[lid], atomicLoad(&bins[lid]));
        }",
    );
    let values: Vec<u32> = (0..1 << 20).map(|i: u32| i.wrapping_mul(0x9e37_79b1) >> 9).collect();
    print(
        "histogram",
        histogram.buffer(&values).buffer(&[0_u32; 256]),
        [64, 1, 1],
        f64::from(1 << 20),
        "value",
    );
    let gather = Test::new(
        "@group(0) @binding(0) var<storage, read> at: array<u32>;
        @group(0) @binding(1) var<storage, read> x: array<f32>;
        @group(0) @binding(2) var<storage, read_write> y: array<f32>;
        @compute @workgroup_size(64)
        fn gather(@builtin(global_invocation_id) id: vec3<u32>) { y[id.x] = x[at[id.x]]; }",
    );
    let at: Vec<u32> = values.iter().map(|value| value % (1 << 16)).take(1 << 16).collect();
    let gather = gather.buffer(&at).buffer(&vec![1_f32; 1 << 16]).buffer(&vec![0_f32; 1 << 16]);
    print("gather", gather, [1 << 10, 1, 1], f64::from(1 << 16), "element");
}
