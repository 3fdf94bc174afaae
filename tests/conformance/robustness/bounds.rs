//! R06: shaders that access memory out of their bounds.

use crate::common::{Case, Subject, case};
use fencepost::{Context, DeviceArray, Grid, args};

pub fn cases() -> Vec<Case> {
    vec![
        case("r06_a_shader_out_of_its_bounds_neither_changes_nor_reads_other_memory", astray)
            .bounds_checked("shaders have no bounds checks on GL"),
        case("r06_a_write_to_an_empty_array_changes_no_other_array", empty),
        case("r01_a_binding_index_over_the_limit_is_an_error", index),
    ]
}

/// Shader that writes and reads `own` far past its end, and at indices that wrap around.
const ASTRAY: &str = "
struct Params { stride: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> own: array<u32>;
@group(0) @binding(2) var<storage, read_write> seen: array<u32>;
@compute @workgroup_size(64)
fn astray(@builtin(global_invocation_id) gid: vec3<u32>) {
    seen[gid.x] = own[gid.x * params.stride];
    storageBarrier();
    own[gid.x * params.stride] = 9u;
}
";

/// Contents of `own`.
const OWN: u32 = 3;
/// Contents of everything around `own`.
const AROUND: u32 = 7;

fn around(ctx: &Context) -> DeviceArray<u32> {
    ctx.full([3072], AROUND).unwrap()
}

fn astray(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let kernel = ctx.kernel_from(ASTRAY, "astray").unwrap();
    let [before, whole, after] = [0; 3].map(|_| around(&ctx));
    let mut own = whole.slice(1024..2048).unwrap();
    for stride in [1, 17, 1024, 1 << 20, 0x4000_0001, u32::MAX] {
        let mut seen = ctx.zeros::<u32, 1>([4096]).unwrap();
        queue.fill(&mut own, OWN).unwrap();
        queue.launch_dyn(&kernel, Grid::threads([4096]), args![stride, &mut own, &mut seen]).unwrap();
        let seen = queue.read(&seen).wait().unwrap();
        assert!(
            seen.iter().all(|value| [0, OWN, 9].contains(value)),
            "stride {stride}: the shader read other memory"
        );
    }
    let harmed = |array: &DeviceArray<u32>| queue.read(array).wait().unwrap().iter().any(|&v| v != AROUND);
    assert!(!harmed(&before) && !harmed(&after), "the shader wrote to another array");
    let whole = queue.read(&whole).wait().unwrap();
    assert!(
        whole[..1024].iter().chain(&whole[2048..]).all(|&v| v == AROUND),
        "the shader wrote outside the slice"
    );
    assert!(whole[1024..2048].contains(&9));
}

/// Shader with an array with a single element larger than many arrays.
const LARGE: &str = "
struct Large { words: array<u32, 4096> }
@group(0) @binding(0) var<storage, read_write> own: array<Large>;
@compute @workgroup_size(64)
fn large(@builtin(local_invocation_id) lid: vec3<u32>) {
    for (var i = lid.x; i < 4096u; i += 64u) { own[0].words[i] = 9u; }
}
";

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable, fencepost::Element)]
#[repr(C)]
struct Large {
    words: [u32; 4096],
}

fn empty(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let kernel = ctx.kernel_from(LARGE, "large").unwrap();
    let before: Vec<_> = (0..8).map(|_| around(&ctx)).collect();
    let mut none = ctx.zeros::<Large, 1>([0]).unwrap();
    let after: Vec<_> = (0..8).map(|_| around(&ctx)).collect();
    queue.launch_dyn(&kernel, Grid::groups([1]), args![&mut none]).unwrap();
    for array in before.iter().chain(&after) {
        assert!(queue.read(array).wait().unwrap().iter().all(|&v| v == AROUND));
    }
}

fn index(s: &Subject) {
    let text = LARGE.replace("@binding(0)", "@binding(100000)");
    let error = s.ctx().kernel_from(&text, "large").err().expect("no device has so many bindings");
    assert!(error.to_string().contains("binding 100000"), "{error}");
}
