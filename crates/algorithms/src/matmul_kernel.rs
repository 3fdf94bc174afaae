//! The kernels of products of matrices, and the choice among them.

use crate::expression;
use crate::grid::folded;
use crate::products::{MatrixPlaces, Products};
use crate::shares::{InnerLimits, Shares};
use crate::trusted;
use crate::tuning::{SIZE, by_adapter, has_twins, limit};
use crate::typed_kernel::value;
use crate::variants::{ACROSS, DEPTH, DOWN, KernelVariant, Tunable, WIDTH, chosen_for};
use crate::verb_queue::VerbQueue;
use fencepost_core::{
    ArraySize, CommandQueue, DType, DynKernel, Element, Grid, NamedArg, Result, Scalar, ShaderSource,
};

/// Virtual file of a built-in shader. It replaces the snippet without an activation.
const ACTIVATION: &str = "lib/activation.wgsl";
/// Line of the text of an activation where the expression begins.
const FIRST_LINE: usize = 2;
/// Subject of the message about a value of the wrong type.
const RESULT: &str = "the value of the activation is";

/// Reserved names in the texts of the kernels. An activation must not use them, because a later version may rename them.
const OWN_NAMES: [&str; 59] = [
    "ACROSS",
    "A_INNER",
    "BIASED",
    "B_INNER",
    "COLUMNS",
    "DEPTH",
    "DOWN",
    "Factor",
    "Number",
    "Params",
    "Product",
    "ROWS",
    "S",
    "WIDTH",
    "WORKGROUP",
    "a",
    "activation",
    "b",
    "before_lane",
    "bias",
    "block_of",
    "byte_of_a",
    "byte_of_b",
    "combined",
    "convolve_channels",
    "distance_of",
    "element_of",
    "first_of_a",
    "first_of_b",
    "first_of_out",
    "fold_lanes",
    "four_of_a",
    "four_of_b",
    "four_of_weights",
    "images",
    "index_of",
    "left",
    "linear_id",
    "matmul_bytes",
    "matmul_columns",
    "matmul_rows",
    "matmul_sums",
    "matmul_tiles",
    "out",
    "params",
    "partials",
    "parts",
    "products",
    "right",
    "scan_lanes",
    "tap_of",
    "taps",
    "weights",
    "window_of",
    "word_of_a",
    "word_of_b",
    "write_at",
    "write_result",
    "write_tile",
];

/// Types in the texts of the kernels, by the names of their aliases.
pub(crate) type Aliases<'a> = &'a [(&'static str, DType)];

/// The last steps of a product: an activation from user code, and a bias if there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epilogue<'a> {
    pub(crate) activation: Option<&'a str>,
    pub(crate) is_biased: bool,
}

impl Epilogue<'_> {
    /// The epilogue of a launch whose results are partial.
    pub(crate) const NONE: Self = Self { activation: None, is_biased: false };
}

/// A kernel, and the division of products among its workgroups.
#[derive(Clone, Debug)]
pub(crate) struct MatmulBlocks {
    stem: &'static str,
    overrides: Vec<(&'static str, f64)>,
    /// Number of workgroups, for each share of the inner index.
    groups: usize,
    /// `true` if the device has native code for the kernel without an activation.
    has_twin: bool,
}

/// Sizes of a kernel that computes tiles of results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileSizes {
    pub(crate) across: usize,
    pub(crate) down: usize,
    pub(crate) depth: usize,
}

/// Maximum number of inner indices of a share: the loops of an invocation have fewer than 2^16 iterations, and some
/// devices end an invocation there.
const MOST_IN_SHARE: usize = 1 << 15;
/// Maximum number of columns of the kernel whose invocations divide the inner index.
const MOST_COLUMNS: usize = 4;
/// Maximum number of rows of an invocation of the kernel for columns.
const MOST_ROWS: usize = 8;
/// Number of columns of a workgroup of the kernel for columns, unless a table has another one.
const USUAL_WIDTH: usize = 64;
/// Number of rows of a workgroup of the kernel whose invocations divide the inner index.
const ROWS_OF_GROUP: usize = 4;

