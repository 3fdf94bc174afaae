//! The variants of the verbs' kernels, and the choice of one.
//!
//! A variant is a list of parameters, such as the size of a workgroup. Each variant of this file is correct, and works on
//! every device with workgroups of 256 invocations, so a saved graph can be loaded there. A table chooses among these
//! variants alone.

use crate::matmul_kernel::MatmulBlocks;
use crate::measure;
use crate::tuning::{PER, SIZE, barriers_are_dear, by_adapter, lanes};
use crate::verb_queue::VerbQueue;
use fencepost_core::{AdapterInfo, ArraySize, CommandQueue, Result, TunedCase, TunedChoice, verb_tuning};
#[cfg(feature = "validation")]
use fencepost_core::{Context, TuningTable};
use std::fmt;

/// Side of a tile of the transposition; 0 for the kernel without tiles.
pub(crate) const TILE: &str = "TILE";
/// Maximum number of counters of a bin in workgroup memory; 0 if all elements are counted in the result.
pub(crate) const COPIES: &str = "COPIES";
/// Size of a workgroup whose invocations load 16 elements at a time; 0 if they load single elements.
pub(crate) const LANES: &str = "LANES";
/// Number of invocations along the columns of a product of matrices, with 4 x 4 results each.
pub(crate) const ACROSS: &str = "ACROSS";
/// Number of invocations along the rows of a product of matrices.
pub(crate) const DOWN: &str = "DOWN";
/// Number of inner indices of a product of matrices in workgroup memory, a multiple of 4.
pub(crate) const DEPTH: &str = "DEPTH";
/// Size of a workgroup whose invocations compute eight results of a column, without workgroup memory.
pub(crate) const WIDTH: &str = "WIDTH";

/// Kernels of the verbs that have several variants.
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Tunable {
    /// Histograms: `histogram`.
    Histogram,
    /// Products of matrices: `matmul` of `f32`, `half::f16`, `i32` and `u32`, unless there are few rows or few columns of
    /// results. Products with [`Determinism::Everywhere`](crate::Determinism::Everywhere) have one variant.
    Matmul,
    /// Reductions of whole arrays, of first elements and along the last axis: `dot`, `norm`, `count_nonzero`, `argmin`
    /// and others, and `sum`, `min` and others where they do not load several elements at a time.
    Reduce,
    /// Reductions that load several elements at a time: `sum`, `prod`, `min`, `max` and `mean` of whole arrays and along
    /// the last axis.
    ReduceVectors,
    /// Scans by an [`Operation`](crate::Operation): `scan`, `scan_in_place` and `scan_and_total` of whole arrays and
    /// first elements.
    Scan,
    /// Sorts of more than 4,096 elements: `sort`, `sort_pairs`, `argsort` and the verbs that sort.
    Sort,
    /// Sorts of up to 4,096 elements.
    SortSmall,
    /// Exchanges of two axes: `transpose`, and `permute` where it exchanges two groups of axes.
    Transpose,
}

/// Parameters of a variant, by name. The default variant has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KernelVariant(&'static [(&'static str, u32)]);

impl KernelVariant {
    /// The variant that a verb takes without a table.
    pub(crate) const DEFAULT: Self = Self(&[]);

    /// Returns the value of a parameter.
    pub(crate) fn get(self, name: &str) -> Option<u32> {
        self.0.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
    }

    /// Returns all parameters.
    pub(crate) fn values(self) -> &'static [(&'static str, u32)] {
        self.0
    }

    /// Returns the overrides of the variant.
    pub(crate) fn overrides(self) -> impl Iterator<Item = (&'static str, f64)> {
        [SIZE, PER].into_iter().filter_map(move |name| Some((name, f64::from(self.get(name)?))))
    }

    /// Returns `true` if the adapter can run the variant.
    fn fits(self, info: &AdapterInfo) -> bool {
        let tile = self.get(TILE).unwrap_or(1);
        let width = [SIZE, LANES, WIDTH, ACROSS].into_iter().find_map(|name| self.get(name)).unwrap_or(tile);
        let height = self.get(DOWN).unwrap_or(tile);
        let [most_x, most_y, _] = info.max_workgroup;
        width <= most_x && height <= most_y && width.saturating_mul(height) <= info.max_invocations
    }
}

