//! Control flow, functions, and the end of a run that is stopped.

use super::Test;
use crate::error::Fault;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn nested_loops_take_as_many_steps_as_each_invocation_needs() {
    let test = Test::new(
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
        fn steps(start: u32) -> u32 {
            var n = start;
            var count = 0u;
            loop {
                if n <= 1u { return count; }
                if n % 2u == 0u { n /= 2u; continue; }
                n = 3u * n + 1u;
                continuing { count++; break if count > 400u; }
            }
            return 1000u;
        }
        @compute @workgroup_size(16)
        fn collatz(@builtin(global_invocation_id) gid: vec3<u32>) {
            var total = 0u;
            for (var i = 0u; i < 4u; i++) {
                if i == 2u { continue; }
                total += steps(gid.x * 4u + i);
            }
            out[gid.x] = total;
        }",
    );
    let steps = |mut n: u32| -> u32 {
        let mut count = 0;
        while n > 1 {
            n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
            count += 1;
        }
        count
    };
    let out = test.buffer(&[0_u32; 64]).run([4, 1, 1]).get::<u32>(0);
    let expected: Vec<u32> = (0..64).map(|id| [0, 1, 3].iter().map(|i| steps(id * 4 + i)).sum()).collect();
    assert_eq!(out, expected);
}

#[test]
fn a_fractal_has_the_pixels_of_plain_rust() {
    let test = Test::new(
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(8, 4)
        fn mandelbrot(@builtin(global_invocation_id) id: vec3<u32>) {
            let c = vec2<f32>(f32(id.x), f32(id.y)) / vec2<f32>(16.0, 8.0) - vec2<f32>(2.0, 1.0);
            var z = vec2<f32>();
            var n = 0u;
            while n < 100u && dot(z, z) < 4.0 {
                z = vec2<f32>(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
                n++;
            }
            out[id.y * 48u + id.x] = n;
        }",
    );
    let out = test.buffer(&[0_u32; 48 * 16]).run([6, 4, 1]).get::<u32>(0);
    for (at, &found) in out.iter().enumerate() {
        let cx = (at % 48) as f32 / 16.0 - 2.0;
        let cy = (at / 48) as f32 / 8.0 - 1.0;
        let mut x = 0_f32;
        let mut y = 0_f32;
        let mut n = 0;
        while n < 100 && x * x + y * y < 4.0 {
            (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
            n += 1;
        }
        assert_eq!(found, n, "pixel {at}");
    }
}

#[test]
fn a_switch_takes_one_case_and_shares_bodies() {
    let test = Test::new(
        "@group(0) @binding(0) var<storage, read_write> out: array<i32>;
        fn choose(x: i32) -> i32 {
            var result = 0;
            for (var round = 0; round < 3; round++) {
                switch x + round {
                    case 0, 1: { result += 1; }
                    case 2: { if round == 1 { break; } result += 10; }
                    case -1: { continue; }
                    case 5: { return -7; }
                    default: { result += 100; }
                }
                result += 1000;
            }
            return result;
        }
        @compute @workgroup_size(8)
        fn cases(@builtin(local_invocation_index) lid: u32) { out[lid] = choose(i32(lid) - 2); }",
    );
    let out = test.buffer(&[0_i32; 8]).run([1, 1, 1]).get::<i32>(0);
    let choose = |x: i32| {
        let mut result = 0;
        for round in 0..3 {
            match x + round {
                0 | 1 => result += 1,
                2 if round == 1 => {}
                2 => result += 10,
                -1 => continue,
                5 => return -7,
                _ => result += 100,
            }
            result += 1000;
        }
        result
    };
    assert_eq!(out, (-2..6).map(choose).collect::<Vec<_>>());
}

/// Returns a function that is too large to be inlined.
fn large_function() -> String {
    let lines: String = (0..60).map(|i| format!("t = t * {}u + (t >> {}u);\n", 2 * i + 3, i % 7)).collect();
    format!(
        "struct Pair {{ a: vec3<f32>, b: array<u32, 3>, c: bool }}
        fn large(x: Pair, y: ptr<function, u32>, z: ptr<private, vec4<u32>>) -> Pair {{
            var t = x.b[1];
            {lines}
            *y = *y + t;
            (*z).y = t;
            if t == 1u {{ return Pair(); }}
            for (var i = 0u; i < 3u; i++) {{ (*z)[i] += i; }}
            return Pair(x.a * 2.0, array<u32, 3>(x.b[2], x.b[1], t), !x.c);
        }}
        var<private> state: vec4<u32>;
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(4)
        fn calls(@builtin(local_invocation_index) lid: u32) {{
            var sum = 5u;
            let first = large(Pair(vec3<f32>(f32(lid)), array<u32, 3>(lid, 2u, 9u), false), &sum, &state);
            let second = large(first, &sum, &state);
            out[lid * 4u] = sum;
            out[lid * 4u + 1u] = second.b[0] + u32(second.a.z) * 10u;
            out[lid * 4u + 2u] = u32(second.c) + state.x + state.z * 10u;
            out[lid * 4u + 3u] = state.y;
        }}"
    )
}

#[test]
fn large_functions_take_and_return_structs_and_pointers() {
    let out = Test::new(&large_function()).buffer(&[0_u32; 16]).run([1, 1, 1]).get::<u32>(0);
    let mix = |start: u32| (0..60).fold(start, |t, i| t.wrapping_mul(2 * i + 3).wrapping_add(t >> (i % 7)));
    let t = mix(2);
    for (lid, out) in out.chunks(4).enumerate() {
        let expected =
            [t.wrapping_mul(2).wrapping_add(5), t.wrapping_add(lid as u32 * 40), 40, t.wrapping_add(1)];
        assert_eq!(out, expected, "invocation {lid}");
    }
}

#[test]
fn a_stopped_run_ends_inside_an_endless_loop() {
    for call in ["spin()", "loop { out[0] = 1u; }"] {
        let mut test = Test::new(&format!(
            "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
            fn spin() {{ loop {{ out[0] = 1u; }} }}
            @compute @workgroup_size(1)
            fn endless() {{ {call}; out[1] = 1u; }}"
        ))
        .buffer(&[0_u32; 2]);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                stop.store(true, Ordering::Relaxed);
            });
            assert_eq!(test.try_run([1, 1, 1], &stop), Err(Fault::Stopped));
        });
        assert_eq!(test.get::<u32>(0), [1, 0], "{call}");
    }
}
