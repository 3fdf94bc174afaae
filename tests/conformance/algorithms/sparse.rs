//! A01, A24: products of sparse matrices.

use super::*;
use fencepost_oracles::Sparse;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_product_of_a_sparse_matrix_enqueues_nothing", refused),
        case("a01_a_product_of_a_sparse_matrix_with_a_hazard_enqueues_nothing", hazard),
        case("a01_a_captured_product_of_a_sparse_matrix_equals_that_of_the_queue", captured),
        case("a24_a_captured_product_reads_its_sparse_matrix_at_each_replay", changed),
        case("a24_products_of_sparse_integers_are_exact_for_all_lengths_of_rows", integers),
        case("a24_products_of_sparse_floats_are_within_their_bound", floats),
        case("a24_two_runs_of_a_sparse_product_give_the_same_bits", twice),
        case("a24_a_scale_of_zero_reads_neither_entries_nor_results", zero_scales),
        case("a24_an_entry_outside_of_its_matrix_counts_as_zero", outside),
        case("a24_offsets_in_no_order_give_results_inside_of_the_array_alone", unordered),
    ]
}

/// A sparse matrix on the host.
struct Matrix<T> {
    shape: [usize; 2],
    offsets: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<T>,
}

impl<T: Reducible> Matrix<T> {
    /// Returns a matrix with rows of these lengths. Some entries are in one column, and one of 13 is in none.
    fn random(
        rng: &mut fastrand::Rng,
        columns: usize,
        lens: &[usize],
        mut number: impl FnMut(&mut fastrand::Rng) -> T,
    ) -> Self {
        let mut offsets = vec![0];
        for len in lens {
            offsets.push(offsets[offsets.len() - 1] + *len as u32);
        }
        let entries = offsets[lens.len()];
        let mut column = |entry: u32| match entry % 13 {
            7 => [columns as u32, u32::MAX, columns as u32 + 1, 1 << 31][rng.usize(..4)],
            _ => rng.u32(..columns.max(1) as u32),
        };
        let places: Vec<u32> = (0..entries).map(&mut column).collect();
        let values = (0..entries).map(|_| number(rng)).collect();
        Self { shape: [lens.len(), columns], offsets, columns: places, values }
    }

    fn on_host(&self) -> Sparse<'_, T> {
        let Self { shape, offsets, columns, values } = self;
        Sparse { shape: *shape, offsets, columns, values }
    }

    fn upload(&self, queue: &CommandQueue) -> Uploaded<T> {
        let offsets = queue.array(&self.offsets).unwrap();
        let columns = queue.array(&self.columns).unwrap();
        let values = queue.array(&self.values).unwrap();
        Uploaded { shape: self.shape, offsets, columns, values }
    }
}

/// A sparse matrix on the device.
struct Uploaded<T: Reducible> {
    shape: [usize; 2],
    offsets: DeviceArray<u32>,
    columns: DeviceArray<u32>,
    values: DeviceArray<T>,
}

impl<T: Reducible> Uploaded<T> {
    fn csr(&self) -> Csr<'_, T> {
        Csr::new(self.shape, &self.offsets, &self.columns, &self.values)
    }
}

/// Lists matrices by their numbers of columns and the lengths of their rows: no rows, no columns, empty rows, rows for one
/// and for several invocations, and rows around one share and several, for shares of 8, 4,096 and 16,384 entries. The CPU
/// recorder takes the last ones in the full suite only.
fn patterns(s: &Subject, rng: &mut fastrand::Rng) -> Vec<(usize, Vec<usize>)> {
    let mut random =
        |rows: usize, least: usize, most: usize| (0..rows).map(|_| rng.usize(least..most)).collect();
    let all = vec![
        (5, vec![]),
        (0, vec![0; 3]),
        (0, vec![2, 0, 1]),
        (7, vec![0; 9]),
        (1, vec![1]),
        (300, random(257, 0, 7)),
        (50, random(65, 4, 9)),
        (50, random(33, 20, 40)),
        (100, random(9, 60, 200)),
        (40, vec![7, 8, 9, 0, 16, 17, 8, 1, 24, 0, 0, 25, 7]),
        (64, vec![4095, 4096, 4097, 1, 8193]),
        (1000, vec![0, 3, 20_000, 0, 5, 16_384, 16_385, 0]),
        (9, vec![33_000]),
    ];
    let few = |(_, lens): &(usize, Vec<usize>)| lens.iter().sum::<usize>() < 10_000;
    all.into_iter().filter(|pattern| !s.is_cpu() || large() || few(pattern)).collect()
}

