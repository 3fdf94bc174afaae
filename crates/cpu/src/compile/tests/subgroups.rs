//! Subgroup operations in code for 4, 8 and 16 lanes, compared with the interpreter.

use super::{Compiled, compare, execute, without_barriers_in_calls};
use crate::error::Fault;
use crate::interpret::Interpreter;
use crate::program::Program;
use crate::run::GridRun;
use std::sync::atomic::AtomicBool;

const HEAD: &str = "enable f16;
    @group(0) @binding(0) var<storage, read_write> out: array<u32>;
    @group(0) @binding(1) var<storage, read> values: array<u32>;
    var<workgroup> cells: array<u32, 16>;";

fn text(functions: &str, statements: &str) -> String {
    format!(
        "{HEAD}
        {functions}
        @compute @workgroup_size(16)
        fn exchange(
            @builtin(local_invocation_index) lid: u32,
            @builtin(global_invocation_id) gid: vec3<u32>,
            @builtin(subgroup_invocation_id) lane: u32,
            @builtin(subgroup_id) group: u32,
            @builtin(subgroup_size) size: u32,
            @builtin(num_subgroups) groups: u32,
        ) {{
            let i = gid.x;
            let x = values[i];
            {statements}
        }}"
    )
}

/// Compares a kernel with the interpreter. The kernel stores up to 8 words for each invocation.
fn check(functions: &str, statements: &str) -> Vec<u32> {
    let original = Program::of_text(text(functions, statements));
    let program = without_barriers_in_calls(&original);
    let scalars = Compiled::new(&program, 1).err().map(|refused| refused.reason);
    let reason = scalars.expect("code without lanes refuses operations of subgroups");
    assert!(reason.contains("subgroup"), "{reason}");
    let values: Vec<u32> = (0..48_u32).map(|i| i.wrapping_mul(0x9e37_79b9) >> 27).collect();
    let bytes: [&[u8]; 2] = [&[0; 48 * 8 * 4], bytemuck::cast_slice(&values)];
    let lens = bytes.map(<[u8]>::len);
    let buffers =
        bytes.map(|bytes| bytes.chunks_exact(16).map(bytemuck::pod_read_unaligned::<u128>).collect());
    let run = |kernel: &dyn Fn(&GridRun<'_>) -> Result<(), Fault>| {
        let mut buffers: [Vec<u128>; 2] = buffers.clone();
        let done = execute(&mut buffers, &lens, &[], [3, 1, 1], &AtomicBool::new(false), kernel);
        assert_eq!(done, Ok(()));
        buffers
    };
    let interpreter = Interpreter::new(original.clone()).expect("the interpreter takes the kernel");
    let expected = run(&|it| interpreter.run(it));
    for lanes in [4, 8, 16] {
        let code = Compiled::new(&program, lanes);
        let code = code.unwrap_or_else(|refused| panic!("{lanes} lanes: {}", refused.reason));
        compare(&run(&|it| code.run(it)), &expected, &format!("{lanes} lanes"));
    }
    let words: Vec<u32> = bytemuck::cast_slice(&expected[0]).to_vec();
    assert!(words.iter().any(|&word| word != 0), "the kernel stores results");
    words
}

#[test]
fn built_in_values_number_the_lanes() {
    let found =
        check("", "out[i * 8u] = 1000u * groups + 100u * size + 10u * group + lane + subgroupAdd(0u);");
    let expected: Vec<u32> = (0..16).map(|i| 4400 + 10 * (i / 4) + i % 4).collect();
    let found: Vec<u32> = found.chunks_exact(8).take(16).map(|words| words[0]).collect();
    assert_eq!(found, expected);
}

#[test]
fn reductions_and_scans_of_all_types_are_those_of_the_interpreter() {
    check(
        "",
        "out[i * 8u] = subgroupAdd(x) + subgroupMul(x | 1u);
        out[i * 8u + 1u] = subgroupMin(x) * 1000u + subgroupMax(vec2(x, 99u - x)).y;
        out[i * 8u + 2u] = subgroupAnd(x | 3u) + subgroupOr(x) * 100u + subgroupXor(x) * 10000u;
        out[i * 8u + 3u] = subgroupInclusiveAdd(x) + subgroupExclusiveMul(x + 1u) * 1000u;
        out[i * 8u + 4u] = u32(subgroupAll(x > 2u)) + 2u * u32(subgroupAny(x > 20u));
        out[i * 8u + 5u] = bitcast<u32>(subgroupInclusiveMul(f32(x) * 0.37) + subgroupExclusiveAdd(f32(x) * 0.1));
        out[i * 8u + 6u] = u32(subgroupAdd(u64(x) << 33u) >> 30u) + u32(subgroupMin(i64(x) - 9li) + 50li);
        out[i * 8u + 7u] = bitcast<u32>(f32(subgroupAdd(f16(x) * 0.3h)) + f32(subgroupMax(f64(x) * 0.3lf)));",
    );
}

