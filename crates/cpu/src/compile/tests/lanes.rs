//! Invocations that execute together. [`Test::run`] compares them with the interpreter.

use super::Test;

/// Runs a kernel, and checks that it executes four invocations together.
fn run(wgsl: &str, buffers: &[&[u32]], groups: [u32; 3]) -> Test {
    let mut test = Test::new(wgsl);
    for buffer in buffers {
        test = test.buffer(buffer);
    }
    assert!(test.vector.is_ok(), "{:?}", test.vector.as_ref().err());
    test.run(groups)
}

#[test]
fn invocations_that_return_store_no_more() {
    let wgsl = "
        @group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(8)
        fn scale(@builtin(global_invocation_id) gid: vec3<u32>) {
            let i = gid.x;
            if i >= arrayLength(&y) { return; }
            if x[i] == 3u { y[i] = 100u; return; }
            y[i] = 2u * x[i] + y[i];
        }";
    for count in [1, 2, 3, 4, 5, 7, 8, 9, 31] {
        let x: Vec<u32> = (0..count).map(|i| i * 7 % 5).collect();
        let y = vec![1; count as usize];
        let found = run(wgsl, &[&x, &y], [5, 1, 1]).get::<u32>(1);
        let expected: Vec<u32> = x.iter().map(|&x| if x == 3 { 100 } else { 2 * x + 1 }).collect();
        assert_eq!(found, expected, "{count} elements");
    }
}

#[test]
fn an_index_past_the_end_is_moved_in_each_lane() {
    let wgsl = "
        @group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(4)
        fn edges(@builtin(global_invocation_id) gid: vec3<u32>) {
            y[gid.x] = x[gid.x - 2u] + 1000u * x[gid.x + 5u] + 100000u * x[gid.x * 3u];
        }";
    let x: Vec<u32> = (10..20).collect();
    let found = run(wgsl, &[&x, &[0; 8]], [2, 1, 1]).get::<u32>(1);
    let at = |index: u32| x[index.min(9) as usize];
    let expected: Vec<u32> =
        (0..8_u32).map(|i| at(i.wrapping_sub(2)) + 1000 * at(i + 5) + 100_000 * at(3 * i)).collect();
    assert_eq!(found, expected);
}

#[test]
fn both_blocks_of_a_branch_change_the_variables_of_their_lanes() {
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(8)
        fn branches(@builtin(local_invocation_index) lid: u32) {
            var a = 1u; var b = vec2<f32>(1.0, 2.0); var flag = false;
            if lid % 2u == 0u {
                a = lid * 10u;
                if lid > 3u { b.y = 7.0; flag = lid == 6u; } else { a += 5u; }
            } else if lid == 5u {
                b = vec2<f32>(f32(lid), -1.0);
            }
            for (var i = 0u; i < 3u; i++) { a += i * lid; }
            out[lid * 3u] = a;
            out[lid * 3u + 1u] = u32(i32(b.x + b.y * 10.0) + 1000);
            out[lid * 3u + 2u] = select(4u, 9u, flag);
        }";
    let found = run(wgsl, &[&[0; 24]], [1, 1, 1]).get::<u32>(0);
    for lid in 0..8_u32 {
        let even = lid.is_multiple_of(2);
        let a = if even { lid * 10 + if lid > 3 { 0 } else { 5 } } else { 1 } + 3 * lid;
        let b = if even && lid > 3 {
            1071
        } else if lid == 5 {
            995
        } else {
            1021
        };
        let flag = if lid == 6 { 9 } else { 4 };
        assert_eq!(found[lid as usize * 3..][..3], [a, b, flag], "invocation {lid}");
    }
}

