//! M08 in a page: the memory of buffers, which a browser frees only when garbage is collected unless the library frees it.

use crate::common::{Case, NO_DEVICE, Subject, case, page};
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("m08_a_page_frees_the_memory_that_the_pool_releases", released).on_gpus_in_a_page(NO_DEVICE),
        case("m08_a_page_frees_the_copies_of_ranges_that_a_launch_reads_twice", copies)
            .on_gpus_in_a_page(NO_DEVICE),
    ]
}

const N: usize = 1 << 12;

fn released(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    drop([(); 3].map(|()| queue.full([N], 1_u32).unwrap()));
    queue.finish().wait().unwrap();
    let before = page::freed_buffers();
    let blocks = ctx.pool().stats().blocks;
    ctx.pool().trim();
    let released = blocks - ctx.pool().stats().blocks;
    assert_eq!(released, 3);
    assert!(u64::from(page::freed_buffers() - before) >= released);
}

fn copies(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let text = "@group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read> y: array<u32>;
        @group(0) @binding(2) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(64) fn sums(@builtin(global_invocation_id) id: vec3<u32>) {
            if id.x < arrayLength(&out) { out[id.x] = x[id.x] + 1000u * y[id.x]; }
        }";
    let kernel = ctx.kernel_from(text, "sums").unwrap();
    let x = queue.array(&(0..128).collect::<Vec<u32>>()).unwrap();
    let [a, b, mut out] = [0..64, 0..64, 64..128].map(|range| x.slice(range).unwrap());
    let expected: Vec<u32> = (0..64).map(|i| 1001 * i).collect();
    let before = page::freed_buffers();
    for launches in 1..=4 {
        queue.launch_dyn(&kernel, Grid::threads([64]), args![x = &a, y = &b, out = &mut out]).unwrap();
        assert_eq!(queue.read(&out).wait().unwrap(), expected);
        assert!(page::freed_buffers() - before >= launches);
    }
}
