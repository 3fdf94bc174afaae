//! The built-in snippets, by the names that `//#use` lines give them.

/// Snippets of `shaders/lib`, by the name that `//#use` gives them.
pub(crate) const SNIPPETS: &[(&str, &str)] = &[
    ("activation", include_str!("../shaders/lib/activation.wgsl")),
    ("beside", include_str!("../shaders/lib/beside.wgsl")),
    ("between", include_str!("../shaders/lib/between.wgsl")),
    ("bins", include_str!("../shaders/lib/bins.wgsl")),
    ("blake3", include_str!("../shaders/lib/blake3.wgsl")),
    ("butterflies", include_str!("../shaders/lib/butterflies.wgsl")),
    ("deviation", include_str!("../shaders/lib/deviation.wgsl")),
    ("element_keys", include_str!("../shaders/lib/element_keys.wgsl")),
    ("elimination", include_str!("../shaders/lib/elimination.wgsl")),
    ("exact_carries", include_str!("../shaders/lib/exact_carries.wgsl")),
    ("exact_column_share", include_str!("../shaders/lib/exact_column_share.wgsl")),
    ("exact_finish", include_str!("../shaders/lib/exact_finish.wgsl")),
    ("exact_group", include_str!("../shaders/lib/exact_group.wgsl")),
    ("exact_memory", include_str!("../shaders/lib/exact_memory.wgsl")),
    ("exact_product", include_str!("../shaders/lib/exact_product.wgsl")),
    ("exact_product_range", include_str!("../shaders/lib/exact_product_range.wgsl")),
    ("exact_products", include_str!("../shaders/lib/exact_products.wgsl")),
    ("exact_range", include_str!("../shaders/lib/exact_range.wgsl")),
    ("exact_rounding", include_str!("../shaders/lib/exact_rounding.wgsl")),
    ("exact_row_share", include_str!("../shaders/lib/exact_row_share.wgsl")),
    ("exact_segment_share", include_str!("../shaders/lib/exact_segment_share.wgsl")),
    ("exact_sum", include_str!("../shaders/lib/exact_sum.wgsl")),
    ("exact_window", include_str!("../shaders/lib/exact_window.wgsl")),
    ("exact_words", include_str!("../shaders/lib/exact_words.wgsl")),
    ("fft_long", include_str!("../shaders/lib/fft_long.wgsl")),
    ("fft_memory", include_str!("../shaders/lib/fft_memory.wgsl")),
    ("fft_spectra", include_str!("../shaders/lib/fft_spectra.wgsl")),
    ("fft_tile", include_str!("../shaders/lib/fft_tile.wgsl")),
    ("finish", include_str!("../shaders/lib/finish.wgsl")),
    ("fold_partials", include_str!("../shaders/lib/fold_partials.wgsl")),
    ("fold_share", include_str!("../shaders/lib/fold_share.wgsl")),
    ("high_product", include_str!("../shaders/lib/high_product.wgsl")),
    ("key_at_rank", include_str!("../shaders/lib/key_at_rank.wgsl")),
    ("keyed", include_str!("../shaders/lib/keyed.wgsl")),
    ("lanes", include_str!("../shaders/lib/lanes.wgsl")),
    ("lcg", include_str!("../shaders/lib/lcg.wgsl")),
    ("linear", include_str!("../shaders/lib/linear.wgsl")),
    ("matrix_block", include_str!("../shaders/lib/matrix_block.wgsl")),
    ("matrix_index", include_str!("../shaders/lib/matrix_index.wgsl")),
    ("matrix_params", include_str!("../shaders/lib/matrix_params.wgsl")),
    ("matrix_result", include_str!("../shaders/lib/matrix_result.wgsl")),
    ("matrix_tile", include_str!("../shaders/lib/matrix_tile.wgsl")),
    ("matrix_work", include_str!("../shaders/lib/matrix_work.wgsl")),
    ("number_keys", include_str!("../shaders/lib/number_keys.wgsl")),
    ("operation", include_str!("../shaders/lib/operation.wgsl")),
    ("order_keys", include_str!("../shaders/lib/order_keys.wgsl")),
    ("packed", include_str!("../shaders/lib/packed.wgsl")),
    ("philox", include_str!("../shaders/lib/philox.wgsl")),
    ("pivot_product", include_str!("../shaders/lib/pivot_product.wgsl")),
    ("place_keys", include_str!("../shaders/lib/place_keys.wgsl")),
    ("power_of_two", include_str!("../shaders/lib/power_of_two.wgsl")),
    ("quantile", include_str!("../shaders/lib/quantile.wgsl")),
    ("quotient", include_str!("../shaders/lib/quotient.wgsl")),
    ("reduce_groups", include_str!("../shaders/lib/reduce_groups.wgsl")),
    ("reduce_share", include_str!("../shaders/lib/reduce_share.wgsl")),
    ("run_stage", include_str!("../shaders/lib/run_stage.wgsl")),
    ("scan_share", include_str!("../shaders/lib/scan_share.wgsl")),
    ("segment_of", include_str!("../shaders/lib/segment_of.wgsl")),
    ("segment_stages", include_str!("../shaders/lib/segment_stages.wgsl")),
    ("sparse_division", include_str!("../shaders/lib/sparse_division.wgsl")),
    ("sparse_product", include_str!("../shaders/lib/sparse_product.wgsl")),
    ("sparse_result", include_str!("../shaders/lib/sparse_result.wgsl")),
    ("sparse_row", include_str!("../shaders/lib/sparse_row.wgsl")),
    ("staged_tile", include_str!("../shaders/lib/staged_tile.wgsl")),
    ("substitution", include_str!("../shaders/lib/substitution.wgsl")),
    ("tile_ranks", include_str!("../shaders/lib/tile_ranks.wgsl")),
];

