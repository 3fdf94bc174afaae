//! Calls of products of matrices.

use super::{Arrays, Calls, EVERYWHERE, FACTORS, TERMS, WEIGHTS};
use fencepost::algorithms::prelude::*;
use fencepost::{CommandQueue, DeviceArray, Result, Shape};

/// Bits of elements, made of a random word `x`: of exponents up to 14 apart, and exact powers of two of these.
const NEAR: [&str; 2] = [
    "(x & 0x807fffffu) | ((120u + (x >> 9u) % 15u) << 23u)",
    "(x & 0x80000000u) | ((120u + (x >> 9u) % 15u) << 23u)",
];

/// Returns elements of the kind `bits`, and others of near exponents.
fn factors(q: &CommandQueue, a: &Arrays, bits: &str) -> Result<[DeviceArray<f32>; 2]> {
    let mut x = a.other.clone();
    let mut y = a.out.clone();
    q.map(&a.y, bits, &mut x)?;
    q.map(&a.y, FACTORS, &mut y)?;
    Ok([x, y].map(|list| list.cast_bits()))
}

fn everywhere() -> Matmul<'static, f32> {
    Matmul::default().determinism(EVERYWHERE)
}

impl Calls {
    pub(super) fn matrices(&mut self) {
        // Blocks with remainders of none, of one and of more, few rows and columns, and shares of the inner index.
        let shapes = [
            [17, 11, 17],
            [16, 12, 16],
            [9, 12, 9],
            [3, 11, 30],
            [30, 11, 3],
            [30, 10, 2],
            [2, 40, 4],
            [1, 41, 8],
            [8, 41, 1],
        ];
        for [rows, inner, columns] in shapes {
            self.add(format!("matmul {rows} x {inner} x {columns}"), move |q, a| {
                let left = a.y.slice(0..rows * inner)?.reshape([rows, inner])?;
                let right = a.sorted.slice(0..inner * columns)?.reshape([inner, columns])?;
                let mut out = a.out.slice(0..rows * columns)?.reshape([rows, columns])?;
                q.matmul(&left, &right, &mut out, Matmul::default())
            });
            // Both factors by columns, with all other steps.
            self.add(format!("matmul of columns {rows} x {inner} x {columns}"), move |q, a| {
                let left = a.y.slice(0..rows * inner)?.reshape([inner, rows])?;
                let right = a.sorted.slice(0..inner * columns)?.reshape([columns, inner])?;
                let mut out = a.out.slice(0..rows * columns)?.reshape([rows, columns])?;
                let bias = a.y.slice(256..256 + columns)?;
                let steps = Matmul::default().alpha(3).beta(5).bias(&bias).activation("x ^ 9u");
                q.matmul(left.transposed(), right.transposed(), &mut out, steps)
            });
            self.add(format!("matmul of rows {rows} x {inner} x {columns}"), move |q, a| {
                let left = a.y.slice(0..rows * inner)?.reshape([rows, inner])?;
                let right = a.sorted.slice(0..inner * columns)?.reshape([columns, inner])?;
                let mut out = a.out.slice(0..rows * columns)?.reshape([rows, columns])?;
                let bias = a.y.slice(256..256 + columns)?;
                q.matmul(&left, right.transposed(), &mut out, Matmul::default().beta(1).bias(&bias))
            });
        }
        // Stacks of which each factor repeats along other axes: for few columns, few rows, and neither.
        for [rows, inner, columns] in [[4, 4, 1], [1, 3, 6], [9, 2, 3]] {
            self.add(format!("matmul of stacks {rows} x {inner} x {columns}"), move |q, a| {
                let left = a.y.slice(0..3 * rows * inner)?.reshape([1, 3, 1, rows, inner])?;
                let right = a.sorted.slice(0..4 * inner * columns)?.reshape([2, 1, 2, inner, columns])?;
                let mut out = a.out.slice(0..12 * rows * columns)?.reshape([2, 3, 2, rows, columns])?;
                q.matmul(&left, &right, &mut out, Matmul::default())
            });
        }
        // A grid in several rows has a workgroup too many.
        self.add("matmul of 7 matrices", |q, a| {
            let left = a.y.slice(0..18)?.reshape([9, 2])?;
            let right = a.sorted.slice(0..56)?.reshape([7, 2, 4])?;
            q.matmul(&left, &right, &mut a.out.slice(0..252)?.reshape([7, 9, 4])?, Matmul::default())
        });
        self.add("matmul of 7 vectors", |q, a| {
            let left = a.y.slice(0..35)?.reshape([1, 35])?;
            let right = a.sorted.slice(0..245)?.reshape([7, 35, 1])?;
            q.matmul(&left, &right, &mut a.few.slice(0..7)?.reshape([7, 1, 1])?, Matmul::default())
        });
        // Stacks with shares of the inner index.
        self.add("matmul of 2 matrices", |q, a| {
            let left = a.y.slice(0..160)?.reshape([2, 4, 20])?;
            let right = a.sorted.slice(0..160)?.reshape([2, 20, 4])?;
            q.matmul(&left, &right, &mut a.out.slice(0..32)?.reshape([2, 4, 4])?, Matmul::default())
        });
    }

