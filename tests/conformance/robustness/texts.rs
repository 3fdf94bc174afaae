//! R09: limits on what a shader can demand.

use crate::common::{Case, ONE_THREAD, Subject, case};
use fencepost::{Context, ErrorDetail, Grid, args};

pub fn cases() -> Vec<Case> {
    vec![
        case("r09_private_memory_over_the_limit_is_an_error_before_the_launch", private)
            .native_only("other devices keep private memory in their own places"),
        case("r09_private_memory_over_the_limit_is_an_error_of_the_recorder", private)
            .cpu_only("other devices keep private memory in their own places"),
        case("r09_variables_over_the_limit_of_a_gpu_are_an_error_before_a_driver_sees_them", on_gpu)
            .gpu_only("the CPU device has a limit of its own"),
        case("r09_calls_that_double_again_and_again_are_an_error_before_a_driver_sees_them", calls)
            .gpu_only("the CPU device compiles each function once"),
        case("r09_a_text_over_the_limits_of_length_is_an_error_that_names_them", long).host_side(),
        case("r09_a_constant_over_the_limit_is_an_error_that_names_it", constants),
        case("r09_a_thread_with_a_small_stack_compiles_kernels", small_stack).not_in_a_page(ONE_THREAD),
    ]
}

fn message(ctx: &Context, text: &str) -> String {
    let error = ctx.kernel_from(text, "k").map(drop).expect_err("it is over a limit");
    assert!(matches!(error.detail(), ErrorDetail::Compile { .. } | ErrorDetail::Kernel(_)), "{error}");
    error.to_string()
}

fn private(s: &Subject) {
    let ctx = s.ctx();
    let text = |words: u32, workgroup: u32| {
        format!(
            "@group(0) @binding(1) var<storage, read_write> x: array<u32>; var<private> a: array<u32, {words}>;
            @compute @workgroup_size({workgroup}) fn k(@builtin(local_invocation_index) i: u32) {{
                a[x[i & 3u]] = i; workgroupBarrier(); x[i & 63u] = a[x[1] & 7u];
            }}"
        )
    };
    for (words, workgroup) in [(1 << 20, 256), (100_000_000, 1), (32 << 10, 1024)] {
        let text = message(&ctx, &text(words, workgroup));
        for part in [
            "`a` alone",
            &format!("{} bytes", 4 * words),
            "the limit on the CPU is 33554432",
            "use a smaller array",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
    let kernel = ctx.kernel_from(text(4096, 64), "k").unwrap();
    let mut x = ctx.zeros::<u32, 1>([64]).unwrap();
    ctx.current_queue().launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x]).unwrap();
    ctx.current_queue().read(&x).wait().unwrap();
}

fn on_gpu(s: &Subject) {
    let ctx = s.ctx();
    let text = |words: u32, variable: &str| {
        format!(
            "@group(0) @binding(0) var<storage, read_write> x: array<u32>; var<private> p: array<u32, {words}>;
            fn f(i: u32) -> u32 {{ var a: array<u32, {words}>; a[x[i]] = 9; return a[x[i]]; }}
            @compute @workgroup_size(1) fn k() {{ {variable} p[x[1]] = f(2); x[0] = p[x[1]]; }}"
        )
    };
    let found = message(&ctx, &text(8000, "var b: array<u32, 8000>; b[x[3]] = 1; x[0] = b[x[3]];"));
    for part in
        ["need 96000 bytes", "alone 32000", "the limit on a GPU is 65536 bytes", "an array in a buffer"]
    {
        assert!(found.contains(part), "{found}");
    }
    let kernel = ctx.kernel_from(text(64, ""), "k").unwrap();
    let mut x = ctx.array(&[0_u32; 8]).unwrap();
    ctx.current_queue().launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x]).unwrap();
    assert_eq!(ctx.current_queue().read(&x).wait().unwrap()[0], 9);
}

fn calls(s: &Subject) {
    let ctx = s.ctx();
    let text = |functions: u32| {
        let one = |at: u32| format!("fn f{}(a: u32) -> u32 {{ return f{at}(a) + f{at}(a + 1u); }}", at + 1);
        format!(
            "@group(0) @binding(0) var<storage, read_write> x: array<u32>; fn f0(a: u32) -> u32 {{ return a; }}
            {} @compute @workgroup_size(1) fn k() {{ x[0] = f{functions}(x[0]); }}",
            (0..functions).map(one).collect::<String>()
        )
    };
    let found = message(&ctx, &text(40));
    assert!(found.contains("the limit on a GPU is 65536"), "{found}");
    let kernel = ctx.kernel_from(text(4), "k").unwrap();
    let mut x = ctx.array(&[1_u32]).unwrap();
    ctx.current_queue().launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x]).unwrap();
    assert_eq!(ctx.current_queue().read(&x).wait().unwrap(), [48]);
}

fn long(s: &Subject) {
    let ctx = s.ctx();
    let kernel = |body: &str| format!("@compute @workgroup_size(1) fn k() {{ {body} }}");
    let words = message(&ctx, &kernel(&"_ = 1;".repeat(40_000)));
    assert!(
        words.contains("160013 words, numbers and signs") && words.contains("the limit is 100000"),
        "{words}"
    );
    let bytes = message(&ctx, &kernel(&" ".repeat(2 << 20)));
    assert!(bytes.contains("the limit is 1048576"), "{bytes}");
    ctx.kernel_from(kernel(&"_ = 1;".repeat(1000)), "k").unwrap();
}

fn constants(s: &Subject) {
    let ctx = s.ctx();
    let nested = |depth: u32| {
        let one = |at: u32| format!("const c{at} = array(c{0}, c{0}); ", at - 1);
        let constants = (1..depth).map(one).collect::<String>();
        let index = "[0]".repeat(depth as usize);
        format!(
            "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
            const c0 = array(7u, 7u); {constants}
            @compute @workgroup_size(1) fn k() {{ x[0] = c{}{index}; }}",
            depth - 1
        )
    };
    let constant = message(&ctx, &nested(24));
    assert!(constant.contains("`c16` expands to 131072 numbers, and the limit is 65536"), "{constant}");
    let kernel = ctx.kernel_from(nested(12), "k").unwrap();
    let mut x = ctx.zeros::<u32, 1>([1]).unwrap();
    ctx.current_queue().launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x]).unwrap();
    assert_eq!(ctx.current_queue().read(&x).wait().unwrap(), [7]);
}

fn small_stack(s: &Subject) {
    let ctx = s.ctx();
    let text = |deep: usize| {
        format!(
            "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
            @compute @workgroup_size(1) fn k() {{ x[0] = {}7u{}; }}",
            "(".repeat(deep),
            ")".repeat(deep)
        )
    };
    for (deep, works) in [(1, true), (150, true), (5000, false)] {
        let ctx = ctx.clone();
        let text = text(deep);
        let compile = move || ctx.kernel_from(&text, "k").map(drop).map_err(|error| error.to_string());
        let thread = crate::common::thread::Builder::new().stack_size(64 << 10).spawn(compile).unwrap();
        let compiled = thread.join().expect("the thread returns");
        assert_eq!(compiled.is_ok(), works, "{deep}: {compiled:?}");
    }
    let kernel = ctx.kernel_from(text(150), "k").unwrap();
    let mut x = ctx.zeros::<u32, 1>([1]).unwrap();
    ctx.current_queue().launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x]).unwrap();
    assert_eq!(ctx.current_queue().read(&x).wait().unwrap(), [7]);
}
