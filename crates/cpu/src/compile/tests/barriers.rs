//! Workgroup memory and barriers.

use super::Test;

const SUM: &str = "
    var<workgroup> part: array<f32, 64>;
    @group(0) @binding(0) var<storage, read> input: array<f32>;
    @group(0) @binding(1) var<storage, read_write> sums: array<f32>;
    @compute @workgroup_size(64)
    fn sum(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wid: vec3<u32>) {
        part[lid] = input[wid.x * 64u + lid];
        workgroupBarrier();
        for (var step = 32u; step > 0u; step /= 2u) {
            if lid < step { part[lid] += part[lid + step]; }
            workgroupBarrier();
        }
        if lid != 0u { return; }
        sums[wid.x] = part[0];
    }";

#[test]
fn a_sum_over_workgroup_memory_halves_its_parts() {
    let input: Vec<f32> = (0..256).map(|i| i as f32).collect();
    let test = Test::new(SUM).buffer(&input).buffer(&[0_f32; 4]).run([4, 1, 1]);
    let expected: Vec<f32> = input.chunks(64).map(|part| part.iter().sum()).collect();
    assert_eq!(test.get::<f32>(1), expected);
}

const MATMUL: &str = "
    struct Params { n: u32 }
    @group(0) @binding(0) var<uniform> params: Params;
    @group(0) @binding(1) var<storage, read> a: array<f32>;
    @group(0) @binding(2) var<storage, read> b: array<f32>;
    @group(0) @binding(3) var<storage, read_write> c: array<f32>;
    var<workgroup> tile_a: array<array<f32, 8>, 8>;
    var<workgroup> tile_b: array<array<f32, 8>, 8>;
    @compute @workgroup_size(8, 8)
    fn matmul(@builtin(local_invocation_id) lid: vec3<u32>, @builtin(global_invocation_id) gid: vec3<u32>) {
        let n = params.n;
        var sum = 0.0;
        for (var at = 0u; at < n; at += 8u) {
            tile_a[lid.y][lid.x] = a[gid.y * n + at + lid.x];
            tile_b[lid.y][lid.x] = b[(at + lid.y) * n + gid.x];
            workgroupBarrier();
            for (var k = 0u; k < 8u; k++) { sum += tile_a[lid.y][k] * tile_b[k][lid.x]; }
            workgroupBarrier();
        }
        c[gid.y * n + gid.x] = sum;
    }";

#[test]
fn a_tiled_product_of_matrices_agrees_with_the_plain_one() {
    let n = 24;
    let mut rng = fastrand::Rng::with_seed(1);
    let [a, b]: [Vec<f32>; 2] = [(); 2].map(|()| (0..n * n).map(|_| rng.f32()).collect());
    let test = Test::new(MATMUL).params(&[n as u32]).buffer(&a).buffer(&b).buffer(&vec![0_f32; n * n]);
    let c = test.run([3, 3, 1]).get::<f32>(2);
    for (at, &value) in c.iter().enumerate() {
        let row = at / n;
        let column = at % n;
        let expected = (0..n).fold(0.0, |sum, k| sum + a[row * n + k] * b[k * n + column]);
        assert_eq!(value, expected, "row {row}, column {column}");
    }
}

#[test]
fn values_and_variables_live_across_barriers() {
    let test = Test::new(
        "var<workgroup> ring: array<u32, 6>;
        var<private> seen: u32 = 3u;
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(3, 2)
        fn rotate(@builtin(local_invocation_index) lid: u32, @builtin(local_invocation_id) id: vec3<u32>) {
            var history = array<u32, 4>();
            var pair = vec2<u32>(lid, 7u);
            ring[lid] = lid * 10u;
            workgroupBarrier();
            let next = ring[(lid + 1u) % 6u];
            let place = &ring[lid];
            seen += next;
            workgroupBarrier();
            *place = next;
            history[lid % 4u] = next + id.y;
            pair.y += next;
            workgroupBarrier();
            out[lid] = ring[lid] + next * 1000u + history[lid % 4u] * 100000u;
            out[6u + lid] = seen + pair.x * 1000u + pair.y * 100000u;
        }",
    );
    let out = test.buffer(&[0_u32; 12]).run([1, 1, 1]).get::<u32>(0);
    for lid in 0..6 {
        let next = (lid + 1) % 6 * 10;
        assert_eq!(out[lid as usize], next + next * 1000 + (next + lid / 3) * 100_000, "invocation {lid}");
        assert_eq!(out[6 + lid as usize], 3 + next + lid * 1000 + (7 + next) * 100_000, "invocation {lid}");
    }
}