    /// Adds products of floats that are the same everywhere.
    pub(super) fn matrices_everywhere(&mut self) {
        // Several tiles, few rows and columns, several lines of 32 inner indices, and shares of the inner index. One call
        // has all shapes, so that other calls are tried too.
        let shapes = [[5, 33, 6], [1, 41, 8], [8, 40, 1], [2, 40, 2], [9, 35, 9], [3, 100, 2], [1, 300, 1]];
        for bits in NEAR.into_iter().chain(TERMS).chain([WEIGHTS[0], WEIGHTS[2], WEIGHTS[4]]) {
            self.add(format!("matmul everywhere of {bits}"), move |q, a| {
                let [x, y] = factors(q, a, bits)?;
                let mut at = 0_usize;
                for [rows, inner, columns] in shapes {
                    let mut part = || -> Result<DeviceArray<f32, 2>> {
                        let results = at..at + rows * columns;
                        at = results.end.next_multiple_of(8); // parts begin at multiples of 32 bytes
                        a.both.slice(results)?.cast_bits().reshape([rows, columns])
                    };
                    let x = x.slice(0..rows * inner)?;
                    let y = y.slice(0..inner * columns)?;
                    let left = x.reshape([rows, inner])?;
                    let right = y.reshape([inner, columns])?;
                    q.matmul(&left, &right, &mut part()?, everywhere())?;
                    let left = x.reshape([inner, rows])?.transposed();
                    let right = y.reshape([columns, inner])?.transposed();
                    q.matmul(left, right, &mut part()?, everywhere())?;
                }
                Ok(())
            });
        }
        self.add("matmul everywhere of stacks", |q, a| {
            let [x, y] = factors(q, a, NEAR[0])?;
            let left = x.slice(0..102)?.reshape([1, 3, 1, 2, 17])?;
            let right = y.slice(0..204)?.reshape([2, 1, 2, 17, 3])?;
            let mut out = a.both.slice(0..72)?.cast_bits().reshape([2, 3, 2, 2, 3])?;
            q.matmul(&left, &right, &mut out, everywhere())
        });
        // A grid in several rows has a workgroup too many.
        self.add("matmul everywhere of 7 vectors", |q, a| {
            let [x, y] = factors(q, a, NEAR[0])?;
            let left = x.slice(0..35)?.reshape([1, 35])?;
            let right = y.slice(0..245)?.reshape([7, 35, 1])?;
            q.matmul(&left, &right, &mut a.few.slice(0..7)?.cast_bits().reshape([7, 1, 1])?, everywhere())
        });
        // The results of shares pass through memory, and are copied to the padded matrix.
        self.add("matmul everywhere to a padded matrix", |q, a| {
            let [x, y] = factors(q, a, NEAR[0])?;
            let left = x.slice(0..300)?.reshape([3, 100])?;
            let right = y.slice(0..200)?.reshape([100, 2])?;
            let mut out = q.full(Shape::padded([3, 2], [4, 5]), 0.5_f32)?;
            q.matmul(&left, &right, &mut out, everywhere())?;
            q.copy_strided(
                [20],
                Matrices::from(&out).array(),
                Strides { first: 0, strides: [1] },
                &mut a.both.cast_bits(),
                Strides { first: 0, strides: [1] },
            )
        });
    }

