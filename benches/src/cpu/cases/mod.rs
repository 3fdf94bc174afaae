//! The rows of the table. Each file has the data of a row, a sequential reference, and the work in plain Rust.

mod bodies;
mod collatz;
mod convolution;
mod count;
mod functions;
mod gather;
mod hash;
mod histogram;
mod mandelbrot;
mod matmul;
mod saxpy;
mod sizes;
pub(crate) mod sum;

use super::case::Case;

/// Constructor of a row; a quick run has a small one.
type Make = fn(quick: bool) -> Case;

/// Rows, in the order of the table.
pub(crate) const ALL: [(&str, Make); 20] = [
    ("launch 1 group", count::one_group),
    ("launch 64 groups", count::many_groups),
    ("saxpy", saxpy::case),
    ("sum, grid stride", sum::stride),
    ("sum, blocks", sum::blocks),
    ("matmul, tiles", matmul::tiles),
    ("matmul, registers", matmul::registers),
    ("hash", hash::case),
    ("histogram", histogram::case),
    ("gather", gather::case),
    ("mandelbrot", mandelbrot::case),
    ("collatz", collatz::case),
    ("convolution", convolution::case),
    ("bodies", bodies::case),
    ("waves", functions::waves),
    ("powers", functions::powers),
    ("integers, 64 bits", sizes::mixing),
    ("floats, 64 bits", sizes::floats),
    ("floats, 16 bits", sizes::halves),
    ("subgroups", sizes::subgroups),
];

/// Returns small whole numbers as floats. Their sums and products are exact, in any order.
pub(crate) fn whole_floats(count: usize, seed: u64) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| random.i8(-2..=2).into()).collect()
}

/// Returns random words.
fn words(count: usize, seed: u64) -> Vec<u32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| random.u32(..)).collect()
}

/// Returns the side of a square of this many elements.
fn side_of(elements: usize) -> usize {
    elements.isqrt()
}

#[cfg(test)]
mod tests {
    use naga::front::wgsl;

    use super::*;
    use crate::cpu::case::{Kernel, Program};

    /// Rows without a kernel in OpenCL C, which has 16-bit floats and subgroups only as extensions.
    const WGSL_ONLY: [&str; 2] = ["floats, 16 bits", "subgroups"];

    fn kernels() -> impl Iterator<Item = (&'static str, Kernel)> {
        ALL.iter().filter_map(|(name, make)| match make(true).program {
            Program::Kernel(kernel) => Some((*name, kernel)),
            Program::Verb(_) | Program::Launches(_) => None,
        })
    }

    /// Returns the size of the workgroup that a kernel in OpenCL C declares.
    fn workgroup(source: &str, entry: &str) -> Option<[u32; 3]> {
        let head = source.split_once(&format!("\nvoid {entry}("))?.0;
        let size = head.rsplit_once("reqd_work_group_size(")?.1.strip_suffix(")))")?;
        let axes: Vec<u32> = size.split(", ").map(|axis| axis.parse().ok()).collect::<Option<_>>()?;
        axes.try_into().ok()
    }

    #[test]
    fn a_kernel_in_opencl_c_has_the_name_and_the_workgroup_of_that_in_wgsl() {
        for (row, Kernel { wgsl, opencl, entry, .. }) in kernels() {
            let Some(source) = opencl else {
                assert!(WGSL_ONLY.contains(&row), "`{row}` has no kernel in OpenCL C");
                continue;
            };
            let module = wgsl::parse_str(wgsl).expect("the kernel is WGSL");
            let point =
                module.entry_points.iter().find(|point| point.name == entry).expect("it has the kernel");
            assert_eq!(workgroup(source, entry), Some(point.workgroup_size), "{row}");
        }
    }
}