#[test]
fn workgroup_memory_begins_as_zero_in_every_workgroup() {
    let test = Test::new(
        "var<workgroup> total: atomic<u32>;
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(32)
        fn count(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wid: vec3<u32>) {
            atomicAdd(&total, lid + 1u);
            workgroupBarrier();
            if lid == 5u { out[wid.x] = atomicLoad(&total); }
        }",
    );
    assert_eq!(test.buffer(&[0_u32; 3]).run([3, 1, 1]).get::<u32>(0), [528; 3]);
}

#[test]
fn a_workgroup_leaves_a_loop_and_returns_together() {
    let test = Test::new(
        "struct Params { rounds: u32, quit: u32 }
        @group(0) @binding(0) var<uniform> params: Params;
        @group(0) @binding(1) var<storage, read_write> out: array<u32>;
        var<workgroup> turn: array<u32, 4>;
        @compute @workgroup_size(4)
        fn rounds(@builtin(local_invocation_index) lid: u32) {
            var round = 0u;
            turn[lid] = lid;
            loop {
                if round == params.rounds { break; }
                if round == params.quit { return; }
                if round % 2u == 1u { round++; continue; }
                workgroupBarrier();
                let other = turn[3u - lid];
                workgroupBarrier();
                turn[lid] = other + round;
                round++;
            }
            workgroupBarrier();
            out[lid] = turn[lid] + round * 100u;
        }",
    );
    let mut turn = [0, 1, 2, 3];
    for round in [0, 2, 4] {
        turn = [3, 2, 1, 0].map(|other: usize| turn[other] + round);
    }
    let test = test.params(&[5_u32, 9]).buffer(&[0_u32; 4]).run([1, 1, 1]);
    assert_eq!(test.get::<u32>(0), turn.map(|value| value + 500));
    let mut quit = test.params(&[5_u32, 2]);
    quit.buffers[0].fill(0);
    assert_eq!(quit.run([1, 1, 1]).get::<u32>(0), [0; 4]);
}

#[test]
fn a_uniform_load_decides_for_the_whole_workgroup() {
    let test = Test::new(
        "var<workgroup> limit: u32;
        var<workgroup> shared_sum: atomic<u32>;
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(8)
        fn load(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wid: vec3<u32>) {
            if lid == 7u { limit = 2u + wid.x; }
            let rounds = workgroupUniformLoad(&limit);
            for (var i = 0u; i < rounds; i++) {
                atomicAdd(&shared_sum, lid);
                workgroupBarrier();
            }
            if rounds > 2u { workgroupBarrier(); out[wid.x * 8u + lid] = atomicLoad(&shared_sum); }
        }",
    );
    let out = test.buffer(&[0_u32; 16]).run([2, 1, 1]).get::<u32>(0);
    assert_eq!(out, [[0; 8], [84; 8]].concat());
}

#[test]
fn functions_with_barriers_are_expanded_at_their_calls() {
    let test = Test::new(
        "var<workgroup> parts: array<u32, 16>;
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        fn sum(own: u32, lid: u32) -> u32 {
            parts[lid] = own;
            for (var half = 8u; half > 0u; half /= 2u) {
                workgroupBarrier();
                if lid < half { parts[lid] += parts[lid + half]; }
            }
            workgroupBarrier();
            return parts[0];
        }
        fn spread(own: u32, lid: u32, sums: ptr<function, vec2<u32>>) {
            let all = sum(own, lid);
            workgroupBarrier();
            let even = sum(select(0u, own, lid % 2u == 0u), lid);
            workgroupBarrier();
            (*sums) += vec2<u32>(all, even);
        }
        @compute @workgroup_size(16)
        fn sums(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wid: vec3<u32>) {
            var both = vec2<u32>(lid, 1000u);
            spread(lid + wid.x, lid, &both);
            spread(1u, lid, &both);
            let last = sum(lid * lid, lid);
            out[2u * (wid.x * 16u + lid)] = both.x + last;
            out[2u * (wid.x * 16u + lid) + 1u] = both.y;
        }",
    );
    assert!(test.vector.is_ok(), "four invocations execute together: {:?}", test.vector.err());
    let out = test.buffer(&[0_u32; 64]).run([2, 1, 1]).get::<u32>(0);
    for (at, found) in out.chunks(2).enumerate() {
        let lid = at as u32 % 16;
        let wid = at as u32 / 16;
        let all = 120 + 16 * wid + 16 + 1240;
        assert_eq!(found, [lid + all, 1000 + 56 + 8 * wid + 8], "invocation {lid} of workgroup {wid}");
    }
}

