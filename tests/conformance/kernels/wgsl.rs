//! K12 and K13: sizes are WGSL constants, and code that a browser refuses is reported.

use crate::common::{Case, Subject, case};
use fencepost::algorithms::{Algorithms, Sort};
use fencepost::{Context, ErrorDetail, Grid, args};

pub fn cases() -> Vec<Case> {
    vec![
        case("k12_a_workgroup_has_as_many_invocations_as_wgsl_computes", sizes),
        case("k12_a_value_that_is_given_is_rounded_to_the_type_of_its_override", rounded),
        case("k12_an_array_is_as_long_as_wgsl_computes", lengths),
        case("k12_limits_hold_for_the_sizes_that_wgsl_computes", limits),
        case("k12_an_override_that_the_kernel_does_not_use_needs_no_value", unused),
        case("k13_a_barrier_that_only_some_invocations_reach_is_a_warning_with_its_place", warned),
        case("k09_kernel_later_returns_the_error_of_the_compiler_of_the_browser", answered),
        case("k13_a_variable_that_a_function_writes_by_two_names_is_a_warning", aliased),
        case("k13_the_verbs_of_the_library_have_portable_kernels", verbs),
        case("k13_a_portable_context_refuses_what_a_browser_refuses", refused),
    ]
}

/// Counts the invocations of one workgroup.
fn invocations(ctx: &Context, declarations: &str, size: &str, overrides: &[(&str, f64)]) -> u32 {
    let text = format!(
        "{declarations}
        @group(0) @binding(0) var<storage, read_write> counter: atomic<u32>;
        @compute @workgroup_size({size}) fn k() {{ atomicAdd(&counter, 1u); }}"
    );
    let kernel =
        ctx.kernel_from_with(&text, "k", overrides).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut counter = ctx.zeros::<u32, 1>([1]).unwrap();
    let queue = ctx.current_queue();
    queue.launch_dyn(&kernel, Grid::groups([1]), args![counter = &mut counter]).unwrap();
    queue.read(&counter).wait().unwrap()[0]
}

fn sizes(s: &Subject) {
    let ctx = s.ctx();
    for (declarations, size, expected) in [
        ("override n: i32 = -3;", "u32(abs(n))", 3),
        ("const table = array(4u, 8u, 16u, 32u);", "table[2]", 16),
        ("override f: f32 = -2.5;", "8u - u32(f)", 8),
        ("override n: u32 = 12;", "1u << firstLeadingBit(n)", 8),
        ("override W: u32 = 100u;", "W & 15u", 4),
        ("override W: u32 = 128u;", "min(W, 64u)", 64),
        ("override big: bool = true;", "select(8u, 16u, big)", 16),
        ("override a: f32 = 0.7;", "u32(a * 100.0)", (0.7_f32 * 100.0) as u32),
        ("override n = 3; override m = n * n + 1;", "m, n", 30),
    ] {
        assert_eq!(invocations(&ctx, declarations, size, &[]), expected, "{declarations} {size}");
    }
}

fn rounded(s: &Subject) {
    let found = invocations(&s.ctx(), "override a: f32 = 0.5;", "u32(a * 10.0) + 1u, 2", &[("a", 0.7)]);
    assert_eq!(found, 16, "0.7f is less than 0.7, and 0.7f * 10f is 7f");
}

fn lengths(s: &Subject) {
    let ctx = s.ctx();
    let text = "override W: u32 = 5u; override Z = 2u;
        var<workgroup> t: array<u32, max(W, 4u) * Z>;
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(1) fn k() {
            for (var i = 0u; i < max(W, 4u) * Z; i++) { t[i] = i * W; }
            out[0] = t[max(W, 4u) * Z - 1u];
        }";
    for w in [1.0, 5.0, 9.0] {
        let kernel = ctx.kernel_from_with(text, "k", &[("W", w)]).unwrap();
        let mut out = ctx.zeros::<u32, 1>([1]).unwrap();
        ctx.current_queue().launch_dyn(&kernel, Grid::groups([1]), args![out = &mut out]).unwrap();
        let length = f64::max(w, 4.0) * 2.0;
        assert_eq!(ctx.current_queue().read(&out).wait().unwrap(), [((length - 1.0) * w) as u32]);
    }
}

