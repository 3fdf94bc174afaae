//! M05: arrays whose memory is larger than their shape.

use crate::common::{Calls, Case, Subject, TOO_MANY, assert_error, case};
use crate::kernels::shaders::LOOKS;
use fencepost::{
    CommandQueue, Context, DeviceArray, Download, ErrorDetail, Grid, HostArray, Shape, Upload, args, region,
};

pub fn cases() -> Vec<Case> {
    vec![
        case("m05_transfers_touch_only_the_elements", only_the_elements),
        case("m05_fills_and_zeros_write_the_padding_too", fills),
        case("m05_kernels_and_maps_see_the_padding", kernels),
        case("m05_slices_keep_the_padding_of_the_other_axes", slices),
        case("m05_padded_and_plain_arrays_are_copied_to_each_other", between_paddings),
        case("m05_regions_of_padded_arrays_index_the_elements", regions),
        case("m05_a_pinned_array_of_the_same_padding_is_copied_with_its_padding", pinned_alike),
        case("m05_a_pinned_array_of_another_padding_is_copied_by_its_elements", pinned_otherwise),
        case("m05_an_untyped_array_keeps_its_padding", untyped),
        case("m05_reshaping_a_padded_array_and_padding_to_less_are_errors", refused),
        case("m05_an_upload_of_halves_leaves_the_padding", halves),
    ]
}

const SHAPE: [usize; 2] = [17, 13];
const PADDED: [usize; 2] = [32, 16];
const LEN: usize = 17 * 13;

fn counted(n: usize) -> Vec<u32> {
    (1..=n as u32).collect()
}

/// Returns an array whose memory holds `value` everywhere.
fn padded(ctx: &Context, queue: &CommandQueue, value: u32) -> DeviceArray<u32, 2> {
    let mut x = ctx.empty(Shape::padded(SHAPE, PADDED)).unwrap();
    queue.fill(&mut x, value).unwrap();
    x
}

/// Returns an array that holds 1, 2, 3 and so on, with 9 in the padding.
fn counted_array(ctx: &Context, queue: &CommandQueue) -> DeviceArray<u32, 2> {
    let mut x = padded(ctx, queue, 9);
    queue.upload(&counted(LEN), &mut x).unwrap();
    x
}

/// Returns memory with `elements` in it, and `value` in the padding.
fn laid_out(elements: &[u32], value: u32) -> Vec<u32> {
    let mut memory = vec![value; PADDED[0] * PADDED[1]];
    for (row, elements) in elements.chunks(SHAPE[1]).enumerate() {
        memory[row * PADDED[1]..][..SHAPE[1]].copy_from_slice(elements);
    }
    memory
}

/// Returns all memory of an array.
fn memory(x: &DeviceArray<u32, 2>) -> Vec<u32> {
    x.map_read().wait().unwrap().to_vec()
}

fn only_the_elements(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    for idle in [false, true] {
        let mut x = padded(&ctx, &queue, 9);
        if idle {
            queue.finish().wait().unwrap(); // an idle array lets the host write in place
        }
        assert_eq!((x.shape(), x.padded_shape(), x.len()), (SHAPE, PADDED, LEN));
        queue.upload(&counted(LEN), &mut x).unwrap();
        assert_eq!(queue.read(&x).wait().unwrap(), counted(LEN));
        let mut into = vec![0; LEN];
        queue.read_into(&x, &mut into).unwrap();
        assert_eq!(into, counted(LEN));
        let mut host: HostArray<u32, Download> = ctx.pinned([LEN]).unwrap();
        queue.download(&x, &mut host).unwrap();
        assert_eq!(host.host().unwrap().to_vec(), counted(LEN));
        assert_eq!(memory(&x), laid_out(&counted(LEN), 9));
    }
}

