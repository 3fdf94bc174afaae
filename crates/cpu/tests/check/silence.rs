//! Kernels without mistakes, in which a check finds nothing.

use crate::harness::{Kernel, Launch, texts};
use fencepost_kernels::{ShaderSource, Trust, builtins, trust_of, trusted_kernels};

/// Fails if a check finds anything.
fn silent(name: &str, launch: &mut Launch) {
    launch.options.nan = true;
    for seed in 0..4 {
        let findings = launch.check(seed);
        let texts = texts(&findings);
        assert!(findings.is_empty(), "{name} with seed {seed}\n{}", texts.join("\n"));
    }
}

/// Bits of 1 as `f32`.
const ONE: u32 = 0x3F80_0000;

/// Returns the parameters of a product of matrices with 70 rows and 20 inner elements, by this number of workgroups. `one`
/// is the factor 1.
fn product(groups: u32, columns: u32, one: u32) -> &'static [u32] {
    let sizes = [groups, 70, columns, 20, 20, 1, 1, 1];
    let left = [0, 20, 1, 0, 0, 0];
    let right = [0, columns, 1, 0, 0, 0];
    let results = [columns, 1, 0, 0, 0, 0];
    let last = [0, 1, one, one];
    [&sizes[..], &left, &right, &results, &last].concat().leak()
}

/// A pass of Fourier transforms: ten lines of six elements, in two columns.
const FFT_PASS: &[u32] = &[10, 2, 6, 0x32, 0, 1, 1, 0, 0, 2, 6, 6, 6, 6, 0, 0, 0, ONE, 1, 0, 0, 0, 0];

/// Bits of a NaN.
const NAN: u32 = 0x7FC0_0000;
const MINUS_INFINITY: u32 = 0xFF80_0000;

/// Returns the bits of symmetric matrices whose diagonals have the largest elements.
fn dominant(matrices: u32, n: u32) -> Vec<u32> {
    let element =
        |row: u32, column: u32| if row == column { 9.0 } else { 1.0 / (1 + row.abs_diff(column)) as f32 };
    let of_matrix = (0..n * n).map(|at| element(at / n, at % n).to_bits());
    of_matrix.cycle().take((matrices * n * n) as usize).collect()
}

/// Returns the parameters of the places of matrices without gaps.
fn places(rows: u32, columns: u32) -> [u32; 6] {
    [0, columns, 1, 0, 0, rows * columns]
}