#[test]
fn numbers_divide_shift_and_convert_in_each_lane() {
    let wgsl = "
        @group(0) @binding(0) var<storage, read> x: array<i32>;
        @group(0) @binding(1) var<storage, read_write> y: array<i32>;
        @compute @workgroup_size(4)
        fn numbers(@builtin(local_invocation_index) i: u32) {
            let a = x[i];
            let b = x[i + 4u];
            y[i] = a / b + a % b * 16;
            y[i + 4u] = (a << u32(b)) ^ (a >> 3u);
            let f = f32(a) * 1.5e9;
            y[i + 8u] = i32(f) ^ i32(u32(f));
            y[i + 12u] = i32(round(sin(f32(b)) * 100.0)) + min(a, b) * 1000 + i32(max(f32(a), 0.5) * 2.0);
            y[i + 16u] = bitcast<i32>(mix(f32(a), f32(b), 0.25)) + i32(countOneBits(b));
        }";
    let x = [7, -7, 9, i32::MIN, 2, 0, -4, -1].map(|x| x as u32);
    run(wgsl, &[&x, &[0; 20]], [1, 1, 1]);
}

#[test]
fn barriers_and_loops_of_a_workgroup_keep_their_lanes() {
    let wgsl = "
        var<workgroup> tile: array<array<f32, 8>, 2>;
        @group(0) @binding(0) var<storage, read> x: array<f32>;
        @group(0) @binding(1) var<storage, read_write> y: array<f32>;
        @compute @workgroup_size(8, 2)
        fn tiles(@builtin(local_invocation_id) id: vec3<u32>, @builtin(workgroup_id) wid: vec3<u32>) {
            var sum = 0.0;
            for (var step = 0u; step < 3u; step++) {
                tile[id.y][7u - id.x] = x[(wid.x * 3u + step) * 16u + id.y * 8u + id.x];
                workgroupBarrier();
                for (var k = 0u; k < 8u; k++) { sum += tile[1u - id.y][k] * f32(k + id.x); }
                workgroupBarrier();
            }
            y[wid.x * 16u + id.y * 8u + id.x] = sum;
        }";
    let x: Vec<u32> = (0..96).map(|i| (i as f32 * 0.5).to_bits()).collect();
    run(wgsl, &[&x, &[0; 32]], [2, 1, 1]);
}

#[test]
fn a_loop_ends_when_all_lanes_have_left_it() {
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(32)
        fn apart(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
            var sum = 0u; var last = 99u; var odd = 0u;
            for (var i = 0u; i < lid + gid.x; i++) {
                last = i;
                if (i ^ lid) % 3u == 1u { continue; }
                if gid.x > 40u { if i == 7u { sum += 1000u; break; } }
                var k = i;
                loop {
                    if k > lid { break; }
                    sum += k;
                    if out[0] == 5u { break; }
                    continuing { k += 2u; odd += 1u; break if k % 5u == 4u; }
                }
                sum += 100u;
            }
            out[1u + gid.x * 3u] = sum;
            out[2u + gid.x * 3u] = last;
            out[3u + gid.x * 3u] = odd;
        }";
    for stop in [4, 5] {
        let mut out = [0; 193];
        out[0] = stop;
        let test = run(wgsl, &[&out], [2, 1, 1]);
        assert_eq!(test.wider.len(), 2, "all widths execute the kernel");
        assert_eq!(test.get::<u32>(0)[1..4], [0, 99, 0], "invocation 0 executes no iteration");
    }
}

#[test]
fn each_width_keeps_its_lanes_across_barriers_and_branches() {
    let wgsl = "
        var<workgroup> ring: array<u32, 32>;
        @group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(32)
        fn wide(@builtin(local_invocation_index) lid: u32, @builtin(global_invocation_id) gid: vec3<u32>) {
            var flags = vec2<bool>(lid % 3u == 0u, lid > 20u);
            var sum = vec3<u32>(lid, 1u, gid.x);
            ring[lid] = x[gid.x] * 3u;
            workgroupBarrier();
            if flags.x { sum.y = ring[(lid + 5u) % 32u]; } else { sum.z += x[gid.x + 1u]; }
            workgroupBarrier();
            ring[31u - lid] = sum.y + sum.z;
            workgroupBarrier();
            if gid.x >= arrayLength(&y) { return; }
            y[gid.x] = ring[lid] * 2u + select(0u, 1u, flags.y);
        }";
    for count in [1_u32, 15, 16, 17, 40, 63, 64] {
        let x: Vec<u32> = (0..count).map(|i| i * i + 1).collect();
        let test = run(wgsl, &[&x, &vec![7; count as usize]], [2, 1, 1]);
        let widths: Vec<u32> = test.wider.iter().map(|(lanes, _)| *lanes).collect();
        assert_eq!(widths, [8, 16], "all widths execute the kernel");
    }
}