fn fills(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut x = queue.empty(Shape::padded([75, 63], [80, 70])).unwrap();
    for value in [0xDEAD_BEEF_u32, 0, 0xDEAD_BEEF] {
        queue.fill(&mut x, value).unwrap();
        assert_eq!(memory(&x), [value; 80 * 70]);
    }
    drop(x);
    for round in 0..4 {
        let zeros: DeviceArray<u32, 2> = match round % 2 {
            0 => ctx.zeros(Shape::padded([75, 63], [80, 64])).unwrap(),
            _ => queue.zeros(Shape::padded([75, 63], [80, 64])).unwrap(),
        };
        assert_eq!(memory(&zeros), [0; 80 * 64]);
        let like = ctx.zeros(&zeros).unwrap();
        assert_eq!((like.shape(), like.padded_shape()), ([75, 63], [80, 64]));
        assert_eq!(memory(&like), [0; 80 * 64]);
        queue.fill(&mut zeros.clone(), 1).unwrap();
        let like = ctx.empty::<u32, 2>(&zeros).unwrap();
        assert_eq!((like.shape(), like.padded_shape()), ([75, 63], [80, 64]));
    }
}

fn kernels(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let looks = LOOKS.kernel(s, &ctx);
    let mut x = padded(&ctx, &queue, 9);
    let mut y = padded(&ctx, &queue, 0);
    queue.upload(&counted(LEN), &mut x).unwrap();
    let all = Grid::threads([PADDED[0] * PADDED[1]]);
    queue.launch_dyn(&looks, all, args![&mut x, &mut y]).unwrap();
    let more: Vec<u32> = counted(LEN).iter().map(|element| element + 1).collect();
    assert_eq!(memory(&y), laid_out(&more, 10));
    assert_eq!(queue.read(&y).wait().unwrap(), more);
    y.map_write().wait().unwrap()[PADDED[1] - 1] = 77;
    assert_eq!(queue.read(&y).wait().unwrap(), more);
    assert_eq!(memory(&y)[PADDED[1] - 1], 77);
}

fn slices(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let x = counted_array(&ctx, &queue);
    let mut rows = x.slice(3..7).unwrap();
    assert_eq!((rows.shape(), rows.padded_shape(), rows.len()), ([4, 13], [4, 16], 52));
    assert_eq!(queue.read(&rows).wait().unwrap(), counted(LEN)[39..91]);
    assert_eq!(queue.read(&rows.slice(1..2).unwrap()).wait().unwrap(), counted(LEN)[52..65]);
    queue.upload(&[0; 52], &mut rows).unwrap();
    let mut expected = counted(LEN);
    expected[39..91].fill(0);
    assert_eq!(memory(&x), laid_out(&expected, 9), "the upload leaves the padding of the rows");
    queue.fill(&mut rows, 5).unwrap();
    expected[39..91].fill(5);
    let mut all = laid_out(&expected, 9);
    all[3 * 16..7 * 16].fill(5);
    assert_eq!(memory(&x), all);
    assert!(matches!(x.slice(17..18).unwrap_err().detail(), ErrorDetail::Range { len: 17, .. }));
}

fn between_paddings(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let x = counted_array(&ctx, &queue);
    let mut plain = ctx.zeros(SHAPE).unwrap();
    queue.copy(&x, &mut plain).unwrap();
    assert_eq!(queue.read(&plain).wait().unwrap(), counted(LEN));
    let mut wider = ctx.zeros::<u32, 2>(Shape::padded(SHAPE, [17, 20])).unwrap();
    queue.copy(&plain, &mut wider).unwrap();
    assert_eq!(queue.read(&wider).wait().unwrap(), counted(LEN));
    let mut alike = padded(&ctx, &queue, 4);
    queue.copy(&wider, &mut alike).unwrap();
    assert_eq!(memory(&alike), laid_out(&counted(LEN), 4));
    queue.copy(&x, &mut padded(&ctx, &queue, 4)).unwrap();
    queue.copy(&x, &mut alike).unwrap();
    assert_eq!(memory(&alike), laid_out(&counted(LEN), 4), "the copy leaves the padding");
    // The source and the target are overlapping rows of one array.
    queue.copy(&x.slice(0..16).unwrap(), &mut x.slice(1..17).unwrap()).unwrap();
    let moved = [&counted(LEN)[..13], &counted(LEN)[..16 * 13]].concat();
    assert_eq!(memory(&x), laid_out(&moved, 9));
}

