//! Covers the requirements of Warp's tests of `wp.copy`, in `test_copy.py` and `test_pinned.py`.

use crate::common::{Case, Subject, case};
use fencepost::{DeviceArray, Download, HostArray, Kind, Region, RegionAxis, Upload, region};

pub fn cases() -> Vec<Case> {
    vec![
        case("m04_warp_strided_arrays_of_1_to_4_axes_are_copied_both_ways", strided),
        case("m04_warp_large_strides_are_copied", large_stride),
        case("m04_warp_offsets_and_counts_become_ranges", offsets),
        case("m04_warp_wrong_offsets_and_counts_are_refused_before_any_work", wrong),
        case("m03_warp_pinned_and_pageable_memory_give_the_same_bytes", pinned),
    ]
}

fn counted(len: usize) -> Vec<u32> {
    (0..len as u32).collect()
}

fn strided(s: &Subject) {
    every_other::<1>(s);
    every_other::<2>(s);
    every_other::<3>(s);
    every_other::<4>(s);
}

/// Copies `[1::2]` of each axis of ten to an array without gaps, doubles the elements on the host, and copies them
/// back.
fn every_other<const D: usize>(s: &Subject) {
    let ctx = s.ctx();
    let queue = ctx.queue("q");
    let len = 10_usize.pow(D as u32);
    let x: DeviceArray<u32, D> = queue.array(&counted(len)).unwrap().reshape([10; D]).unwrap();
    let odd = Region::new([RegionAxis::every(2, 1..); D]);
    let mut packed = ctx.zeros::<u32, D>([5; D]).unwrap();
    queue.copy_region(&x, &odd, &mut packed, region![]).unwrap();
    let digits_are_odd = |&element: &u32| (0..D as u32).all(|digit| element / 10_u32.pow(digit) % 2 == 1);
    let expected: Vec<u32> = counted(len).into_iter().filter(digits_are_odd).collect();
    assert_eq!(queue.read(&packed).wait().unwrap(), expected, "{D} axes");
    let twice: Vec<u32> = expected.iter().map(|element| 2 * element).collect();
    queue.upload(&twice, &mut packed).unwrap();
    queue.copy_region(&packed, region![], &mut x.handle(), &odd).unwrap();
    assert_eq!(queue.read_region(&x, &odd).wait().unwrap(), twice, "{D} axes");
    let scaled = |element: u32| if digits_are_odd(&element) { 2 * element } else { element };
    assert_eq!(queue.read(&x).wait().unwrap(), counted(len).into_iter().map(scaled).collect::<Vec<_>>());
}

fn large_stride(s: &Subject) {
    let ctx = s.ctx();
    let queue = ctx.queue("q");
    let (len, step) = (1 << 20, 70_001);
    let mut x = ctx.zeros::<u32, 1>([len]).unwrap();
    let marks: Vec<u32> = (1..=len.div_ceil(step) as u32).collect();
    queue.upload_region(&marks, &mut x, region![..; step as isize]).unwrap();
    assert_eq!(queue.read_region(&x, region![..; step as isize]).wait().unwrap(), marks);
    let all = queue.read(&x).wait().unwrap();
    assert_eq!(all.iter().filter(|&&element| element != 0).count(), marks.len());
    assert!(marks.iter().enumerate().all(|(at, &mark)| all[at * step] == mark));
}

/// Covers `wp.copy(dst, src, dst_offset, src_offset, count)`, for arrays with and without steps.
fn offsets(s: &Subject) {
    let ctx = s.ctx();
    let queue = ctx.queue("q");
    let x = queue.array(&counted(40)).unwrap();
    for (from, to, count) in [(0, 0, 40), (3, 17, 20), (39, 0, 1), (0, 39, 1), (5, 5, 7)] {
        let mut y = ctx.full([40], 99_u32).unwrap();
        queue.copy_region(&x, region![from..from + count], &mut y, region![to..to + count]).unwrap();
        let expected: Vec<u32> = (0..40_usize)
            .map(|at| if (to..to + count).contains(&at) { (at - to + from) as u32 } else { 99 })
            .collect();
        assert_eq!(queue.read(&y).wait().unwrap(), expected, "{count} from {from} to {to}");
    }
    let mut y = ctx.full([40], 99_u32).unwrap();
    queue.copy_region(&x, region![4..24; 2], &mut y, region![10..40; 3]).unwrap();
    let found = queue.read_region(&y, region![10..; 3]).wait().unwrap();
    assert_eq!(found, (2..12).map(|i| 2 * i).collect::<Vec<u32>>());
    assert_eq!(queue.read(&y).wait().unwrap().iter().filter(|&&element| element == 99).count(), 30);
}

fn wrong(s: &Subject) {
    let ctx = s.ctx();
    let queue = ctx.queue("q");
    let (x, mut y) = (queue.array(&counted(10)).unwrap(), ctx.zeros::<u32, 1>([10]).unwrap());
    #[allow(clippy::reversed_empty_ranges, reason = "the mistakes")]
    for (from, to) in [
        (region![0..11], region![]),
        (region![0..10], region![5..15]),
        (region![0..5], region![0..6]),
        (region![5..5], region![5..5]), // Warp takes a count of no elements as all elements
        (region![5..2], region![5..2]),
        (region![-11..], region![]),
    ] {
        let error = queue.copy_region(&x, &from, &mut y, &to).unwrap_err();
        assert!(
            matches!(error.kind(), Kind::RegionRange { .. } | Kind::Shape { .. }),
            "{from:?} to {to:?}: {error}"
        );
    }
    assert_eq!(queue.read(&y).wait().unwrap(), [0; 10]);
}

fn pinned(s: &Subject) {
    let ctx = s.ctx();
    let queue = ctx.queue("q");
    let mut up: HostArray<u32, Upload, 2> = ctx.pinned([4, 6]).unwrap();
    up.write(|host| host.copy_from_slice(&counted(24))).unwrap();
    let (mut a, mut b) = (ctx.zeros::<u32, 2>([9, 9]).unwrap(), ctx.zeros::<u32, 2>([9, 9]).unwrap());
    let place = region![1..9; 2, 2..8];
    queue.upload_region(&up, &mut a, &place).unwrap();
    queue.upload_region(&counted(24), &mut b, &place).unwrap();
    assert_eq!(queue.read(&a).wait().unwrap(), queue.read(&b).wait().unwrap());
    let mut down: HostArray<u32, Download, 2> = ctx.pinned([4, 6]).unwrap();
    queue.download_region(&a, &place, &mut down).unwrap();
    assert_eq!(down.read(<[u32]>::to_vec).unwrap(), queue.read_region(&b, &place).wait().unwrap());
}