impl MatmulBlocks {
    /// Chooses the kernel for some products of factors of a type. If the flag is `true`, it computes them with rows and
    /// columns exchanged.
    pub(crate) fn of(queue: &VerbQueue<'_>, products: &Products, factor: DType) -> (Self, bool) {
        let size = size_of(products);
        if factor.scalar() == Some(Scalar::I8) {
            return (Self::tiles(products, "matmul_bytes", &TileSizes::of(queue, size, false)), false);
        }
        let sides = [(*products, false), (products.transposed(), true)];
        let of_rows = |(side, _): &&(Products, bool)| {
            side.columns <= MOST_COLUMNS && side.a.column == 1 && side.inner >= limit(64, 3)
        };
        if let Some((side, turned)) = sides.iter().find(of_rows) {
            return (Self::rows(queue, side), *turned);
        }
        let of_columns = |most: usize| {
            let fits = |(side, _): &&(Products, bool)| {
                side.rows <= most && (side.b.column == 1 || side.columns == 1)
            };
            sides.iter().find(fits)
        };
        if let Some((side, turned)) = of_columns(MOST_ROWS) {
            return (Self::columns(side, limit(USUAL_WIDTH, 4)), *turned);
        }
        let twins = has_twins(&queue.context());
        let has_twin = twins && factor.scalar() == Some(Scalar::F32);
        // Variants are measured with `f32`: where that has native code, the times say nothing of other types.
        let variant = if twins && !has_twin {
            KernelVariant::DEFAULT
        } else {
            chosen_for(queue, Tunable::Matmul, size)
        };
        if let Some(width) = width_of(queue, variant, has_twin)
            && let Some((side, turned)) = of_columns(usize::MAX)
        {
            return (Self::columns(side, width), *turned);
        }
        let sizes = TileSizes::of_variant(variant).unwrap_or_else(|| TileSizes::of(queue, size, has_twin));
        (Self { has_twin, ..Self::tiles(products, "matmul_tiles", &sizes) }, false)
    }

    /// Returns the parameters with which a variant is the same as the default for a size, in products of `f32`.
    pub(crate) fn default_values(queue: &CommandQueue, size: ArraySize) -> Vec<(&'static str, u32)> {
        let has_twin = has_twins(&queue.context());
        if let Some(width) = width_of(queue, KernelVariant::DEFAULT, has_twin) {
            return vec![(WIDTH, width as u32)];
        }
        let TileSizes { across, down, depth } = TileSizes::of(queue, size, has_twin);
        vec![(ACROSS, across as u32), (DOWN, down as u32), (DEPTH, depth as u32)]
    }

    /// Returns `true` if the launch of the products should leave an activation to the launch that adds their shares, even
    /// if there is one share: a kernel with an activation has no native code.
    pub(crate) fn leaves_activation(&self) -> bool {
        self.has_twin
    }

    fn rows(queue: &VerbQueue<'_>, products: &Products) -> Self {
        let size = [ROWS_OF_GROUP, products.columns];
        let overrides = vec![("COLUMNS", products.columns as f64), (SIZE, by_adapter(queue, 16.0, 128.0))];
        Self::new("matmul_rows", overrides, size, products)
    }

    fn columns(products: &Products, width: usize) -> Self {
        let rows = [1, 4].into_iter().find(|&rows| products.rows <= rows).unwrap_or(MOST_ROWS);
        let overrides = vec![(WIDTH, width as f64), ("ROWS", rows as f64)];
        Self::new("matmul_columns", overrides, [rows, width], products)
    }

    fn tiles(products: &Products, stem: &'static str, sizes: &TileSizes) -> Self {
        let &TileSizes { across, down, depth } = sizes;
        let is = |condition: bool| f64::from(u8::from(condition));
        let overrides = vec![
            (ACROSS, across as f64),
            (DOWN, down as f64),
            (DEPTH, depth as f64),
            ("A_INNER", is(products.a.column == 1)),
            ("B_INNER", is(products.b.row == 1)),
        ];
        Self::new(stem, overrides, [4 * down, 4 * across], products)
    }

