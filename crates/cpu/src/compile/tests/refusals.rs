//! Kernels that the compiler leaves to the interpreter.

use super::{Compiled, Test, refused, without_barriers_in_calls};
use crate::kernel::CpuKernel;
use crate::program::Program;
use crate::run::{Cells, GridRun};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Checks that a kernel with these statements is refused for the given reason.
fn check(declarations: &str, statements: &str, reason: &str) {
    let refused = refused(&format!(
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
        var<workgroup> cell: u32;
        {declarations}
        @compute @workgroup_size(4)
        fn refused(@builtin(local_invocation_index) lid: u32) {{ {statements} }}"
    ));
    assert!(refused.reason.contains(reason), "{refused:?}");
    assert!(refused.span.is_defined(), "{refused:?}");
}

#[test]
fn a_barrier_that_some_invocations_may_miss_is_refused() {
    let differ = "may differ between invocations";
    check("", "if lid == out[0] { workgroupBarrier(); }", differ);
    check("", "if lid > 2u { return; } workgroupBarrier(); out[lid] = cell;", differ);
    check("", "for (var i = 0u; i < lid; i++) { workgroupBarrier(); }", differ);
    check("", "var n = 1u; if lid == 1u { n = 2u; } if n == 1u { workgroupBarrier(); }", differ);
    check("", "switch out[0] { case 1u: { workgroupBarrier(); } default: {} }", differ);
    check("", "switch lid { case 1u: { return; } default: {} } workgroupBarrier(); out[lid] = cell;", differ);
}

#[test]
fn a_function_that_some_invocations_leave_before_its_barrier_is_refused() {
    let differ = "may differ between invocations";
    let loops = |condition: &str| {
        format!(
            "fn wait(lid: u32) {{
                for (var i = 0u; i < 4u; i++) {{ if {condition} {{ return; }} cell += 1u; }}
                workgroupBarrier();
            }}"
        )
    };
    check(&loops("i == lid"), "wait(lid); out[lid] = 1u;", differ);
    check(&loops("out[i] == 7u"), "wait(lid); out[lid] = 1u;", differ);
}

#[test]
fn a_value_of_very_many_numbers_is_refused_before_it_is_translated() {
    // Each struct has two members of the previous struct.
    let pairs = |depth: u32| {
        let pair = |at: u32| format!("struct S{} {{ a: S{at}, b: S{at} }} ", at + 1);
        format!(
            "struct S0 {{ a: u32 }} {} var<private> all: S{depth};",
            (0..depth).map(pair).collect::<String>()
        )
    };
    let first = |depth: u32| format!("let s = all; out[lid] = s.{}a;", "a.".repeat(depth as usize));
    check(&pairs(15), &first(15), "a value of 32768 numbers");
    check(
        "@group(0) @binding(1) var<storage> all: array<array<u32, 4096>, 4096>;",
        "let s = all; out[lid] = s[1][2];",
        "a value of 16777216 numbers",
    );
    check(
        "var<private> all: array<array<u32, 200>, 100>;",
        "let s = all; out[lid] = s[1][2];",
        "a value of 20000 numbers",
    );
}

#[test]
fn a_run_with_a_small_buffer_or_an_order_is_not_taken() {
    let test = Test::new(
        "@group(0) @binding(0) var<storage, read_write> out: array<vec2<u32>>;
        @compute @workgroup_size(1) fn store() { out[0] = vec2<u32>(1u); }",
    );
    let stop = AtomicBool::new(false);
    let takes = |len: usize, seed: u64| {
        let mut words = [0_u128; 2];
        let cells = [Cells::new(&mut bytemuck::cast_slice_mut(&mut words)[..len])];
        let run = GridRun { groups: [1; 3], range: 0..1, params: &[], buffers: &cells, seed, stop: &stop };
        test.compiled.takes(&run)
    };
    assert!(takes(8, 0));
    assert!(!takes(4, 0), "the buffer holds no element");
    assert!(!takes(8, 1), "the run has an order");
}

/// Generates a kernel that calls a function with barriers many times. The kernel stores 4 counts.
fn many_calls(calls: usize) -> Arc<Program> {
    Program::of_text(format!(
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
        var<workgroup> part: array<u32, 4>;
        fn step(lid: u32) {{
            let next = part[(lid + 1u) % 4u];
            workgroupBarrier();
            part[lid] = next + 1u;
            workgroupBarrier();
        }}
        @compute @workgroup_size(4)
        fn steps(@builtin(local_invocation_index) lid: u32) {{ {} out[lid] = part[lid]; }}",
        "step(lid); ".repeat(calls)
    ))
}

#[test]
fn a_function_with_barriers_that_is_called_2000_times_is_not_expanded_and_its_kernel_is_interpreted() {
    let few = many_calls(20);
    assert!(CpuKernel::new(few).expect("it is prepared").is_compiled());
    let many = many_calls(2000);
    let kept = without_barriers_in_calls(&many);
    assert!(Arc::ptr_eq(&kept, &many), "the calls are expanded");
    let refused = Compiled::new(&kept, 1).err().expect("it is not compiled");
    assert!(refused.reason.contains("a barrier in a function that the entry point calls"), "{refused:?}");
    let kernel = CpuKernel::new(many).expect("it is prepared");
    assert!(!kernel.is_compiled());
    let mut words = [0_u128; 1];
    let buffers = [Cells::new(bytemuck::bytes_of_mut(&mut words))];
    let groups = [1; 3];
    let range = 0..1;
    let stop = AtomicBool::new(false);
    let run = GridRun { groups, range, params: &[], buffers: &buffers, seed: 0, stop: &stop };
    kernel.run_groups(&run).expect("nothing stops the run");
    assert_eq!(bytemuck::cast_slice::<u128, u32>(&words), [2000; 4]);
}
