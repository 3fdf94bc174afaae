//! A17: sorts, selections, totals and reductions without NaNs on parts of arrays.

use super::parts::counts;
use super::*;
use fencepost::algorithms::Prefix;

pub fn cases() -> Vec<Case> {
    vec![
        case("a17_sorts_of_parts_with_values_or_places_equal_those_of_the_host_on_the_first_elements", sorts),
        case("a17_selections_of_parts_equal_those_of_the_host_on_the_first_elements", selections),
        case("a17_the_total_of_a_scan_of_a_part_has_the_elements_of_the_part_alone", totals),
        case("a17_a_reduction_of_a_part_leaves_nans_out", without_nans),
    ]
}

/// Lists lengths: some that need one launch, and some with several shares.
fn lengths() -> Vec<usize> {
    if large() { vec![1, 16, 257, 4096, 4097, 16_385, 34_567] } else { vec![257, 20_481] }
}

/// A list with few distinct values, on the device and on the host, and the length of its part.
pub(super) struct PartCase {
    pub(super) queue: CommandQueue,
    pub(super) list: Vec<u32>,
    pub(super) x: DeviceArray<u32>,
    pub(super) count: DeviceArray<u32>,
    pub(super) elements: usize,
}

impl PartCase {
    pub(super) fn part(&self) -> Prefix<'_, u32> {
        self.x.first(&self.count)
    }

    pub(super) fn first(&self) -> &[u32] {
        &self.list[..self.elements]
    }

    pub(super) fn out(&self) -> DeviceArray<u32> {
        self.queue.full([self.list.len()], BEFORE).unwrap()
    }

    pub(super) fn one(&self) -> DeviceArray<u32> {
        self.queue.full([1], BEFORE).unwrap()
    }

    pub(super) fn read(&self, array: &DeviceArray<u32>) -> Vec<u32> {
        self.queue.read(array).wait().unwrap()
    }

    /// Fails if an array differs from the results of the host, or if the elements after them have changed.
    pub(super) fn equals(&self, what: &str, array: &DeviceArray<u32>, expected: &[u32]) {
        let after = std::iter::repeat_n(BEFORE, self.list.len() - expected.len());
        let expected: Vec<u32> = expected.iter().copied().chain(after).collect();
        assert!(self.read(array) == expected, "{what}: {} of {} elements", self.elements, self.list.len());
    }
}

/// Calls a test with each length and each count.
pub(super) fn each(s: &Subject, test: impl Fn(&PartCase)) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(27);
    for len in lengths() {
        let list: Vec<u32> = (0..len).map(|_| rng.u32(0..50)).collect();
        for count in counts(len) {
            let x = queue.array(&list).unwrap();
            let on_device = queue.array(&[count as u32]).unwrap();
            let queue = queue.clone();
            let list = list.clone();
            let elements = count.min(len);
            test(&PartCase { queue, list, x, count: on_device, elements });
        }
    }
}

fn sorts(s: &Subject) {
    each(s, |case| {
        let queue = &case.queue;
        let part = case.part();
        let sort = Sort::descending().bits(0..8);
        let values: Vec<u32> = (0..case.list.len() as u32).map(|i| i * 7).collect();
        let mut keys = case.out();
        let mut moved = case.out();
        let mut places = case.out();
        queue.sort_pairs(part, &queue.array(&values).unwrap(), &mut keys, &mut moved, sort).unwrap();
        queue.argsort(part, &mut places, sort).unwrap();
        let expected = host::sort_pairs(case.first(), &values[..case.elements], sort).unwrap();
        case.equals("the keys", &keys, &expected.0);
        case.equals("the values", &moved, &expected.1);
        case.equals("the places", &places, &host::argsort(case.first(), sort).unwrap());
    });
}

fn selections(s: &Subject) {
    each(s, |case| {
        let queue = &case.queue;
        let part = case.part();
        let mask: Vec<u32> = (0..case.list.len() as u32).map(|i| i * i % 3).collect();
        let mut all = case.out();
        let mut kept = case.one();
        let mut places = case.out();
        let mut nonzero = case.one();
        queue.partition(part, &queue.array(&mask).unwrap(), &mut all, &mut kept).unwrap();
        queue.nonzero(part, &mut places, &mut nonzero).unwrap();
        let (partition, first) = host::partition(case.first(), &mask[..case.elements]);
        case.equals("the partition", &all, &partition);
        let expected: Vec<u32> = host::nonzero(case.first()).iter().map(|&place| place as u32).collect();
        case.equals("the places", &places, &expected);
        assert_eq!([case.read(&kept)[0], case.read(&nonzero)[0]], [first as u32, expected.len() as u32]);
    });
}

fn totals(s: &Subject) {
    each(s, |case| {
        let scan = Scan::exclusive(Operation::Sum).from(5);
        for scan in [scan, scan.reversed()] {
            let mut out = case.out();
            let mut total = case.one();
            case.queue.scan_and_total(case.part(), &mut out, &mut total, scan).unwrap();
            let (expected, sum) = host::scan_with_total(case.first(), scan);
            case.equals("the scan", &out, &expected);
            assert_eq!(case.read(&total), [sum], "{} elements", case.elements);
        }
    });
}

fn without_nans(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in lengths() {
        let list: Vec<f32> = (0..len).map(|i| if i % 3 == 0 { f32::NAN } else { i as f32 }).collect();
        let x = queue.array(&list).unwrap();
        for count in counts(len) {
            let on_device = queue.array(&[count as u32]).unwrap();
            let mut least = queue.zeros([1]).unwrap();
            let mut most = queue.zeros([1]).unwrap();
            queue.min(x.first(&on_device).skip_nan(), &mut least).unwrap();
            queue.max(x.first(&on_device).skip_nan(), &mut most).unwrap();
            let first = &list[..count.min(len)];
            let expected = [host::min(first, Nan::Ignore), host::max(first, Nan::Ignore)];
            let expected = expected.map(|number| number.filter(|number| !number.is_nan()));
            let found = [&least, &most].map(|one| queue.read(one).wait().unwrap()[0]);
            let found = found.map(|number| Some(number).filter(|number| !number.is_nan()));
            assert_eq!(found, expected, "{count} of {len} elements");
        }
    }
}
