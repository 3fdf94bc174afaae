use fencepost::algorithms::{Algorithms as _, Csr, MatmulSparse};
use fencepost_oracles::{self as host, Sparse};
use rayon::prelude::*;

use super::{Size, bytes, words_below};
use crate::cpu::case::Case;

/// Multiplies rows of three entries, as in a mesh.
pub(super) fn short_rows(size: Size) -> Case {
    of_rows(size.many() / 3, 3, 1)
}

/// Multiplies rows of 256 entries.
pub(super) fn long_rows(size: Size) -> Case {
    of_rows(size.many() / 256, 256, 1)
}

/// Multiplies a few rows, which are divided.
pub(super) fn few_rows(size: Size) -> Case {
    of_rows(16, size.many() / 16, 1)
}

/// Multiplies rows of eight entries by a matrix of 16 columns.
pub(super) fn by_a_matrix(size: Size) -> Case {
    of_rows(size.many() / 64, 8, 16)
}

/// Returns a row of the product of a matrix with as many columns as rows, whose rows have one length, and of a matrix of
/// some columns. The work is the bytes of the arrays.
fn of_rows(rows: usize, row_len: usize, width: usize) -> Case {
    let entries = rows * row_len;
    let offsets: Vec<u32> = (0..=rows).map(|row| (row * row_len) as u32).collect();
    let columns = words_below(entries, rows as u32, 81);
    let values = words_below(entries, 1 << 16, 82);
    let x = words_below(rows * width, 1 << 16, 83);
    let a = Sparse { shape: [rows, rows], offsets: &offsets, columns: &columns, values: &values };
    let expected = host::matmul_sparse(a, &x, &vec![0; rows * width], width, [1, 0]);
    let expected = expected.expect("bug: the arrays do not fit");
    let work = bytes(8 * entries + 4 * rows + 8 * rows * width);
    Case::verb(
        [offsets, columns, values, x],
        expected,
        work,
        move |queue, [offsets, columns, values, x], out| {
            let matrix = Csr::new([rows, rows], offsets, columns, values);
            let x = x.reshape([rows, width])?;
            queue.matmul_sparse(matrix, &x, &mut out.reshape([rows, width])?, MatmulSparse::default())
        },
        move |[offsets, columns, values, x], out| {
            out.par_chunks_mut(width).zip(offsets.par_windows(2)).for_each(|(out, ends)| {
                out.fill(0);
                let entries = ends[0] as usize..ends[1] as usize;
                for (&column, &value) in columns[entries.clone()].iter().zip(&values[entries]) {
                    let x = &x[column as usize * width..][..width];
                    out.iter_mut()
                        .zip(x)
                        .for_each(|(sum, x)| *sum = sum.wrapping_add(value.wrapping_mul(*x)));
                }
            });
        },
    )
}