    /// Returns a kernel whose workgroups have results of some rows and columns.
    fn new(
        stem: &'static str,
        overrides: Vec<(&'static str, f64)>,
        [height, width]: [usize; 2],
        products: &Products,
    ) -> Self {
        let blocks = products.rows.div_ceil(height) * products.columns.div_ceil(width);
        Self { stem, overrides, groups: products.matrices() * blocks, has_twin: false }
    }

    /// Divides the inner index: few workgroups with long sums have several shares. The division depends only on the
    /// shape and the kind of the device, so the order of the additions does too.
    pub(crate) fn shares(&self, queue: &VerbQueue<'_>, inner: usize) -> Shares {
        let wanted = limit(by_adapter(queue, 16, 256), 7);
        // The invocations of a workgroup for rows divide its share.
        let [undivided, least, most] = if self.stem == "matmul_rows" {
            [limit(16_384, 9), limit(4096, 4), MOST_IN_SHARE * 16]
        } else {
            [limit(1024, 9), limit(256, 4), MOST_IN_SHARE]
        };
        let limits = InnerLimits { wanted, undivided, least, most, multiple: 4 };
        Shares::of_inner(inner, self.groups, &limits)
    }

    /// Compiles the kernel.
    pub(crate) fn kernel(
        &self,
        queue: &VerbQueue<'_>,
        aliases: Aliases<'_>,
        epilogue: Epilogue<'_>,
    ) -> Result<DynKernel> {
        compiled(queue, self.stem, aliases, &self.overrides, epilogue)
    }

    /// Returns the grid for a number of shares, and the number of workgroups in it.
    pub(crate) fn grid(&self, shares: Shares) -> (Grid<'static>, usize) {
        let groups = self.groups * shares.count;
        (Grid::groups(folded(groups)), groups)
    }
}

impl TileSizes {
    /// Returns the default for a size. With `has_twin`, the products have native code.
    pub(crate) fn of(queue: &CommandQueue, size: ArraySize, has_twin: bool) -> Self {
        if has_twin {
            return Self::of_twin(size);
        }
        let small = Self { across: limit(8, 4), down: limit(8, 2), depth: limit(16, 4) };
        let on_processor = Self { across: small.across, down: limit(4, 2), depth: limit(32, 4) };
        // A small tile fits on each device. A large one loads an element for more products, and needs many results.
        let fits = queue.context().info().max_invocations >= 256;
        let on_card = if fits && size == ArraySize::Many { Self::large() } else { small };
        by_adapter(queue, on_processor, on_card)
    }

    /// Returns the tile of many results.
    fn large() -> Self {
        Self { across: limit(16, 4), down: limit(16, 2), depth: limit(16, 4) }
    }

    /// Returns the tile of a variant, if it has one.
    fn of_variant(variant: KernelVariant) -> Option<Self> {
        let side = |name| variant.get(name).map(|side| side as usize);
        Some(Self { across: side(ACROSS)?, down: side(DOWN)?, depth: side(DEPTH)? })
    }

    /// Returns the tile for native code. It packs the elements of each row and each column of neighbouring tiles once, so
    /// tiles of many rows repeat less of that work; but few results should have as many tiles as there are threads.
    fn of_twin(size: ArraySize) -> Self {
        let tall = Self { across: limit(8, 4), down: limit(32, 4), depth: limit(16, 4) };
        if size == ArraySize::Many { tall } else { Self::large() }
    }