/// Runs a kernel of 32 invocations that stores one number each, and checks that all widths execute it.
fn check(wgsl: &str, expected: impl Fn(u32) -> u32) -> Test {
    let test = run(wgsl, &[&[0; 32], &[0; 8]], [1, 1, 1]);
    let widths: Vec<u32> = test.wider.iter().map(|(lanes, _)| *lanes).collect();
    assert_eq!(widths, [8, 16], "all widths execute the kernel");
    assert_eq!(test.get::<u32>(0), (0..32).map(expected).collect::<Vec<_>>());
    test
}

#[test]
fn some_lanes_return_out_of_the_loops_of_a_function() {
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @group(0) @binding(1) var<storage, read_write> unused: array<u32>;
        fn steps(start: u32) -> u32 {
            var n = start; var count = 0u;
            loop {
                for (var i = 0u; i < 2u; i++) {
                    if n <= 1u { return count; }
                    n = select(3u * n + 1u, n / 2u, n % 2u == 0u);
                    count++;
                }
                if count > 50u { return 1000u + count; }
            }
            return 7u;
        }
        @compute @workgroup_size(32)
        fn collatz(@builtin(local_invocation_index) lid: u32) {
            var total = 5u;
            for (var i = 0u; i < 3u; i++) {
                if lid % 4u == 3u { if i == lid % 3u { out[lid] = 40u + i; return; } }
                if lid % 5u > 1u { total += steps(lid + i); }
            }
            out[lid] = total;
            unused[0] = 1u;
        }";
    let steps = |mut n: u32| {
        let mut count = 0;
        loop {
            for _ in 0..2 {
                if n <= 1 {
                    return count;
                }
                n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
                count += 1;
            }
            if count > 50 {
                return 1000 + count;
            }
        }
    };
    check(wgsl, |lid| match lid % 4 {
        3 => 40 + lid % 3,
        _ if lid % 5 > 1 => 5 + (lid..lid + 3).map(steps).sum::<u32>(),
        _ => 5,
    });
}

#[test]
fn a_switch_executes_each_body_for_its_lanes() {
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @group(0) @binding(1) var<storage, read> fixed: array<u32>;
        fn choose(x: u32, round: u32) -> u32 {
            var sum = 0u;
            for (var i = 0u; i < 3u; i++) {
                switch x + i {
                    case 0u, 2u: { sum += 1u; if i == 1u { break; } sum += 10u; }
                    case 3u: { continue; }
                    case 4u: { return sum + 7u; }
                    default: { sum += 100u; }
                    case 6u: { switch round { case 1u: { break; } default: { sum += 3u; } } if i == 0u { break; } }
                }
                switch fixed[i] { case 1u: { sum += 1u; } default: { if x == 6u { break; } sum += 1000u; } }
            }
            return sum;
        }
        @compute @workgroup_size(32)
        fn cases(@builtin(local_invocation_index) lid: u32) { out[lid] = choose(lid % 8u, lid / 16u); }";
    let choose = |x: u32, round: u32| {
        let mut sum = 0;
        for i in 0..3 {
            match x + i {
                0 | 2 if i == 1 => sum += 1,
                0 | 2 => sum += 11,
                3 => continue,
                4 => return sum + 7,
                6 if round == 1 => {}
                6 => sum += 3,
                _ => sum += 100,
            }
            sum += if x == 6 { 0 } else { 1000 };
        }
        sum
    };
    check(wgsl, |lid| choose(lid % 8, lid / 16));
}