fn limits(s: &Subject) {
    let ctx = s.ctx();
    let kind = |declarations: &str, size: &str, w: f64| {
        let text = format!(
            "override W: u32 = 1; {declarations}
            @group(0) @binding(0) var<storage, read_write> out: array<u32>;
            @compute @workgroup_size({size}) fn k() {{ out[0] = used(); }}"
        );
        ctx.kernel_from_with(&text, "k", &[("W", w)]).map(drop).expect_err(&text)
    };
    let nothing = "fn used() -> u32 { return 1u; }";
    for size in ["W * 40u", "max(W, 3u) << 6u", "W << 20u", "1, select(1u, 4000u, W > 3u)"] {
        let error = kind(nothing, size, 100.0);
        assert!(matches!(error.detail(), ErrorDetail::WorkgroupTooLarge { .. }), "{size}: {error}");
    }
    for (length, w) in [("W * 200u", 100.0), ("max(W, 20000u)", 1.0), ("W", 1e8), ("W << 20u", 100.0)] {
        let memory = format!("var<workgroup> t: array<u32, {length}>; fn used() -> u32 {{ return t[0]; }}");
        let error = kind(&memory, "1", w);
        assert!(matches!(error.detail(), ErrorDetail::WorkgroupMemory { .. }), "{length}: {error}");
    }
    let error = kind(nothing, "W - 1u", 1.0);
    assert!(error.to_string().contains("workgroup size along axis 0 is 0"), "{error}");
}

fn unused(s: &Subject) {
    let ctx = s.ctx();
    let declarations = "override unused: f32; override other: u32;";
    assert_eq!(invocations(&ctx, declarations, "3", &[]), 3);
    assert_eq!(invocations(&ctx, declarations, "3", &[("other", 7.0)]), 3);
    let error = ctx.kernel_from("override W: u32; @compute @workgroup_size(W) fn k() { }", "k").map(drop);
    let error = error.expect_err("the size has no value").to_string();
    assert!(error.contains("override `W`: has no default and was given no value"), "{error}");
}

/// A barrier that half of the invocations reach.
const HALF: &str = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(4) fn k(@builtin(local_invocation_index) i: u32) {
    out[i] = i;
    if i < 2u {
        workgroupBarrier();
    }
}";

fn warned(s: &Subject) {
    let ctx = s.ctx();
    let kernel = ctx.kernel_from(HALF, "k").unwrap();
    let [warning] = kernel.warnings() else { panic!("{:?}", kernel.warnings()) };
    let text = warning.to_string();
    assert!(
        text.starts_with("k:5:9: `workgroupBarrier` must be reached by all invocations of a workgroup"),
        "{text}"
    );
    assert!(text.ends_with("|         workgroupBarrier();\n  |         ^^^^^^^^^^^^^^^^"), "{text}");
    let right = HALF.replace("if i < 2u", "if out[0] == 0u").replace("storage, read_write", "storage, read");
    let right = right.replace("    out[i] = i;\n", "");
    assert_eq!(ctx.kernel_from(&right, "k").unwrap().warnings(), []);
}

/// Compiles a kernel that Chromium refuses. Elsewhere it is compiled; in Firefox, either is right.
fn answered(s: &Subject) {
    let ctx = s.ctx();
    for _ in 0..2 {
        let later = ctx.kernel_from_later(HALF, "k", &[]).wait().map(drop);
        match s.place().name() {
            "chromium" => assert!(later.is_err()),
            "firefox" => {}
            _ => assert!(later.is_ok()),
        }
        if let Err(error) = later {
            let of_k = matches!(error.detail(), ErrorDetail::Compile { kernel, .. } if kernel == "k");
            assert!(of_k, "{error}");
        }
    }
    assert_eq!(invocations(&ctx, "", "4", &[]), 4, "the context works on");
}