/// Variants that differ in the size of the workgroups, a power of two.
const SIZES: &[KernelVariant] = &[
    KernelVariant::DEFAULT,
    KernelVariant(&[(SIZE, 16)]),
    KernelVariant(&[(SIZE, 32)]),
    KernelVariant(&[(SIZE, 64)]),
    KernelVariant(&[(SIZE, 128)]),
    KernelVariant(&[(SIZE, 256)]),
];

/// Variants of the loads of several elements. With fewer invocations, the error bounds of sums would not hold.
const VECTORS: &[KernelVariant] = &[
    KernelVariant::DEFAULT,
    KernelVariant(&[(LANES, 0)]),
    KernelVariant(&[(LANES, 4)]),
    KernelVariant(&[(LANES, 8)]),
    KernelVariant(&[(LANES, 16)]),
    KernelVariant(&[(LANES, 64)]),
];

/// Variants of the histogram.
const BINS: &[KernelVariant] = &[
    KernelVariant::DEFAULT,
    KernelVariant(&[(SIZE, 16), (COPIES, 8)]),
    KernelVariant(&[(SIZE, 64), (COPIES, 8)]),
    KernelVariant(&[(SIZE, 256), (COPIES, 8)]),
    KernelVariant(&[(SIZE, 256), (COPIES, 1)]),
    KernelVariant(&[(SIZE, 256), (COPIES, 0)]),
];

/// Variants of the scatter of a sort: workgroups of 16, 32 or 64 invocations, as `tile_ranks` needs. In workgroups of 64
/// invocations, a tile is in workgroup memory, which limits its size.
const TILES: &[KernelVariant] = &[
    KernelVariant::DEFAULT,
    KernelVariant(&[(SIZE, 16), (PER, 64)]),
    KernelVariant(&[(SIZE, 16), (PER, 256)]),
    KernelVariant(&[(SIZE, 32), (PER, 64)]),
    KernelVariant(&[(SIZE, 32), (PER, 256)]),
    KernelVariant(&[(SIZE, 64), (PER, 8)]),
    KernelVariant(&[(SIZE, 64), (PER, 16)]),
];

/// Variants of the sort in one workgroup, as `tile_ranks` needs.
const SMALL: &[KernelVariant] = &[
    KernelVariant::DEFAULT,
    KernelVariant(&[(SIZE, 16)]),
    KernelVariant(&[(SIZE, 32)]),
    KernelVariant(&[(SIZE, 64)]),
];

/// Variants of the transposition.
const SQUARES: &[KernelVariant] = &[
    KernelVariant::DEFAULT,
    KernelVariant(&[(TILE, 0)]),
    KernelVariant(&[(TILE, 8)]),
    KernelVariant(&[(TILE, 16)]),
];

/// Variants of products of matrices. The memory of a workgroup has `16 * DEPTH * (ACROSS + DOWN + 2)` bytes.
const PRODUCTS: &[KernelVariant] = &[
    KernelVariant::DEFAULT,
    KernelVariant(&[(WIDTH, 64)]),
    KernelVariant(&[(WIDTH, 256)]),
    KernelVariant(&[(ACROSS, 8), (DOWN, 4), (DEPTH, 32)]),
    KernelVariant(&[(ACROSS, 8), (DOWN, 8), (DEPTH, 8)]),
    KernelVariant(&[(ACROSS, 8), (DOWN, 8), (DEPTH, 16)]),
    KernelVariant(&[(ACROSS, 16), (DOWN, 8), (DEPTH, 16)]),
    KernelVariant(&[(ACROSS, 16), (DOWN, 16), (DEPTH, 16)]),
];

