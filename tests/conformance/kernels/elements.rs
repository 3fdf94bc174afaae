//! K10: elements of arrays and parameters: structs, vectors of three, matrices, `bool`, and numbers of one or two
//! bytes.

use crate::common::{Case, Subject, case};
use bytemuck::{Pod, Zeroable};
use fencepost::prelude::*;
use std::fmt::Debug;

pub fn cases() -> Vec<Case> {
    vec![
        case("k10_an_array_of_structs_is_read_and_written_member_by_member", structs),
        case("k10_parameters_may_be_structs_matrices_vectors_of_three_and_bool", parameters),
        case("k10_bytes_and_halves_lie_packed_in_words", packed),
        case("k10_the_snippet_for_packed_numbers_reads_and_writes_each_number", snippet),
        case("k10_a_writable_slice_that_ends_inside_a_word_is_refused", inside_a_word),
        case("k10_a_fill_writes_elements_of_any_size", fills),
        case("k10_a_struct_of_another_layout_is_refused_with_the_member_and_its_offsets", refused),
    ]
}

#[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable, Element)]
#[repr(C)]
struct Ball {
    place: [f32; 3],
    mass: f32,
    speed: [f32; 3],
    id: u32,
}

/// A struct with `speed` at byte 12, where WGSL aligns it to byte 16.
#[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable, Element)]
#[repr(C)]
struct Tight {
    place: [f32; 3],
    speed: [f32; 3],
}

fn ball(id: u32) -> Ball {
    let x = id as f32;
    Ball { place: [x, x + 0.25, x + 0.5], mass: 2.0, speed: [1.0, -1.0, x], id }
}

const MOVES: &str = "
struct Ball { place: vec3<f32>, mass: f32, speed: vec3<f32>, id: u32 }
@group(0) @binding(0) var<storage, read_write> balls: array<Ball>;
@compute @workgroup_size(1)
fn moves(@builtin(global_invocation_id) gid: vec3<u32>) {
    if gid.x >= arrayLength(&balls) { return; }
    balls[gid.x].place += balls[gid.x].speed * balls[gid.x].mass;
    balls[gid.x].id += 100u;
}";

fn structs(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let kernel = ctx.kernel_from(MOVES, "moves").unwrap();
    let before: Vec<Ball> = (0..5).map(ball).collect();
    let mut balls = queue.array(&before).unwrap();
    queue.launch_dyn(&kernel, Grid::threads([5]), args![balls = &mut balls]).unwrap();
    let moved = |b: &Ball| Ball {
        place: [0, 1, 2].map(|axis| b.place[axis] + b.speed[axis] * b.mass),
        id: b.id + 100,
        ..*b
    };
    assert_eq!(queue.read(&balls).wait().unwrap(), before.iter().map(moved).collect::<Vec<_>>());
    assert_eq!(balls.map_read().wait().unwrap()[4].id, 104);
}

fn refused(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let kernel = ctx.kernel_from(MOVES, "moves").unwrap();
    let mut tight = queue.zeros::<Tight, 1>([5]).unwrap();
    let error =
        queue.launch_dyn(&kernel, Grid::threads([5]), args![balls = &mut tight]).unwrap_err().to_string();
    let place = "`speed` lies at byte 12 on the host and at byte 16 in the shader: add 4 bytes of padding";
    assert!(error.contains(place), "{error}");
    for array in [queue.zeros::<f32, 1>([40]).unwrap().any(), queue.zeros::<[f32; 4], 1>([10]).unwrap().any()]
    {
        let error =
            queue.launch_dyn(&kernel, Grid::threads([5]), args![balls = &mut array.clone()]).unwrap_err();
        assert!(error.to_string().contains("#[derive(Element)]"), "{error}");
    }
    assert_eq!(queue.read(&tight).wait().unwrap(), [Tight::zeroed(); 5], "no launch has run");
}

#[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable, Element)]
#[repr(C)]
struct Light {
    color: [f32; 3],
    power: f32,
}

