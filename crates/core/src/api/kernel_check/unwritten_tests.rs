//! Tests of the check for reads of device memory that nothing wrote.

use super::kernel_check_tests::{contexts, recorder};
use crate::api::context::Context;
use crate::api::grid::Grid;
use crate::api::kernel_check::Mistake;
use crate::api::queue::CommandQueue;
use crate::arrays::device_array::DeviceArray;
use crate::arrays::host_array::{Download, HostArray, Upload};
use crate::error::Result;
use crate::region;
use fencepost_kernels::{HostBuffer, args};
use std::sync::Arc;

const TEXT: &str = "@group(0) @binding(0) var<storage, read> x: array<u32>;
    @group(0) @binding(1) var<storage, read_write> y: array<u32>;
    @compute @workgroup_size(16) fn copies(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&y) { y[id.x] = x[id.x]; }
    }";

/// Number of elements of the arrays.
const LEN: usize = 16;

/// A program: its context and its queue.
struct Program {
    ctx: Context,
    queue: CommandQueue,
}

impl Program {
    fn empty(&self) -> DeviceArray<u32> {
        self.ctx.empty([LEN]).expect("memory")
    }

    fn ones(&self) -> DeviceArray<u32> {
        self.ctx.full([LEN], 1).expect("memory")
    }

    /// Launches a kernel that copies an array.
    fn launch(&self, x: &DeviceArray<u32>, y: &mut DeviceArray<u32>) {
        launch(&self.ctx, &self.queue, x, y).expect("a launch");
    }

    /// Launches a copy of `x`, and returns the index of the first unwritten element that it reads, and the number of
    /// such elements.
    fn unwritten(&self, x: &DeviceArray<u32>) -> Option<(usize, u64)> {
        self.queue.finish().wait().expect("a finding is not an error");
        drop(self.ctx.diagnostics().take_findings());
        let mut y = self.ctx.zeros([x.len()]).expect("memory");
        self.launch(x, &mut y);
        self.queue.finish().wait().expect("a finding is not an error");
        self.found()
    }

    /// Returns the findings, all of which are reads of `x` at one place, in the form of [`unwritten`](Self::unwritten).
    fn found(&self) -> Option<(usize, u64)> {
        let findings = self.ctx.diagnostics().take_findings();
        let finding = findings.first()?;
        let (1, Mistake::UnwrittenRead { element, .. }) = (findings.len(), &finding.mistake) else {
            panic!("{findings:?}")
        };
        let first = element.path.strip_prefix("x[").and_then(|path| path.strip_suffix(']'));
        Some((first.and_then(|first| first.parse().ok()).expect("an element of x"), finding.count))
    }
}

fn launch(ctx: &Context, queue: &CommandQueue, x: &DeviceArray<u32>, y: &mut DeviceArray<u32>) -> Result<()> {
    let kernel = ctx.kernel_from(TEXT, "copies")?;
    queue.launch_dyn(&kernel, Grid::threads([y.len()]), args![x = x, y = y])
}

/// Runs a test on the CPU device, and on the CPU recorder with a few seeds.
fn each(test: impl Fn(&Program)) {
    for ctx in contexts() {
        let queue = ctx.queue("q");
        test(&Program { ctx, queue });
    }
}

#[test]
fn only_the_calls_that_leave_memory_unwritten_lead_to_findings() {
    each(|p| {
        let all = Some((0, LEN as u64));
        let x = p.empty();
        assert_eq!(p.unwritten(&x), all, "Context::empty");
        assert_eq!(p.unwritten(&p.ctx.empty(&x).expect("memory")), all, "Context::empty");
        assert_eq!(p.unwritten(&p.queue.empty([LEN]).expect("memory")), all, "CommandQueue::empty");
        assert_eq!(p.unwritten(&p.queue.empty(&x).expect("memory")), all, "CommandQueue::empty");
        // The first memory is new, and later memory is reused from dropped arrays.
        for _ in 0..3 {
            let made = [
                p.ctx.zeros([LEN]),
                p.queue.zeros([LEN]),
                p.ctx.zeros(&x),
                p.ctx.full([LEN], 7),
                p.queue.full([LEN], 7),
                p.ctx.full(&x, 7),
                p.ctx.array(&[3; LEN]),
                p.queue.array(&[3; LEN]),
            ];
            for (at, array) in made.into_iter().enumerate() {
                assert_eq!(p.unwritten(&array.expect("memory")), None, "array {at}");
            }
        }
    });
}

#[test]
fn each_command_writes_its_bytes_and_no_others() {
    each(|p| {
        let x = p.empty();
        p.queue.fill(&mut x.slice(0..3).expect("a part"), 5).expect("a fill");
        assert_eq!(p.unwritten(&x), Some((3, 13)), "a fill");
        p.queue.upload(&[1_u32], &mut x.slice(4..5).expect("a part")).expect("an upload");
        assert_eq!(p.unwritten(&x), Some((3, 12)), "an upload in place");
        p.launch(&x, &mut p.ones());
        p.queue.upload(&[1_u32], &mut x.slice(5..6).expect("a part")).expect("an upload");
        assert_eq!(p.unwritten(&x), Some((3, 11)), "an upload after a launch");
        p.queue
            .copy(&p.ones().slice(0..1).expect("a part"), &mut x.slice(3..4).expect("a part"))
            .expect("a copy");
        assert_eq!(p.unwritten(&x), Some((6, 10)), "a copy");
        let mut part = x.slice(8..LEN).expect("a part");
        p.launch(&p.ones(), &mut part);
        assert_eq!(p.unwritten(&x), Some((6, 2)), "a launch");
        let square = p.empty().reshape([4, 4]).expect("16 elements");
        p.queue.upload_region(&[1_u32; 8], &mut square.clone(), region![.., 0..2]).expect("an upload");
        assert_eq!(
            p.unwritten(&square.reshape([LEN]).expect("16 elements")),
            Some((2, 8)),
            "a region in place"
        );
        p.launch(&square.reshape([LEN]).expect("16 elements"), &mut p.ones());
        p.queue.upload_region(&[1_u32; 4], &mut square.clone(), region![.., 3]).expect("an upload");
        let rest = p.unwritten(&square.reshape([LEN]).expect("16 elements"));
        assert_eq!(rest, Some((2, 4)), "a region after a launch");
    });
}

