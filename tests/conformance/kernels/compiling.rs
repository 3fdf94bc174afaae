//! K09: kernels that are compiled at once or later; shaders in several files.

use super::shaders::{Host, set_word};
use crate::common::kernels::Mix;
use crate::common::{Case, ONE_THREAD, Subject, case};
use fencepost::prelude::*;
use fencepost::{ErrorDetail, ShaderSource};
use std::sync::Arc;

pub fn cases() -> Vec<Case> {
    vec![
        case("k09_a_kernel_compiled_later_gives_the_results_of_one_compiled_at_once", later),
        case("k09_many_tasks_and_threads_may_wait_for_kernels", many).not_in_a_page(ONE_THREAD),
        case("k09_kernel_later_returns_the_same_compile_error_as_kernel", wrong),
        case("k09_dropping_a_pending_kernel_leaves_the_context_working", dropped),
        case("k09_replacing_a_host_function_compiles_the_kernel_again", anew)
            .cpu_only("an adapter has no host functions"),
        case("k09_a_source_of_several_files_compiles_as_one_shader", files),
        case("r01_texts_that_the_compiler_of_a_device_does_not_take_are_refused_at_their_place", not_taken),
    ]
}

const N: usize = 100;

fn launched(ctx: &Context, mix: &Kernel<Mix<'static>>) -> Vec<u32> {
    let x = ctx.full([N], 3_u32).unwrap();
    let mut y = ctx.zeros([N]).unwrap();
    ctx.current_queue().launch(mix, Grid::threads([N]), Mix { a: 5, b: 7, x: &x, y: &mut y }).unwrap();
    ctx.current_queue().read(&y).wait().unwrap()
}

fn later(s: &Subject) {
    let ctx = s.ctx();
    let expected = [Mix::of(5, 7, 3, 0); N];
    let first = ctx.kernel_later::<Mix>(&[]);
    assert_eq!(launched(&ctx, &first.wait().unwrap()), expected);
    assert_eq!(launched(&ctx, &ctx.kernel::<Mix>().unwrap()), expected);
    assert_eq!(launched(&ctx, &crate::common::block_on(ctx.kernel_later::<Mix>(&[])).unwrap()), expected);
    let wide = ctx.kernel_later::<Mix>(&[("WORKGROUP", 32.0)]).wait().unwrap();
    assert_eq!((wide.workgroup(), launched(&ctx, &wide)), ([32, 1, 1], expected.to_vec()));
}

fn many(s: &Subject) {
    let ctx = s.ctx();
    let sizes = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
    let kernels: Vec<_> =
        (0..24).map(|at| ctx.kernel_later::<Mix>(&[("WORKGROUP", sizes[at % sizes.len()])])).collect();
    crate::common::thread::scope(|scope| {
        for (at, kernel) in kernels.into_iter().enumerate() {
            let ctx = &ctx;
            scope.spawn(move || {
                let kernel = crate::common::block_on(kernel).unwrap();
                assert_eq!(kernel.workgroup()[0], sizes[at % sizes.len()] as u32);
                ctx.queue("own").scope(|| assert_eq!(launched(ctx, &kernel), [Mix::of(5, 7, 3, 0); N]));
            });
        }
    });
}

fn wrong(s: &Subject) {
    let ctx = s.ctx();
    let bad = ShaderSource::text("bad.wgsl", "@compute @workgroup_size(1) fn bad() { let x = 1u * 1.0f; }");
    let later = ctx.kernel_from_later(&bad, "bad", &[]).wait().map(drop).unwrap_err();
    let at_once = ctx.kernel_from_with(&bad, "bad", &[]).map(drop).unwrap_err();
    assert_eq!(later.to_string(), at_once.to_string());
    assert!(
        matches!(later.detail(), ErrorDetail::Kernel(_)) && later.to_string().contains("bad.wgsl:1:"),
        "{later}"
    );
    let unknown = ctx.kernel_later::<Mix>(&[("WORKGRUOP", 1.0)]).wait().map(drop).unwrap_err();
    assert!(unknown.to_string().contains("WORKGROUP"), "{unknown}");
}

fn dropped(s: &Subject) {
    for _ in 0..5 {
        let ctx = s.ctx();
        drop(ctx.kernel_later::<Mix>(&[]));
        let mut polled = ctx.kernel_later::<Mix>(&[("WORKGROUP", 8.0)]);
        drop(polled.wait_timeout(std::time::Duration::ZERO).unwrap());
        drop(polled);
        assert_eq!(launched(&ctx, &ctx.kernel::<Mix>().unwrap()), [Mix::of(5, 7, 3, 0); N]);
    }
}

