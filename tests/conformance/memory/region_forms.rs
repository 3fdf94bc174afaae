//! M04: each form of a region selects the right elements.
//!
//! The cases follow katsdpsigproc's `test_copy_region_*` and Warp's `test_copy.py`.

use crate::common::{Case, Subject, case};
use fencepost::{
    CommandQueue, Context, DeviceArray, Download, HostArray, NewAxis, Region, RegionAxis, region,
};

pub fn cases() -> Vec<Case> {
    vec![
        case("m04_a_region_of_an_array_without_axes_is_its_element", |s| {
            pairs::<0, 0>(s, [], [], vec![(region![], region![])]);
        }),
        case("m04_regions_of_one_axis_are_copied", one_axis),
        case("m04_regions_of_two_axes_are_copied", two_axes),
        case("m04_regions_of_four_axes_are_copied", four_axes),
        case("m04_axes_that_a_region_does_not_name_are_copied_whole", missing_axes),
        case("m04_regions_with_new_axes_are_copied", new_axes),
        case("m04_negative_indices_count_from_the_end", negative),
        case("m04_strided_arrays_of_1_to_4_axes_are_copied_both_ways", strided),
        case("m04_large_strides_are_copied", large_stride),
    ]
}

fn numbers(len: usize) -> Vec<u32> {
    (0..len as u32).map(|i| i.wrapping_mul(2_654_435_761) % 100 + 1).collect()
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
    let (ctx, queue) = s.with_queue("q");
    let count = dst.iter().product();
    let all = numbers(src.iter().product());
    let x = filled(&queue, src, &all);
    let places = filled(&queue, dst, &(0..count as u32).collect::<Vec<_>>());
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
    assert_eq!(host.host().unwrap().to_vec(), picked, "{from:?}");
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

fn counted(len: usize) -> Vec<u32> {
    (0..len as u32).collect()
}

fn strided(s: &Subject) {
    every_other::<1>(s);
    every_other::<2>(s);
    every_other::<3>(s);
    every_other::<4>(s);
}

/// Copies `[1::2]` of each axis of length ten to a contiguous array, doubles the elements on the host, and copies them
/// back.
fn every_other<const D: usize>(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
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
    queue.copy_region(&packed, region![], &mut x.clone(), &odd).unwrap();
    assert_eq!(queue.read_region(&x, &odd).wait().unwrap(), twice, "{D} axes");
    let scaled = |element: u32| if digits_are_odd(&element) { 2 * element } else { element };
    assert_eq!(queue.read(&x).wait().unwrap(), counted(len).into_iter().map(scaled).collect::<Vec<_>>());
}

fn large_stride(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let len = 1 << 20;
    let step = 70_001;
    let mut x = ctx.zeros::<u32, 1>([len]).unwrap();
    let marks: Vec<u32> = (1..=len.div_ceil(step) as u32).collect();
    queue.upload_region(&marks, &mut x, region![..; step as isize]).unwrap();
    assert_eq!(queue.read_region(&x, region![..; step as isize]).wait().unwrap(), marks);
    let all = queue.read(&x).wait().unwrap();
    assert_eq!(all.iter().filter(|&&element| element != 0).count(), marks.len());
    assert!(marks.iter().enumerate().all(|(at, &mark)| all[at * step] == mark));
}