    pub(super) fn matrices_of_bytes(&mut self) {
        let bytes = |len: usize| (0..len).map(|i| (i * 37 % 251) as u8 as i8).collect::<Vec<i8>>();
        // Whole words and parts of words, with all steps.
        let views = [
            [(4, [18, 1]), (9, [16, 1])],
            [(4, [1, 17]), (2, [1, 18])],
            [(4, [36, 2]), (8, [2, 36])],
            [(1, [19, 1]), (9, [1, 19])],
        ];
        for of_factors in views {
            self.add("matmul of bytes", move |q, a| {
                let x = q.array(&bytes(700))?;
                let [left, right] = of_factors.map(|(first, strides)| Strides { first, strides });
                let left = x.matrices([17, 18], left);
                let right = x.matrices([18, 16], right);
                let mut out = a.out.slice(0..272)?.cast_bits::<i32>().reshape([17, 16])?;
                q.matmul(left, right, &mut out, Matmul::default().beta(3))
            });
        }
        // Several blocks of the inner index, and of the columns or the rows.
        for [rows, columns] in [[4, 70], [70, 4]] {
            self.add(format!("matmul of bytes {rows} x 140 x {columns}"), move |q, a| {
                let x = q.array(&bytes(70 * 140))?;
                let left = x.slice(0..rows * 140)?.reshape([rows, 140])?;
                let right = x.slice(0..140 * columns)?.reshape([140, columns])?;
                let mut out = a.out.slice(0..280)?.cast_bits::<i32>().reshape([rows, columns])?;
                q.matmul(&left, &right, &mut out, Matmul::default())
            });
        }
        self.add("matmul of stacks of bytes", move |q, a| {
            let x = q.array(&bytes(100))?;
            let left = x.slice(0..15)?.reshape([1, 3, 1, 1, 5])?;
            let right = x.slice(0..80)?.reshape([2, 1, 2, 5, 4])?;
            let mut out = a.out.slice(0..48)?.cast_bits::<i32>().reshape([2, 3, 2, 1, 4])?;
            q.matmul(&left, &right, &mut out, Matmul::default())
        });
        // Factors that end where their arrays do, for all remainders of the inner index, and a workgroup too many.
        for inner in [5, 6, 7, 8] {
            self.add(format!("matmul of bytes by rows, {inner}"), move |q, a| {
                let x = q.array(&bytes(28 * inner))?;
                let left = x.slice(0..4 * inner)?.reshape([4, inner])?;
                let right = x.reshape([7, inner, 4])?;
                let mut out = a.out.slice(0..112)?.cast_bits::<i32>().reshape([7, 4, 4])?;
                q.matmul(&left, &right, &mut out, Matmul::default())
            });
            self.add(format!("matmul of bytes by columns, {inner}"), move |q, a| {
                let x = q.array(&bytes(28 * inner))?;
                let left = x.slice(0..4 * inner)?.reshape([inner, 4])?;
                let right = x.reshape([7, 4, inner])?;
                let mut out = a.out.slice(0..112)?.cast_bits::<i32>().reshape([7, 4, 4])?;
                q.matmul(left.transposed(), right.transposed(), &mut out, Matmul::default())
            });
        }
    }
}
