//! K03: atomics of integers, and of floats with the snippet `atomic_f32`. No operation is lost, and each returns the
//! old value.

use crate::common::{Case, Subject, case};
use fencepost::interface::{IntoArg, SameBits};
use fencepost::prelude::*;
use fencepost::{RecorderChoice, ShaderSource};

pub fn cases() -> Vec<Case> {
    vec![
        case("k03_every_operation_on_an_unsigned_integer_counts_and_returns_the_old_value", unsigned),
        case("k03_every_operation_on_a_signed_integer_counts_and_returns_the_old_value", signed),
        case("k03_every_operation_on_a_float_counts_and_returns_the_old_value", floats),
        case("k03_nans_zeros_and_infinities_have_their_results", specials),
    ]
}

/// Invocations, which all operate on the same atomics.
const N: usize = 4096;

/// Returns a context for each recorder of the place.
fn contexts(s: &Subject) -> Vec<Context> {
    if !s.place().has_wgpu() {
        return vec![s.ctx()];
    }
    let recorders = [RecorderChoice::Wgpu, RecorderChoice::Hal];
    recorders.map(|recorder| s.options(|options| options.recorder = recorder)).into()
}

const INTEGERS: &str = "
alias T = u32;
struct Params { offset: T }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> cells: array<atomic<T>, 9>;
@group(0) @binding(2) var<storage, read_write> olds: array<T>;
@compute @workgroup_size(64)
fn operate(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let n = 64u * groups.x;
    let value = T(id.x) - params.offset;
    olds[id.x] = atomicAdd(&cells[0], value);
    olds[n + id.x] = atomicSub(&cells[1], value);
    olds[2u * n + id.x] = atomicMax(&cells[2], value);
    olds[3u * n + id.x] = atomicMin(&cells[3], value);
    olds[4u * n + id.x] = atomicAnd(&cells[4], value);
    olds[5u * n + id.x] = atomicOr(&cells[5], value);
    olds[6u * n + id.x] = atomicXor(&cells[6], value);
    olds[7u * n + id.x] = atomicExchange(&cells[7], value);
    var old = atomicLoad(&cells[8]);
    loop {
        let tried = atomicCompareExchangeWeak(&cells[8], old, 3 * old + value);
        if tried.exchanged { break; }
        old = tried.old_value;
    }
    olds[8u * n + id.x] = old;
}";

/// Function that computes the new value from the old one and the operand, as bits of the type.
type Operation = fn(u32, u32) -> u32;

/// Lists the operations with the first value of their cells.
fn operations(is_signed: bool) -> [(u32, Operation); 9] {
    [
        (7, u32::wrapping_add),
        (7, u32::wrapping_sub),
        (
            if is_signed { i32::MIN as u32 } else { 0 },
            if is_signed { |a, b| (a as i32).max(b as i32) as u32 } else { |a, b| a.max(b) },
        ),
        (
            if is_signed { i32::MAX as u32 } else { u32::MAX },
            if is_signed { |a, b| (a as i32).min(b as i32) as u32 } else { |a, b| a.min(b) },
        ),
        (u32::MAX, |a, b| a & b),
        (0, |a, b| a | b),
        (0, |a, b| a ^ b),
        (u32::MAX, |_, b| b),
        (1, |a, b| a.wrapping_mul(3).wrapping_add(b)),
    ]
}

/// Checks that each operation has read the value that another one wrote: the values that were read, plus the last
/// value, equal the values that were written, plus the first value.
fn check_history(name: &str, (first, last): (u32, u32), read: &[u32], written: impl Iterator<Item = u32>) {
    let mut left: Vec<u32> = read.iter().copied().chain([last]).collect();
    let mut made: Vec<u32> = written.chain([first]).collect();
    left.sort_unstable();
    made.sort_unstable();
    assert!(left == made, "{name}: an operation is lost, or has not returned the old value");
}

