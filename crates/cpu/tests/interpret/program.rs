//! Control flow, functions and pointers.

use crate::harness::{Buffer, OUT, prepare_source, run, statements, words};
use fencepost_kernels::ShaderSource;

#[test]
fn loops_nest_and_continue_runs_the_continuing_block() {
    let body = "
        var sum = 0u;
        for (var i = 0u; i < 5u; i++) {
            if i == 3u { continue; }
            var j = 0u;
            loop {
                if j > i { break; }
                sum += 10u * i + j;
                continuing { j++; break if j == 3u; }
            }
        }
        while sum < 1000u { sum *= 2u; }
        out[0] = sum;";
    let mut sum = 0;
    for i in (0..5).filter(|&i| i != 3) {
        for j in 0..=2.min(i) {
            sum += 10 * i + j;
        }
    }
    while sum < 1000 {
        sum *= 2;
    }
    assert_eq!(statements("", body, 1), [sum]);
}

#[test]
fn a_switch_takes_its_case_and_a_break_leaves_only_the_switch() {
    let body = "
        for (var i = 0; i < 6; i++) {
            switch i {
                case 0, 3: { out[i] = 10u; }
                case 1: { if i == 1 { break; } out[i] = 99u; }
                case 2: { continue; }
                case -1, default: { out[i] = 20u; }
            }
            out[i] += 1u;
        }";
    assert_eq!(statements("", body, 6), [11, 1, 0, 11, 21, 21]);
}

#[test]
fn early_returns_leave_functions_and_the_kernel() {
    let text = "
        fn find(x: u32) -> u32 {
            for (var i = 0u; ; i++) { if i * i >= x { return i; } }
            return 0u;
        }
        @compute @workgroup_size(4) fn k(@builtin(local_invocation_index) i: u32) {
            if i == 2u { return; }
            out[i] = find(10u * i);
        }";
    assert_eq!(words(text, 4), [0, 4, 0, 6]);
}

#[test]
fn functions_change_variables_through_pointers() {
    let before = "
        struct S { a: array<vec2<u32>, 3>, n: u32 }
        var<private> p: array<u32, 2>;
        fn add(x: ptr<function, u32>, y: u32) { *x += y; }
        fn second(v: ptr<function, vec2<u32>>) { (*v).y = 5u; }
        fn fill(s: ptr<function, S>, at: u32) { let e = &(*s).a[at]; (*e).x = 7u; second(e); add(&(*s).n, 3u); }
        fn private_part(x: ptr<private, array<u32, 2>>, i: u32) { (*x)[i] = 4u; }";
    let body = "
        var s: S; var i = 1u;
        fill(&s, i); fill(&s, i + 5u);
        out[0] = s.a[1].x; out[1] = s.a[1].y; out[2] = s.n; out[3] = s.a[2].y; out[4] = s.a[0].y;
        private_part(&p, i); out[5] = p[1];";
    assert_eq!(statements(before, body, 6), [7, 5, 6, 5, 0, 4]);
}

#[test]
fn calls_keep_the_values_of_the_caller() {
    let before = "
        fn leaf(x: vec3<u32>) -> vec3<u32> { var t = x; t.y += 1u; return t.zyx; }
        fn middle(x: u32) -> u32 { let a = x * 2u; let b = leaf(vec3(a, x, 1u)); return a + b.x * 100u + b.y * 10u; }";
    let body = "let a = middle(3u); let b = middle(a); out[0] = a; out[1] = b; out[2] = a + b;";
    assert_eq!(statements(before, body, 3), [146, 292 + 100 + 1470, 146 + 1862]);
}

