//! R01: mistakes in kernels.

use super::table::{Bench, Mistake, check, mistakes};
use crate::common::{Case, Subject, assert_error, case};
use crate::kernels::shaders::NOTHING;
use fencepost::{ErrorDetail, Policy, Result};
use std::sync::Arc;

pub fn cases() -> Vec<Case> {
    vec![
        case("r01_only_the_cpu_takes_a_host_kernel", host_kernel),
        case("r01_mistakes_in_kernels_have_their_errors", |s| check(s, Policy::Ordered, TEXTS)),
        case("r01_a_kernel_of_more_bindings_than_the_device_has_is_refused", many_bindings),
        case("r01_a_kernel_that_needs_a_missing_ability_is_refused", unsupported),
    ]
}

/// Compiles a text.
fn compile(b: &Bench, wgsl: &str, entry: &str, overrides: &[(&str, f64)]) -> Result<()> {
    b.ctx.kernel_from_with(wgsl, entry, overrides).map(drop)
}

const GOOD: &str = "
override WORKGROUP: u32 = 64;
override SCALE: f32;
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(WORKGROUP) fn scale(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] *= SCALE; }
fn helper() {}
";

const TEXTS: &[Mistake] = mistakes![
    "no WGSL at all": |b| compile(b, "this is not a shader", "main", &[]) => Kernel(_),
    "an empty text": |b| compile(b, "", "main", &[]) => Kernel(_),
    "a text of other characters": |b| compile(b, "\u{0}é\u{1f600}", "main", &[]) => Kernel(_),
    "an undefined name":
        |b| compile(b, "@compute @workgroup_size(1) fn f() { y = 1; }", "f", &[]) => Kernel(_),
    "a type error":
        |b| compile(b, "@compute @workgroup_size(1) fn f() { let x: u32 = 1.5; }", "f", &[]) => Kernel(_),
    "an unknown entry point": |b| compile(b, GOOD, "nothing", &[("SCALE", 1.0)]) => Kernel(_),
    "a function that is not an entry point": |b| compile(b, GOOD, "helper", &[("SCALE", 1.0)]) => Kernel(_),
    "an unknown override": |b| compile(b, GOOD, "scale", &[("SCALE", 1.0), ("SCALES", 1.0)]) => Kernel(_),
    "an override without a value": |b| compile(b, GOOD, "scale", &[]) => Kernel(_),
    "an override that is not a number": |b| compile(b, GOOD, "scale", &[("SCALE", f64::NAN)]) => Kernel(_),
    "an override of another type":
        |b| compile(b, GOOD, "scale", &[("SCALE", 1.0), ("WORKGROUP", 1.5)]) => Kernel(_),
    "a workgroup without invocations":
        |b| compile(b, GOOD, "scale", &[("SCALE", 1.0), ("WORKGROUP", 0.0)]) => Kernel(_),
    "a workgroup of too many invocations":
        |b| compile(b, GOOD, "scale", &[("SCALE", 1.0), ("WORKGROUP", 1e6)])
        => WorkgroupTooLarge { found: [1_000_000, 1, 1], .. },
    "workgroup memory of too many bytes": |b| {
        let text = "override N = 1u;
                    var<workgroup> all: array<vec4<f32>, N>;
                    @group(0) @binding(0) var<storage, read_write> x: array<f32>;
                    @compute @workgroup_size(1) fn f() { all[0] = vec4(x[0]); x[0] = all[N - 1].x; }";
        compile(b, text, "f", &[("N", 1e8)])
    } => WorkgroupMemory { found: 1_600_000_000, .. },
    "another bind group": |b| {
        let text = "@group(1) @binding(0) var<storage, read_write> x: array<u32>;
                    @compute @workgroup_size(1) fn f() { x[0] = 1u; }";
        compile(b, text, "f", &[])
    } => Kernel(_),
    "a texture": |b| {
        let text = "@group(0) @binding(0) var t: texture_2d<f32>;
                    @compute @workgroup_size(1) fn f() { let x = textureLoad(t, vec2(0, 0), 0); }";
        compile(b, text, "f", &[])
    } => Kernel(_),
    "too many bytes of parameters": |b| {
        let text = "struct Params { all: array<vec4<f32>, 1025> }
                    @group(0) @binding(0) var<uniform> params: Params;
                    @group(0) @binding(1) var<storage, read_write> x: array<f32>;
                    @compute @workgroup_size(1) fn f() { x[0] = params.all[1024].x; }";
        compile(b, text, "f", &[])
    } => TooManyParameters { found: 16_400, limit: 16_384, .. }, // the limit of every device
];

fn host_kernel(s: &Subject) {
    let taken = s.ctx().host_kernel("f", Arc::new(NOTHING));
    if s.place().has_wgpu() {
        assert_error!(taken, ErrorDetail::Device { .. });
    } else {
        taken.unwrap();
    }
}

fn many_bindings(s: &Subject) {
    let declared = |i| format!("@group(0) @binding({i}) var<storage, read_write> x{i}: array<u32>;");
    let text: String = (0..200).map(declared).collect();
    let used: String = (0..200).map(|i| format!("x{i}[0] = 1u;")).collect();
    let ctx = s.ctx();
    let made = ctx.kernel_from(format!("{text} @compute @workgroup_size(1) fn many() {{ {used} }}"), "many");
    let most = ctx.info().max_bindings;
    if most < 200 {
        assert_error!(made, ErrorDetail::TooManyBindings { found: 200, limit, .. } if *limit == most);
    } else {
        made.unwrap();
    }
}

/// Kernels that need an optional feature, each with the feature's name in an adapter's list. `DECLARED` stands for the
/// start of the declaration of `x`.
const ABLE: [(&str, &str); 3] = [
    ("f64", "DECLARED array<f64>; @compute @workgroup_size(1) fn able() { x[0] = x[0] * 2.0lf; }"),
    ("int64", "DECLARED array<u64>; @compute @workgroup_size(1) fn able() { x[0] = x[0] * 2lu; }"),
    ("f16", "enable f16; DECLARED array<f16>; @compute @workgroup_size(1) fn able() { x[0] = x[0] * 2.0h; }"),
];

fn unsupported(s: &Subject) {
    let bench = Bench::new(s, Policy::Ordered);
    for (ability, text) in ABLE {
        let text = text.replace("DECLARED", "@group(0) @binding(0) var<storage, read_write> x:");
        let found = compile(&bench, &text, "able", &[]);
        if bench.ctx.info().abilities.contains(&ability) {
            found.expect(ability);
            continue;
        }
        let error = assert_error!(found, ErrorDetail::Unsupported { kernel, .. } if kernel == "able");
        assert!(error.to_string().contains(&bench.ctx.info().name), "{ability}: {error}");
    }
}