const TAKES: &str = "
struct Light { color: vec3<f32>, power: f32 }
struct Params { on: u32, turn: mat4x4<f32>, axis: vec3<f32>, light: Light }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@compute @workgroup_size(1)
fn takes() {
    for (var i = 0u; i < 16u; i++) { out[i] = params.turn[i / 4u][i % 4u]; }
    for (var i = 0u; i < 3u; i++) { out[16u + i] = params.axis[i]; out[20u + i] = params.light.color[i]; }
    out[19] = f32(params.on);
    out[23] = params.light.power;
}";

fn parameters(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let kernel = ctx.kernel_from(TAKES, "takes").unwrap();
    let turn: [[f32; 4]; 4] = std::array::from_fn(|c| std::array::from_fn(|r| (10 * c + r) as f32));
    let light = Light { color: [0.1, 0.2, 0.3], power: 9.0 };
    for on in [false, true] {
        let mut out = queue.zeros::<f32, 1>([24]).unwrap();
        let list = args![on = on, turn = turn, axis = [7.0_f32, 8.0, 9.0], light = light, out = &mut out];
        queue.launch_dyn(&kernel, Grid::groups([1]), list).unwrap();
        let found = queue.read(&out).wait().unwrap();
        assert_eq!(found[..16], *turn.as_flattened());
        assert_eq!(found[16..], [7.0, 8.0, 9.0, f32::from(u8::from(on)), 0.1, 0.2, 0.3, 9.0]);
    }
}

const BYTES: &str = "
@group(0) @binding(0) var<storage, read> given: array<u32>;
@group(0) @binding(1) var<storage, read_write> turned: array<u32>;
@compute @workgroup_size(1)
fn bytes(@builtin(global_invocation_id) gid: vec3<u32>) {
    if gid.x >= arrayLength(&turned) { return; }
    turned[gid.x] = ~given[gid.x];
}";

fn packed(s: &Subject) {
    let ctx = s.ctx();
    turned(&ctx, |i| i as u8, |x| !x);
    turned(&ctx, |i| -(i as i16), |x| !x);
    turned(&ctx, |i| [i as u8, 1, 2], |x| x.map(|byte| !byte));
}

/// Has a kernel invert the bits of arrays whose last word is full or partly full.
fn turned<T: Element + PartialEq + Debug>(ctx: &Context, element: fn(u32) -> T, not: fn(T) -> T) {
    let queue = ctx.queue("q");
    let kernel = ctx.kernel_from(BYTES, "bytes").unwrap();
    for n in [1, 3, 4, 30, 257] {
        let from: Vec<T> = (0..n).map(element).collect();
        let array = queue.array(&from).unwrap();
        let mut to = queue.zeros::<T, 1>([n as usize]).unwrap();
        let list = args![given = &array, turned = &mut to];
        queue.launch_dyn(&kernel, Grid::threads([n]), list).unwrap();
        let expected: Vec<T> = from.iter().map(|&x| not(x)).collect();
        assert_eq!(queue.read(&to).wait().unwrap(), expected, "{n} elements");
    }
}

const UNPACKS: &str = "
//#use packed
@group(0) @binding(0) var<storage, read> bytes: array<u32>;
@group(0) @binding(1) var<storage, read> halves: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<i32>;
@group(0) @binding(3) var<storage, read_write> bytes_changed: array<u32>;
@group(0) @binding(4) var<storage, read_write> halves_changed: array<u32>;
@compute @workgroup_size(1)
fn unpacks() {
    for (var i = 0u; i < 8u; i++) {
        out[i] = i32(u8_of(bytes[i / 4u], i));
        out[8u + i] = i8_of(bytes[i / 4u], i);
        out[16u + i] = i32(u16_of(halves[i / 2u], i));
        out[24u + i] = i16_of(halves[i / 2u], i);
        bytes_changed[i / 4u] = with_8(bytes_changed[i / 4u], i, i + 0x5500u);
        halves_changed[i / 2u] = with_16(halves_changed[i / 2u], i, i + 0x550000u);
    }
}";