fn aliased(s: &Subject) {
    let text = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
fn add(a: ptr<function, u32>, b: ptr<function, u32>) { *a += *b; }
@compute @workgroup_size(1) fn k() {
    var x = 3u;
    var y = 4u;
    add(&x, &x);
    out[0] = x + y;
}";
    let ctx = s.ctx();
    let expected = "k:6:5: `add` gets `x` twice, as `a` and as `b`, and writes it";
    // On GL, functions take a copy of the variable, so the shader would compute 7 there (K11).
    if s.place().is_gl() {
        let error = ctx.kernel_from(text, "k").map(drop).expect_err("it computes another number").to_string();
        assert!(error.contains(expected), "{error}");
    } else {
        let kernel = ctx.kernel_from(text, "k").unwrap();
        let [warning] = kernel.warnings() else { panic!("{:?}", kernel.warnings()) };
        assert!(warning.to_string().starts_with(expected), "{warning}");
        let mut out = ctx.zeros::<u32, 1>([1]).unwrap();
        let queue = ctx.current_queue();
        let launched = queue.launch_dyn(&kernel, Grid::groups([1]), args![out = &mut out]);
        match (s.place().name(), launched.and_then(|()| queue.read(&out).wait())) {
            ("chromium", Ok(found)) => panic!("Chromium refuses it, and the result is {found:?}"),
            ("chromium" | "firefox", Err(error)) => {
                let of_k = matches!(error.detail(), ErrorDetail::Compile { kernel, .. } if kernel == "k");
                assert!(of_k, "{error}");
            }
            (_, found) => assert_eq!(found.unwrap(), [10]),
        }
    }
    let portable = s.options(|options| options.portable_wgsl = true);
    let error = portable.kernel_from(text, "k").map(drop).expect_err("a browser refuses it");
    assert!(
        matches!(error.detail(), ErrorDetail::Kernel(_)) && error.to_string().contains("gets `x` twice"),
        "{error}"
    );
    let right = text.replace("add(&x, &x)", "add(&x, &y)");
    assert_eq!(portable.kernel_from(&right, "k").unwrap().warnings(), []);
}

fn verbs(s: &Subject) {
    let ctx = s.options(|options| options.portable_wgsl = true);
    let queue = ctx.queue("q");
    let words: Vec<u32> = (0..1000_u32).map(|n| n.wrapping_mul(2_654_435_761) >> 7).collect();
    let x = ctx.array(&words).unwrap();
    let mut mapped = ctx.zeros([1000]).unwrap();
    let mut sorted = ctx.zeros([1000]).unwrap();
    let mut total = ctx.zeros::<u32, 1>([1]).unwrap();
    queue.map(&x, "(x >> 1u) + 1u", &mut mapped).unwrap();
    queue.sort(&mapped, &mut sorted, Sort::ascending()).unwrap();
    queue.sum(&sorted, &mut total).unwrap();
    let mut expected: Vec<u32> = words.iter().map(|n| (n >> 1) + 1).collect();
    expected.sort_unstable();
    assert_eq!(queue.read(&sorted).wait().unwrap(), expected);
    let sum = expected.iter().fold(0_u32, |sum, n| sum.wrapping_add(*n));
    assert_eq!(queue.read(&total).wait().unwrap(), [sum]);
}

fn refused(s: &Subject) {
    let ctx = s.options(|options| options.portable_wgsl = true);
    let shift = HALF.replace("i < 2u", "out[0] << 1u + 1u == 0u");
    for (text, place) in [(HALF, "k:5:9: `workgroupBarrier`"), (&*shift, "k:4:21: `<<` and `+`")] {
        let error = ctx.kernel_from(text, "k").map(drop).expect_err(text);
        assert!(
            matches!(error.detail(), ErrorDetail::Kernel(_)) && error.to_string().contains(place),
            "{error}"
        );
    }
    let right = HALF.replace("if i < 2u", "if true");
    assert_eq!(ctx.kernel_from(&right, "k").unwrap().warnings(), []);
}
