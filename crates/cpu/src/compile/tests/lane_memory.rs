//! Elements that the lanes load and store together.

use super::Test;

/// Runs a kernel of 16 invocations a workgroup, and checks that all widths execute it.
fn run(wgsl: &str, buffers: &[&[u32]], groups: u32) -> Test {
    let mut test = Test::new(wgsl);
    for buffer in buffers {
        test = test.buffer(buffer);
    }
    assert!(test.vector.is_ok() && test.wider.len() == 2, "{:?}", test.vector.err());
    test.run([groups, 1, 1])
}

fn words(count: u32) -> Vec<u32> {
    (0..count).map(|at| at * 7 + 3).collect()
}

#[test]
fn words_at_equal_distances_are_those_of_each_lane_up_to_the_last_one() {
    let wgsl = "
        @group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(16)
        fn apart(@builtin(global_invocation_id) id: vec3<u32>) {
            let i = id.x * 3u + 2u;
            let k = (id.x << 1u) + id.x + id.x - 1u;
            y[2u * id.x + 1u] = x[i] + 100000u * x[i + id.x * 5u];
            y[2u * id.x] = x[k];
        }";
    for count in [1, 5, 47, 50, 51, 127, 300] {
        run(wgsl, &[&words(count), &[9; 64]], 2);
        run(wgsl, &[&words(300), &vec![9; count as usize]], 2);
    }
    let test = run(wgsl, &[&words(300), &[9; 64]], 2);
    let x = words(300);
    let out = test.get::<u32>(1);
    for lane in 1..32 {
        assert_eq!(out[2 * lane], x[4 * lane - 1], "invocation {lane}");
        assert_eq!(out[2 * lane + 1], x[3 * lane + 2] + 100_000 * x[8 * lane + 2], "invocation {lane}");
    }
}

#[test]
fn an_index_that_wraps_between_two_lanes_is_moved_to_the_last_element() {
    let wgsl = "
        @group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> y: array<u32>;
        @group(0) @binding(2) var<storage, read_write> z: array<u32>;
        @compute @workgroup_size(16)
        fn wraps(@builtin(local_invocation_index) lid: u32) {
            y[lid] = x[0xfffffff8u + lid] + 1000u * x[0x80000000u + lid * 0x20000u] + 1000000u * x[0xffffffffu * lid];
            z[lid + 0xfffffffcu] = lid;
        }";
    let x: Vec<u32> = (0..20).collect();
    let test = run(wgsl, &[&x, &[7; 16], &[99; 16]], 1);
    assert_eq!(test.get::<u32>(1)[12] % 1000, 4, "lane 12 has index 4");
    assert_eq!(test.get::<u32>(2)[..13], [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 99]);
}

#[test]
fn members_of_an_element_are_loaded_and_stored_in_rows() {
    let wgsl = "
        struct Body { place: vec4<f32>, pull: vec3<f32>, mass: f32, list: array<u32, 4>, last: u32, flags: vec2<u32> }
        @group(0) @binding(0) var<storage, read> x: array<Body>;
        @group(0) @binding(1) var<storage, read_write> y: array<Body>;
        @group(0) @binding(2) var<storage, read_write> z: array<vec4<u32>>;
        @compute @workgroup_size(16)
        fn members(@builtin(global_invocation_id) id: vec3<u32>) {
            let body = x[id.x];
            let other = x[min(id.x * 3u, 40u)];
            z[id.x] = vec4(body.last, other.flags.x, u32(other.place.z), body.list[2]);
            if body.last % 3u == 0u { return; }
            y[id.x] = Body(other.place.wzyx, body.pull.zxy, other.mass, other.list, body.last, body.flags.yx);
            y[id.x].place = body.place + other.place;
        }";
    let count = 16;
    for elements in [1, 9, 41, 64] {
        let x: Vec<u32> = (0..elements * count).map(|at| (at as f32).to_bits()).collect();
        let test = run(wgsl, &[&x, &vec![0; 40 * count as usize], &vec![1; 128]], 2);
        let z = test.get::<u32>(2);
        assert_eq!(z[0], 12_f32.to_bits(), "invocation 0 loads the member `last` of element 0");
    }
}

#[test]
fn lanes_of_a_branch_store_their_elements_only() {
    let wgsl = "
        var<workgroup> cells: array<vec4<i32>, 16>;
        @group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> y: array<vec4<i32>>;
        @compute @workgroup_size(16)
        fn some(@builtin(local_invocation_index) lid: u32) {
            if x[lid] % 2u == 1u { cells[lid] = vec4(1, 2, 3, i32(lid)); }
            workgroupBarrier();
            if x[lid] % 3u == 0u { y[lid] = cells[15u - lid]; } else { y[2u * lid + 17u].y = i32(lid); }
        }";
    for values in [[0; 16], [1; 16], [3; 16], std::array::from_fn(|at| at as u32)] {
        run(wgsl, &[&values, &[77; 256]], 1);
        run(wgsl, &[&values, &[77; 80]], 1);
    }
}
