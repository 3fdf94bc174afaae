//! M04: `cast_bits`, which gives the memory of an array another type of elements.

use crate::common::{Case, Subject, case};
use fencepost::interface::SameBits;
use fencepost::prelude::*;
use fencepost::{ErrorDetail, Shape, args};
use std::fmt::Debug;

pub fn cases() -> Vec<Case> {
    vec![
        case("m04_the_bits_of_an_array_are_an_array_of_another_type_in_the_same_memory", types),
        case("m04_a_kernel_reads_and_writes_the_bits_of_an_array", kernels),
        case("m04_the_bits_of_an_array_are_ordered_as_the_array_is", order),
        case("m04_an_array_and_its_bits_in_one_launch_are_refused_if_one_is_written", aliased),
    ]
}

/// Quiet and signalling NaNs, infinities, both zeros and a subnormal number.
const BITS: [u32; 8] =
    [0x7FC0_0001, 0x7F80_0001, 0xFFFF_FFFF, 0x7F80_0000, 0xFF80_0000, 0, 0x8000_0000, 0x0000_0001];

/// Kernel that flips the sign bit of each number of `x`.
const NEGATE: &str = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(8) fn negate(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&x) { x[id.x] ^= 0x80000000u; }
    }";

fn types(s: &Subject) {
    fn of<T: SameBits<U>, U: SameBits<T> + Debug + PartialEq>(queue: &CommandQueue, bits: &[U]) {
        let mut made = queue.zeros::<T, 1>([bits.len()]).unwrap().cast_bits::<U>();
        queue.upload(bits, &mut made).unwrap();
        let numbers = made.cast_bits::<T>();
        let on_host: Vec<T> = queue.read(&numbers).wait().unwrap();
        assert_eq!(bytemuck::cast_slice::<T, U>(&on_host), bits);
        let start = 4_usize.div_ceil(size_of::<T>()); // a whole word
        let part = numbers.slice(start..bits.len()).unwrap().cast_bits::<U>();
        assert_eq!(part.shape(), [bits.len() - start]);
        assert_eq!(queue.read(&part).wait().unwrap(), bits[start..]);
    }
    let queue = s.ctx().queue("q");
    of::<f32, u32>(&queue, &BITS);
    of::<f32, i32>(&queue, &BITS.map(u32::cast_signed));
    of::<i32, u32>(&queue, &BITS);
    of::<f64, u64>(&queue, &[u64::MAX, 1 << 63, 1, 0x7FF0_0000_0000_0001]);
    of::<i64, u64>(&queue, &[u64::MAX, 1 << 63, 1]);
    of::<i16, u16>(&queue, &[0x7C01, 0x8000, 0xFFFF, 5]);
    of::<i8, u8>(&queue, &[0x80, 0xFF, 1, 2, 3, 4, 5, 6]);
    of::<[f32; 2], [u32; 2]>(&queue, &[[0x7F80_0001, 1], [2, 3]]);

    let mut padded = queue.zeros::<f32, 2>(Shape::padded([2, 3], [4, 8])).unwrap();
    queue.set(&mut padded, [1, 2], -0.0).unwrap();
    let bits = padded.cast_bits::<u32>();
    assert_eq!((bits.shape(), bits.padded_shape()), ([2, 3], [4, 8]));
    assert_eq!(queue.read(&bits).wait().unwrap(), [0, 0, 0, 0, 0, 0x8000_0000]);
}

fn kernels(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let negate = ctx.kernel_from(NEGATE, "negate").unwrap();
    let x = queue.array(&BITS.map(f32::from_bits)).unwrap();
    let launch = |queue: &CommandQueue, x: &DeviceArray<f32>| {
        queue.launch_dyn(&negate, Grid::threads([8]), args![x = &mut x.cast_bits::<u32>()])
    };
    launch(&queue, &x).unwrap();
    let negated = BITS.map(|bits| bits ^ 0x8000_0000);
    assert_eq!(queue.read(&x.cast_bits::<u32>()).wait().unwrap(), negated);
    let (graph, ()) = queue.capture(|c| launch(c, &x)).unwrap();
    queue.replay(&graph).unwrap();
    assert_eq!(queue.read(&x.cast_bits::<u32>()).wait().unwrap(), BITS);
    let error = queue.launch_dyn(&negate, Grid::threads([8]), args![x = &mut x.clone()]).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Kernel(_)), "{error}");
}

fn order(s: &Subject) {
    let ctx = s.ctx();
    let a = ctx.queue("a");
    let b = ctx.queue("b");
    for round in 0..20_u32 {
        let mut x = a.zeros::<f32, 1>([4096]).unwrap();
        let mut bits = x.cast_bits::<u32>();
        drop(a.zeros::<f32, 1>(&x).unwrap());
        a.fill(&mut x, round as f32).unwrap();
        b.fill(&mut bits, round).unwrap();
        assert_eq!(a.read(&x).wait().unwrap(), [f32::from_bits(round); 4096]);
        drop(x);
        assert_eq!(b.read(&bits).wait().unwrap(), [round; 4096], "the bits keep the memory");
    }
}

fn aliased(s: &Subject) {
    let ctx = s.ctx();
    let text = "@group(0) @binding(0) var<storage, read> x: array<f32>;
        @group(0) @binding(1) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(8) fn both(@builtin(global_invocation_id) id: vec3<u32>) {
            y[id.x] = bitcast<u32>(x[id.x]);
        }";
    let queue = ctx.queue("q");
    let both = ctx.kernel_from(text, "both").unwrap();
    let x = queue.full([8], 1.0_f32).unwrap();
    let error = queue
        .launch_dyn(&both, Grid::threads([8]), args![x = &x, y = &mut x.cast_bits::<u32>()])
        .unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Aliased { .. }), "{error}");
    let error = queue.copy(&x, &mut x.cast_bits::<i32>().cast_bits::<f32>()).map(|_| ());
    let like = queue.copy(&x, &mut x.clone()).map(|_| ());
    assert_eq!(format!("{error:?}"), format!("{like:?}"));
    assert_eq!(queue.read(&x).wait().unwrap(), [1.0; 8]);
}
