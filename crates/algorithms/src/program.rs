//! Built-in kernels that combine elements by a WGSL expression from user code.

use crate::expression;
use crate::verb_queue::VerbQueue;
use crate::{counted, trusted};
use fencepost_core::{DeviceArray, DynKernel, Element, Result, ShaderSource};

/// Virtual file of a built-in shader. It replaces the snippet with the built-in operations.
const OPERATION: &str = "lib/operation.wgsl";

/// Names in the kernels' text. An expression must not use them, because a later version may rename them.
const OWN_NAMES: [&str; 82] = [
    "BITS",
    "BLOCK",
    "CARRIED",
    "EXCLUSIVE",
    "FINISH",
    "HEADS",
    "KEYS",
    "LENGTHS",
    "OPERATION",
    "PER",
    "PRODUCTS",
    "Params",
    "REVERSED",
    "ROW",
    "S",
    "STAGE",
    "STAGED",
    "STAGED_FROM",
    "Segment",
    "T",
    "TILE_STATES",
    "WORKGROUP",
    "before_lane",
    "carries",
    "combined",
    "combined_elements",
    "element",
    "finished",
    "fold",
    "fold_blocks",
    "fold_columns",
    "fold_lanes",
    "fold_partials",
    "fold_range",
    "fold_share",
    "fold_tiles",
    "identity",
    "is_head",
    "keep",
    "keep_last_segment",
    "keep_partial",
    "kept",
    "keys",
    "length_of",
    "linear_id",
    "load",
    "mirror",
    "number_bits",
    "number_key",
    "of_bits",
    "offsets",
    "operation",
    "out",
    "params",
    "part_count",
    "part_size",
    "partial",
    "partials",
    "parts",
    "place",
    "place_of",
    "reduce_by_key",
    "reduce_segments",
    "run_stage",
    "scan",
    "scan_by_key",
    "scan_in_place",
    "scan_lanes",
    "scan_share",
    "scan_staged",
    "scan_tile",
    "segment_of",
    "segment_stage",
    "staged_total",
    "states",
    "store",
    "tile_states",
    "to_bits",
    "total",
    "write_segments",
    "x",
    "y",
];

/// Compiles the built-in shader `stem`.wgsl with an operation from user code; for first elements if there is a count.
/// If the operation is swapped, `a` is the second element.
///
/// The context returns the same kernel for the same text.
pub(crate) fn compiled<U: Element>(
    queue: &VerbQueue<'_>,
    stem: &'static str,
    (expression, swapped): (&str, bool),
    overrides: &[(&str, f64)],
    count: Option<&DeviceArray<u32>>,
) -> Result<DynKernel> {
    expression::check(expression, &OWN_NAMES, &[], "a + b")?;
    let source = counted::sized(source::<U>(stem, expression, swapped)?, count);
    // The expression may contain any index, so the kernel keeps all runtime checks.
    let compiled = trusted::program_kernel(queue, &source, stem, overrides);
    compiled.map_err(|error| expression::shown(error, expression, (OPERATION, FIRST_LINE), RESULT))
}

/// Subject of the message about a value of the wrong type.
const RESULT: &str = "an element of the array, and the identity of the monoid, is";

/// Line of the operation's text where the expression begins.
const FIRST_LINE: usize = 2;

/// Returns the source of a shader with the text of an operation. In such a kernel, elements are never keys.
fn source<U: Element>(stem: &str, expression: &str, swapped: bool) -> Result<ShaderSource> {
    let builtin = ShaderSource::builtin(&format!("{stem}.wgsl"))?.with_type("T", U::DTYPE)?;
    let elements = if swapped { "b: T, a: T" } else { "a: T, b: T" };
    let operation = format!(
        "fn operation({elements}) -> T {{ return (
{expression}
); }}
fn of_bits(value: T) -> T {{ return value; }}
fn to_bits(value: T) -> T {{ return value; }}"
    );
    Ok(builtin.with_file(OPERATION, operation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::tests::declared;

    /// Shaders that take an operation.
    const STEMS: [&str; 7] =
        ["fold", "fold_columns", "reduce_by_key", "reduce_segments", "scan", "scan_by_key", "scan_in_place"];

    #[test]
    fn an_expression_sees_no_name_of_the_kernels() {
        let texts: Vec<String> = STEMS
            .iter()
            .map(|stem| source::<f32>(stem, "a", false).unwrap().of_part().whole_text().unwrap())
            .collect();
        // A name inside a function is not visible in another function.
        let lines = texts.iter().flat_map(|text| text.lines()).filter(|line| !line.starts_with([' ', '/']));
        let mut found: Vec<&str> = lines.flat_map(declared).collect();
        found.sort();
        found.dedup();
        assert_eq!(found, OWN_NAMES);
    }
}
