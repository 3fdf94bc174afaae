//! Kernels as WGSL strings. The CPU recorder interprets them, or executes a Rust function in their place.

use crate::common::Subject;
use fencepost::{Context, DynKernel, HostBuffer};
use std::sync::Arc;

/// Computation of the whole grid, as in a [`fencepost::HostKernel`].
pub type Host = fn([u32; 3], [u32; 3], &[u8], &mut [HostBuffer<'_>]);

/// Empty host function.
pub const NOTHING: Host = |_, _, _, _| ();

/// An entry point of a WGSL text.
pub struct Text {
    pub entry: &'static str,
    pub wgsl: &'static str,
    /// Function that the CPU recorder executes instead, to test such functions, or for a kernel with very many invocations.
    pub host: Option<Host>,
}

impl Text {
    /// Compiles the text for a context.
    pub fn kernel(&self, s: &Subject, ctx: &Context) -> DynKernel {
        self.kernel_with(s, ctx, &[])
    }

    /// Compiles the text as [`kernel`](Self::kernel) does, with values for overrides.
    pub fn kernel_with(&self, s: &Subject, ctx: &Context, overrides: &[(&str, f64)]) -> DynKernel {
        if let Some(host) = self.host.filter(|_| s.is_cpu()) {
            ctx.host_kernel(self.entry, Arc::new(host)).expect("a context on the CPU recorder");
        }
        ctx.kernel_from_with(self.wgsl, self.entry, overrides).expect("the text compiles")
    }
}

/// Compiles the built-in saxpy from its text.
pub fn saxpy(s: &Subject, ctx: &Context) -> DynKernel {
    if s.is_cpu() {
        let host = fencepost::reference("saxpy").expect("a built-in kernel");
        ctx.host_kernel("saxpy", host).expect("a context on the CPU recorder");
    }
    let text = fencepost::builtin_shader("saxpy.wgsl").expect("a built-in kernel");
    ctx.kernel_from(text, "saxpy").expect("the text compiles")
}

/// Returns the u32 at index `at` of a buffer.
pub fn word(buffer: &HostBuffer<'_>, at: usize) -> u32 {
    bytemuck::pod_read_unaligned(&buffer.bytes()[4 * at..4 * at + 4])
}

/// Sets the u32 at index `at` of a buffer.
pub fn set_word(buffer: &mut HostBuffer<'_>, at: usize, value: u32) {
    buffer.bytes_mut()[4 * at..4 * at + 4].copy_from_slice(&value.to_ne_bytes());
}

/// Returns the number of u32 in a buffer.
pub fn words(buffer: &HostBuffer<'_>) -> usize {
    buffer.bytes().len() / 4
}

/// `y = x + 1`. The shader declares both buffers writable, but only reads `x`, in a called function.
pub const LOOKS: Text = Text {
    entry: "looks",
    wgsl: "
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
fn look(i: u32) -> u32 { return x[i]; }
fn put(i: u32, value: u32) { y[i] = value; }
@compute @workgroup_size(64)
fn looks(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= min(arrayLength(&x), arrayLength(&y)) { return; }
    put(id.x, look(id.x) + 1u);
}",
    host: None,
};

/// `y[0] = length of x`. The shader declares `x` writable, but accesses no element of it.
pub const MEASURES: Text = Text {
    entry: "measures",
    wgsl: "
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(1)
fn measures() { y[0] = arrayLength(&x); }",
    host: None,
};

/// `tally[0]` = number of invocations, `tally[1..4]` = ranges of their ids, `tally[4]` = number of workgroups.
pub const TALLY: Text = Text {
    entry: "tally",
    wgsl: "
override X: u32 = 4; override Y: u32 = 1; override Z: u32 = 1;
@group(0) @binding(0) var<storage, read_write> tally_of: array<atomic<u32>, 5>;
@compute @workgroup_size(X, Y, Z)
fn tally(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    atomicAdd(&tally_of[0], 1u);
    atomicMax(&tally_of[1], id.x + 1u);
    atomicMax(&tally_of[2], id.y + 1u);
    atomicMax(&tally_of[3], id.z + 1u);
    if local == 0u { atomicAdd(&tally_of[4], 1u); }
}",
    host: Some(|groups, workgroup, _, buffers| {
        let tally = &mut buffers[0];
        let count: u32 = groups.iter().product();
        if count == 0 {
            return;
        }
        set_word(tally, 0, word(tally, 0) + count * workgroup.iter().product::<u32>());
        for axis in 0..3 {
            let extent = word(tally, 1 + axis).max(groups[axis] * workgroup[axis]);
            set_word(tally, 1 + axis, extent);
        }
        set_word(tally, 4, word(tally, 4) + count);
    }),
};

/// `totals[g]` = the sum of `x` over workgroup `g`, by halving in workgroup memory.
pub const SUMS: Text = Text {
    entry: "sums",
    wgsl: "
override WORKGROUP: u32 = 64;
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> totals: array<u32>;
var<workgroup> part: array<u32, WORKGROUP>;
@compute @workgroup_size(WORKGROUP)
fn sums(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) local: u32,
        @builtin(workgroup_id) group: vec3<u32>) {
    var value = 0u;
    if id.x < arrayLength(&x) { value = x[id.x]; }
    part[local] = value;
    workgroupBarrier();
    for (var half = WORKGROUP / 2u; half > 0u; half /= 2u) {
        if local < half { part[local] += part[local + half]; }
        workgroupBarrier();
    }
    if local == 0u { totals[group.x] = part[0]; }
}",
    host: None,
};

/// Each workgroup's part of `x` reversed, through workgroup memory.
pub const REVERSES: Text = Text {
    entry: "reverses",
    wgsl: "
override WORKGROUP: u32 = 8;
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
var<workgroup> part: array<u32, WORKGROUP>;
@compute @workgroup_size(WORKGROUP)
fn reverses(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    part[local] = x[id.x];
    workgroupBarrier();
    x[id.x] = part[WORKGROUP - 1u - local];
}",
    host: None,
};

/// Every parameter written to an array: scalars and vectors, with the gaps of a uniform block between them.
pub const SPREADS: Text = Text {
    entry: "spreads",
    wgsl: "
struct Params { a: f32, n: u32, v: vec2<u32>, k: i32, w: vec4<f32>, last: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> floats: array<f32>;
@group(0) @binding(2) var<storage, read_write> whole: array<u32>;
@group(0) @binding(3) var<storage, read_write> signed: array<i32>;
@compute @workgroup_size(1)
fn spreads() {
    floats[0] = params.a;
    for (var i = 0u; i < 4u; i++) { floats[1u + i] = params.w[i]; }
    whole[0] = params.n; whole[1] = params.v.x; whole[2] = params.v.y; whole[3] = params.last;
    signed[0] = params.k;
}",
    host: Some(|_, _, params, buffers| {
        let at = |offset: usize| bytemuck::pod_read_unaligned::<u32>(&params[offset..offset + 4]);
        let [floats, whole, signed] = buffers else { panic!("bug: three buffers") };
        for (i, offset) in [0, 32, 36, 40, 44].into_iter().enumerate() {
            set_word(floats, i, at(offset));
        }
        for (i, offset) in [4, 8, 12, 48].into_iter().enumerate() {
            set_word(whole, i, at(offset));
        }
        set_word(signed, 0, at(16));
    }),
};