#[test]
fn a_function_with_barriers_begins_anew_in_each_iteration() {
    let test = Test::new(
        "var<workgroup> cells: array<u32, 4>;
        struct Params { rounds: u32 }
        @group(0) @binding(0) var<uniform> params: Params;
        @group(0) @binding(1) var<storage, read_write> out: array<u32>;
        fn turned(lid: u32) -> u32 {
            var count: u32;
            var own = 5u;
            cells[lid] = cells[lid] + lid;
            workgroupBarrier();
            count++;
            own += cells[3u - lid];
            workgroupBarrier();
            return own + count * 1000u;
        }
        @compute @workgroup_size(4)
        fn rounds(@builtin(local_invocation_index) lid: u32) {
            var total = 0u;
            for (var round = 0u; round < params.rounds; round++) { total = turned(lid); }
            out[lid] = total;
        }",
    );
    let out = test.params(&[3_u32]).buffer(&[0_u32; 4]).run([1, 1, 1]).get::<u32>(0);
    assert_eq!(out, [9, 6, 3, 0].map(|sum| 1005 + sum));
}

#[test]
fn a_function_returns_before_its_barrier_if_the_whole_workgroup_does() {
    let test = Test::new(
        "var<workgroup> cells: array<u32, 8>;
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        fn other(lid: u32, group: u32) -> u32 {
            if group == 1u { return 77u; }
            if group == 2u { if cells[0] == 0u { cells[lid] = 1u; } return lid; }
            cells[lid] = lid * 3u;
            workgroupBarrier();
            if group == 0u { return cells[7u - lid]; } else { return 9u; }
        }
        @compute @workgroup_size(8)
        fn early(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wid: vec3<u32>) {
            out[wid.x * 8u + lid] = 100u + other(lid, wid.x);
        }",
    );
    let out = test.buffer(&[0_u32; 32]).run([4, 1, 1]).get::<u32>(0);
    let expected: Vec<u32> =
        (0..32).map(|at| 100 + [21 - at % 8 * 3, 77, at % 8, 9][at as usize / 8]).collect();
    assert_eq!(out, expected);
}

#[test]
fn a_condition_that_differs_may_end_a_function_with_barriers() {
    let test = Test::new(
        "var<workgroup> cells: array<u32, 8>;
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        fn turn(lid: u32) {
            cells[lid] = lid;
            workgroupBarrier();
            if lid < 3u { out[lid] = cells[7u - lid]; } else { if lid == 5u { out[lid] = 50u; } }
        }
        fn other(lid: u32) -> u32 {
            workgroupBarrier();
            cells[lid] = lid;
            workgroupBarrier();
            switch lid {
                case 1u: { return cells[2]; }
                case 2u, 3u: { if cells[7u - lid] == 5u { return 90u; } else { return 91u; } }
                default: { return 7u; }
            }
        }
        @compute @workgroup_size(8)
        fn ends(@builtin(local_invocation_index) lid: u32) {
            turn(lid);
            out[8u + lid] = other(lid);
        }",
    );
    let out = test.buffer(&[0_u32; 16]).run([1, 1, 1]).get::<u32>(0);
    assert_eq!(out, [7, 6, 5, 0, 0, 50, 0, 0, 7, 2, 90, 91, 7, 7, 7, 7]);
}

