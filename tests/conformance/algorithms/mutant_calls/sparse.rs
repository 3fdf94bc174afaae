//! Calls of products of sparse matrices.

use super::{Calls, FEW, N};
use fencepost::algorithms::prelude::*;

impl Calls {
    pub(super) fn sparse(&mut self) {
        // Rows for one invocation, and for four and all of a workgroup.
        for row_len in [1, 4, 21, 1000] {
            let options = MatmulSparse::default().row_len(row_len);
            self.add(format!("matmul_sparse of rows of {row_len}"), move |q, a| {
                let matrix = Csr::new([FEW, N], &a.offsets, &a.sorted, &a.y);
                q.matmul_sparse(matrix, &a.sorted, &mut a.few, options.alpha(3))?;
                q.matmul_sparse(matrix, &a.sorted, &mut a.few_others, options.beta(5))
            });
            // Columns at the end of a matrix, and results of several columns.
            self.add(format!("matmul_sparse by three columns, rows of {row_len}"), move |q, a| {
                let x = a.y.slice(0..N / 3 * 3)?.reshape([N / 3, 3])?;
                let matrix = Csr::new([FEW, N / 3], &a.offsets, &a.sorted, &a.y);
                let mut out = a.out.slice(0..FEW * 3)?.reshape([FEW, 3])?;
                q.matmul_sparse(matrix, &x, &mut out, options.beta(2))
            });
            self.add(format!("matmul_sparse of few columns, rows of {row_len}"), move |q, a| {
                let matrix = Csr::new([FEW, 2], &a.offsets, &a.x, &a.y);
                q.matmul_sparse(matrix, &a.y.slice(0..2)?, &mut a.few, options)
            });
            self.add(format!("matmul_sparse f32, rows of {row_len}"), move |q, a| {
                // Results before may be anything, and so may entries without a factor.
                let numbers = a.numbers.slice(0..64)?;
                let list = q.array(&(0..N as u32).map(|i| (i % 64) as f32).collect::<Vec<f32>>())?;
                let matrix = Csr::new([FEW, 64], &a.offsets, &a.sorted, &list);
                let options = MatmulSparse::default().row_len(row_len);
                q.copy(&a.numbers.slice(80..96)?, &mut a.few.cast_bits())?;
                q.matmul_sparse(matrix, &numbers, &mut a.few.cast_bits(), options)?;
                q.matmul_sparse(matrix, &numbers, &mut a.few_others.cast_bits(), options.alpha(0.0).beta(0.5))
            });
        }
        // Rows that begin and end at multiples of a share, and one that is as long as a share; all of one matrix.
        for offsets in [
            [0_u32, 8, 24, 40, 49, 57, 80, 336],
            [0, 336, 336, 336, 336, 336, 336, 336],
            [335, 335, 336, 336, 336, 336, 336, 336],
            [1, 10, 17, 25, 26, 160, 161, 329],
        ] {
            self.add("matmul_sparse at multiples of a share", move |q, a| {
                let offsets = q.array(&offsets)?;
                let matrix = Csr::new([7, N], &offsets, &a.sorted, &a.y);
                let mut out = a.few.slice(0..7)?;
                q.matmul_sparse(matrix, &a.y, &mut out, MatmulSparse::default().row_len(1))?;
                let mut two = a.out.slice(0..14)?.reshape([7, 2])?;
                let x = a.both.slice(0..2 * N)?.reshape([N, 2])?;
                q.copy(&a.y, &mut a.both.slice(0..N)?)?;
                q.matmul_sparse(matrix, &x, &mut two, MatmulSparse::default())
            });
        }
        // One entry more than a multiple of a share, and as many.
        for entries in [1, 8, 9, 16, 17, 24] {
            self.add("matmul_sparse of few entries", move |q, a| {
                let offsets = q.array(&[0_u32, entries as u32])?;
                let columns = a.sorted.slice(0..entries)?;
                let values = a.y.slice(0..entries)?;
                let matrix = Csr::new([1, N], &offsets, &columns, &values);
                q.matmul_sparse(matrix, &a.y, &mut a.one, MatmulSparse::default())
            });
        }
    }
}