fn regions(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut x = counted_array(&ctx, &queue);
    let last: Vec<u32> = (1..=17).map(|row| row * 13).collect();
    assert_eq!(queue.read_region(&x, region![.., -1]).wait().unwrap(), last);
    queue.upload_region(&[0; 26], &mut x, region![-2.., ..]).unwrap();
    queue.upload_region(&[7], &mut x, region![2, 3]).unwrap();
    let mut expected = counted(LEN);
    expected[15 * 13..].fill(0);
    expected[2 * 13 + 3] = 7;
    assert_eq!(memory(&x), laid_out(&expected, 9));
    let read = queue.read_region(&x, region![.., 13]).wait();
    assert_error!(read, ErrorDetail::RegionIndex { axis: 1, index: 13, len: 13, .. });
}

fn pinned_alike(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut up: HostArray<u32, Upload, 2> = ctx.pinned(Shape::padded(SHAPE, PADDED)).unwrap();
    assert_eq!((up.shape(), up.padded_shape(), up.len()), (SHAPE, PADDED, LEN));
    assert_eq!(up.host().unwrap().to_vec(), [0; 512]);
    let all = laid_out(&counted(LEN), 3);
    up.host_mut().unwrap().copy_from_slice(&all);
    let mut x = padded(&ctx, &queue, 9);
    queue.upload(&up, &mut x).unwrap();
    assert_eq!(memory(&x), all, "the upload copies elements and padding");
    let mut down: HostArray<u32, Download, 2> = ctx.pinned(Shape::padded(SHAPE, PADDED)).unwrap();
    queue.download(&x, &mut down).unwrap();
    assert_eq!(down.host().unwrap().to_vec(), all);
    let gate = queue.hold();
    queue.upload(&up, &mut x).unwrap();
    queue.download(&x, &mut down).unwrap();
    assert!(!queue.marker().is_complete().unwrap(), "the gate is closed");
    gate.signal();
    assert_eq!(down.host().unwrap().to_vec(), all);
}

fn pinned_otherwise(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut up: HostArray<u32, Upload, 2> = ctx.pinned(Shape::padded(SHAPE, PADDED)).unwrap();
    up.host_mut().unwrap().copy_from_slice(&laid_out(&counted(LEN), 3));
    let mut plain = ctx.zeros(SHAPE).unwrap();
    queue.upload(&up, &mut plain).unwrap();
    assert_eq!(queue.read(&plain).wait().unwrap(), counted(LEN));
    let mut wide = ctx.zeros::<u32, 3>([17, 2, 13]).unwrap();
    queue.upload_region(&up, &mut wide, region![.., 1]).unwrap();
    assert_eq!(queue.read_region(&wide, region![.., 1]).wait().unwrap(), counted(LEN));
    assert_eq!(queue.read_region(&wide, region![.., 0]).wait().unwrap(), [0; LEN]);

    let rows = up.slice(2..7).unwrap();
    let expected = &counted(LEN)[2 * 13..7 * 13];
    let mut plain = ctx.zeros([5, 13]).unwrap();
    queue.upload(&rows, &mut plain).unwrap();
    assert_eq!(queue.read(&plain).wait().unwrap(), expected);
    let same = padded(&ctx, &queue, 9);
    queue.upload(&rows, &mut same.slice(3..8).unwrap()).unwrap();
    assert_eq!(queue.read_region(&same, region![3..8]).wait().unwrap(), expected);
    queue.upload_region(&rows, &mut wide, region![4..9, 0]).unwrap();
    assert_eq!(queue.read_region(&wide, region![4..9, 0]).wait().unwrap(), expected);

    let mut flat: HostArray<u32, Upload> = ctx.pinned([300]).unwrap();
    flat.host_mut().unwrap().copy_from_slice(&counted(300));
    let mut x = padded(&ctx, &queue, 9);
    queue.upload(&flat.slice(0..LEN).unwrap(), &mut x).unwrap();
    assert_eq!(memory(&x), laid_out(&counted(LEN), 9));

    // The next pinned array gets used memory from the pool.
    let used: Vec<_> = (0..4).map(|_| queue.full([20 * 14], 0xBAD_u32).unwrap()).collect();
    drop(used);
    let mut down: HostArray<u32, Download, 2> = ctx.pinned(Shape::padded(SHAPE, [20, 14])).unwrap();
    queue.download(&x, &mut down).unwrap();
    let host = down.host().unwrap().to_vec();
    let rows: Vec<&[u32]> = host.chunks(14).collect();
    assert_eq!(rows[..17].iter().flat_map(|row| row[..13].to_vec()).collect::<Vec<_>>(), counted(LEN));
    assert!(rows[..17].iter().all(|row| row[13] == 0) && rows[17..].iter().all(|row| *row == [0; 14]));
}

