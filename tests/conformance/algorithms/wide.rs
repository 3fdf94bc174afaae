//! A02, A05: reductions of whole groups, for which CPUs use a kernel with loads of several elements.

use super::*;
use fencepost::AdapterKind;
use fencepost::graph::Contents;

pub fn cases() -> Vec<Case> {
    let cases = [
        case("a02_a_processor_loads_several_elements_at_a_time", chosen),
        case("a02_reductions_of_whole_groups_of_integers_are_exact", integers),
        case("a02_sums_and_means_of_whole_groups_are_within_their_bounds", sums),
        case("a02_the_extremes_of_whole_groups_keep_nans_or_leave_them_out", extremes),
        case("a05_a_reduction_of_whole_groups_writes_its_results_alone", guards),
    ];
    cases.into()
}

/// Shapes with rows of whole groups, around multiples of blocks and shares.
const SHAPES: [[usize; 2]; 8] =
    [[1, 8], [3, 80], [2, 1024], [3, 1032], [3, 1040], [2, 16_384], [1, 16_400], [1, 20_480]];
const OPERATIONS: [Operation; 4] =
    [Operation::Sum, Operation::Product, Operation::Smallest, Operation::Largest];

const EXTREMES: [Operation; 4] =
    [Operation::Smallest, Operation::Largest, Operation::SmallestNumber, Operation::LargestNumber];

fn chosen(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let adapter = ctx.info();
    let gains = adapter.kind == AdapterKind::Software;
    let name = "reduce_vectors";
    let width = 16;
    // A saved graph contains the texts of its kernels.
    let is_wide = |verb: &dyn Fn(&CommandQueue) -> Result<()>| {
        let (graph, ()) = queue.capture(|c| verb(c)).unwrap();
        let file = graph.to_bytes_with(Contents::Included).unwrap();
        file.windows(name.len()).any(|part| part == name.as_bytes())
    };
    let x = queue.zeros::<u32, 1>([40_000]).unwrap();
    let numbers = queue.zeros::<f32, 1>([40_000]).unwrap();
    let total = || queue.zeros([1]).unwrap();
    for (len, fits) in [(16, true), (17, false), (20, false), (24, false), (20_480, true), (20_481, false)] {
        let x = x.slice(0..len).unwrap();
        let numbers = numbers.slice(0..len).unwrap();
        assert_eq!(is_wide(&|q| q.sum(&x, &mut total())), fits && gains, "a sum of {len}");
        assert_eq!(
            is_wide(&|q| q.max(&numbers, &mut queue.zeros([1])?)),
            fits && gains,
            "a maximum of {len}"
        );
        let leaves_out = |q: &CommandQueue| q.min(numbers.skip_nan(), &mut queue.zeros([1])?);
        assert!(!is_wide(&leaves_out), "a minimum of the numbers among {len}");
        let has_shares = len > 16_384;
        let is_wide = is_wide(&|q| q.mean(&numbers, &mut queue.zeros([1])?));
        assert_eq!(is_wide, fits && gains && has_shares, "a mean of {len}");
    }
    for (columns, fits) in
        [(72, false), (80, true), (81, false), (16_392, false), (16_400, true), (16_401, false)]
    {
        let rows = x.slice(0..2 * columns).unwrap().reshape([2, columns]).unwrap();
        let reduce = |q: &CommandQueue| q.reduce(rows.axis(1), Operation::Sum, &mut queue.zeros([2, 1])?);
        assert_eq!(is_wide(&reduce), fits && gains, "rows of {columns}");
    }
    // A part begins at a multiple of the adapter's alignment, which may be less than the size of a group.
    let first = ctx.binding_alignment() as usize / size_of::<u32>();
    let part = x.slice(first..first + 16).unwrap();
    assert_eq!(
        is_wide(&|q| q.sum(&part, &mut total())),
        first.is_multiple_of(width) && gains,
        "from {first} on"
    );
}

/// Returns the results of the rows, and the result of the whole array.
fn results<T: Reducible>(queue: &CommandQueue, x: &DeviceArray<T, 2>, operation: Operation) -> (Vec<T>, T) {
    let mut rows = queue.empty([x.shape()[0], 1]).unwrap();
    let mut whole = queue.empty([1]).unwrap();
    queue.reduce(x.axis(1), operation, &mut rows).unwrap();
    let verb = match operation {
        Operation::Sum => queue.sum(x, &mut whole),
        Operation::Product => queue.prod(x, &mut whole),
        Operation::Smallest => queue.min(x, &mut whole),
        Operation::Largest => queue.max(x, &mut whole),
        Operation::SmallestNumber => queue.min(x.skip_nan(), &mut whole),
        Operation::LargestNumber => queue.max(x.skip_nan(), &mut whole),
    };
    verb.unwrap();
    (queue.read(&rows).wait().unwrap(), queue.read(&whole).wait().unwrap()[0])
}

