//! The plate on the host: its first values, the same steps in plain Rust, and a hash of the result.

use std::ops::Range;

/// Factor of a step, as in `heat.wgsl`.
const RATE: f32 = 0.125;

/// Returns the first values of some rows. Row 0 and the last row of the plate keep them.
pub(crate) fn rows(rows: Range<usize>, width: usize) -> Vec<f32> {
    rows.flat_map(|row| (0..width).map(move |column| cell(row, column))).collect()
}

/// Returns the first value of a cell: from 1 to 2, so that no difference of two cells is so small that devices round it
/// differently.
fn cell(row: usize, column: usize) -> f32 {
    let mixed = (row as u32).wrapping_mul(0x9e37_79b9) ^ (column as u32).wrapping_mul(0x85eb_ca6b);
    let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x2c1b_3c6d);
    f32::from_bits(0x3f80_0000 | (mixed >> 9))
}

/// Returns the cells of the plate after some steps, without its first and its last row.
pub(crate) fn after(steps: u32, height: usize, width: usize) -> Vec<f32> {
    let mut now = rows(0..height + 2, width);
    let mut next = now.clone();
    for _ in 0..steps {
        for row in 1..=height {
            for at in row * width + 1..(row + 1) * width - 1 {
                let sum = ((now[at - width] + now[at + width]) + now[at - 1]) + now[at + 1];
                next[at] = now[at] + RATE * (sum - 4.0 * now[at]);
            }
        }
        std::mem::swap(&mut now, &mut next);
    }
    now[width..(height + 1) * width].to_vec()
}

/// Returns the FNV-1a hash of the bits of all cells.
pub(crate) fn hash(cells: &[f32]) -> u64 {
    let bytes = cells.iter().flat_map(|cell| cell.to_bits().to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