    fn results(&self) -> usize {
        16 * self.across * self.down
    }
}

/// Returns the size of products, as far as the choice of the kernel depends on it: a table and the defaults have a choice
/// for few results and one for many.
fn size_of(products: &Products) -> ArraySize {
    size_of_results(products.results())
}

/// Returns the size of a number of results in tiles.
pub(crate) fn size_of_results(results: usize) -> ArraySize {
    if results >= 64 * TileSizes::large().results() { ArraySize::Many } else { ArraySize::Few }
}

/// Returns the number of columns of a workgroup of the kernel for columns, if it computes products of many rows.
fn width_of(queue: &CommandQueue, variant: KernelVariant, has_twin: bool) -> Option<usize> {
    if let Some(width) = variant.get(WIDTH) {
        return Some(width as usize);
    }
    // Native code is faster, except for few rows.
    if variant != KernelVariant::DEFAULT || has_twin {
        return None;
    }
    // The lanes of a processor execute neighbouring columns, and share the loads of the left factor.
    by_adapter(queue, Some(limit(USUAL_WIDTH, 4)), None)
}

/// Compiles the kernel that adds the shares of results.
pub(crate) fn sums_kernel(
    queue: &VerbQueue<'_>,
    aliases: Aliases<'_>,
    epilogue: Epilogue<'_>,
) -> Result<DynKernel> {
    compiled(queue, "matmul_sums", aliases, &[], epilogue)
}

/// Compiles a built-in shader with its types and the last steps.
pub(crate) fn compiled(
    queue: &VerbQueue<'_>,
    stem: &'static str,
    aliases: Aliases<'_>,
    overrides: &[(&str, f64)],
    epilogue: Epilogue<'_>,
) -> Result<DynKernel> {
    let mut source = ShaderSource::builtin(&format!("{stem}.wgsl"))?;
    for &(alias, dtype) in aliases {
        source = source.with_type(alias, dtype)?;
    }
    let biased = epilogue.is_biased.then_some(("BIASED", 1.0));
    let overrides: Vec<_> = overrides.iter().copied().chain(biased).collect();
    let Some(expression) = epilogue.activation else {
        return trusted::kernel_from_source(queue, &source, stem, &overrides, false);
    };
    expression::check(expression, &OWN_NAMES, &[], "max(x, 0.0)")?;
    let source = source.with_file(ACTIVATION, activation(expression));
    // The expression may contain any index, so the kernel keeps all runtime checks.
    let compiled = trusted::program_kernel(queue, &source, stem, &overrides);
    compiled.map_err(|error| expression::shown(error, expression, (ACTIVATION, FIRST_LINE), RESULT))
}

fn activation(expression: &str) -> String {
    format!("fn activation(x: Number) -> Number {{ return (\n{expression}\n); }}")
}

/// Returns the parameters of a launch that computes products. `out` has the places of the results, those of each
/// share at a distance of `out_share`.
pub(crate) fn parameters<N: Element>(
    products: &Products,
    shares: Shares,
    groups: usize,
    (out, out_share): (MatrixPlaces, usize),
    [alpha, beta]: [N; 2],
) -> Vec<NamedArg<'static>> {
    let Products { rows, columns, inner, stack, a, b, bias, .. } = *products;
    let size = |name, n: usize| value(name, n as u32);
    // Products of strides and indices wrap, so the lowest bits of a negative stride suffice.
    let step = |name, n: isize| value(name, n as u32);
    vec![
        size("groups", groups),
        size("rows", rows),
        size("columns", columns),
        size("inner", inner),
        size("share", shares.share),
        size("shares", shares.count),
        size("count_1", stack[1]),
        size("count_2", stack[2]),
        size("a_first", a.first),
        step("a_row", a.row),
        step("a_inner", a.column),
        step("a_0", a.stack[0]),
        step("a_1", a.stack[1]),
        step("a_2", a.stack[2]),
        size("b_first", b.first),
        step("b_inner", b.row),
        step("b_column", b.column),
        step("b_0", b.stack[0]),
        step("b_1", b.stack[1]),
        step("b_2", b.stack[2]),
        step("out_row", out.row),
        step("out_column", out.column),
        size("out_share", out_share),
        step("out_0", out.stack[0]),
        step("out_1", out.stack[1]),
        step("out_2", out.stack[2]),
        size("bias_row", bias[0]),
        size("bias_column", bias[1]),
        value("alpha", alpha),
        value("beta", beta),
    ]
}

/// Returns the parameters of the launch that adds the shares of results.
pub(crate) fn parameters_of_sums<N: Element>(
    products: &Products,
    shares: Shares,
    [alpha, beta]: [N; 2],
) -> Vec<NamedArg<'static>> {
    let Products { rows, columns, stack, out, bias, .. } = *products;
    let size = |name, n: usize| value(name, n as u32);
    let step = |name, n: isize| value(name, n as u32);
    vec![
        size("count", products.results()),
        size("shares", shares.count),
        size("rows", rows),
        size("columns", columns),
        size("count_1", stack[1]),
        size("count_2", stack[2]),
        step("out_row", out.row),
        step("out_column", out.column),
        step("out_0", out.stack[0]),
        step("out_1", out.stack[1]),
        step("out_2", out.stack[2]),
        size("bias_row", bias[0]),
        size("bias_column", bias[1]),
        value("alpha", alpha),
        value("beta", beta),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::tests::declared;

    const STEMS: [&str; 6] =
        ["convolve_channels", "matmul_bytes", "matmul_columns", "matmul_rows", "matmul_sums", "matmul_tiles"];

    #[test]
    fn an_activation_sees_no_name_of_the_kernels() {
        let texts = STEMS.map(|stem| {
            let source = ShaderSource::builtin(&format!("{stem}.wgsl")).unwrap();
            source.with_file(ACTIVATION, activation("x")).whole_text().unwrap()
        });
        // A name inside a function is not visible in another function.
        let lines = texts.iter().flat_map(|text| text.lines()).filter(|line| !line.starts_with([' ', '/']));
        let mut found: Vec<&str> = lines.flat_map(declared).collect();
        found.sort();
        found.dedup();
        assert_eq!(found, OWN_NAMES);
    }
}
