//! The choice of how many invocations a kernel's machine code executes together.

use crate::compile::expanded;
use crate::program::Program;

/// Maximum number of expressions of a kernel that executes 16, or 8, invocations together. Compile time grows faster
/// than the number of expressions and vectors. A matrix product with 159 expressions is twice as fast with 16
/// invocations as with 8, but a hash with 385 is as fast with 4 as with 16.
const MOST_EXPRESSIONS: [(u32, usize); 2] = [(16, 250), (8, 300)];

/// Maximum number of invocations that can efficiently leave loops at different times: the vectors and masks of more do
/// not fit in registers.
pub(crate) const WIDEST_APART: u32 = 8;

/// Lists the widths to try for a program, the best one first.
pub(crate) fn widths(program: &Program) -> Vec<u32> {
    let count = expanded(program);
    let mut widths: Vec<u32> =
        MOST_EXPRESSIONS.iter().filter(|(_, most)| count <= *most).map(|(lanes, _)| *lanes).collect();
    widths.extend([4, 1]);
    widths.retain(|lanes| program.workgroup()[0].is_multiple_of(*lanes));
    widths
}