fn snippet(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let kernel = ctx.kernel_from(UNPACKS, "unpacks").unwrap();
    let bytes = [0_u8, 1, 127, 128, 200, 254, 255, 7];
    let halves = [0_u16, 1, 0x7fff, 0x8000, 0xabcd, 0xfffe, 0xffff, 300];
    let mut changed_8 = queue.full([8], 0xee_u8).unwrap();
    let mut changed_16 = queue.full([8], 0xeeee_u16).unwrap();
    let mut out = queue.zeros::<i32, 1>([32]).unwrap();
    let bytes_array = queue.array(&bytes).unwrap();
    let halves_array = queue.array(&halves).unwrap();
    let list = args![&bytes_array, &halves_array, &mut out, &mut changed_8, &mut changed_16];
    queue.launch_dyn(&kernel, Grid::groups([1]), list).unwrap();
    let expected = [
        bytes.map(i32::from),
        bytes.map(|byte| byte.cast_signed().into()),
        halves.map(i32::from),
        halves.map(|half| half.cast_signed().into()),
    ];
    assert_eq!(queue.read(&out).wait().unwrap(), expected.concat());
    assert_eq!(queue.read(&changed_8).wait().unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(queue.read(&changed_16).wait().unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
}

/// `y[0]` = the first word of `x`.
const FIRST_WORD: &str = "
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(1) fn first_word() { y[0] = x[0]; }";

/// Launches on slices of bytes. A kernel writes whole words, so it would also change elements after the slice in the
/// last word.
fn inside_a_word(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let kernel = ctx.kernel_from(FIRST_WORD, "first_word").unwrap();
    let x = queue.array(&[1_u8, 2, 3, 4, 5, 6]).unwrap();
    let mut y = queue.zeros::<u8, 1>([6]).unwrap();
    let launch = |x: &DeviceArray<u8>, y: &mut DeviceArray<u8>| {
        queue.launch_dyn(&kernel, Grid::groups([1]), args![x = x, y = y])
    };
    assert_refused!(launch(&x, &mut y.slice(0..3).unwrap()), Alignment { offset: 3, needed: 4, .. });
    launch(&x.slice(0..3).unwrap(), &mut y).unwrap(); // a read slice, and a whole array, may end inside a word
    assert_eq!(queue.read(&y).wait().unwrap(), [1, 2, 3, 4, 0, 0]);
    launch(&y, &mut y.slice(4..6).unwrap()).map(drop).unwrap_err(); // `y` is bound twice, or the slice is unaligned
    launch(&x, &mut y.slice(0..4).unwrap()).unwrap();
}

fn fills(s: &Subject) {
    let ctx = s.ctx();
    filled(&ctx, 7_u8);
    filled(&ctx, -3_i16);
    filled(&ctx, [1_u8, 2, 3]);
    filled(&ctx, [1.0_f32, 2.0, 3.0]);
    filled(&ctx, ball(3));
    filled(&ctx, [[1.5_f32; 4]; 4]);
    filled(&ctx, Ball::zeroed());
}

fn filled<T: Element + PartialEq + Debug>(ctx: &Context, value: T) {
    let queue = ctx.queue("q");
    for n in [0, 1, 4, 25, 1000, 40_001] {
        let mut x = queue.zeros::<T, 1>([n]).unwrap();
        queue.fill(&mut x, value).unwrap();
        assert_eq!(queue.read(&x).wait().unwrap(), vec![value; n], "{n} elements");
        assert_eq!(
            queue.read(&queue.full([n], value).unwrap()).wait().unwrap(),
            vec![value; n],
            "`full` of {n} elements"
        );
        if n == 1000 {
            // A fill of a part that begins and ends at word boundaries does not change neighbouring elements.
            queue.fill(&mut x, T::zeroed()).unwrap();
            queue.fill(&mut x.slice(4..996).unwrap(), value).unwrap();
            let found = queue.read(&x).wait().unwrap();
            let expected = |at| if (4..996).contains(&at) { value } else { T::zeroed() };
            assert_eq!(found, (0..n).map(expected).collect::<Vec<T>>());
        }
    }
}