/// Compares the product with a vector or a matrix with the host's, with guard elements around the results, which are 1
/// before.
#[track_caller]
fn compare<T: Reducible + Debug>(
    queue: &CommandQueue,
    matrix: &Matrix<T>,
    x: &[T],
    width: usize,
    options: MatmulSparse<T>,
) {
    let [rows, columns] = matrix.shape;
    let uploaded = matrix.upload(queue);
    let list = queue.array(x).unwrap();
    let found = guarded(queue, rows * width, |out| match width {
        1 => queue.matmul_sparse(uploaded.csr(), &list, out, options),
        _ => {
            let x = list.reshape([columns, width])?;
            queue.matmul_sparse(uploaded.csr(), &x, &mut out.reshape([rows, width])?, options)
        }
    });
    let scales = [options.alpha, options.beta];
    let expected = host::matmul_sparse(matrix.on_host(), x, &vec![T::ONE; rows * width], width, scales);
    assert!(Some(found) == expected, "{rows} x {columns} by {width} columns, {options:?}");
}

fn integers(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(901);
    with_forms(s, || {
        for (at, (columns, lens)) in patterns(s, &mut rng).into_iter().enumerate() {
            let matrix = Matrix::<u32>::random(&mut rng, columns, &lens, |rng| rng.u32(..));
            // A few columns, none, and more than a workgroup has invocations.
            let is_large = lens.iter().sum::<usize>() > 2000;
            let widths: &[usize] = if is_large { &[1, 2] } else { &[1, 3, 0, 70] };
            for &width in some(widths, at) {
                let x: Vec<u32> = (0..columns * width).map(|_| rng.u32(..)).collect();
                compare(&queue, &matrix, &x, width, MatmulSparse::default());
                // The length of the rows is an advice.
                let row_len = [0, 1, 5, 40, 1000, usize::MAX][(at + width) % 6];
                let options = MatmulSparse::default().alpha(3).beta(u32::MAX).row_len(row_len);
                compare(&queue, &matrix, &x, width, options);
            }
            let signed = Matrix {
                shape: matrix.shape,
                offsets: matrix.offsets.clone(),
                columns: matrix.columns.clone(),
                values: bytemuck::cast_slice::<u32, i32>(&matrix.values).to_vec(),
            };
            let x: Vec<i32> = (0..columns as i32).map(|i| i * 77_777 - 5).collect();
            compare(&queue, &signed, &x, 1, MatmulSparse::default().alpha(-1).beta(-2));
        }
    });
}

/// Half a unit in the last place of numbers from 1 to 2.
const U: f64 = 1.0 / 16_777_216.0;

fn floats(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(902);
    let number = |rng: &mut fastrand::Rng| (rng.f32() - 0.5) * [1.0, 1e3][rng.usize(..2)];
    let scales: [[f32; 2]; 3] = [[1.0, 0.0], [-2.5, 0.0], [0.75, 3.0]];
    with_forms(s, || {
        for (at, (columns, lens)) in patterns(s, &mut rng).into_iter().enumerate() {
            let [alpha, beta] = scales[at % 3];
            let width = 1 + at % 2 * 3;
            let rows = lens.len();
            let matrix = Matrix::random(&mut rng, columns, &lens, number);
            let x: Vec<f32> = (0..columns * width).map(|_| number(&mut rng)).collect();
            let y: Vec<f32> = (0..rows * width).map(|_| number(&mut rng)).collect();
            let uploaded = matrix.upload(&queue);
            let list = queue.array(&x).unwrap().reshape([columns, width]).unwrap();
            let mut out = queue.array(&y).unwrap().reshape([rows, width]).unwrap();
            let options = MatmulSparse::default().alpha(alpha).beta(beta);
            queue.matmul_sparse(uploaded.csr(), &list, &mut out, options).unwrap();
            let found = queue.read(&out).wait().unwrap();
            for (at, found) in found.into_iter().enumerate() {
                let [mut sum, mut sizes] = [0.0, 0.0];
                let row = at / width;
                let entries = matrix.offsets[row] as usize..matrix.offsets[row + 1] as usize;
                let k = entries.len() as f64;
                for entry in entries {
                    let place = matrix.columns[entry] as usize;
                    if place < columns {
                        let x = x[place * width + at % width];
                        let product = f64::from(matrix.values[entry]) * f64::from(x);
                        sum += product;
                        sizes += product.abs();
                    }
                }
                let [scale, keep] = [alpha, beta].map(f64::from);
                let kept = keep * f64::from(y[at]);
                let exact = scale * sum + kept;
                let bound = (k + 3.0) * U * (scale.abs() * sizes + kept.abs());
                let error = (f64::from(found) - exact).abs();
                assert!(error <= bound, "{rows} x {columns}, result {at}: {found}, not {exact}");
            }
        }
    });
}