#[test]
fn lanes_take_values_of_other_lanes() {
    check(
        "",
        "out[i * 8u] = subgroupBallot(x % 3u == 1u).x + 16u * subgroupBroadcast(x, 2u);
        out[i * 8u + 1u] = subgroupBroadcastFirst(x) + 100u * subgroupShuffle(x, values[i + 1u] % 6u);
        out[i * 8u + 2u] = subgroupShuffleXor(x, x % 5u) + 100u * subgroupShuffleUp(x, 1u);
        out[i * 8u + 3u] = subgroupShuffleDown(x, x % 3u) + 100u * quadBroadcast(x, 1u);
        out[i * 8u + 4u] = quadSwapX(x) + 100u * quadSwapY(x) + 10000u * quadSwapDiagonal(x);
        out[i * 8u + 5u] = u32(subgroupShuffle(u64(x) << 35u, x % 4u) >> 34u);
        out[i * 8u + 6u] = bitcast<u32>(subgroupShuffleXor(vec3(f32(x), 1.0, f32(lid)), 1u).z);",
    );
}

#[test]
fn lanes_of_another_branch_take_no_part_and_meet_after_it() {
    let branches = "
        var n = 0u;
        if x % 2u == 0u { n = subgroupAdd(x); } else if x % 3u == 1u { n = 10u * subgroupExclusiveAdd(x); }
        switch x % 4u {
            case 0u: { n += subgroupBroadcastFirst(x); }
            case 1u, 2u: { n += subgroupShuffleXor(x, 1u) * 7u; if x > 9u { n += subgroupBallot().x; } }
            default: {}
        }
        out[i * 8u] = n + 1000u * subgroupAdd(1u);
        if x > 24u { return; }
        out[i * 8u + 1u] = subgroupInclusiveAdd(1u);";
    check("", branches);
    let functions = "
        fn sum(x: u32) -> u32 { if x > 16u { return 1u; } return subgroupAdd(x) + sumOf(x); }
        fn sumOf(x: u32) -> u32 { return subgroupMax(x); }";
    check(
        functions,
        "if x % 2u == 0u { out[i * 8u] = sum(x); } else { out[i * 8u + 1u] = sum(x + 1u); }
        out[i * 8u + 2u] = sum(x);",
    );
}

#[test]
fn lanes_of_a_loop_exchange_values_in_each_iteration() {
    check(
        "fn step(n: u32) -> u32 { return n + subgroupAdd(1u); }",
        "var n = 0u;
        for (var k = 0u; k <= x % 7u; k++) { n += subgroupAdd(1u) * k; n = step(n); }
        out[i * 8u] = n + 100u * subgroupAdd(1u);
        for (var k = 0u; k < 3u; k++) {
            n += subgroupShuffle(n, k);
            cells[lid] = n;
            subgroupBarrier();
            n += cells[lid ^ 1u];
            subgroupBarrier();
            if x % 5u == 0u { n += 1u; }
        }
        out[i * 8u + 1u] = n;
        cells[lid] = subgroupAdd(n);
        workgroupBarrier();
        let all = subgroupMax(n);
        workgroupBarrier();
        out[i * 8u + 2u] = cells[15u - lid] + all;",
    );
}

#[test]
fn an_operation_that_lanes_of_a_loop_may_leave_out_is_interpreted() {
    let refused = [
        ("", "for (var k = 0u; k < 4u; k++) { if x > k { out[i] += subgroupAdd(1u); } }"),
        ("", "for (var k = 0u; k < 4u; k++) { if x == k { continue; } out[i] += subgroupAdd(1u); }"),
        ("", "for (var k = 0u; k < 4u; k++) { for (var j = 0u; j < x; j++) { out[i] += subgroupAdd(1u); } }"),
        (
            "fn some(x: u32) -> u32 { if x > 3u { return 1u; } return subgroupAdd(x); }",
            "for (var k = 0u; k < 4u; k++) { out[i] += some(x + k); }",
        ),
    ];
    for (functions, statements) in refused {
        let program = Program::of_text(text(functions, statements));
        let refused = Compiled::new(&program, 4).err().expect("the kernel is not compiled");
        assert!(refused.reason.contains("some lanes of a loop may leave out"), "{refused:?}");
        assert!(refused.span.is_defined(), "{refused:?}");
    }
}