fn integers<T>(s: &Subject, offset: T)
where
    T: Element + SameBits<u32>,
    for<'a> T: IntoArg<'a>,
{
    let is_signed = T::DTYPE == i32::DTYPE;
    let first = operations(is_signed).map(|(first, _)| first);
    let values: Vec<u32> = (0..N as u32).map(|i| i.wrapping_sub(bits(offset))).collect();
    for ctx in contexts(s) {
        let source = ShaderSource::text("operate.wgsl", INTEGERS).with_type("T", T::DTYPE).unwrap();
        let queue = ctx.queue("q");
        let kernel = ctx.kernel_from_with(&source, "operate", &[]).unwrap();
        let mut cells = queue.zeros::<T, 1>([9]).unwrap();
        queue.upload(&first, &mut cells.cast_bits::<u32>()).unwrap();
        let mut olds = queue.zeros::<T, 1>([9 * N]).unwrap();
        let args = args![offset, &mut cells, &mut olds];
        queue.launch_dyn(&kernel, Grid::threads([N]), args).unwrap();
        let cells = queue.read(&cells.cast_bits::<u32>());
        let olds = queue.read(&olds.cast_bits::<u32>());
        let cells = cells.wait().unwrap();
        let olds = olds.wait().unwrap();
        for (at, (first, operation)) in operations(is_signed).into_iter().enumerate() {
            let name = format!("operation {at} on {}", T::DTYPE);
            let read = &olds[at * N..][..N];
            let written = read.iter().zip(&values).map(|(old, value)| operation(*old, *value));
            check_history(&name, (first, cells[at]), read, written);
            if at < 7 {
                let expected = values.iter().fold(first, |cell, value| operation(cell, *value));
                assert_eq!(
                    cells[at], expected,
                    "{name}: the order of the operations does not change the result"
                );
            }
        }
    }
}

fn bits<T: Element>(value: T) -> u32 {
    bytemuck::pod_read_unaligned(bytemuck::bytes_of(&value))
}

fn unsigned(s: &Subject) {
    integers::<u32>(s, 0);
}

fn signed(s: &Subject) {
    integers::<i32>(s, N as i32 / 2);
}

const FLOATS: &str = "
//#use atomic_f32(cells)
//#use atomic_f32(own)
@group(0) @binding(0) var<storage, read> values: array<f32>;
@group(0) @binding(1) var<storage, read_write> cells: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> olds: array<f32>;
var<workgroup> own: array<atomic<u32>, 3>;
@compute @workgroup_size(64)
fn operate(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let n = arrayLength(&values);
    let value = values[id.x];
    olds[id.x] = cells_add(0u, value);
    olds[n + id.x] = cells_min(1u, value);
    olds[2u * n + id.x] = cells_max(2u, value);
    own_add(0u, value);
    own_min(1u, value);
    own_max(2u, value);
    workgroupBarrier();
    if lane == 0u {
        cells_add(3u, bitcast<f32>(atomicLoad(&own[0])));
        cells_min(4u, bitcast<f32>(atomicLoad(&own[1])));
        cells_max(5u, bitcast<f32>(atomicLoad(&own[2])));
    }
}";

type FloatOperation = fn(f32, f32) -> f32;