#[test]
fn invocations_return_out_of_a_function_one_after_the_other_after_its_last_barrier() {
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        var<workgroup> cells: array<u32, 16>;
        fn part(lid: u32, first: u32) -> u32 {
            cells[lid] = lid * 3u + first;
            workgroupBarrier();
            let x = cells[15u - lid];
            workgroupBarrier();
            if x % 2u == 0u { return x; }
            var sum = 0u;
            if x > 20u { sum = 1u; if x > 30u { return sum; } }
            return x * 2u + sum;
        }
        @compute @workgroup_size(16)
        fn parts(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wid: vec3<u32>) {
            var total = part(lid, wid.x);
            for (var i = 0u; i < 3u; i++) { total += part(lid, i) * 10u; }
            out[wid.x * 16u + lid] = total;
        }";
    let test = Test::new(wgsl).buffer(&[0_u32; 32]);
    assert!(test.vector.is_ok() && test.wider.len() == 2, "{:?}", test.vector.err());
    let part = |lid: u32, first: u32| {
        let x = (15 - lid) * 3 + first;
        match x {
            _ if x.is_multiple_of(2) => x,
            31.. => 1,
            _ => x * 2 + u32::from(x > 20),
        }
    };
    let total = |at: u32| part(at % 16, at / 16) + 10 * (0..3).map(|i| part(at % 16, i)).sum::<u32>();
    let expected: Vec<u32> = (0..32).map(total).collect();
    assert_eq!(test.run([2, 1, 1]).get::<u32>(0), expected);
}

/// Runs a kernel of 16 invocations that stores one number each, and checks that all widths execute it.
fn numbers(functions: &str, statements: &str, groups: u32) -> Vec<u32> {
    let test = Test::new(&format!(
        "var<workgroup> cells: array<u32, 16>;
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        {functions}
        @compute @workgroup_size(16)
        fn numbers(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wid: vec3<u32>) {{
            let at = wid.x * 16u + lid;
            {statements}
        }}"
    ));
    assert!(test.vector.is_ok() && test.wider.len() == 2, "{:?}", test.vector.err());
    test.buffer(&vec![0_u32; 16 * groups as usize]).run([groups, 1, 1]).get::<u32>(0)
}

/// A function that adds the numbers of the lanes in a ring, and returns once the workgroup has done so `turns` times.
const RING: &str = "
    fn ring(lid: u32, turns: u32) -> u32 {
        cells[lid] = lid;
        var own = 0u;
        for (var i = 0u; i < 5u; i++) {
            for (var k = 0u; k < 3u; k++) { if i * 3u + k == turns { return own + 1000u * k; } }
            workgroupBarrier();
            own += cells[(lid + i) % 16u];
            workgroupBarrier();
            if i == 3u { return own + 7777u; }
        }
        workgroupBarrier();
        return own;
    }";

fn ring(lid: u32, turns: u32) -> u32 {
    let sum = |count: u32| (0..count).map(|i| (lid + i) % 16).sum::<u32>();
    if turns < 12 { sum(turns / 3) + 1000 * (turns % 3) } else { sum(4) + 7777 }
}

#[test]
fn a_workgroup_returns_out_of_the_loops_of_a_function_with_barriers() {
    let body = "out[at] = ring(lid, wid.x) * 10u; for (var i = 0u; i < 2u; i++) { out[at] += ring(lid, wid.x + i); }";
    let out = numbers(RING, body, 14);
    for (at, &found) in (0..).zip(&out) {
        let lid = at % 16;
        let wid = at / 16;
        assert_eq!(found, 11 * ring(lid, wid) + ring(lid, wid + 1), "invocation {lid} of workgroup {wid}");
    }
}

#[test]
fn a_function_that_calls_one_with_returns_in_loops_returns_out_of_its_own_loop() {
    let twice = format!(
        "{RING}
        fn twice(lid: u32, group: u32) -> u32 {{
            var sum = 0u;
            loop {{
                sum += ring(lid, group);
                if group == 77u {{ break; }}
                workgroupBarrier();
                if group == 4u {{ return 5u; }}
                sum += ring(lid, 1u);
                switch group {{
                    case 1u: {{ return sum; }}
                    case 2u: {{ workgroupBarrier(); if lid < 90u {{ sum += 3u; }} break; }}
                    case 3u, 5u: {{ if group == 5u {{ return 6u; }} sum += 9u; }}
                    default: {{ continue; }}
                }}
                if group < 4u {{ return sum + 1u; }}
            }}
            workgroupBarrier();
            return 8u;
        }}"
    );
    let out = numbers(&twice, "if wid.x > 0u { out[at] = twice(lid, wid.x); }", 6);
    let expected = |at: u32| {
        let lid = at % 16;
        let wid = at / 16;
        let sum = ring(lid, wid) + ring(lid, 1);
        [0, sum, sum + 4, sum + 10, 5, 6][wid as usize]
    };
    assert_eq!(out, (0..96).map(expected).collect::<Vec<_>>());
}