#[test]
#[expect(clippy::too_many_lines, reason = "it has the arguments of each kernel")]
fn r07_the_builtin_kernels_have_no_mistake() {
    let mut checked = Vec::new();
    for (name, _) in builtins() {
        let kernel = Kernel::new(&ShaderSource::builtin(name).unwrap());
        let words = |len: u32| (0..len).map(|n| (n as f32).to_bits()).collect::<Vec<u32>>();
        let numbers = |len: u32| (0..len).collect::<Vec<u32>>();
        let (params, buffers): (&[u32], Vec<Vec<u32>>) = match *name {
            "add.wgsl" => (&[], vec![words(300), words(290), words(310)]),
            "arg_columns.wgsl" => (&[30, 7, 5, 3, 45, 30], vec![words(270), numbers(270), numbers(45)]),
            "arg_extreme.wgsl" => (&[300, 70], vec![words(300), numbers(300), numbers(5)]),
            "arg_rows.wgsl" => (&[100, 70, 2, 5, 100], vec![words(300), numbers(300), numbers(5)]),
            "arg_segments.wgsl" => {
                let offsets = (0..=10).map(|n| n * 30).collect();
                let arrays = vec![offsets, words(300), numbers(10), numbers(10), numbers(1)];
                (&[300, 70, u32::MAX, 10], arrays)
            }
            "bin_counts.wgsl" => (&[300, 70, 7, 0, 0, 0, 8], vec![numbers(300), numbers(8), numbers(7)]),
            "bin_exact.wgsl" => {
                (&[300, 70, 7, 0, 0, 0, 8], vec![numbers(300), words(300), numbers(8), vec![0; 77]])
            }
            "bin_weights.wgsl" => {
                let params = &[300, 70, 7, 0, 0, 0, 8, ONE, 0x4F00_0000];
                (params, vec![numbers(300), numbers(300), numbers(8), numbers(7)])
            }
            "blake3_chunks.wgsl" => (&[3000, 0, 0, 0], vec![numbers(752), numbers(24)]),
            "blake3_parents.wgsl" => (&[5, 0], vec![numbers(40), numbers(24)]),
            "bridge_gaps.wgsl" => {
                // A line in five has no number, and others have none before or after a gap.
                let gaps = (0..300).map(|n| if n % 7 < 5 || n % 5 == 4 { NAN } else { ONE }).collect();
                (&[30, 5, 300], vec![gaps, numbers(300)])
            }
            "cholesky.wgsl" => {
                let params = [&[0, 5, 15, NAN, 1, 5][..], &places(15, 15), &places(15, 15)].concat();
                (params.leak(), vec![dominant(5, 15), numbers(1), numbers(1125), numbers(5)])
            }
            "choose.wgsl" => (&[300], vec![numbers(300), words(300), words(300), numbers(300)]),
            "compact.wgsl" => {
                let counts = vec![69, 70, 70, 70, 20];
                (&[300, 70], vec![words(300), words(300), counts, numbers(300), numbers(1)])
            }
            "convert.wgsl" => (&[300], vec![words(300), numbers(300)]),
            "convolve.wgsl" => (&[300, 100, 90, 11, 0], vec![words(270), words(11), words(300)]),
            "convolve_channels.wgsl" => {
                // Two images of three channels of 6 x 7 elements, and 70 kernels of 3 x 2 weights for each channel.
                let sizes = [2, 1, 18, 18, 18, 36, 70];
                let axes = [6, 7, 3, 3, 2, 1, 2, 1, 0, 1, 1];
                let strides = [0, 126, 126, 42, 7, 1, 0, 18, 6, 2, 1, 1260, 2520];
                let params = [&sizes[..], &axes, &strides].concat();
                (params.leak(), vec![words(252), words(1260), words(70), words(2520)])
            }
            "determinant.wgsl" => {
                let params = [&[0, 5, 15, 1, 5][..], &places(15, 15)].concat();
                (params.leak(), vec![dominant(5, 15), numbers(1), numbers(5)])
            }
            "exact_column_products.wgsl" => {
                (&[30, 7, 5, 3, 45, 0], vec![words(270), words(270), numbers(45)])
            }
            "exact_columns.wgsl" => (&[30, 7, 5, 3, 45, 0], vec![words(270), numbers(45)]),
            "exact_matmul.wgsl" => {
                let strides = [0, 20, 1, 0, 0, 0, 0, 19, 1, 0, 0, 0, 19, 1, 0, 0, 0];
                let params = [&[4, 30, 19, 20, 20, 1, 1, 1][..], &strides].concat();
                (params.leak(), vec![words(600), words(380), numbers(570)])
            }
            "exact_results.wgsl" => {
                // Each twentieth word has the kinds of terms that are not finite.
                let sums = (0..200).map(|n| if n % 20 == 19 { 0 } else { n }).collect();
                (&[10, 30], vec![sums, numbers(11), numbers(10)])
            }
            "exact_row_products.wgsl" => (&[100, 70, 2, 5, 0], vec![words(300), words(300), numbers(5)]),
            "exact_rows.wgsl" => (&[100, 70, 2, 5, 0], vec![words(300), numbers(5)]),
            "exact_segment_products.wgsl" => {
                let offsets = (0..=10).map(|n| n * 30).collect();
                (&[300, 70, 10, 0], vec![offsets, words(300), words(300), vec![0; 200]])
            }
            "exact_segments.wgsl" => {
                let offsets = (0..=10).map(|n| n * 30).collect();
                (&[300, 70, 10, 0], vec![offsets, words(300), vec![0; 200]])
            }
            "exact_vectors.wgsl" => (&[10, 7, 2, 5, 160, 0], vec![words(480), numbers(5)]),
            "extreme.wgsl" => (&[300, 70], vec![words(300), numbers(5)]),
            // Lines of six elements, of which a tile has two.
            "fft.wgsl" => (FFT_PASS, vec![words(120), words(10), words(120)]),
            "fft_halves.wgsl" => (&[300, 9, 1, 0, ONE], vec![words(540), words(2050), words(600)]),
            "fft_in_place.wgsl" => (FFT_PASS, vec![words(10), words(120)]),
            "fft_real.wgsl" => (FFT_PASS, vec![words(60), words(10), words(120)]),
            "fft_to_real.wgsl" => (FFT_PASS, vec![words(120), words(10), words(60)]),
            "fill.wgsl" => (&[7], vec![words(300)]),
            "filter_direct.wgsl" => {
                // One image of 15 x 20 elements, and nine weights.
                let params = &[80, 4, 15, 20, 15, 20, 1, 3, 3, 1, 1, 29, 39, 30, 40, 0, 1, 0];
                (params, vec![words(300), words(9), words(300)])
            }
            "filter_separable.wgsl" => {
                let params = &[1, 1, 1, 15, 20, 15, 20, 1, 3, 3, 1, 1, 29, 39, 30, 40, 0, 0, 1, 0];
                (params, vec![words(300), words(3), words(3), words(300)])
            }
            "flag_windows.wgsl" => {
                (&[30, 5, 3, 300, 4, ONE], vec![words(300), words(30), vec![0; 300], numbers(300)])
            }
            "fold.wgsl" => (&[100, 70, 2, 5, 0], vec![words(300), numbers(5)]),
            "fold_columns.wgsl" => (&[30, 7, 5, 3, 45, 0], vec![words(270), numbers(45)]),
            "gather.wgsl" => (&[300, 290], vec![words(290), numbers(300), numbers(300)]),
            "histogram.wgsl" => (&[], vec![numbers(300), numbers(7)]),
            "inner_product.wgsl" => (&[300, 70], vec![words(300), words(300), numbers(5)]),
            "iota.wgsl" => (&[3, 5], vec![numbers(300)]),
            "jacobi.wgsl" => {
                let params = [&[0, 5, 15, NAN, 1, 5][..], &places(15, 15), &places(15, 15)].concat();
                (params.leak(), vec![dominant(5, 15), numbers(1), numbers(75), numbers(1125), numbers(5)])
            }
            "limit.wgsl" => (&[300, 7, 9], vec![words(300), numbers(300)]),
            "log_determinant.wgsl" => {
                let params = [&[0, 5, 15, MINUS_INFINITY, 1, 5][..], &places(15, 15)].concat();
                (params.leak(), vec![dominant(5, 15), numbers(1), numbers(5), numbers(5)])
            }
            "lu.wgsl" => {
                let params = [&[0, 5, 15, 1, 5][..], &places(15, 15), &places(15, 15)].concat();
                (params.leak(), vec![dominant(5, 15), numbers(1), numbers(1125), numbers(75), numbers(5)])
            }
            "matmul_bytes.wgsl" => {
                (product(4, 70, 1), vec![numbers(350), numbers(350), numbers(70), numbers(4900)])
            }
            "matmul_columns.wgsl" => {
                (product(18, 70, ONE), vec![words(1400), words(1400), words(70), words(4900)])
            }
            "matmul_rows.wgsl" => (product(18, 1, ONE), vec![words(1400), words(20), words(1), words(70)]),
            "matmul_sums.wgsl" => {
                let params = &[200, 3, 10, 20, 1, 1, 20, 1, 0, 0, 0, 0, 1, ONE, ONE];
                (params, vec![words(600), words(20), words(200)])
            }
            "matmul_tiles.wgsl" => {
                (product(4, 70, ONE), vec![words(1400), words(1400), words(70), words(4900)])
            }
            "merge.wgsl" => (&[300, 40, 0, 0], vec![numbers(300), numbers(40), numbers(340)]),
            "mix.wgsl" => (&[3, 5], vec![numbers(300), numbers(290)]),
            "nonzero.wgsl" => (&[300, 70], vec![words(300), numbers(5)]),
            "overlap_add.wgsl" => {
                (&[300, 100, 20, 9, 10, 0, 20, 0, ONE], vec![words(540), words(20), words(300)])
            }
            "permute.wgsl" => (&[300, 1, 1, 5, 6, 10, 0, 0, 0, 1, 50, 5], vec![words(300), numbers(300)]),
            "places_in_segments.wgsl" => {
                let segments = (0..300).map(|n| n / 30 + 1).collect();
                (&[300], vec![numbers(300), segments, (0..10).map(|n| n * 30).collect(), numbers(300)])
            }
            "random.wgsl" => (&[300, 0, 0, 0, 0, 0, 7, 0, 0, 0], vec![numbers(300)]),
            "qr.wgsl" => {
                let sizes = [0, 5, 15, 12, 12, 1, 5];
                let params = [&sizes[..], &places(15, 12), &places(15, 12), &places(12, 12)].concat();
                let mut a = dominant(5, 15);
                a.truncate(900);
                (params.leak(), vec![a, numbers(1), numbers(900), numbers(720)])
            }
            "radix_count.wgsl" => (&[300, 70, 5, 4, 15, 0, 0], vec![numbers(300), numbers(80)]),
            "radix_scatter.wgsl" => (
                &[300, 70, 5, 0, 0, 0, 0, 0],
                vec![
                    numbers(300),
                    numbers(300),
                    (0..80).map(|n| n % 5 * 70).collect(),
                    numbers(300),
                    numbers(1),
                ],
            ),
            "rank_count.wgsl" => (&[300, 70, 8, 0, 0], vec![numbers(300), vec![0; 258]]),
            "rank_digit.wgsl" => (&[7, 24, 0, 0], vec![numbers(258), numbers(1)]),
            "rank_quantile.wgsl" => {
                let params = &[0, 1 << 31, 0, 0, 0, 1 << 31, 0, 100, 3, 0, 0, 24];
                (params, vec![numbers(786), numbers(3)])
            }
            "rank_rows.wgsl" => (&[100, 70, 2, 6, 24], vec![numbers(300), numbers(3), vec![0; 786]]),
            "reduce.wgsl" => (&[300, 70, 0, 1], vec![words(300), numbers(5)]),
            "reduce_by_key.wgsl" => {
                let states = [70, 70, 70, 70, 20].into_iter().flat_map(|heads| [0, heads]).collect();
                let arrays = vec![numbers(300), words(300), states, numbers(300), words(300), numbers(1)];
                (&[300, 70, 0], arrays)
            }
            "reduce_columns.wgsl" => (&[30, 7, 5, 3, 45, 0, 1], vec![words(270), words(270), numbers(45)]),
            "reduce_rows.wgsl" => (&[100, 70, 2, 5, 0, 1], vec![words(300), words(300), numbers(5)]),
            "reduce_segments.wgsl" => {
                let offsets = (0..=10).map(|n| n * 30).collect();
                let arrays = vec![offsets, words(300), words(300), numbers(10), numbers(10), numbers(1)];
                (&[300, 70, 0, 10], arrays)
            }
            "reduce_vectors.wgsl" => (&[10, 7, 2, 5, 0], vec![words(480), numbers(5)]),
            "rolling.wgsl" => {
                let params = &[300, 0, 10, 2, 5, 3, 2, 1, 0, 0, 0, 0, 0];
                (params, vec![words(300), numbers(300), numbers(300)])
            }
            "round_exact.wgsl" => {
                // Each eleventh word has the kinds of weights that are not finite.
                let sums = (0..77).map(|n| if n % 11 == 10 { 0 } else { n }).collect();
                (&[7], vec![sums, numbers(7)])
            }
            "saxpy.wgsl" => (&[2], vec![words(300), words(300)]),
            "strided.wgsl" => {
                // The first 150 even indices get the elements of the other array in reverse order.
                let counts = [150, 1, 1, 1, 1, 150];
                let from = [299, 0, 0, 0, 0, 0, u32::MAX];
                let to = [0, 0, 0, 0, 0, 0, 2];
                let params = [&counts[..], &from, &to].concat();
                (params.leak(), vec![words(300), numbers(300)])
            }
            "sum_threshold.wgsl" => {
                let params = &[30, 5, 300, 4, ONE, 1];
                (params, vec![words(300), words(10), vec![0; 300], numbers(300)])
            }
            "take_ranked.wgsl" => {
                let states = [60, 10, 60, 10, 60, 10, 60, 10, 20, 0].to_vec();
                let table = vec![0; 256].into_iter().chain([0, 300]).collect();
                let arrays = vec![vec![0; 300], table, states, numbers(300), numbers(300), numbers(2)];
                (&[300, 70, 0, 0], arrays)
            }
            "scan.wgsl" => (&[300, 70, 0, 0], vec![words(300), numbers(5), words(300), numbers(1)]),
            "scan_by_key.wgsl" => {
                let keys = (0..300).map(|n| n / 30).collect();
                (&[300, 70, 0, 0], vec![keys, words(300), numbers(10), words(300), numbers(1)])
            }
            "scan_in_place.wgsl" => (&[300, 70, 0, 0], vec![numbers(5), words(300), numbers(1)]),
            "scatter.wgsl" => (&[300, 290], vec![words(300), numbers(300), numbers(290)]),
            "scatter_add.wgsl" => (&[300, 290], vec![words(300), numbers(300), numbers(290)]),
            "search_sorted.wgsl" => (&[300, 200, 0, 0, 0], vec![numbers(300), numbers(200), numbers(200)]),
            "segment_heads.wgsl" => (&[10], vec![(0..10).map(|n| n * 30).collect(), numbers(10)]),
            "select_columns.wgsl" => {
                let params = &[0, 1 << 31, 0, 0, 0, 1 << 31, 0, 30, 3, 9, 0, 0];
                (params, vec![words(270), numbers(9), numbers(9)])
            }
            "select_rows.wgsl" => {
                let params = &[0, 1 << 31, 0, 0, 0, 1 << 31, 0, 300, 3, 100, 0, 0];
                (params, vec![words(300), numbers(4), numbers(3), numbers(3)])
            }
            "solve.wgsl" => {
                let sizes = [0, 4, 15, 20, 16, 2, NAN, 1, 2];
                let params = [&sizes[..], &places(15, 15), &places(15, 20), &places(15, 20)].concat();
                (params.leak(), vec![dominant(2, 15), words(600), numbers(1), numbers(600), numbers(2)])
            }
            "sort_small.wgsl" => (&[300, 0, 32, 0, 0, 2, 8, 0], vec![numbers(300); 6]),
            // Rows of 50 entries are divided at multiples of 20; the last columns are outside of the matrix.
            "sparse_lanes.wgsl" | "sparse_rows.wgsl" => {
                let offsets = (0..=6).map(|n| n * 50).collect();
                let arrays = vec![offsets, numbers(300), words(300), words(870), words(18)];
                (&[18, 6, 300, 290, 3, 20, ONE, ONE], arrays)
            }
            "sparse_shares.wgsl" => {
                let arrays = vec![vec![0, 10, 300], numbers(300), words(300), words(290), words(4)];
                (&[4, 2, 300, 290, 1, 70, ONE, 0], arrays)
            }
            "sparse_sums.wgsl" => {
                (&[4, 2, 300, 290, 1, 70, ONE, 0], vec![vec![0, 10, 300], words(4), words(2)])
            }
            "spin.wgsl" => (&[10], vec![numbers(300)]),
            "take_rows.wgsl" => {
                let order = (0..300).map(|n| n % 100).collect();
                let offsets = vec![0, 100, 200, 300];
                (&[300, 7, 1, 21], vec![words(300), order, offsets, numbers(21), numbers(21)])
            }
            "transpose.wgsl" => (&[15, 20, 2, 1, 2], vec![words(300), numbers(300)]),
            "triangular.wgsl" => {
                let sizes = [5, 15, 7, NAN, 1, 5];
                let order = [0; 5];
                let params = [&sizes[..], &places(15, 15), &places(15, 7), &places(15, 7), &order].concat();
                (params.leak(), vec![dominant(5, 15), words(525), numbers(1), numbers(525), numbers(5)])
            }
            other => panic!("{other} has no arguments here"),
        };
        let groups = if matches!(*name, "rank_digit.wgsl" | "sort_small.wgsl") { 1 } else { 5 };
        let stem = name.trim_end_matches(".wgsl");
        let mut launch = Launch::with(kernel, params, buffers).groups(groups);
        launch.options.unwritten_workgroup = trust_of(stem) == Some(Trust::IndicesAndMemory);
        silent(name, &mut launch);
        checked.push(stem);
    }
    for trusted in trusted_kernels() {
        assert!(checked.contains(&trusted.name), "{} is trusted and is not checked here", trusted.name);
    }
}