#[test]
fn private_variables_and_arrays_belong_to_one_lane() {
    let wgsl = "
        struct State { a: vec3<u32>, flag: bool, list: array<u32, 5> }
        var<private> state: State;
        var<private> start: u32 = 3u;
        var<workgroup> ring: array<u32, 32>;
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @group(0) @binding(1) var<storage, read_write> unused: array<u32>;
        fn push(at: u32, value: u32, more: ptr<function, array<u32, 20>>) {
            if state.flag { state.list[at % 5u] += value; (*more)[at % 20u] = value; }
            state.a.y += start;
        }
        @compute @workgroup_size(32)
        fn own(@builtin(local_invocation_index) lid: u32) {
            var more: array<u32, 20>;
            state.flag = lid % 3u != 1u;
            push(lid, lid, &more);
            start += lid;
            ring[lid] = lid;
            workgroupBarrier();
            push(2u, ring[31u - lid], &more);
            if state.flag { push(lid, 1000u, &more); }
            var sum = state.a.y + more[lid % 20u] * 3u + more[2] * 5u + more[(lid + 4u) % 20u] * 7u;
            for (var i = 0u; i < 5u; i++) { sum += state.list[i] * (i + 1u); }
            out[lid] = sum;
        }";
    check(wgsl, |lid| {
        let start = 3;
        if lid % 3 == 1 {
            return start + start + lid;
        }
        let mut list = [0; 5];
        let mut more = [0; 20];
        for (at, value) in [(lid, lid), (2, 31 - lid), (lid, 1000)] {
            list[at as usize % 5] += value;
            more[at as usize % 20] = value;
        }
        let listed: u32 = list.iter().zip(1..).map(|(value, factor)| value * factor).sum();
        let more = more[lid as usize % 20] * 3 + more[2] * 5 + more[(lid as usize + 4) % 20] * 7;
        3 * start + 2 * lid + more + listed
    });
}

#[test]
fn each_lane_executes_its_atomic_operations() {
    let wgsl = "
        var<workgroup> bins: array<atomic<u32>, 4>;
        @group(0) @binding(0) var<storage, read_write> out: array<atomic<u32>>;
        @group(0) @binding(1) var<storage, read_write> total: array<atomic<u32>, 8>;
        @compute @workgroup_size(32)
        fn atomics(@builtin(local_invocation_index) lid: u32) {
            if lid % 3u == 0u { atomicAdd(&bins[lid % 4u], lid); atomicMax(&total[1], lid * 5u); }
            atomicAdd(&total[0], 1u);
            atomicStore(&out[lid], lid);
            workgroupBarrier();
            var sum = atomicLoad(&bins[lid % 4u]);
            if lid % 2u == 0u {
                sum += atomicAdd(&out[lid], 5u) * 1000u;
                let kept = atomicCompareExchangeWeak(&out[lid], lid + 5u, 1u);
                let lost = atomicCompareExchangeWeak(&out[lid], 99u, 2u);
                sum += select(0u, 100000u, kept.exchanged && !lost.exchanged) + lost.old_value * 1000000u;
            }
            atomicExchange(&out[lid], sum + atomicLoad(&out[lid]));
        }";
    let test = check(wgsl, |lid| {
        let bin: u32 = (0..32).filter(|other| other % 3 == 0 && other % 4 == lid % 4).sum();
        if lid.is_multiple_of(2) { bin + lid * 1000 + 1_100_000 + 1 } else { bin + lid }
    });
    assert_eq!(test.get::<u32>(1)[..2], [32, 150]);
}

#[test]
fn a_loop_ends_for_lanes_that_none_of_its_iterations_executes() {
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @group(0) @binding(1) var<storage, read_write> count: array<u32>;
        @compute @workgroup_size(32)
        fn none(@builtin(local_invocation_index) lid: u32) {
            for (var i = 0u; i < lid + 1u; i++) {
                if lid < 40u { out[lid] = lid; continue; }
                loop { if count[0] > 5u { break; } count[0] += 1u; }
            }
            if lid < 40u { return; }
            loop { if count[0] > 5u { break; } count[0] += 1u; }
        }";
    check(wgsl, |lid| lid);
}

