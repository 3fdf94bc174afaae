//! Control flow, functions and pointers.

use crate::harness::{prepare, statements, words};

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
    let sum = vec!["x"; 3000].join(" + ");
    let out = statements("", &format!("{body} out[0] = x; out[1] = {sum};"), 2);
    assert_eq!(out[1], 3000 * out[0]);
}

#[test]
fn an_override_sets_the_workgroup_and_the_values() {
    let text = "override N: u32 = 3; @compute @workgroup_size(N) fn k(@builtin(local_invocation_index) i: u32) { out[i] = N; }";
    assert_eq!(words(text, 4), [3, 3, 3, 0]);
    assert!(prepare(&format!("{text}{}", crate::harness::OUT)).is_ok());
}
