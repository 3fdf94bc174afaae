//! Covers the requirements of katsdpsigproc's `test_accel.py` for host arrays, device arrays and regions.

use crate::common::{Case, Subject, case};
use fencepost::{
    CommandQueue, Context, DeviceArray, Download, HostArray, Kind, NewAxis, Region, Upload, region,
};

pub fn cases() -> Vec<Case> {
    vec![
        case("m05_katsdpsigproc_an_array_has_a_shape_and_a_padded_shape", properties),
        case("m05_katsdpsigproc_set_and_get_do_not_touch_the_padding", set_get),
        case("m05_katsdpsigproc_an_upload_of_the_same_padding_copies_the_padding", like),
        case("m05_katsdpsigproc_zero_and_fill_reach_the_padding", zero),
        case("m03_katsdpsigproc_set_async_and_get_async_return_at_once", in_their_turn),
        case("m04_katsdpsigproc_copy_region_0d", |s| pairs::<0, 0>(s, [], [], vec![(region![], region![])])),
        case("m04_katsdpsigproc_copy_region_1d", one_axis),
        case("m04_katsdpsigproc_copy_region_2d", two_axes),
        case("m04_katsdpsigproc_copy_region_4d", four_axes),
        case("m04_katsdpsigproc_copy_region_missing_axes", missing_axes),
        case("m04_katsdpsigproc_copy_region_newaxis", new_axes),
        case("m04_katsdpsigproc_copy_region_negative", negative),
        case("m04_katsdpsigproc_copy_region_errors", errors),
    ]
}

const SHAPE: [usize; 2] = [17, 13];
const PADDED: [usize; 2] = [32, 16];

fn numbers(len: usize) -> Vec<u32> {
    (0..len as u32).map(|i| i.wrapping_mul(2_654_435_761) % 100 + 1).collect()
}

fn memory(x: &DeviceArray<u32, 2>) -> Vec<u32> {
    x.map_read().wait().unwrap().to_vec()
}

fn properties(s: &Subject) {
    let ctx = s.ctx();
    let queue = ctx.queue("q");
    let mut x = ctx.zeros_padded::<u32, 2>(SHAPE, PADDED).unwrap();
    assert_eq!((x.shape(), x.padded_shape()), (SHAPE, PADDED));
    queue.upload_region(&[7], &mut x, region![2, 3]).unwrap();
    assert_eq!(
        memory(&x).iter().position(|&element| element == 7),
        Some(2 * 16 + 3),
        "the strides are 64 and 4 bytes"
    );
}

fn set_get(s: &Subject) {
    let ctx = s.ctx();
    let queue = ctx.queue("q");
    let (mut x, all) = (ctx.zeros_padded::<u32, 2>(SHAPE, PADDED).unwrap(), numbers(17 * 13));
    queue.upload(&all, &mut x).unwrap();
    let rows = memory(&x);
    let window: Vec<u32> = rows.chunks(16).take(17).flat_map(|row| row[..13].to_vec()).collect();
    assert_eq!(window, all);
    assert_eq!(rows.iter().filter(|&&element| element != 0).count(), all.len());
    assert_eq!(queue.read(&x).wait().unwrap(), all);
}

fn like(s: &Subject) {
    let ctx = s.ctx();
    let queue = ctx.queue("q");
    let x = ctx.zeros_padded::<u32, 2>(SHAPE, PADDED).unwrap();
    let mut like = ctx.empty_like(&x).unwrap();
    assert_eq!((like.shape(), like.padded_shape()), (SHAPE, PADDED));
    let mut up: HostArray<u32, Upload, 2> = ctx.pinned_padded(like.shape(), like.padded_shape()).unwrap();
    up.write(|memory| memory.copy_from_slice(&numbers(512))).unwrap();
    queue.upload(&up, &mut like).unwrap();
    assert_eq!(memory(&like), numbers(512));
}

fn zero(s: &Subject) {
    let ctx = s.ctx();
    let queue = ctx.queue("q");
    let mut x = ctx.empty_padded::<u32, 2>([75, 63], [80, 70]).unwrap();
    for value in [0xDEAD_BEEF, 0] {
        queue.fill(&mut x, value).unwrap();
        assert_eq!(memory(&x), vec![value; 80 * 70]);
    }
}

/// Checks that both transfers return before they are done, and that they are done once the download can be read.
fn in_their_turn(s: &Subject) {
    let ctx = s.ctx();
    let queue = ctx.queue("q");
    let gate = ctx.user_event("gate");
    let mut up: HostArray<u32, Upload, 2> = ctx.pinned_padded(SHAPE, PADDED).unwrap();
    up.write(|memory| memory.fill(5)).unwrap();
    let mut down: HostArray<u32, Download, 2> = ctx.pinned_padded(SHAPE, PADDED).unwrap();
    let mut x = ctx.zeros_padded(SHAPE, PADDED).unwrap();
    queue.wait_for(&gate.event()).unwrap();
    queue.upload(&up, &mut x).unwrap();
    queue.download(&x, &mut down).unwrap();
    assert!(!queue.is_complete().unwrap(), "the gate is closed");
    gate.signal();
    assert_eq!(down.read(<[u32]>::to_vec).unwrap(), [5; 512]);
}

/// Returns an array with these elements.
fn filled<const D: usize>(queue: &CommandQueue, shape: [usize; D], elements: &[u32]) -> DeviceArray<u32, D> {
    queue.array(elements).unwrap().reshape(shape).unwrap()
}

