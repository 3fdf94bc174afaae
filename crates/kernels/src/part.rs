//! Kernels for the first elements of arrays, with their number in device memory.

use std::sync::Arc;

use crate::messages::rewrite::Edit;
use crate::splice::SplicedText;

/// Name of the array with the number of elements, which such a kernel takes as its last argument.
#[doc(hidden)]
pub const PART_COUNT: &str = "part_count";
/// Expression by which the kernels read the number of elements.
const ELEMENTS: &str = "params.n";
/// Expression that replaces [`ELEMENTS`].
const PART_ELEMENTS: &str = "part_size()";

/// Returns the text of a kernel that reads the smaller one of `params.n` and `part_count[0]` as its number of elements.
pub(crate) fn of_part(whole: SplicedText) -> SplicedText {
    let text = &whole.text;
    let is_name = |at: usize| text[at..].starts_with(|next: char| next.is_alphanumeric() || next == '_');
    let replaced = text.match_indices(ELEMENTS).filter(|(at, _)| !is_name(at + ELEMENTS.len()));
    let replaced =
        replaced.map(|(at, _)| Edit { at: at..at + ELEMENTS.len(), text: PART_ELEMENTS.to_owned() });
    let binding = text.matches("@binding(").count();
    let declared = format!(
        "\n@group(0) @binding({binding}) var<storage, read> {PART_COUNT}: array<u32>;\n\
         fn {PART_ELEMENTS} -> u32 {{ return min({ELEMENTS}, {PART_COUNT}[0]); }}\n"
    );
    let end = text.len();
    let edits: Vec<Edit> = replaced.chain([Edit { at: end..end, text: declared }]).collect();
    SplicedText::rewritten(&Arc::new(whole), &edits)
}

#[cfg(test)]
mod tests {
    use crate::{Module, ShaderSource};

    fn source(wrong: &str) -> ShaderSource {
        let text = format!(
            "//#use lcg\nstruct Params {{ n: u32, next: u32 }}\n@group(0) @binding(0) var<uniform> params: Params;\n\
             @compute @workgroup_size(1) fn k() {{ _ = params.n + params.next + lcg(params.n){wrong}; }}"
        );
        ShaderSource::text("k.wgsl", text).of_part()
    }

    #[test]
    fn the_kernel_of_a_part_reads_the_count_in_place_of_the_parameter_alone() {
        let text = source("").whole_text().unwrap();
        assert!(text.contains("_ = part_size() + params.next + lcg(part_size());"), "{text}");
        assert!(text.contains("@binding(1) var<storage, read> part_count"), "{text}");
        assert!(text.contains("return min(params.n, part_count[0]);"), "{text}");
        let interface = Module::parse(&source("")).unwrap().interface("k", &[]).unwrap();
        let bindings: Vec<&str> = interface.bindings.iter().map(|binding| &*binding.name).collect();
        assert_eq!(bindings, ["part_count"]);
    }

    #[test]
    fn errors_in_the_kernel_of_a_part_have_the_lines_and_columns_of_the_file() {
        let message = |source: &ShaderSource| Module::parse(source).unwrap_err().to_string();
        let wrong = source(" + missing");
        assert!(message(&wrong).starts_with("k.wgsl:4:83: "), "{}", message(&wrong));
    }

    #[test]
    fn a_shader_and_the_same_shader_of_a_part_are_different_sources() {
        let saxpy = ShaderSource::builtin("saxpy.wgsl").unwrap();
        assert_ne!(saxpy.clone().of_part(), saxpy);
        assert!(saxpy.reference().is_some(), "the function takes whole arrays");
        assert!(saxpy.of_part().reference().is_none());
    }
}