fn integers(s: &Subject) {
    fn of<T: Reducible + Debug>(queue: &CommandQueue, list: &[T], shape: [usize; 2]) {
        let x = queue.array(list).unwrap().reshape(shape).unwrap();
        for operation in OPERATIONS {
            let (rows, whole) = results(queue, &x, operation);
            assert_eq!(Some(rows), host::reduce(list, shape, operation, 1), "{operation:?} of {shape:?}");
            let expected = host::reduce(list, [list.len()], operation, 0).unwrap();
            assert_eq!([whole], *expected, "{operation:?} of {shape:?} as a whole");
        }
    }
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(51);
    for shape in SHAPES {
        // With odd factors, the product does not become 0.
        let list: Vec<u32> = (0..shape[0] * shape[1]).map(|_| rng.u32(..) | 1).collect();
        of::<u32>(&queue, &list, shape);
        of::<i32>(&queue, bytemuck::cast_slice(&list), shape);
    }
}

fn sums(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(52);
    for shape in SHAPES {
        let [_, n] = shape;
        let list: Vec<f32> =
            (0..shape[0] * n).map(|_| (rng.f32() - 0.5) * [1.0, 1e6][rng.usize(..2)]).collect();
        let x = queue.array(&list).unwrap().reshape(shape).unwrap();
        let (rows, whole) = results(&queue, &x, Operation::Sum);
        let mean = queue.value_of(|out| queue.mean(&x, out)).wait().unwrap() * list.len() as f32;
        let near = |found: f32, list: &[f32], steps: f64| {
            let exact: f64 = list.iter().map(|&x| f64::from(x)).sum();
            let sizes: f64 = list.iter().map(|&x| f64::from(x.abs())).sum();
            let depth = 52.0 + steps + list.len() as f64 / 2_f64.powi(20);
            let bound = depth * 2_f64.powi(-24) * sizes;
            assert!((f64::from(found) - exact).abs() <= bound, "{shape:?}: {found}, {exact} +- {bound}");
        };
        rows.iter().zip(list.chunks(n)).for_each(|(&row, list)| near(row, list, 0.0));
        near(whole, &list, 0.0);
        near(mean, &list, 6.0);
    }
}

fn extremes(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(53);
    let special = [0, 0x8000_0000, 1, 0x7F80_0000, 0xFF80_0000, 0x3F80_0000, 0x7FC0_0000, 0xFFFF_FFFF];
    for shape in SHAPES {
        for (specials, one_in) in [(6, 40), (8, 40), (8, 1)] {
            let mut word =
                || if rng.u32(..one_in) == 0 { special[rng.usize(..specials)] } else { rng.u32(..3 << 28) };
            let mut words: Vec<u32> = (0..shape[0] * shape[1]).map(|_| word()).collect();
            // The first row has only NaNs.
            words[..if one_in == 1 { shape[1] } else { 0 }].fill(special[6]);
            let list: &[f32] = bytemuck::cast_slice(&words);
            let x = queue.array(list).unwrap().reshape(shape).unwrap();
            for operation in EXTREMES {
                let (rows, whole) = results(&queue, &x, operation);
                let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
                let expected = host::reduce(list, shape, operation, 1).unwrap();
                assert!(rows.iter().zip(&expected).all(same), "{operation:?} of {shape:?}");
                let expected = host::reduce(list, [list.len()], operation, 0).unwrap();
                assert!(same((&whole, &expected[0])), "{operation:?} of {shape:?} as a whole");
            }
        }
    }
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    for shape in [[5, 80], [2, 16_400]] {
        let len = shape[0] * shape[1];
        let list: Vec<i32> = (0..len as i32).map(|i| 40 - i * 7).collect();
        // Adding a guard element would change the last digit of a sum.
        let all = queue.array(&around(&list, 1 << 30)).unwrap();
        let x = inside(&all).reshape(shape).unwrap();
        for operation in [Operation::Sum, Operation::Largest] {
            let found = guarded(&queue, shape[0], |out| {
                queue.reduce(x.axis(1), operation, &mut out.reshape([shape[0], 1])?)
            });
            assert_eq!(Some(found), host::reduce(&list, shape, operation, 1), "{operation:?} of {shape:?}");
        }
        assert_eq!(queue.read(&x).wait().unwrap(), list, "the input stays");
    }
}