#[test]
fn invocations_return_out_of_loops_one_after_the_other_after_the_last_barrier_of_a_function() {
    let function = "
        fn search(lid: u32, group: u32) -> u32 {
            for (var i = 0u; i < 3u; i++) { if group == i + 1u { return 500u + i; } }
            cells[lid] = (lid * 5u) % 16u;
            workgroupBarrier();
            for (var i = 0u; i < 16u; i++) {
                if cells[i] == lid {
                    switch lid % 4u {
                        case 0u: { return i; }
                        case 1u: { for (var k = i; k < 20u; k++) { if k % 3u == 0u { return 100u + k; } } }
                        default: { if lid > 12u { return 200u; } break; }
                    }
                    if lid % 4u == 3u { return 300u + i; }
                }
            }
            return 400u;
        }";
    let out = numbers(function, "out[at] = search(lid, wid.x);", 4);
    let expected = |at: u32| {
        let lid = at % 16;
        let wid = at / 16;
        let found = (0..16).find(|i| i * 5 % 16 == lid).expect("each number is there");
        match (wid, lid % 4) {
            (1.., _) => 499 + wid,
            (_, 0) => found,
            (_, 1) => 100 + found.next_multiple_of(3),
            _ if lid > 12 => 200,
            (_, 3) => 300 + found,
            _ => 400,
        }
    };
    assert_eq!(out, (0..64).map(expected).collect::<Vec<_>>());
}

#[test]
fn a_workgroup_takes_one_case_of_a_switch_with_barriers() {
    let body = "
        var rounds = 1u;
        cells[lid] = lid;
        for (var i = 0u; i < 4u; i++) {
            switch wid.x + i {
                case 0u, 6u: { workgroupBarrier(); out[at] += cells[15u - lid]; workgroupBarrier(); }
                case 1u: { rounds += 10u; workgroupBarrier(); if rounds > 5u { continue; } out[at] += 1u; }
                default: { if i == 1u { break; } rounds += 100u; workgroupBarrier(); cells[lid] += 1u; }
                case 5u: { return; }
            }
            workgroupBarrier();
            out[at] += rounds * 1000u;
        }
        workgroupBarrier();
        out[at] += 7u;";
    let out = numbers("", body, 3);
    for (at, &found) in (0..).zip(&out) {
        let lid = at % 16;
        let wid = at / 16;
        let mut expected = 0;
        let mut rounds = 1;
        let mut added = 0;
        let ends = (0..4).try_for_each(|i| {
            match wid + i {
                0 | 6 => expected += 15 - lid + added,
                1 => {
                    rounds += 10;
                    return Some(());
                }
                5 => return None,
                _ if i == 1 => {}
                _ => (rounds, added) = (rounds + 100, added + 1),
            }
            expected += rounds * 1000;
            Some(())
        });
        expected += if ends.is_some() { 7 } else { 0 };
        assert_eq!(found, expected, "invocation {lid} of workgroup {wid}");
    }
}

#[test]
fn an_index_may_lead_into_a_vector_that_the_whole_workgroup_shares() {
    let body = "
        var four = vec4<u32>(5u, 6u, 7u, wid.x);
        for (var i = 0u; i < 3u; i++) {
            four += vec4<u32>(10u);
            workgroupBarrier();
            out[at] += four[(lid + i) % 4u];
        }";
    let expected = |at: u32| {
        let four = [5, 6, 7, at / 16];
        (0..3).map(|i| four[(at as usize % 16 + i) % 4] + 10 * (i as u32 + 1)).sum::<u32>()
    };
    assert_eq!(numbers("", body, 2), (0..32).map(expected).collect::<Vec<_>>());
}