fn twice(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut rng = fastrand::Rng::with_seed(906);
    let number = |rng: &mut fastrand::Rng| (rng.f32() - 0.5) * [1.0, 1e3][rng.usize(..2)];
    with_forms(s, || {
        let matrix = Matrix::random(&mut rng, 50, &[40, 7, 0, 17_000, 30], number).upload(&queue);
        let x: Vec<f32> = (0..50).map(|_| number(&mut rng)).collect();
        let x = queue.array(&x).unwrap();
        check_same_bits(&ctx, &queue, 5, |queue, out| {
            queue.matmul_sparse(matrix.csr(), &x, out, MatmulSparse::default())
        });
    });
}

fn zero_scales(s: &Subject) {
    let queue = s.ctx().queue("q");
    let offsets = queue.array(&[0_u32, 2, 2, 40]).unwrap();
    let columns = queue.array(&[1_u32; 40]).unwrap();
    with_forms(s, || {
        for row_len in [1, 40] {
            let nans = queue.full([40], f32::NAN).unwrap();
            let ones = queue.full([40], 1.0_f32).unwrap();
            let mut out = queue.full([3], f32::NAN).unwrap();
            let options = MatmulSparse::default().row_len(row_len);
            let matrix = Csr::new([3, 40], &offsets, &columns, &ones);
            queue.matmul_sparse(matrix, &ones, &mut out, options).unwrap();
            assert_eq!(queue.read(&out).wait().unwrap(), [2.0, 0.0, 38.0], "beta is 0");
            let matrix = Csr::new([3, 40], &offsets, &columns, &nans);
            queue.matmul_sparse(matrix, &nans, &mut out, options.alpha(0.0).beta(0.5)).unwrap();
            assert_eq!(queue.read(&out).wait().unwrap(), [1.0, 0.0, 19.0], "alpha is 0");
            let mut out = queue.full([3], f32::INFINITY).unwrap();
            queue.matmul_sparse(matrix, &nans, &mut out, options.alpha(0.0)).unwrap();
            assert_eq!(queue.read(&out).wait().unwrap(), [0.0; 3], "both are 0");
        }
    });
}

