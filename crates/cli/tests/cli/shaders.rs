//! The kernels of the tests.

/// `y = a * x + y` for floats.
pub(crate) const SAXPY: &str = "
struct Params { a: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn saxpy(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&y) { y[id.x] = params.a * x[id.x] + y[id.x]; }
}
";

/// Copies numbers of a type; `first` is the first line.
pub(crate) fn copy(ty: &str, first: &str) -> String {
    format!(
        "{first}
@group(0) @binding(0) var<storage, read> x: array<{ty}>;
@group(0) @binding(1) var<storage, read_write> y: array<{ty}>;
@compute @workgroup_size(64)
fn copy(@builtin(global_invocation_id) id: vec3<u32>) {{
    if id.x < arrayLength(&y) {{ y[id.x] = x[id.x]; }}
}}
"
    )
}

/// A shader that counts its invocations, in total or by their ids.
pub(crate) const COUNT: &str = "
override W: u32 = 64;
@group(0) @binding(0) var<storage, read_write> count: array<atomic<u32>>;
@compute @workgroup_size(W)
fn count_them() { atomicAdd(&count[0], 1u); }
@compute @workgroup_size(4, 2)
fn plane(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < 6 && id.y < 5 { atomicAdd(&count[id.y * 6 + id.x], 1u + id.x); }
}
";

/// A shader with parameters of every kind, and vectors of three in a buffer.
pub(crate) const MATRIX: &str = "
struct Params { m: mat3x3<f32>, v: vec3<f32>, k: u32, w: vec2<i32> }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<vec3<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<f32>>;
@compute @workgroup_size(8)
fn matrix(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    y[id.x] = vec4(params.m * x[id.x] + params.v, f32(params.k) + f32(params.w.y));
}
";

/// A shader with a struct that ends in a runtime-sized array.
pub(crate) const LIST: &str = "
struct List { count: u32, items: array<f32> }
@group(0) @binding(0) var<storage, read_write> list: List;
@compute @workgroup_size(1)
fn fill_list() {
    list.count = arrayLength(&list.items);
    list.items[1] = 1.0;
}
";