#[test]
fn variables_of_a_loop_begin_anew_and_values_of_composites_are_copies() {
    let before = "struct S { v: array<u32, 3>, m: mat2x2<f32> }";
    let body = "
        for (var i = 0u; i < 3u; i++) { var fresh: array<u32, 3>; fresh[i] += 1u; out[i] = fresh[i]; }
        var s: S; let old = s; s.v[1] = 9u; s.m[1][0] = 2.0; var j = 1u;
        out[3] = old.v[j]; out[4] = s.v[j]; out[5] = u32(s.m[j].x + old.m[j].x);";
    assert_eq!(statements(before, body, 6), [1, 1, 1, 0, 9, 2]);
}

#[test]
fn the_built_in_values_come_as_arguments_and_as_members() {
    let text = "
        struct In { @builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32> }
        @compute @workgroup_size(2, 3) fn k(
            in: In, @builtin(local_invocation_index) i: u32, @builtin(local_invocation_id) local: vec3<u32>,
            @builtin(workgroup_id) group: vec3<u32>,
        ) { out[i] = 100u * in.id.x + 10u * in.id.y + in.groups.x + 1000u * local.y + 7u * group.x; }";
    assert_eq!(words(text, 6), [1, 101, 1011, 1111, 2021, 2121]);
}

#[test]
fn deep_nesting_does_not_overflow_the_stack_of_the_host() {
    let mut body = String::from("var x = 1u;\n");
    for level in 0..2000 {
        body += &format!("if x == {}u {{ x = 0u; }} else ", level + 5);
        body += if level % 100 == 99 { "{ x += 1u; }\n" } else { "" };
    }
    let sum = vec!["x"; 900].join(" + ");
    let out = statements("", &format!("{body} out[0] = x; out[1] = {sum};"), 2);
    assert_eq!(out[1], 900 * out[0]);
}

#[test]
fn an_override_sets_the_workgroup_and_the_values() {
    let text = "
        override N: u32 = 3; override M = 2.0 * 1.5; override B = N > 3u;
        var<workgroup> w: array<u32, N * 2>;
        @compute @workgroup_size(N) fn k(@builtin(local_invocation_index) i: u32) {
            w[99] = N; out[i] = w[2u * N - 1u] + u32(M) * 10u + 100u * u32(B);
        }";
    assert_eq!(words(text, 5), [33, 33, 33, 0, 0]);
    let source = ShaderSource::text("k.wgsl", format!("{text}{OUT}"));
    let kernel = prepare_source(&source, &[("N", 4.0), ("M", 7.0)]).unwrap();
    let mut buffers = [Buffer::new(&[0_u32; 5])];
    run(&kernel, [1; 3], 0, &[], &mut buffers).unwrap();
    assert_eq!(buffers[0].values::<u32>(), [174, 174, 174, 174, 0]);
}

#[test]
fn pointers_reach_parts_of_parts_with_dynamic_indices() {
    let before = "
        struct Cell { m: mat3x2<f32>, v: array<vec3<f32>, 2> }
        var<private> grid: array<array<Cell, 2>, 2>;
        fn change(c: ptr<private, Cell>, i: u32) { (*c).m[i][1] = 2.0; (*c).v[i % 2u] = vec3(1.0, 3.0, 5.0); }
        fn look(c: ptr<private, array<Cell, 2>>, i: u32, j: u32) -> f32 { return (*c)[i].m[j].y + (*c)[i].v[j % 2u].z; }
        fn local(m: ptr<function, mat3x2<f32>>, i: u32) -> vec2<f32> { (*m)[i].x = 8.0; return (*m)[i]; }";
    let body = "
        var i = 1u; var j = 2u;
        change(&grid[i][0], j);
        out[0] = u32(look(&grid[i], 0u, j)); out[1] = u32(look(&grid[i], 1u, j));
        var m: mat3x2<f32>; out[2] = u32(local(&m, j).x); out[3] = u32(m[2].x + m[1].x);
        let p = &grid[i][i - 1u]; (*p).v[i] += vec3(1.0); j = 0u; out[4] = u32((*p).v[i].y + (*p).m[j + 2u].y);
        let whole = grid; out[5] = u32(whole[i][j].v[0].z);";
    assert_eq!(statements(before, body, 6), [7, 0, 8, 8, 3, 5]);
}