fn outside(s: &Subject) {
    let queue = s.ctx().queue("q");
    with_forms(s, || {
        for row_len in [1, 5] {
            let options = MatmulSparse::default().row_len(row_len);
            // The value of an entry outside of the matrix is not read, so it may be anything.
            let columns = queue.array(&[0_u32, 3, 2, u32::MAX, 1, 1 << 31]).unwrap();
            let values = queue.array(&[1.0, f32::NAN, 2.0, f32::INFINITY, 4.0, f32::NAN]).unwrap();
            let offsets = queue.array(&[0_u32, 2, 4, 6]).unwrap();
            let x = queue.array(&[10.0_f32, 100.0, 1000.0]).unwrap();
            let mut out = queue.zeros([3]).unwrap();
            let matrix = Csr::new([3, 3], &offsets, &columns, &values);
            queue.matmul_sparse(matrix, &x, &mut out, options).unwrap();
            assert_eq!(queue.read(&out).wait().unwrap(), [10.0, 2000.0, 400.0]);
            // Entries before the first offset and after the last one are in no row.
            let offsets = queue.array(&[2_u32, 3, 3, 5]).unwrap();
            let matrix = Csr::new([3, 3], &offsets, &columns, &values);
            queue.matmul_sparse(matrix, &x, &mut out, options).unwrap();
            assert_eq!(queue.read(&out).wait().unwrap(), [2000.0, 0.0, 400.0]);
            // Offsets past the last entry are its end.
            let offsets = queue.array(&[0_u32, 4, u32::MAX, u32::MAX]).unwrap();
            let matrix = Csr::new([3, 3], &offsets, &columns, &values);
            queue.matmul_sparse(matrix, &x, &mut out, options).unwrap();
            assert_eq!(queue.read(&out).wait().unwrap(), [2010.0, 400.0, 0.0]);
        }
    });
}

fn unordered(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(903);
    with_forms(s, || {
        for round in 0..8 {
            let entries = [200, 20_000][round % 2];
            let most = [entries as u32 + 50, u32::MAX][round / 2 % 2];
            let offsets: Vec<u32> = (0..=70).map(|_| rng.u32(..most)).collect();
            let columns: Vec<u32> = (0..entries).map(|_| rng.u32(..70)).collect();
            let offsets = queue.array(&offsets).unwrap();
            let columns = queue.array(&columns).unwrap();
            let values = queue.full([entries], 1_u32).unwrap();
            let x = queue.full([64], 1_u32).unwrap();
            let options = MatmulSparse::default().row_len([1, 40][round / 4]);
            let found = guarded(&queue, 70, |out| {
                let matrix = Csr::new([70, 64], &offsets, &columns, &values);
                queue.matmul_sparse(matrix, &x, out, options)
            });
            assert!(found.iter().all(|&sum| sum as usize <= entries), "no entry counts twice in a row");
        }
    });
}

fn captured(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(904);
    with_forms(s, || {
        for lens in [vec![3, 0, 5, 1], vec![40, 7, 0, 17_000, 30]] {
            let matrix = Matrix::<u32>::random(&mut rng, 50, &lens, |rng| rng.u32(..));
            let uploaded = matrix.upload(&queue);
            let rows = lens.len();
            let x = queue.zeros::<u32, 1>([50 * 3]).unwrap();
            let lists = (0..3).map(|round| {
                let list = scrambled(50 * 3, round);
                bytemuck::cast_slice::<i32, u32>(&list).to_vec()
            });
            check_replays(
                &queue,
                x,
                rows * 3,
                |queue, x, out| {
                    let x = x.reshape([50, 3])?;
                    let mut out = out.reshape([rows, 3])?;
                    queue.matmul_sparse(uploaded.csr(), &x, &mut out, MatmulSparse::default())
                },
                lists,
                |list, found| {
                    let expected = host::matmul_sparse(matrix.on_host(), list, &vec![0; rows * 3], 3, [1, 0]);
                    assert!(expected.as_deref() == Some(found), "rows of {lens:?}");
                },
            );
        }
    });
}

fn changed(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(905);
    // At the capture, no row has more entries than a share.
    let lens = [[3420; 5], [20, 17_000, 0, 40, 40], [0, 0, 100, 0, 17_000]];
    with_forms(s, || {
        let matrices = lens.map(|lens| Matrix::<u32>::random(&mut rng, 50, &lens, |rng| rng.u32(..)));
        let list: Vec<u32> = (0..50).map(|_| rng.u32(..)).collect();
        let x = queue.array(&list).unwrap();
        let mut out = queue.zeros([5]).unwrap();
        let Uploaded { shape, mut offsets, mut columns, mut values } = matrices[0].upload(&queue);
        let matrix = Csr::new(shape, &offsets, &columns, &values);
        let captured = queue.capture(|c| c.matmul_sparse(matrix, &x, &mut out, MatmulSparse::default()));
        let (graph, ()) = captured.unwrap();
        for (at, matrix) in matrices.iter().enumerate() {
            queue.upload(&matrix.offsets, &mut offsets).unwrap();
            queue.upload(&matrix.columns, &mut columns).unwrap();
            queue.upload(&matrix.values, &mut values).unwrap();
            queue.replay(&graph).unwrap();
            let expected = host::matmul_sparse(matrix.on_host(), &list, &[0; 5], 1, [1, 0]);
            assert!(Some(queue.read(&out).wait().unwrap()) == expected, "rows of {:?}", lens[at]);
        }
    });
}