fn untyped(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let x = counted_array(&ctx, &queue);
    let any = x.any();
    assert_eq!((any.shape(), any.padded_shape(), any.len()), (&SHAPE[..], &PADDED[..], LEN));
    let typed = any.typed::<u32, 2>().unwrap();
    assert_eq!(typed.padded_shape(), PADDED);
    assert_eq!(queue.read(&typed.clone()).wait().unwrap(), counted(LEN));
}

fn refused(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let x = padded(&ctx, &queue, 9);
    let padding =
        |kind: &ErrorDetail| matches!(kind, ErrorDetail::Padding { shape, .. } if shape[..] == SHAPE);
    for error in [
        x.reshape([LEN]).unwrap_err(),
        x.reshape(SHAPE).unwrap_err(),
        ctx.zeros::<u32, 2>(Shape::padded(SHAPE, [16, 16])).unwrap_err(),
        ctx.empty::<u32, 2>(Shape::padded(SHAPE, [17, 12])).unwrap_err(),
        ctx.pinned::<u32, Upload, 2>(Shape::padded(SHAPE, [17, 0])).unwrap_err(),
    ] {
        assert!(padding(error.detail()), "{error}");
    }
    let up: HostArray<u32, Upload, 2> = ctx.pinned(Shape::padded(SHAPE, PADDED)).unwrap();
    let mut flat = ctx.zeros([LEN]).unwrap();
    assert!(matches!(queue.upload(&up, &mut flat).unwrap_err().detail(), ErrorDetail::Shape { .. }));
    let rows = up.slice(0..5).unwrap();
    for len in [5, 5 * 13] {
        assert_error!(queue.upload(&rows, &mut flat.slice(0..len).unwrap()), ErrorDetail::Shape { .. });
    }
    assert!(matches!(up.slice(0..18).unwrap_err().detail(), ErrorDetail::Range { len: 17, .. }));
    let mut short = vec![0; LEN - 1];
    assert!(matches!(queue.read_into(&x, &mut short).unwrap_err().detail(), ErrorDetail::Shape { .. }));
    assert_error!(ctx.zeros::<u32, 1>(Shape::padded([1], [TOO_MANY])), ErrorDetail::TooLarge { .. });
}

fn halves(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let half = half::f16::from_bits;
    let mut x = ctx.empty::<half::f16, 2>(Shape::padded([4, 3], [5, 7])).unwrap();
    queue.fill(&mut x, half(99)).unwrap();
    let elements: Vec<half::f16> = (1..=12).map(half).collect();
    queue.upload(&elements, &mut x).unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), elements);
    let memory = x.map_read().wait().unwrap();
    for (at, &found) in memory.iter().enumerate() {
        let row = at / 7;
        let column = at % 7;
        let expected = if row < 4 && column < 3 { elements[3 * row + column] } else { half(99) };
        assert_eq!(found, expected, "row {row}, column {column}");
    }
}
