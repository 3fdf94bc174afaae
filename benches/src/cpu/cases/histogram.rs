use rayon::prelude::*;

use super::words;
use crate::cpu::case::{Case, Kernel, Work, sources};

const GROUPS: usize = 256;
const BINS: usize = 256;
/// Copies of the bins. Successive elements count in different copies, so that they do not wait for each other.
const COPIES: usize = 4;

pub(super) fn case(quick: bool) -> Case {
    let elements: usize = if quick { 1 << 17 } else { 1 << 24 };
    let x = words(elements, 7);
    let mut expected = vec![0_u32; BINS];
    x.iter().for_each(|x| expected[(x & 255) as usize] += 1);
    let kernel = Kernel::new(sources!("histogram"), "histogram", [GROUPS, 1, 1]);
    Case::kernel(kernel, [x], expected, Work::of(elements as f64, "element"), |[x], out| {
        let parts = x.par_chunks(1 << 16).map(counted);
        let sum = parts.reduce(|| [0; BINS], |a, b| std::array::from_fn(|bin| a[bin] + b[bin]));
        out.copy_from_slice(&sum);
    })
}

fn counted(part: &[u32]) -> [u32; BINS] {
    let mut copies = [[0_u32; BINS]; COPIES];
    for x in part.chunks(COPIES) {
        copies.iter_mut().zip(x).for_each(|(bins, x)| bins[(x & 255) as usize] += 1);
    }
    std::array::from_fn(|bin| copies.iter().map(|bins| bins[bin]).sum())
}
