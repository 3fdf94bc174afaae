//! Kernels that do not run here.

use crate::harness::{OUT, prepare};

/// Returns the error for the statements of a kernel, which begin in line 3.
fn refusal(before: &str, body: &str) -> String {
    let text = format!("{before} {OUT}\n@compute @workgroup_size(1) fn k() {{\n{body}\n}}");
    prepare(&text).err().map_or_else(|| "it runs".into(), |error| error.to_string())
}

#[test]
fn a_private_variable_of_a_huge_size_is_refused_by_name() {
    let error = refusal("var<private> p: array<u32, 100000000>;", "out[0] = p[out[0]];");
    assert_eq!(
        error,
        "k.wgsl:1:1: kernel `k`: a private variable of this type or size does not run on the CPU"
    );
}

#[test]
fn a_function_with_huge_variables_is_refused_by_name() {
    let error = refusal("", "var p: array<u32, 100000000>; out[0] = p[out[0]];");
    assert!(error.starts_with("k.wgsl:3:1: kernel `k`: a function with more than 4194304 words"), "{error}");
}

#[test]
fn a_ray_query_is_refused_by_name() {
    let error = refusal("enable wgpu_ray_query;", "var q: ray_query; out[0] = 1u;");
    assert!(error.contains("a variable of this type does not run on the CPU"), "{error}");
}