impl Tunable {
    /// All kernels with variants, in the order in which they are measured.
    pub const ALL: &'static [Self] = &[
        Self::Reduce,
        Self::ReduceVectors,
        Self::Scan,
        Self::Histogram,
        Self::SortSmall,
        Self::Sort,
        Self::Transpose,
        Self::Matmul,
    ];

    /// Returns the name in a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Histogram => "histogram",
            Self::Matmul => "matmul",
            Self::Reduce => "reduce",
            Self::ReduceVectors => "reduce_vectors",
            Self::Scan => "scan",
            Self::Sort => "sort",
            Self::SortSmall => "sort_small",
            Self::Transpose => "transpose",
        }
    }

    /// Returns the sizes of arrays with a choice of their own.
    pub(crate) fn sizes(self) -> &'static [ArraySize] {
        if self == Self::SortSmall { &[ArraySize::Few] } else { &[ArraySize::Few, ArraySize::Many] }
    }

    /// Returns the variants. The first one is the default.
    pub(crate) fn variants(self) -> &'static [KernelVariant] {
        match self {
            Self::Histogram => BINS,
            Self::Matmul => PRODUCTS,
            Self::Reduce | Self::Scan => SIZES,
            Self::ReduceVectors => VECTORS,
            Self::Sort => TILES,
            Self::SortSmall => SMALL,
            Self::Transpose => SQUARES,
        }
    }

    /// Returns the names of the built-in kernels that the choice concerns.
    fn stems(self) -> &'static [&'static str] {
        match self {
            Self::Histogram => &["bin_counts"],
            Self::Matmul => &["matmul_columns", "matmul_tiles"],
            Self::Reduce => {
                &["arg_extreme", "arg_rows", "extreme", "inner_product", "nonzero", "reduce", "reduce_rows"]
            }
            Self::ReduceVectors => &["reduce_vectors"],
            Self::Scan => &["scan", "scan_in_place"],
            Self::Sort => &["radix_scatter"],
            Self::SortSmall => &["sort_small"],
            Self::Transpose => &["permute", "transpose"],
        }
    }

    /// Returns a hash of the texts of the kernels.
    pub(crate) fn hash(self) -> Result<u64> {
        verb_tuning::hash_of_kernels(self.stems())
    }

    /// Returns the numbers of the variants for a size that fit the adapter. The first one is the default, which has no
    /// other number.
    pub(crate) fn numbers(self, queue: &CommandQueue, size: ArraySize) -> Vec<usize> {
        let context = queue.context();
        let of_default = self.default_values(queue, size);
        let is_other = |variant: &KernelVariant| variant.fits(context.info()) && *variant.0 != *of_default;
        let others = (1..).zip(&self.variants()[1..]).filter(|(_, variant)| is_other(variant));
        [0].into_iter().chain(others.map(|(number, _)| number)).collect()
    }

    /// Returns the parameters with which a variant is the same as the default for a size.
    fn default_values(self, queue: &CommandQueue, array_size: ArraySize) -> Vec<(&'static str, u32)> {
        let size = |on_processor: u32, on_card: u32| (SIZE, by_adapter(queue, on_processor, on_card));
        match self {
            Self::Histogram => vec![size(16, 256), (COPIES, 8)],
            Self::Matmul => MatmulBlocks::default_values(queue, array_size),
            Self::Reduce | Self::Scan => vec![size(16, 256)],
            Self::ReduceVectors => vec![(LANES, lanes(queue).map_or(0, |lanes| lanes as u32))],
            Self::Sort => vec![size(16, 64), (PER, by_adapter(queue, 256, 16))],
            Self::SortSmall => vec![size(16, 64)],
            Self::Transpose => vec![(TILE, if barriers_are_dear(queue) { 0 } else { 16 })],
        }
    }

    /// Returns the number of the variant of a table's choice, or `None` if the kernels have changed since it was
    /// measured, or if the variant does not fit the adapter.
    fn number_of(self, queue: &CommandQueue, choice: &TunedChoice) -> Option<usize> {
        let is_it = |variant: &KernelVariant| {
            let mut both = variant.0.iter().zip(&choice.values);
            variant.0.len() == choice.values.len()
                && both.all(|(own, of_table)| own.0 == of_table.0 && own.1 == of_table.1)
        };
        let number = self.variants().iter().position(is_it)?;
        let fits = self.variants()[number].fits(queue.context().info());
        (fits && self.hash().is_ok_and(|hash| hash == choice.hash)).then_some(number)
    }
}

impl fmt::Display for Tunable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Returns the variant that a verb takes for arrays of this length. If the context tunes on first use, the first call
/// measures the variants.
pub(crate) fn chosen(queue: &VerbQueue<'_>, kernels: Tunable, elements: usize) -> KernelVariant {
    chosen_for(queue, kernels, ArraySize::of(elements))
}

/// Returns the variant that a verb takes for a size, as [`chosen`] does.
pub(crate) fn chosen_for(queue: &VerbQueue<'_>, kernels: Tunable, size: ArraySize) -> KernelVariant {
    if let Some((tried, variant)) = queue.tried
        && tried == kernels
    {
        return variant;
    }
    let case: TunedCase = (kernels.name(), size);
    let accept = |choice: &TunedChoice| kernels.number_of(queue, choice);
    // A measurement tries one variant at a time.
    let may_measure = queue.tried.is_none();
    let measure = |generation| measure::on_first_use(queue, kernels, case, generation);
    let number = verb_tuning::number(queue, case, may_measure, accept, measure);
    number.map_or(KernelVariant::DEFAULT, |number| kernels.variants()[number])
}