fn hazard(s: &Subject) {
    enqueue_nothing_with_a_hazard(
        s,
        40_000,
        &[
            |queue, x, out| {
                let offsets = x.slice(0..11)?;
                let list = x.slice(0..100)?;
                let matrix = Csr::new([10, 100], &offsets, &list, &list);
                queue.matmul_sparse(matrix, &list, &mut out.slice(0..10)?, MatmulSparse::default())
            },
            // Three launches: a row may have more entries than a share.
            |queue, x, out| {
                let offsets = x.slice(0..11)?;
                let matrix = Csr::new([10, 40_000], &offsets, x, x);
                queue.matmul_sparse(matrix, x, &mut out.slice(0..10)?, MatmulSparse::default())
            },
        ],
    );
}

fn refused(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let other = s.ctx().queue("other");
    for entries in [30, 20_000] {
        let offsets = queue.zeros::<u32, 1>([5]).unwrap();
        let columns = queue.zeros::<u32, 1>([entries]).unwrap();
        let values = queue.zeros::<u32, 1>([entries]).unwrap();
        let x = queue.zeros::<u32, 1>([7]).unwrap();
        let mut out = queue.full([4], 7_u32).unwrap();
        let mut longer = queue.zeros([5]).unwrap();
        let foreign = other.zeros::<u32, 1>([7]).unwrap();
        let options = MatmulSparse::default();
        let before = dump::enqueued(&ctx, "q");
        let names = |error: &Error, argument: &str| {
            let start = format!("verb `matmul_sparse`, argument `{argument}`: ");
            assert!(error.to_string().starts_with(&start), "{entries} entries: {error}");
        };
        let matrix = |shape| Csr::new(shape, &offsets, &columns, &values);
        for rows in [3, 5, usize::MAX] {
            let error = assert_refused!(queue.matmul_sparse(matrix([rows, 7]), &x, &mut out, options), Shape);
            names(&error, "offsets");
        }
        let fewer = columns.slice(0..entries - 1).unwrap();
        let short = Csr::new([4, 7], &offsets, &fewer, &values);
        names(&assert_refused!(queue.matmul_sparse(short, &x, &mut out, options), Shape), "columns");
        let error = assert_refused!(
            queue.matmul_sparse(matrix([4, 8]), &x, &mut out, options),
            Shape { expected, .. } if *expected == [8]
        );
        names(&error, "x");
        let table = x.reshape([7, 1, 1]).unwrap();
        let mut deep = out.reshape([4, 1, 1]).unwrap();
        names(&assert_refused!(queue.matmul_sparse(matrix([4, 7]), &table, &mut deep, options), Shape), "x");
        let scalar = x.slice(0..1).unwrap().reshape([]).unwrap();
        let mut one = out.slice(0..1).unwrap().reshape([]).unwrap();
        names(&assert_refused!(queue.matmul_sparse(matrix([4, 7]), &scalar, &mut one, options), Shape), "x");
        let error = assert_refused!(
            queue.matmul_sparse(matrix([4, 7]), &x, &mut longer, options),
            Shape { expected, .. } if *expected == [4]
        );
        names(&error, "out");
        let error =
            assert_refused!(queue.matmul_sparse(matrix([4, 7]), &foreign, &mut out, options), ForeignContext);
        names(&error, "x");
        let mut part = values.slice(0..4).unwrap();
        let error = assert_refused!(queue.matmul_sparse(matrix([4, 7]), &x, &mut part, options), Aliased);
        assert!(error.to_string().contains("arguments `values` and `out`"), "{error}");
        assert_eq!(dump::enqueued(&ctx, "q"), before, "{entries} entries");
        assert_eq!(queue.read(&out).wait().unwrap(), [7; 4]);
    }
}