const HEAD: &str = "
    @group(0) @binding(0) var<storage, read_write> out: array<u32>;
    @group(0) @binding(1) var<storage, read> x: array<u32>;
    var<workgroup> w: array<u32, 64>;
    @compute @workgroup_size(64) fn k(
        @builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) id: vec3<u32>,
        @builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {";

/// Kernels: a name, the text before the kernel, its body, and the number of workgroups.
const KERNELS: &[(&str, &str, &str, u32)] = &[
    (
        "a sum",
        "",
        "w[i] = x[i];
        workgroupBarrier();
        for (var s = 32u; s > 0u; s >>= 1u) {
            if i < s { w[i] += w[i + s]; }
            workgroupBarrier();
        }
        if i == 0u { out[g.x] = w[0]; }",
        5,
    ),
    (
        "a scan with two barriers",
        "",
        "w[i] = x[i];
        for (var d = 1u; d < 64u; d <<= 1u) {
            workgroupBarrier();
            var v = w[i];
            if i >= d { v += w[i - d]; }
            workgroupBarrier();
            w[i] = v;
        }
        if g.x == 0u { out[i] = w[i]; }",
        2,
    ),
    (
        "a scan with two halves",
        "var<workgroup> halves: array<array<u32, 64>, 2>;",
        "halves[0][i] = x[i];
        var side = 0u;
        for (var d = 1u; d < 64u; d <<= 1u) {
            workgroupBarrier();
            var v = halves[side][i];
            if i >= d { v += halves[side][i - d]; }
            side = 1u - side;
            halves[side][i] = v;
        }
        workgroupBarrier();
        out[i] = halves[side][63u - i];",
        1,
    ),
    (
        "a histogram with atomics of both kinds",
        "@group(0) @binding(2) var<storage, read_write> bins: array<atomic<u32>>;
        var<workgroup> own: array<atomic<u32>, 8>;",
        "atomicAdd(&own[x[i] % 8u], 1u);
        workgroupBarrier();
        if i < 8u { atomicAdd(&bins[i], atomicLoad(&own[i])); }",
        4,
    ),
    (
        "a neighbour after a barrier of buffers",
        "",
        "if g.x > 0u { return; }
        out[i] = x[i];
        storageBarrier();
        let v = out[(i + 1u) % 64u];
        storageBarrier();
        out[i] = v + out[i];",
        1,
    ),
    ("all invocations read one element", "", "w[i] = x[7]; out[i] = w[i] + x[7] + x[63];", 1),
    (
        "an invocation reads what it wrote",
        "@group(0) @binding(2) var<storage, read_write> new_a: array<u32>;",
        "new_a[i] = i; new_a[i] += 1u; out[i] = new_a[i]; out[i] += out[i];",
        1,
    ),
    (
        "the padding of a struct is neither read nor written",
        "struct S { a: vec3<f32>, v: array<vec3<u32>, 2>, m: mat3x3<f32> }
        @group(0) @binding(2) var<storage, read_write> new_s: array<S>;
        @group(0) @binding(3) var<storage, read_write> new_t: array<S>;",
        "if i > 0u { return; }
        new_s[0].a = vec3(1.0);
        new_s[0].v[0] = vec3(i);
        new_s[0].v[1] = vec3(i);
        new_s[0].m = mat3x3<f32>();
        new_t[0] = new_s[0];
        let t = new_t[0];
        out[0] = u32(t.a.x) + new_t[0].v[1].z;",
        1,
    ),
    (
        "halves and flags that share a word",
        "enable f16;
        var<workgroup> h: array<f16, 64>;
        var<workgroup> flags: array<bool, 64>;
        @group(0) @binding(2) var<storage, read_write> new_h: array<vec3<f16>>;",
        "h[i] = f16(i);
        flags[i] = i % 2u == 0u;
        if i < 32u { new_h[i] = vec3(h[i]); new_h[i].y += 1.0h; out[i] = u32(new_h[i].z); }
        workgroupBarrier();
        if i >= 32u { out[i] = u32(h[63u - i]) + u32(flags[i ^ 1u]); }",
        1,
    ),
    (
        "a uniform load",
        "var<workgroup> n: u32;",
        "if i == 5u { n = 7u; }
        let a = workgroupUniformLoad(&n);
        if i == 6u { n = 8u; }
        let b = workgroupUniformLoad(&n);
        out[i] = a + b;",
        1,
    ),
    (
        "a tree of workgroups with atomics",
        "@group(0) @binding(2) var<storage, read_write> n: array<atomic<u32>>;",
        "if atomicAdd(&n[1], 1u) == 64u * groups.x { atomicStore(&n[2], atomicLoad(&n[3])); }
        loop {
            let old = atomicLoad(&n[4]);
            if atomicCompareExchangeWeak(&n[4], old, old + 1u).exchanged { break; }
        }
        if i == 0u { out[g.x] = atomicExchange(&n[5], g.x); }",
        4,
    ),
    (
        "operands at the edges of their types",
        "enable f16;",
        "let least = -2147483647i - i32(x[1]);
        out[i] = (x[i] << (x[i] % 32u)) + (1u << x[31]) + (x[i] >> x[31]) + u32(least / i32(x[1]));
        out[i] += u32(least % i32(x[2])) + u32(-i32(x[5]) / -i32(x[1])) + 0xffffffffu / 0xffffffffu;
        out[i] += u32(f32(x[63]) * 6e7) + u32(f32(x[1]) * -0.75) + u32(i32(f32(x[1]) * -2147483648.0));
        out[i] += u32(i32(f16(x[5]) * -13000.0h)) + bitcast<u32>(f32(x[1]) / f32(x[0])) + u32(f32(x[2]) % 1.5);
        out[i] += u32(length(normalize(vec3<f32>(vec3(x[1], x[2], x[3]))))) + u32(sqrt(f32(x[0])));",
        1,
    ),
    (
        "a guarded index",
        "",
        "if i + 1u < arrayLength(&x) && x[i + 1u] > 3u { out[i] = x[i + 1u]; }
        var own = array(1u, 2u, 3u);
        out[i] += own[i % 3u] + vec3(x[1], x[2], x[3])[i % 3u];",
        1,
    ),
    (
        "functions with pointers to own variables",
        "var<private> p: array<u32, 3>;
        fn add(to: ptr<function, u32>, at: u32) { *to += p[at]; p[at] = *to; }",
        "var own = x[i]; add(&own, i % 3u); add(&own, 2u); out[i] = own;",
        1,
    ),
    (
        "elements of two workgroups",
        "",
        "if i < 32u { out[g.x * 32u + i] = x[i]; w[i] = out[g.x * 32u + i]; }
        storageBarrier();
        if i < 32u { out[g.x * 32u + i] = out[g.x * 32u + i] + out[g.x * 32u + i]; }",
        2,
    ),
];

#[test]
fn r07_kernels_without_a_mistake_have_no_finding() {
    for (name, before, body, groups) in KERNELS {
        let kernel = Kernel::text(format!("{before}\n{HEAD}\n{body}\n}}"));
        silent(name, &mut Launch::new(kernel).groups(*groups));
    }
}

#[test]
fn r07_a_tiled_product_of_matrices_has_no_mistake() {
    let text = "
        @group(0) @binding(0) var<storage, read> a: array<f32>;
        @group(0) @binding(1) var<storage, read> b: array<f32>;
        @group(0) @binding(2) var<storage, read_write> new_c: array<f32>;
        var<workgroup> left: array<array<f32, 8>, 8>;
        var<workgroup> right: array<array<f32, 8>, 8>;
        @compute @workgroup_size(8, 8) fn k(
            @builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_id) own: vec3<u32>) {
            var sum = 0.0;
            for (var tile = 0u; tile < 32u; tile += 8u) {
                left[own.y][own.x] = a[id.y * 32u + tile + own.x];
                right[own.y][own.x] = b[(tile + own.y) * 32u + id.x];
                workgroupBarrier();
                for (var n = 0u; n < 8u; n++) { sum += left[own.y][n] * right[n][own.x]; }
                workgroupBarrier();
            }
            new_c[id.y * 32u + id.x] = sum;
        }";
    let numbers: Vec<u32> = (0..1024).map(|n| (n as f32).to_bits()).collect();
    let mut launch = Launch::with(Kernel::text(text), &[], vec![numbers; 3]);
    launch.groups = [4, 4, 1];
    silent("a product", &mut launch);
}