/// Snippets for a variable, which is named in parentheses: `//#use atomic_f32(totals)`.
pub(crate) const SNIPPETS_FOR_A_VARIABLE: &[(&str, &str)] =
    &[("atomic_f32", include_str!("../shaders/lib/atomic_f32.wgsl"))];

/// Placeholder for the variable's name in such a snippet.
const VARIABLE: &str = "VARIABLE";

/// Returns the name and text of every built-in snippet. A snippet for a variable has a placeholder for the variable's
/// name.
pub fn snippets() -> impl Iterator<Item = (&'static str, &'static str)> {
    SNIPPETS.iter().chain(SNIPPETS_FOR_A_VARIABLE).copied()
}

/// Returns the text of a snippet with the variable's name inserted.
pub(crate) fn with_variable(text: &str, variable: &str) -> String {
    text.replace(VARIABLE, variable)
}

#[cfg(test)]
mod tests {
    use crate::{Module, ShaderSource};

    fn refused(text: &str) -> String {
        Module::parse(&ShaderSource::text("k", text.to_owned())).map(drop).unwrap_err().to_string()
    }

    const USES: &str = "@compute @workgroup_size(1) fn k() { totals[0] = 1u; }
        // A comment.
        /* */ //#use lcg
        //#use  atomic_f32( totls )";

    #[test]
    fn a_mistake_about_the_variable_is_one_of_the_line_that_names_it() {
        let unknown = "k:4:29: the shader has no variable `totls`, which the snippet `atomic_f32` takes\n  \
            |         //#use  atomic_f32( totls )\n  |                             ^^^^^";
        let variable = "@group(0) @binding(0) var<storage, read_write> totals: array<u32>;";
        assert_eq!(refused(&format!("{variable} {USES}")), unknown);
        let misfit = refused(&format!("{variable} {}", USES.replace("totls", "totals")));
        assert!(misfit.starts_with("k:4:29: the snippet `atomic_f32` does not fit `totals`: "), "{misfit}");
        assert!(misfit.ends_with("^^^^^^"), "{misfit}");
        // An assertion rewrites the text.
        let asserts = format!(
            "{variable} {}",
            USES.replace("totals[0]", "assert(totals[0] == 1u, \"{}\", 2u); totals[0]")
        );
        assert_eq!(refused(&asserts), unknown);
    }

    #[test]
    fn a_snippet_for_a_variable_hides_no_variable() {
        for name in ["at", "bits", "old", "sum", "tried", "value"] {
            let text = format!(
                "//#use atomic_f32( {name} ) // a comment
                @group(0) @binding(0) var<storage, read_write> {name}: array<atomic<u32>>;
                @compute @workgroup_size(1) fn k() {{
                    {name}_add(0u, 1.0);
                    {name}_min(0u, 1.0);
                    {name}_max(0u, 1.0);
                }}"
            );
            let parsed = Module::parse(&ShaderSource::text("k", text));
            assert!(parsed.is_ok(), "{name}: {}", parsed.map(drop).unwrap_err());
        }
    }
}