#[test]
fn a_copy_of_unwritten_bytes_is_unwritten() {
    each(|p| {
        let x = p.empty();
        let mut y = p.ones();
        p.queue.fill(&mut x.slice(2..4).expect("a part"), 5).expect("a fill");
        p.queue.copy(&x.slice(0..6).expect("a part"), &mut y.slice(8..14).expect("a part")).expect("a copy");
        assert_eq!(p.unwritten(&y), Some((8, 4)), "a copy");
        let from = x.reshape([4, 4]).expect("16 elements");
        let mut to = y.reshape([4, 4]).expect("16 elements");
        p.queue.copy_region(&from, region![0, ..], &mut to, region![.., 3]).expect("a copy of a column");
        // Elements 3 and 7 of `y` are now unwritten, and 11 and 15 are written.
        assert_eq!(p.unwritten(&y), Some((3, 6)), "a copy of a region");
        let mut pinned: HostArray<u32, Download> = p.ctx.pinned([LEN]).expect("memory");
        p.queue.download(&x, &mut pinned).expect("a download");
        p.queue.fill(&mut y, 1).expect("a fill");
        assert_eq!(p.unwritten(&y), None, "a fill of all elements");
    });
}

#[test]
fn the_host_writes_by_maps_and_pinned_arrays() {
    each(|p| {
        let x = p.empty();
        drop(x.map_read().wait().expect("a map"));
        assert_eq!(p.unwritten(&x), Some((0, 16)), "a map to read");
        x.slice(4..LEN).expect("a part").map_write().wait().expect("a map")[0] = 5;
        assert_eq!(p.unwritten(&x), Some((0, 4)), "a map to write");
        for _ in 0..2 {
            // A new pinned array has zeros, in new memory and in the memory of a dropped array.
            let mut pinned: HostArray<u32, Upload> = p.ctx.pinned([LEN]).expect("memory");
            let mut y = p.empty();
            p.queue.upload(&pinned, &mut y).expect("an upload");
            assert_eq!(p.unwritten(&y), None, "zeros of a pinned array");
            pinned.host_mut().expect("a write")[1] = 3;
            p.queue.upload(&pinned, &mut y).expect("an upload");
            assert_eq!(p.unwritten(&y), None, "a pinned array");
        }
    });
}

#[test]
fn a_new_array_does_not_inherit_what_was_written_to_its_memory() {
    each(|p| {
        for _ in 0..3 {
            let x = p.ones();
            let mut y = p.ones();
            // The launch may still run when its arrays are dropped and a new array is made.
            p.launch(&x, &mut y);
            drop((x, y));
            let new = p.queue.empty([LEN]).expect("memory");
            let mut out = p.ones();
            p.launch(&new, &mut out);
            p.queue.finish().wait().expect("a finding is not an error");
            assert_eq!(p.found(), Some((0, 16)));
        }
        let stats = p.ctx.pool().stats();
        assert!(stats.blocks < 9, "no memory was used again: {stats:?}");
    });
}

#[test]
fn a_captured_array_is_unwritten_until_a_replay_writes_it() {
    each(|p| {
        for _ in 0..2 {
            let mut y = p.ones();
            let (graph, x) = p
                .queue
                .capture(|c| {
                    let x: DeviceArray<u32> = c.empty([LEN])?;
                    launch(&p.ctx, c, &x, &mut y)?;
                    c.fill(&mut x.slice(0..4)?, 3)?;
                    let zeros = c.zeros([LEN])?;
                    launch(&p.ctx, c, &zeros, &mut y)?;
                    Ok::<_, crate::error::Error>(x)
                })
                .expect("it is captured");
            for count in [16, 12] {
                p.queue.replay(&graph).expect("a replay");
                p.queue.finish().wait().expect("a finding is not an error");
                assert_eq!(p.found(), Some((LEN - count, count as u64)));
            }
            p.queue.fill(&mut x.clone(), 1).expect("a fill");
            p.queue.replay(&graph).expect("a replay");
            p.queue.finish().wait().expect("a finding is not an error");
            assert_eq!(p.found(), None, "the program wrote the array");
        }
    });
}

#[test]
fn a_host_function_writes_the_arrays_that_its_kernel_writes() {
    each(|p| {
        let text = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
            @compute @workgroup_size(1) fn of_host() { x[0] = 1u; }";
        let run = |_: [u32; 3], _: [u32; 3], _: &[u8], buffers: &mut [HostBuffer<'_>]| {
            buffers[0].bytes_mut().fill(1);
        };
        p.ctx.host_kernel("of_host", Arc::new(run)).expect("the CPU runs it");
        let kernel = p.ctx.kernel_from(text, "of_host").expect("it compiles");
        let mut x = p.empty();
        p.queue.launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x]).expect("a launch");
        assert_eq!(p.unwritten(&x), None);
    });
}

#[test]
fn an_array_of_another_context_counts_as_written() {
    each(|p| {
        let other = recorder(9);
        let from = other.empty::<u32, 1>([LEN]).expect("memory");
        let mut x = p.empty();
        p.queue.copy(&from, &mut x).expect("a copy");
        assert_eq!(p.unwritten(&x), None);
    });
}
