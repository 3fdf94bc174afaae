//! Tests that the feature `cpu` adds an adapter, and that a build without it computes only with drivers.
//!
//! `cargo xtask features` runs these tests without the feature.
#![allow(missing_docs, reason = "the names of the tests say what they test")]

use fencepost::prelude::*;
use fencepost::{AdapterChoice, ContextOptions, ErrorDetail, adapters, args};

fn open(adapter: AdapterChoice) -> fencepost::Result<Context> {
    Context::with_options(ContextOptions::default().adapter(adapter)).wait()
}

#[test]
fn the_cpu_is_an_adapter_exactly_with_its_feature() {
    let is_listed = adapters().iter().any(|adapter| adapter.backend == "native code");
    assert_eq!(is_listed, cfg!(feature = "cpu"));
    match open(AdapterChoice::Cpu) {
        Ok(ctx) => assert!(is_listed && ctx.info().backend == "native code"),
        Err(error) => {
            assert!(matches!(error.detail(), ErrorDetail::NoAdapter { .. }) && !is_listed, "{error}");
            assert!(error.to_string().contains("the feature `cpu`"), "{error}");
        }
    }
}

#[test]
fn the_default_adapter_runs_a_kernel_and_a_machine_without_one_has_an_error() {
    let ctx = match open(AdapterChoice::Auto) {
        Ok(ctx) => ctx,
        Err(error) => {
            assert!(
                matches!(error.detail(), ErrorDetail::NoAdapter { .. }) && adapters().is_empty(),
                "{error}"
            );
            assert!(error.to_string().contains("the feature `cpu` of fencepost"), "{error}");
            return;
        }
    };
    let text = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(4) fn squares(@builtin(global_invocation_id) id: vec3<u32>) { out[id.x] = id.x * id.x; }";
    let queue = ctx.queue("main");
    let kernel = ctx.kernel_from(text, "squares").unwrap();
    let mut out = ctx.zeros::<u32, 1>([8]).unwrap();
    queue.launch_dyn(&kernel, Grid::threads([8]), args![out = &mut out]).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [0, 1, 4, 9, 16, 25, 36, 49]);
}
