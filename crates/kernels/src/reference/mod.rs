//! The sequential reference function of each built-in shader: a launch must compute the same results.

use std::sync::Arc;

use crate::{DType, Scalar};

mod add;
mod blake3;
mod blake3_chunks;
mod blake3_parents;
mod fill;
mod histogram;
mod iota;
mod mix;
mod number;
mod saxpy;
mod spin;

use number::{WrappingNumber, get, invocations, len, set};

/// A kernel that runs on the host's bytes.
///
/// A closure with the same arguments is a kernel too.
pub trait HostKernel: Send + Sync {
    /// Runs the whole grid: `groups` workgroups of `workgroup` invocations.
    ///
    /// `params` are the bytes of the uniform block, and `buffers` are in the order of
    /// [`Interface::bindings`](crate::Interface::bindings).
    fn run(&self, groups: [u32; 3], workgroup: [u32; 3], params: &[u8], buffers: &mut [HostBuffer<'_>]);
}

impl<F> HostKernel for F
where
    F: Fn([u32; 3], [u32; 3], &[u8], &mut [HostBuffer<'_>]) + Send + Sync,
{
    fn run(&self, groups: [u32; 3], workgroup: [u32; 3], params: &[u8], buffers: &mut [HostBuffer<'_>]) {
        self(groups, workgroup, params, buffers);
    }
}

/// Bytes of one bound buffer.
#[derive(Debug)]
pub enum HostBuffer<'a> {
    /// Bytes of a `var<storage, read>`.
    Read(&'a [u8]),
    /// Bytes of a `var<storage, read_write>`.
    Write(&'a mut [u8]),
}

impl HostBuffer<'_> {
    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Read(bytes) => bytes,
            Self::Write(bytes) => bytes,
        }
    }

    /// Returns the bytes for writing.
    ///
    /// # Panics
    /// If the buffer is read-only.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Read(_) => panic!("bug: a kernel writes a buffer that is declared `read`"),
            Self::Write(bytes) => bytes,
        }
    }
}

/// Returns the reference of the built-in shader `stem`.wgsl, for the element type that the file itself declares.
pub fn reference(stem: &str) -> Option<Arc<dyn HostKernel>> {
    Some(match stem {
        "add" => Arc::new(add::add::<f32>),
        "blake3_chunks" => Arc::new(blake3_chunks::blake3_chunks),
        "blake3_parents" => Arc::new(blake3_parents::blake3_parents),
        "fill" => Arc::new(fill::fill),
        "histogram" => Arc::new(histogram::histogram),
        "iota" => Arc::new(iota::iota::<u32>),
        "mix" => Arc::new(mix::mix),
        "saxpy" => Arc::new(saxpy::saxpy::<f32>),
        "spin" => Arc::new(spin::spin),
        _ => return None,
    })
}

/// Returns the reference of the built-in shader `stem`.wgsl with its `alias T` set to `dtype`.
pub fn reference_of(stem: &str, dtype: DType) -> Option<Arc<dyn HostKernel>> {
    let DType::Scalar(scalar) = dtype else { return None };
    Some(match (stem, scalar) {
        ("add", Scalar::F32) => Arc::new(add::add::<f32>),
        ("add", Scalar::I32) => Arc::new(add::add::<i32>),
        ("add", Scalar::U32) => Arc::new(add::add::<u32>),
        ("fill", Scalar::F32 | Scalar::I32 | Scalar::U32) => Arc::new(fill::fill),
        ("iota", Scalar::F32) => Arc::new(iota::iota::<f32>),
        ("iota", Scalar::I32) => Arc::new(iota::iota::<i32>),
        ("iota", Scalar::U32) => Arc::new(iota::iota::<u32>),
        ("saxpy", Scalar::F32) => Arc::new(saxpy::saxpy::<f32>),
        ("saxpy", Scalar::I32) => Arc::new(saxpy::saxpy::<i32>),
        ("saxpy", Scalar::U32) => Arc::new(saxpy::saxpy::<u32>),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(stem: &str, params: &[u8], buffers: &mut [HostBuffer<'_>]) {
        reference(stem).unwrap().run([1, 1, 1], [4, 1, 1], params, buffers);
    }

    #[test]
    fn saxpy_computes_up_to_the_shorter_array() {
        let mut y = [10.0f32, 20.0, 30.0];
        let x = [1.0f32, 2.0];
        let mut buffers =
            [HostBuffer::Read(bytemuck::cast_slice(&x)), HostBuffer::Write(bytemuck::cast_slice_mut(&mut y))];
        run("saxpy", bytemuck::bytes_of(&2.0f32), &mut buffers);
        assert_eq!(y, [12.0, 24.0, 30.0]);
    }

    #[test]
    fn invocations_past_the_grid_do_not_run() {
        let mut out = [0u32; 6];
        run("fill", bytemuck::bytes_of(&9u32), &mut [HostBuffer::Write(bytemuck::cast_slice_mut(&mut out))]);
        assert_eq!(out, [9, 9, 9, 9, 0, 0]);
    }

    #[test]
    fn iota_counts_in_the_requested_type() {
        let mut out = [0.0f32; 3];
        let iota = reference_of("iota", DType::Scalar(Scalar::F32)).unwrap();
        let mut buffers = [HostBuffer::Write(bytemuck::cast_slice_mut(&mut out))];
        iota.run([1, 1, 1], [64, 1, 1], bytemuck::bytes_of(&[0.5f32, 0.25]), &mut buffers);
        assert_eq!(out, [0.5, 0.75, 1.0]);
    }

    #[test]
    fn mix_wraps() {
        // -1 * 3 + 5 + 7
        let x = [5u32];
        let mut y = [u32::MAX];
        let mut buffers =
            [HostBuffer::Read(bytemuck::cast_slice(&x)), HostBuffer::Write(bytemuck::cast_slice_mut(&mut y))];
        run("mix", bytemuck::bytes_of(&[3u32, 7]), &mut buffers);
        assert_eq!(y, [9]);
    }

    #[test]
    fn histogram_adds_to_the_counts_in_the_bins() {
        let values = [0u32, 1, 3, 1];
        let mut bins = [100u32, 0];
        let mut buffers = [
            HostBuffer::Read(bytemuck::cast_slice(&values)),
            HostBuffer::Write(bytemuck::cast_slice_mut(&mut bins)),
        ];
        run("histogram", &[], &mut buffers);
        assert_eq!(bins, [101, 3]);
    }

    #[test]
    fn spin_runs_the_requested_number_of_rounds() {
        let mut out = [0u32, 0];
        run("spin", bytemuck::bytes_of(&2u32), &mut [HostBuffer::Write(bytemuck::cast_slice_mut(&mut out))]);
        let step = |state: u32| state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        assert_eq!(out, [step(step(0)), step(step(1))]);
    }

    #[test]
    fn add_adds() {
        let x = [1.0f32, 2.0];
        let y = [0.5f32, 0.5];
        let mut z = [0.0f32; 2];
        let mut buffers = [
            HostBuffer::Read(bytemuck::cast_slice(&x)),
            HostBuffer::Read(bytemuck::cast_slice(&y)),
            HostBuffer::Write(bytemuck::cast_slice_mut(&mut z)),
        ];
        run("add", &[], &mut buffers);
        assert_eq!(z, [1.5, 2.5]);
    }

    /// Shaders of the algorithms: their tests compare them with host functions.
    const WITHOUT: &[&str] = &[
        "arg_columns",
        "arg_extreme",
        "arg_rows",
        "arg_segments",
        "bin_counts",
        "bin_exact",
        "bin_weights",
        "bridge_gaps",
        "cholesky",
        "choose",
        "compact",
        "convert",
        "convolve",
        "convolve_channels",
        "determinant",
        "exact_column_products",
        "exact_columns",
        "exact_matmul",
        "exact_results",
        "exact_row_products",
        "exact_rows",
        "exact_segment_products",
        "exact_segments",
        "exact_vectors",
        "extreme",
        "fft",
        "fft_halves",
        "fft_in_place",
        "fft_real",
        "fft_to_real",
        "filter_direct",
        "filter_separable",
        "flag_windows",
        "fold",
        "fold_columns",
        "gather",
        "inner_product",
        "jacobi",
        "limit",
        "log_determinant",
        "lu",
        "matmul_bytes",
        "matmul_columns",
        "matmul_rows",
        "matmul_sums",
        "matmul_tiles",
        "merge",
        "nonzero",
        "overlap_add",
        "permute",
        "places_in_segments",
        "qr",
        "radix_count",
        "radix_scatter",
        "random",
        "rank_count",
        "rank_digit",
        "rank_quantile",
        "rank_rows",
        "reduce",
        "reduce_by_key",
        "reduce_columns",
        "reduce_rows",
        "reduce_segments",
        "reduce_vectors",
        "rolling",
        "round_exact",
        "scan",
        "scan_by_key",
        "scan_in_place",
        "scatter",
        "scatter_add",
        "search_sorted",
        "segment_heads",
        "select_columns",
        "select_rows",
        "solve",
        "sort_small",
        "sparse_lanes",
        "sparse_rows",
        "sparse_shares",
        "sparse_sums",
        "strided",
        "sum_threshold",
        "take_ranked",
        "take_rows",
        "transpose",
        "triangular",
    ];

    #[test]
    fn every_builtin_has_a_reference_except_the_shaders_of_the_algorithms() {
        for (name, _) in crate::builtins() {
            let stem = name.trim_end_matches(".wgsl");
            assert_eq!(reference(stem).is_none(), WITHOUT.contains(&stem), "{stem}");
        }
    }

    #[test]
    fn a_closure_is_a_kernel() {
        let kernel = |_: [u32; 3], _: [u32; 3], params: &[u8], buffers: &mut [HostBuffer<'_>]| {
            buffers[0].bytes_mut()[0] = params[0];
        };
        let mut byte = [0];
        let kernel: &dyn HostKernel = &kernel;
        kernel.run([1; 3], [1; 3], &[7], &mut [HostBuffer::Write(&mut byte)]);
        assert_eq!(byte, [7]);
    }
}
