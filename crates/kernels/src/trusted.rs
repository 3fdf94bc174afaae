//! The built-in kernels that may be compiled with fewer runtime checks, each with the reason.
//!
//! A kernel is in the list if the following holds for each launch of a verb of the algorithms, with any elements in the
//! arrays, and even if another queue changes them meanwhile:
//!
//! - Each index is in range. The host computes the parameters from the lengths of the arrays, and an index is below a
//!   parameter; or the kernel itself compares an index that depends on elements.
//! - Each loop ends. Sums of indices do not wrap, because no binding of a device that trusts kernels has 2^32 bytes.
//!
//! The verbs compile all other kernels with all checks. These are the kernels with an expression of the program (`map`,
//! `zip`, and the verbs that take a `Monoid`).

/// Proven properties of a kernel. A device leaves out the runtime checks for them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Trust {
    /// Each index is in range, and each loop ends.
    Indices,
    /// The same, and the kernel also writes each workgroup variable before it reads it.
    IndicesAndMemory,
}

/// A built-in kernel that the verbs of the algorithms trust.
#[derive(Clone, Copy, Debug)]
pub struct TrustedKernel {
    /// Name of the kernel, which is the name of its file.
    pub name: &'static str,
    /// Proven properties of the kernel.
    pub trust: Trust,
    /// Reason why the non-obvious indices are in range, and why workgroup memory is or is not always written before it
    /// is read.
    pub reason: &'static str,
}

const fn indices(name: &'static str, reason: &'static str) -> TrustedKernel {
    TrustedKernel { name, trust: Trust::Indices, reason }
}

const fn all(name: &'static str, reason: &'static str) -> TrustedKernel {
    TrustedKernel { name, trust: Trust::IndicesAndMemory, reason }
}