/// The numbers are small integers, so that each sum is exact.
fn floats(s: &Subject) {
    let mut rng = fastrand::Rng::with_seed(3);
    let values: Vec<f32> = (0..N).map(|_| rng.i32(-1000..=1000) as f32).collect();
    let operations: [(f32, FloatOperation); 3] =
        [(0.0, |a, b| a + b), (f32::INFINITY, f32::min), (f32::NEG_INFINITY, f32::max)];
    for ctx in contexts(s) {
        let queue = ctx.queue("q");
        let kernel = ctx.kernel_from(FLOATS, "operate").unwrap();
        let first = [0.0, f32::INFINITY, f32::NEG_INFINITY, 0.0, f32::INFINITY, f32::NEG_INFINITY];
        let x = queue.array(&values).unwrap();
        let cells = queue.array(&first).unwrap();
        let mut olds = queue.zeros::<f32, 1>([3 * N]).unwrap();
        let mut bits = cells.cast_bits::<u32>();
        let args = args![&x, &mut bits, &mut olds];
        queue.launch_dyn(&kernel, Grid::threads([N]), args).unwrap();
        let cells = queue.read(&cells).wait().unwrap();
        let olds = queue.read(&olds).wait().unwrap();
        for (at, (first, operation)) in operations.into_iter().enumerate() {
            // A sum that is 0 may have either sign.
            let bits = |number: f32| (number + 0.0).to_bits();
            let read: Vec<u32> = olds[at * N..][..N].iter().map(|old| bits(*old)).collect();
            let written =
                olds[at * N..][..N].iter().zip(&values).map(|(old, value)| bits(operation(*old, *value)));
            check_history(&format!("operation {at} on f32"), (bits(first), bits(cells[at])), &read, written);
            let expected = values.iter().fold(first, |cell, value| operation(cell, *value));
            assert_eq!(cells[at], expected, "operation {at}");
            // Workgroup memory starts at 0, which is among the numbers of each chunk.
            let in_workgroups =
                values.chunks(64).map(|share| share.iter().fold(0.0, |a, b| operation(a, *b)));
            assert_eq!(cells[3 + at], in_workgroups.fold(first, operation), "operation {at} in workgroups");
        }
    }
}

const SPECIALS: &str = "
//#use atomic_f32(sums)
//#use atomic_f32(least)
//#use atomic_f32(most)
@group(0) @binding(0) var<storage, read> values: array<u32>;
@group(0) @binding(1) var<storage, read_write> sums: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> least: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> most: array<atomic<u32>>;
@compute @workgroup_size(64)
fn operate(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&values) {
        let value = bitcast<f32>(values[id.x]);
        sums_add(id.x, value);
        least_min(id.x, value);
        most_max(id.x, value);
    }
}";

/// Operates on each pair of special numbers. Subnormal numbers are left out, because a device may flush them to 0.
fn specials(s: &Subject) {
    let numbers = [
        f32::NAN,
        -f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        0.0,
        -0.0,
        1.5,
        -1.5,
        f32::MAX,
        f32::MIN,
        f32::MIN_POSITIVE,
    ];
    let pairs: Vec<(f32, f32)> = numbers.iter().flat_map(|&a| numbers.map(|b| (a, b))).collect();
    let (olds, values): (Vec<u32>, Vec<u32>) = pairs.iter().map(|(a, b)| (a.to_bits(), b.to_bits())).unzip();
    for ctx in contexts(s) {
        let queue = ctx.queue("q");
        let kernel = ctx.kernel_from(SPECIALS, "operate").unwrap();
        let x = queue.array(&values).unwrap();
        let [mut sums, mut least, mut most] = [(); 3].map(|()| queue.array(&olds).unwrap());
        let args = args![&x, &mut sums, &mut least, &mut most];
        queue.launch_dyn(&kernel, Grid::threads([pairs.len()]), args).unwrap();
        let [sums, least, most] = [&sums, &least, &most].map(|found| queue.read(found).wait().unwrap());
        for (at, &(a, b)) in pairs.iter().enumerate() {
            let [sum, smallest, largest] = [sums[at], least[at], most[at]].map(f32::from_bits);
            let expected = a + b;
            assert!(sum == expected || sum.is_nan() && expected.is_nan(), "{a} + {b} = {sum}");
            let is_nan = a.is_nan() || b.is_nan();
            assert_eq!((smallest.is_nan(), largest.is_nan()), (is_nan, is_nan), "{a} and {b}");
            if !is_nan {
                let (low, high) = if a.total_cmp(&b).is_le() { (a, b) } else { (b, a) };
                assert_eq!(
                    (smallest.to_bits(), largest.to_bits()),
                    (low.to_bits(), high.to_bits()),
                    "{a} and {b}"
                );
            }
        }
    }
}