fn anew(s: &Subject) {
    const TEXT: &str = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(1) fn given() { x[0] = 1u; }";
    let ctx = s.ctx();
    for value in [4, 9] {
        let host: Host = if value == 4 {
            |_, _, _, buffers| set_word(&mut buffers[0], 0, 4)
        } else {
            |_, _, _, buffers| set_word(&mut buffers[0], 0, 9)
        };
        ctx.host_kernel("given", Arc::new(host)).unwrap();
        let kernel = ctx.kernel_from(TEXT, "given").unwrap();
        let mut x = ctx.zeros::<u32, 1>([1]).unwrap();
        ctx.current_queue().launch_dyn(&kernel, Grid::groups([1]), args![&mut x]).unwrap();
        assert_eq!(ctx.current_queue().read(&x).wait().unwrap(), [value]);
    }
}

fn files(s: &Subject) {
    const MAIN: &str = "//#use \"math/square.wgsl\"
        @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(1) fn squares(@builtin(global_invocation_id) id: vec3<u32>) {
            x[id.x] = square(id.x) + ONE;
        }";
    let ctx = s.ctx();
    let alone = ShaderSource::text("squares.wgsl", MAIN);
    let error = ctx.kernel_from_with(&alone, "squares", &[]).map(drop).unwrap_err().to_string();
    assert!(
        error.starts_with("squares.wgsl:1: there is no file `math/square.wgsl`; there are none"),
        "{error}"
    );
    let source = alone
        .with_file("math/square.wgsl", "//#use \"../one.wgsl\"\nfn square(x: u32) -> u32 { return x * x; }")
        .with_file("one.wgsl", "const ONE = 1u;");
    let kernel = ctx.kernel_from_with(&source, "squares", &[]).unwrap();
    let mut x = ctx.zeros::<u32, 1>([4]).unwrap();
    ctx.current_queue().launch_dyn(&kernel, Grid::groups([4]), args![&mut x]).unwrap();
    assert_eq!(ctx.current_queue().read(&x).wait().unwrap(), [1, 2, 5, 10]);
    let wrong = source.with_file("one.wgsl", "const ONE = 1u;\n\nconst TWO: u32 = 1.5;");
    let error = ctx.kernel_from_with(&wrong, "squares", &[]).map(drop).unwrap_err().to_string();
    assert!(error.starts_with("one.wgsl:3:"), "{error}");
}

fn not_taken(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    // Returns the results, or the error of the compilation.
    let run = |functions: &str, body: &str| {
        let text = format!(
            "@group(0) @binding(0) var<storage, read_write> o: array<u32>;\n{functions}\n\
             @compute @workgroup_size(1) fn parts() {{\n{body}\n}}"
        );
        let kernel = ctx.kernel_from(&text, "parts")?;
        let mut o = queue.array(&[3_u32, 0, 0])?;
        queue.launch_dyn(&kernel, Grid::groups([1]), args![o = &mut o])?;
        queue.read(&o).wait()
    };
    let add = "fn add(p: ptr<function, u32>) { *p += 7u; }";
    let whole = run(add, "var b = o[0]; add(&b); o[1] = b;").unwrap();
    assert_eq!(whole, [3, 10, 0]);
    let on_vulkan = s.place().is_vulkan();
    // Firefox hangs on such a pointer, so it must not see the text.
    let refuses = on_vulkan || s.place().is_firefox();
    for part in [
        "var v = array<u32, 2>(1u, o[0]); add(&v[1]); o[1] = v[1];",
        "var v = array<u32, 4>(); v[o[0]] = 3u; add(&v[o[0]]); o[1] = v[3];",
    ] {
        match run(add, part) {
            Ok(found) => assert_eq!((found, refuses), (vec![3, 10, 0], false), "{part}"),
            Err(error) => {
                let said = error.to_string();
                assert!(
                    refuses && said.contains(":4:") && said.contains("pointer to a part"),
                    "{part}: {said}"
                );
            }
        }
    }
    if ctx.info().abilities.contains(&"int64") {
        let same = run(
            "",
            "let x = i32(o[0]) - 4; o[1] = u32(u64(i64(x)) >> 32u); o[2] = u32(i64(u64(u32(x))) >> 32u);",
        );
        assert_eq!(same.unwrap(), [3, u32::MAX, 0]);
        let other =
            run("", "let x = i32(o[0]) - 4; o[1] = u32(u64(x) >> 32u); o[2] = u32(i64(u32(x)) >> 32u);");
        assert_eq!(other.unwrap(), [3, u32::MAX, 0]);
    }
}