/// Copies each region of one array to a region of another: on the device, from the host, and to the host.
fn pairs<const D: usize, const E: usize>(
    s: &Subject,
    src: [usize; D],
    dst: [usize; E],
    pairs: Vec<(Region, Region)>,
) {
    let ctx = s.ctx();
    let queue = ctx.queue("q");
    let count = dst.iter().product();
    let all = numbers(src.iter().product());
    let (x, places) =
        (filled(&queue, src, &all), filled(&queue, dst, &(0..count as u32).collect::<Vec<_>>()));
    for (from, to) in pairs {
        let picked = to_the_host(&ctx, &queue, &x, &from);
        let mut expected = vec![0; count];
        let at = queue.read_region(&places, &to).wait().unwrap();
        at.iter().zip(&picked).for_each(|(&at, &element)| expected[at as usize] = element);
        let mut y = queue.zeros(dst).unwrap();
        queue.copy_region(&x, &from, &mut y, &to).unwrap();
        assert_eq!(queue.read(&y).wait().unwrap(), expected, "{from:?} to {to:?}, on the device");
        queue.fill(&mut y, 0).unwrap();
        queue.upload_region(&picked, &mut y, &to).unwrap();
        assert_eq!(queue.read(&y).wait().unwrap(), expected, "{from:?} to {to:?}, from the host");
    }
}

fn to_the_host<const D: usize>(
    ctx: &Context,
    queue: &CommandQueue,
    x: &DeviceArray<u32, D>,
    from: &Region,
) -> Vec<u32> {
    let picked = queue.read_region(x, from).wait().unwrap();
    let mut host: HostArray<u32, Download> = ctx.pinned([picked.len()]).unwrap();
    queue.download_region(x, from, &mut host).unwrap();
    assert_eq!(host.read(<[u32]>::to_vec).unwrap(), picked, "{from:?}");
    picked
}

fn one_axis(s: &Subject) {
    let regions = vec![
        (region![..], region![0..7]),
        (region![2..5], region![8..11]),
        (region![0..6; 2], region![1..10; 4]),
        (region![3], region![10]),
    ];
    pairs(s, [7], [11], regions);
}

fn two_axes(s: &Subject) {
    let regions = vec![
        (region![1..4, 2..5], region![2..5, 3..6]),
        (region![.., 4], region![1, 0..7]),
        (region![2, ..], region![1..7, 6]),
        (region![0..7; 3, 0..6; 2], region![5..8, 0..3]),
    ];
    pairs(s, [7, 6], [8, 7], regions);
}

fn four_axes(s: &Subject) {
    let regions = vec![
        (region![1..3, 0..4; 2, 1..5; 3, 2..6], region![0..4; 3, 2..4, 0..2, 0..4]),
        (region![0, .., 2, ..], region![1..5, 3, 0..6, 1]),
        (region![.., 1..3, 4, 5], region![2, 3, 1..4, 0..6; 5]),
    ];
    pairs(s, [3, 4, 5, 6], [5, 4, 6, 6], regions);
}

fn missing_axes(s: &Subject) {
    let regions =
        vec![(region![], region![0..4]), (region![2], region![3]), (region![1..3], region![2..5; 2])];
    pairs(s, [4, 5, 6], [6, 5, 6], regions);
}

fn new_axes(s: &Subject) {
    let regions = vec![
        (region![.., NewAxis, 4], region![0..4, 5..6]),
        (region![NewAxis, 1..3, 0], region![NewAxis, 3, 2..4]),
        (region![NewAxis, 0..4, 1], region![2..3, 0..4]),
    ];
    pairs(s, [4, 5], [4, 6], regions);
    pairs(s, [4, 5], [4, 6, 5], vec![(region![NewAxis, 1..3], region![2..3, 0..2])]);
}

fn negative(s: &Subject) {
    let regions = vec![
        (region![-1, ..], region![-2, ..-1]),
        (region![-3..-1, -5..], region![..2, -6..-1]),
        (region![..-4, -2], region![-3.., 1]),
    ];
    pairs(s, [7, 5], [8, 6], regions);
}

/// Returns `true` for the expected kind of error.
type IsRight = fn(&Kind) -> bool;

fn errors(s: &Subject) {
    let ctx = s.ctx();
    let queue = ctx.queue("q");
    let (x, mut y) = (ctx.full([7, 5], 1_u32).unwrap(), ctx.zeros::<u32, 2>([7, 5]).unwrap());
    let axes = |kind: &Kind| matches!(kind, Kind::RegionAxes { .. });
    let index = |kind: &Kind| matches!(kind, Kind::RegionIndex { .. });
    let range = |kind: &Kind| matches!(kind, Kind::RegionRange { .. });
    let wrong: [(Region, IsRight); 7] = [
        (region![0, 0, 0], axes),
        (region![7], index),
        (region![-8], index),
        (region![7..12], range),
        (region![3..3], range),
        (region![2..6; -1], range),
        (region![0..20], range), // katsdpsigproc takes the range as 0..7
    ];
    for (region, is) in wrong {
        for error in [
            queue.copy_region(&x, &region, &mut y, region![]).unwrap_err(),
            queue.copy_region(&x, region![], &mut y, &region).unwrap_err(),
        ] {
            assert!(is(error.kind()), "{region:?}: {error}");
        }
    }
    let error = queue.copy_region(&x, region![0..3], &mut y, region![0..4]).unwrap_err();
    assert!(matches!(error.kind(), Kind::Shape { .. }), "{error}");
    assert_eq!(queue.read(&y).wait().unwrap(), [0; 35]);
}