const TRUSTED: &[TrustedKernel] = &[
    all(
        "arg_columns",
        "the host derives the counts from the shape; a place that another launch found is compared with the length of a column",
    ),
    all(
        "arg_extreme",
        "elements are below n; a place that another launch found is compared with the length of x; each lane writes its key",
    ),
    all(
        "arg_rows",
        "elements are below the end of a row, in which a place that another launch found is kept; a group past the last share has \
         none; each lane writes its key",
    ),
    all(
        "arg_segments",
        "as reduce_segments; a place of a state is compared with n, because another launch found it",
    ),
    indices(
        "bin_counts",
        "a bin is compared with the number of bins; bins times copies is at most 256; the counters begin with zeros",
    ),
    indices(
        "bin_exact",
        "as bin_counts; a word of a sum is compared with the number of words; sums has 11 words for each bin",
    ),
    indices("bin_weights", "as bin_counts"),
    all(
        "bridge_gaps",
        "the host derives the counts from the shape; an index before an element is compared with 0, and one after it with n",
    ),
    all(
        "cholesky",
        "the host checks the least and the greatest place of all arrays, and makes n * n elements of work for each matrix of the \
         launch, or chooses a SIDE of at least n; rows and columns are compared with n; invocations past the last matrix only \
         wait; the lower triangle is loaded before it is read",
    ),
    all("choose", "elements are below n"),
    all(
        "compact",
        "elements are below n; the place of a result is compared with the length of out, because x and mask are read twice",
    ),
    all("convert", "elements are below n"),
    all(
        "convolve",
        "the element of x and the weight of each product are below the lengths of the row and of the weights; there is a weight",
    ),
    all(
        "convolve_channels",
        "the host checks the least and the greatest place of images and weights, and that sums of rows, columns and padding are below \
         2^31; an element is compared with the height and the width, and a column of the results, a kernel and an inner index with \
         their numbers; a column past the last one has a window below its image, and a workgroup past the last one no inner index; \
         before a lane reads the memory of the workgroup, the lanes write all taps, and the vectors of all rows and columns of a \
         tile",
    ),
    all(
        "determinant",
        "as cholesky, with all elements; the row of a pivot is one that a loop up to n has seen, or the first of it; each step \
         writes the pivot of the next one",
    ),
    all("exact_column_products", "as exact_columns"),
    all(
        "exact_columns",
        "the host derives the counts from the shape, so that an element is below n times the columns; a word of a sum is compared \
         with the number of words, and out has 20 for each column",
    ),
    all(
        "exact_matmul",
        "as matmul_tiles, for each element that is loaded or read again; before a lane reads the memory of the workgroup, the lanes \
         write all lines of a tile; the first bit of a number is at most 530, so that it has three digits; out has 20 words for \
         each sum",
    ),
    all(
        "exact_results",
        "sums has 20 words for each element of out, and offsets one element more; else as round_exact",
    ),
    indices("exact_row_products", "as exact_rows"),
    indices(
        "exact_rows",
        "elements are below the end of a row; a group past the last share has none; a word of a sum is compared with the number of \
         words, and out has 20 for each row; the words of the group begin with zeros",
    ),
    all("exact_segment_products", "as exact_segments"),
    all(
        "exact_segments",
        "as reduce_segments; a word of a sum is compared with the number of words, and out has 20 for each segment",
    ),
    indices("exact_vectors", "as exact_rows"),
    all("extreme", "elements are below n; each lane writes its key"),
    all(
        "fft",
        "lines are below their number, which the host derives from the shape, and so are the places of their elements; the lines \
         of a tile fit into it, and a stage reads the elements that the one before it wrote; the host makes all roots and factors, and \
         two tiles of an array for each tile of long lines",
    ),
    all(
        "fft_halves",
        "elements are below n; an element of x is a remainder of its length, and the host makes all roots",
    ),
    all("fft_in_place", "as fft"),
    all("fft_real", "as fft; a place of a frame is compared with the length of the signal"),
    all("fft_to_real", "as fft; a place of a frame is compared with the length of the signal"),
    all(
        "filter_direct",
        "blocks are below count, so that a row is below the rows; an element of an image or in place of one beside it is below the \
         height and the width, and a weight is below the number of weights; the host makes a period of at least 1",
    ),
    all(
        "filter_separable",
        "as filter_direct, for each element around a tile; the host makes room for the elements and the sums, which are written \
         before they are read; a result is compared with the rows and the line, and a group past the last tile has none",
    ),
    all(
        "flag_windows",
        "the host derives the counts from the shape, and leaves out windows that are longer than the axis, so that a window begins \
         and ends inside of a line; a chunk is below their number, and noise has a number for each chunk of each line",
    ),
    all(
        "fold",
        "elements are below the end of a row; a group past the last share has none; each lane writes its part, and its elements of \
         a tile",
    ),
    all("fold_columns", "as reduce_columns"),
    all(
        "gather",
        "elements are below n; a place is compared with the number of elements of x, of which there is one",
    ),
    all("inner_product", "elements are below n; each lane writes its sum"),
    all("iota", "elements are below the length of out"),
    all(
        "jacobi",
        "as cholesky, with n rounded up to an even number, which SIDE is too; both rows of a pair are below it; a rank is the number \
         of other rows before one in their order, which is strict; the rotations and notes of all are written before they are \
         read",
    ),
    all("limit", "elements are below n"),
    all("log_determinant", "as determinant"),
    all("lu", "as determinant; the source of a row is a row, or that of a pivot"),
    all(
        "matmul_bytes",
        "as matmul_tiles; the bytes of a whole word are four elements of a row or a column, or it is read byte by byte",
    ),
    all(
        "matmul_columns",
        "the host checks the least and the greatest place of all arrays; a row is the last one at most, and a column and an inner \
         index are compared with their numbers; a workgroup past the last one ends",
    ),
    all(
        "matmul_rows",
        "as matmul_columns; there are COLUMNS columns; a workgroup past the last one has no inner index; each lane writes its part",
    ),
    all("matmul_sums", "as matmul_columns; the host makes count partial results for each share"),
    all(
        "matmul_tiles",
        "as matmul_columns, for each row, column and inner index; before a lane reads the memory of the workgroup, the lanes write \
         the vectors of all rows and columns of a tile, and no lane reads the last one of a row",
    ),
    all(
        "merge",
        "a search in the diagonal keeps both indices below n and m, whatever the order of the elements is",
    ),
    all("nonzero", "elements are below n; each lane writes its result"),
    all(
        "overlap_add",
        "elements are below n; a frame is below the number of frames, and an element of it below the length of the window",
    ),
    all("permute", "the host derives the counts and the strides from the shape, so that a place is below n"),
    all(
        "places_in_segments",
        "elements are below n, and the number of a segment is at most the number of offsets",
    ),
    all(
        "qr",
        "as cholesky, with a SIDE of at least the rows and the columns; each step makes the vector of the next one",
    ),
    indices(
        "radix_count",
        "elements are below n; a digit is below 16 because of its mask; the counters begin with zeros",
    ),
    indices(
        "radix_scatter",
        "elements are below n; a place is compared with the length of out_keys, because radix_count read the keys before; a rank \
         is compared with the size of a tile, because the number of elements of a part may change",
    ),
    all("random", "a place is compared with n"),
    indices(
        "rank_count",
        "elements are below n; a digit is a remainder of 256; the counters begin with zeros",
    ),
    all("rank_digit", "digits are below 256, and the table has 258 elements"),
    all("rank_quantile", "digits are below 256, and there are 262 elements for each row"),
    indices(
        "rank_rows",
        "elements are below the end of a row; a workgroup past the last share takes the table of the last row; a digit is a \
         remainder of 256; the counters begin with zeros",
    ),
    all("reduce", "elements are below n; each lane writes its result"),
    all(
        "reduce_by_key",
        "elements are below n; the place of a run is compared with the length of kept, because the keys are read twice",
    ),
    all(
        "reduce_columns",
        "the host derives the counts from the shape, so that an element is below n times the columns",
    ),
    all("reduce_rows", "elements are below the end of a row; a group past the last share has none"),
    all(
        "reduce_segments",
        "a search keeps the index of an offset up to the number of segments; a segment is compared with that number",
    ),
    all(
        "reduce_vectors",
        "groups are below the end of a row; a workgroup past the last share has none; each lane writes its part",
    ),
    all(
        "rolling",
        "the host derives the counts and the strides of the mask from the shapes, and a window ends at the ends of x; the place of an \
         element in a window is below the number of its elements, at most 2,048",
    ),
    all(
        "round_exact",
        "a bin is compared with the number of bins, and sums has 11 words for each; the highest bit is below the bits of the words, \
         and a word and the next one are compared with their number",
    ),
    all("saxpy", "elements are below both lengths"),
    all(
        "scan",
        "elements are below n; the place of a reversed scan is compared with the length of x, because the number of elements of \
         a part may change; each lane writes its part, and its elements of a tile",
    ),
    all(
        "scan_by_key",
        "elements are below n; the place of a reversed scan is compared with the length of x, because the number of elements of a \
         part may change; a neighbour of it is compared with n; the host makes one word of heads for 32 elements",
    ),
    all("scan_in_place", "as scan"),
    all("scatter", "a place is compared with the number of elements of out"),
    all("scatter_add", "as scatter"),
    all("search_sorted", "a search keeps the index below n, whatever the order of the elements is"),
    all(
        "segment_heads",
        "a search keeps the index of an offset below count; a word is compared with the length of heads",
    ),
    all(
        "select_columns",
        "the host derives the counts from the shape, so that an element is below n times the columns",
    ),
    all(
        "select_rows",
        "elements are below the end of a row or a segment, which is at most n; a workgroup past the last row has none; a digit is a \
         remainder of 256, and a walk over counts ends at the last one",
    ),
    all(
        "solve",
        "as determinant; a column of the right side is compared with the number of columns, and has its elements in out",
    ),
    indices(
        "sort_small",
        "elements are below n; the place of an element is compared with n, because the keys are read twice",
    ),
    all("sparse_lanes", "as sparse_rows; each lane writes its part"),
    all(
        "sparse_rows",
        "a row has an offset after its own; an offset counts as at most the number of entries; a column is compared with the rows of \
         x; a row ends before a division only if it has entries after it",
    ),
    all(
        "sparse_shares",
        "as sparse_rows; a search keeps the index of an offset up to the number of rows, whatever the order of the offsets is; a row \
         is compared with that number; each lane writes its sum",
    ),
    all(
        "sparse_sums",
        "as sparse_shares; a partial sum belongs to a multiple of a share below the number of entries, of which the host counts all",
    ),
    all("strided", "the host checks the least and the greatest place of both arrays"),
    all(
        "sum_threshold",
        "the host derives the counts from the shape, and a window begins and ends inside of a row",
    ),
    all(
        "take_ranked",
        "elements are below n; the place of a result is compared with the length of values, because x is read twice",
    ),
    all(
        "take_rows",
        "the host derives the counts from the shape, so that a segment is below the number of offsets, less one; the place of an \
         element is compared with the length of its segment, which is within n, because the order may be that of other offsets",
    ),
    all(
        "transpose",
        "a lane reads inside the tile what its opposite wrote, and both are inside of the matrix",
    ),
    all(
        "triangular",
        "the host checks the least and the greatest place of all arrays; a matrix is compared with their number, and rows and \
         columns with theirs; an element of order is at most n - 1",
    ),
];

/// Returns the built-in kernels that the verbs of the algorithms trust.
pub fn trusted_kernels() -> &'static [TrustedKernel] {
    TRUSTED
}

/// Returns the proven properties of the built-in kernel with this name.
pub fn trust_of(name: &str) -> Option<Trust> {
    TRUSTED.iter().find(|kernel| kernel.name == name).map(|kernel| kernel.trust)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins;

    #[test]
    fn the_list_names_each_built_in_kernel_once_in_order() {
        assert!(TRUSTED.is_sorted_by(|a, b| a.name < b.name));
        for kernel in TRUSTED {
            let file = format!("{}.wgsl", kernel.name);
            assert!(builtins().iter().any(|(known, _)| **known == file), "{file} is not a built-in shader");
        }
    }

    #[test]
    fn a_kernel_outside_of_the_list_is_not_trusted() {
        assert_eq!(trust_of("reduce"), Some(Trust::IndicesAndMemory));
        assert_eq!(trust_of("radix_count"), Some(Trust::Indices));
        assert_eq!(trust_of("map_elements"), None);
    }
}
