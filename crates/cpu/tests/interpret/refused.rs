//! Kernels that do not run here.

use crate::harness::{OUT, prepare};
use fencepost_kernels::{Module, ShaderSource};

/// Returns the error for the statements of a kernel, which begin in line 3.
fn refusal(before: &str, body: &str) -> String {
    let text = format!("{before} {OUT}\n@compute @workgroup_size(1) fn k() {{\n{body}\n}}");
    prepare(&text).err().map_or_else(|| "it runs".into(), |error| error.to_string())
}

#[test]
fn a_private_variable_of_a_huge_size_is_refused_by_name() {
    let error = refusal("var<private> p: array<u32, 100000000>;", "out[0] = p[out[0]];");
    let what = "the variables of 1 invocations need 400000000 bytes, `p` alone 400000000 bytes in each, and the limit on the \
                CPU is 33554432 bytes";
    assert!(error.starts_with(&format!("k.wgsl:1:1: kernel `k`: {what}")), "{error}");
}

#[test]
fn a_function_with_huge_variables_is_refused_by_name() {
    let error = refusal("", "var p: array<u32, 100000000>; out[0] = p[out[0]];");
    assert!(
        error.starts_with("k.wgsl:3:1: kernel `k`: the variables of 1 invocations need 400000000"),
        "{error}"
    );
}

#[test]
fn what_no_kernel_of_the_cpu_has_is_refused_by_name() {
    let matrix = "enable wgpu_cooperative_matrix; alias M = coop_mat8x8<f32, C>;";
    let cases = [
        ("enable wgpu_ray_query;", "var q: ray_query; out[0] = 1u;", "a ray query"),
        ("enable wgpu_int16;", "var x: vec2<i16>; out[0] = u32(x.y);", "an integer of 16 bits"),
        (
            "enable wgpu_int16; struct S { x: array<i16, 4> }",
            "var x: S; out[0] = 1u;",
            "an integer of 16 bits",
        ),
        (
            "enable wgpu_int16; @group(0) @binding(1) var<storage, read_write> x: array<i16>;",
            "x[0] = x[1];",
            "an integer of 16 bits",
        ),
        (matrix, "var m: M; out[0] = 1u;", "a cooperative matrix"),
    ];
    for (before, body, what) in cases {
        let error = refusal(before, body);
        assert!(error.ends_with(&format!("kernel `k`: {what} does not run on the CPU")), "{error}");
    }
}

#[test]
fn what_only_other_entry_points_use_is_no_reason_to_refuse() {
    let text = "
        @compute @workgroup_size(1) fn k() { out[0] = 1u; }
        var<private> p: array<u32, 100000000>;
        fn other() { var q: array<u32, 100000000>; out[0] = q[out[1]]; }
        @compute @workgroup_size(1) fn l() { other(); p[out[0]] = 1u; }";
    assert!(prepare(&format!("{text}{OUT}")).is_ok());
}

#[test]
fn invocations_that_wait_with_huge_variables_are_refused_by_name() {
    let body = "var p: array<u32, 2000000>; p[out[0]] = 1u; workgroupBarrier(); out[0] = p[out[1]];";
    let text = format!("@compute @workgroup_size(256) fn k() {{ {body} }} {OUT}");
    let error = prepare(&text).err().unwrap().to_string();
    assert!(error.contains("the variables of 256 invocations need 2048000000 bytes"), "{error}");
}

#[test]
fn a_value_of_an_override_that_makes_the_text_invalid_is_named_with_its_line() {
    let text =
        format!("override D: u32 = 1;\n{OUT}\n@compute @workgroup_size(1) fn k() {{\nout[0] = 7u / D;\n}}");
    let module = Module::parse(&ShaderSource::text("k.wgsl", text)).expect("valid WGSL");
    assert!(module.entry("k", &[("D", 2.0)]).is_ok());
    let error = module.entry("k", &[("D", 0.0)]).expect_err("a division by 0").to_string();
    assert!(error.starts_with("kernel `k` with override `D` = 0: k.wgsl:4:10: "), "{error}");
}