#[test]
fn the_code_after_an_early_return_stores_for_all_lanes_or_for_some() {
    let wgsl = "
        @group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(32)
        fn guarded(@builtin(global_invocation_id) gid: vec3<u32>) {
            var sum = 1u;
            if x[gid.x] == 9u { return; }
            if gid.x >= arrayLength(&y) { return; }
            for (var i = 0u; i < x[gid.x]; i++) { sum += i; }
            if sum % 2u == 0u { y[gid.x] += 100u; }
            y[gid.x] += sum;
        }";
    for (count, odd) in [(32, 40), (32, 3), (64, 50), (63, 40), (17, 40), (1, 40), (48, 47)] {
        let value = |i: u32| if i == odd { 9 } else { i % 5 };
        let x: Vec<u32> = (0..64).map(value).collect();
        let test = run(wgsl, &[&x, &vec![0; count as usize]], [2, 1, 1]);
        assert_eq!(test.wider.len(), 2, "all widths execute the kernel");
        let expected = |i: u32| {
            let sum = 1 + (0..value(i)).sum::<u32>();
            if i == odd { 0 } else { sum + if sum.is_multiple_of(2) { 100 } else { 0 } }
        };
        let expected: Vec<u32> = (0..count).map(expected).collect();
        assert_eq!(test.get::<u32>(1), expected, "{count} elements, invocation {odd} returns");
    }
}

#[test]
fn a_short_block_is_executed_without_a_jump_past_it() {
    let wgsl = |statement: &str| {
        format!(
            "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
            @group(0) @binding(1) var<storage, read_write> other: array<u32>;
            @compute @workgroup_size(32)
            fn blocks(@builtin(local_invocation_index) lid: u32) {{
                var n = lid; var steps = vec2<u32>(); var more = true;
                loop {{
                    if n <= 1u || steps.x > 40u {{ break; }}
                    if n % 2u == 0u {{ n /= 2u; steps.y += 1u; }} else {{ if more {{ n = 3u * n + 1u; more = steps.y < 5u; }} }}
                    {statement}
                    steps.x++;
                }}
                out[lid] = n + 1000u * steps.x + 100000u * steps.y + u32(more) * 10000000u;
            }}"
        )
    };
    let expected = |lid: u32| {
        let mut n = lid;
        let mut steps = [0, 0];
        let mut more = true;
        while n > 1 && steps[0] <= 40 {
            if n.is_multiple_of(2) {
                n /= 2;
                steps[1] += 1;
            } else if more {
                n = 3 * n + 1;
                more = steps[1] < 5;
            }
            steps[0] += 1;
        }
        n + 1000 * steps[0] + 100_000 * steps[1] + u32::from(more) * 10_000_000
    };
    for (statement, skipped) in [("", 0), ("if n == 77u { other[lid % 8u] = n; }", 1)] {
        let test = check(&wgsl(statement), expected);
        assert!(test.wider.iter().all(|(_, code)| code.skipped == skipped), "{statement}");
    }
}

#[test]
fn a_selection_changes_the_variables_of_its_lanes() {
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @group(0) @binding(1) var<storage, read_write> unused: array<u32>;
        @compute @workgroup_size(32)
        fn selects(@builtin(local_invocation_index) lid: u32) {
            var n = lid; var flag = lid == 4u; var rounds = 0u;
            if lid % 3u == 1u { if lid > 10u { n = 500u + lid; } else { n = 600u; } }
            while rounds < lid && !(n == 601u || n > 503u) {
                if n % 2u == 0u { n += 1u; } else { n += 2u; }
                if lid > 7u { flag = rounds > 5u; } else { flag = true; }
                rounds++;
            }
            out[lid] = n + 1000u * rounds + 100000u * u32(flag);
            unused[0] = 1u;
        }";
    check(wgsl, |lid| {
        let mut n = lid;
        let mut flag = lid == 4;
        let mut rounds = 0;
        if lid % 3 == 1 {
            n = if lid > 10 { 500 + lid } else { 600 };
        }
        while rounds < lid && n != 601 && n <= 503 {
            n += if n % 2 == 0 { 1 } else { 2 };
            flag = lid <= 7 || rounds > 5;
            rounds += 1;
        }
        n + 1000 * rounds + 100_000 * u32::from(flag)
    });
}