/// Returns a table for each variant that fits the adapter of a context. The variant is its only choice, for each size
/// for which it is not the same as the default. The names are those of the kernels and the parameters.
#[cfg(feature = "validation")]
pub fn variant_tables(ctx: &Context) -> Vec<(String, TuningTable)> {
    let queue = ctx.queue("variants");
    let mut tables = Vec::new();
    for &kernels in Tunable::ALL {
        let hash = kernels.hash().expect("the kernels are built in");
        for (number, variant) in kernels.variants().iter().enumerate() {
            let values = variant.values();
            let is_variant = |&size: &ArraySize| kernels.numbers(&queue, size).contains(&number);
            let sizes: Vec<ArraySize> = kernels.sizes().iter().copied().filter(is_variant).collect();
            if sizes.is_empty() {
                continue;
            }
            let choice = |size: ArraySize| TunedChoice::new((kernels.name(), size), hash, values, 1.0, 1.0);
            let table = verb_tuning::table_of(ctx, sizes.into_iter().map(choice));
            tables.push((format!("{kernels} {values:?}"), table));
        }
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_and_each_variant_is_there_once() {
        for (at, kernels) in Tunable::ALL.iter().enumerate() {
            assert!(Tunable::ALL[..at].iter().all(|other| other.name() != kernels.name()));
            let variants = kernels.variants();
            assert_eq!(variants[0], KernelVariant::DEFAULT, "{kernels}");
            for (at, variant) in variants.iter().enumerate() {
                assert!(!variants[..at].contains(variant), "{kernels}: {variant:?}");
            }
        }
    }

    #[test]
    fn a_hash_is_of_the_texts_of_all_kernels() {
        let hash = |kernels: &Tunable| kernels.hash().expect("the kernels are built in");
        let hashes: Vec<u64> = Tunable::ALL.iter().map(hash).collect();
        for (at, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..at].contains(hash), "{}", Tunable::ALL[at]);
        }
    }

    /// The proofs of the kernels, and their error bounds, hold for these sizes.
    #[test]
    fn workgroups_have_the_sizes_that_the_kernels_allow() {
        for kernels in Tunable::ALL {
            for variant in &kernels.variants()[1..] {
                let width = [SIZE, LANES, TILE, WIDTH, ACROSS].into_iter().find_map(|name| variant.get(name));
                let size = width.expect("a size");
                let per = variant.get(PER).unwrap_or(0);
                let allowed = match kernels {
                    Tunable::Reduce | Tunable::Scan | Tunable::Histogram => 16..=256,
                    Tunable::ReduceVectors => 4..=256,
                    Tunable::Sort | Tunable::SortSmall => 16..=64,
                    Tunable::Transpose => 8..=16,
                    Tunable::Matmul if variant.get(WIDTH).is_some() => 16..=256,
                    Tunable::Matmul => 4..=16,
                };
                let without = matches!(kernels, Tunable::ReduceVectors | Tunable::Transpose) && size == 0;
                assert!(
                    without || (allowed.contains(&size) && size.is_power_of_two()),
                    "{kernels}: {variant:?}"
                );
                assert!(size * per < 65_536 && (size < 64 || size * per <= 1024), "{kernels}: {variant:?}");
                assert!(variant.get(COPIES).is_none_or(|copies| copies <= 8), "{kernels}: {variant:?}");
            }
        }
    }

    /// Each device has 16 KiB of memory in a workgroup.
    #[test]
    fn tiles_of_products_fit_into_a_workgroup() {
        let tiles = PRODUCTS.iter().filter(|variant| variant.get(ACROSS).is_some());
        assert!(tiles.clone().count() > 1);
        for variant in tiles {
            let [across, down, depth] = [ACROSS, DOWN, DEPTH].map(|name| variant.get(name).expect("a side"));
            assert!(across * down <= 256 && depth.is_multiple_of(4), "{variant:?}");
            assert!(16 * depth * (across + down + 2) <= 16 << 10, "{variant:?}");
        }
    }
}