#[test]
fn values_of_an_iteration_reach_the_continuing_block_and_the_end_of_the_loop() {
    let body = "
        var n = 0u;
        loop {
            let step = n * 2u + 1u;
            if step > 100u { let x = step + 1u; out[1] = x; }
            { let other = step * 3u; out[2] = other; }
            continuing { n += step; break if step > 50u; }
        }
        out[0] = n;";
    let mut n = 0;
    let other = loop {
        let step = n * 2 + 1;
        n += step;
        if step > 50 {
            break 3 * step;
        }
    };
    assert_eq!(statements("", body, 3), [n, 0, other]);
}

#[test]
fn nested_switches_and_loops_break_and_continue_their_own_construct() {
    let body = "
        var n = 0u;
        for (var i = 0u; i < 6u; i++) {
            switch i {
                case 1u: { for (var j = 0u; j < 9u; j++) { if j == 4u { break; } n += 1u; } }
                case 2u, 3u: { switch n { case 4u: { n += 10u; break; } default: { continue; } } n += 100u; }
                default: { n += 0u; }
            }
            n += 1000u;
        }
        out[0] = n;";
    // i = 0: 1000; i = 1: 4 and 1000; i = 2: 2004 is not 4 and continues, and so does i = 3; i = 4 and 5: 1000 each.
    assert_eq!(statements("", body, 1), [4004]);
}

#[test]
fn a_long_chain_of_calls_runs() {
    let mut before = String::from("fn f0(x: u32) -> u32 { return x + 1u; }\n");
    for level in 1..1000 {
        before += &format!("fn f{level}(x: u32) -> u32 {{ return f{}(x) + 2u; }}\n", level - 1);
    }
    assert_eq!(statements(&before, "out[0] = f999(5u);", 1), [6 + 2 * 999]);
}

#[test]
fn constants_of_a_kernel_with_overrides_are_arguments_and_parts_of_other_values() {
    let head = "override N: u32 = 2u;
        fn twice(x: u32) -> u32 { return x * 2u; }
        fn sum(x: vec2<u32>) -> u32 { return x.x + x.y; }";
    let cases = [
        ("let v = vec2(1u, 2u); out[i] = twice(v.x) + N;", [5, 5]),
        ("let v = vec2(N, 2u); out[i] = twice(v.x);", [6, 6]),
        (
            "let v = vec2(N); let a = twice(v.x); for (var j = 0u; j < N; j++) { out[i] += twice(v.y) + a; }",
            [36, 36],
        ),
        (
            "let v = vec3(N, 1u, 2u); var w = array<u32, 3>(v.x, v.y, v.z); out[i] = w[i] + twice(w[2]);",
            [7, 5],
        ),
        (
            "let v = vec3(N, 1u, 2u); let w = v.zx; if i > 0u { out[i] = sum(w.yx); } else { out[i] = sum(w); }",
            [5, 5],
        ),
    ];
    for (body, expected) in cases {
        let text = format!(
            "{OUT} {head}
            @compute @workgroup_size(2) fn k(@builtin(local_invocation_index) i: u32) {{ {body} }}"
        );
        let kernel = prepare_source(&ShaderSource::text("k.wgsl", text), &[("N", 3.0)]);
        let kernel = kernel.unwrap_or_else(|error| panic!("{body}: {error}"));
        assert!(kernel.is_compiled(), "{body}");
        // A run with a seed is interpreted.
        for seed in [0, 1] {
            let mut out = [Buffer::new(&[0_u32; 2])];
            run(&kernel, [1; 3], seed, &[], &mut out).unwrap_or_else(|fault| panic!("{fault}"));
            assert_eq!(out[0].values::<u32>(), expected, "{body}");
        }
    }
}
