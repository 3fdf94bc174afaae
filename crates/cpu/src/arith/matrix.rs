//! The binary operators on vectors and matrices.

use super::geometry::{Vector, dot};
use super::lift::Lift;
use super::operator::binary;
use super::{Components, Operand, Outcome, Scalar, linear};
use naga::BinaryOperator;

/// Applies a binary operator to two values. A scalar next to a vector or a matrix is applied to each component.
/// Products of two matrices, or of a matrix and a vector, follow linear algebra: each of their components is a sum of
/// products, added from the first one on.
pub(crate) fn binary_whole(op: BinaryOperator, a: Operand<'_>, b: Operand<'_>) -> Outcome {
    if op == BinaryOperator::Multiply
        && let Some(product) = product(&a, &b)
    {
        return product;
    }
    let shape = if let Operand::Scalar(_) = a { &b } else { &a };
    let count = shape.components().len();
    Outcome::shaped_like(shape, (0..count).map(|i| binary(op, a.component(i), b.component(i))).collect())
}

/// Returns the product of linear algebra, if at least one operand is a matrix and neither is a scalar.
fn product(a: &Operand<'_>, b: &Operand<'_>) -> Option<Outcome> {
    // A vector on the left is a matrix with one row.
    let (rows, columns) = match (a, b) {
        (&Operand::Matrix { rows, .. }, Operand::Vector(_)) => (rows, None),
        (Operand::Vector(_), Operand::Matrix { .. }) => (1, None),
        (&Operand::Matrix { rows, .. }, &Operand::Matrix { columns, .. }) => (rows, Some(columns)),
        _ => return None,
    };
    let values = match a.component(0) {
        Scalar::F32(_) => multiply::<f32>(rows, a.components(), b.components()),
        _ => multiply::<f64>(rows, a.components(), b.components()),
    };
    Some(match columns {
        Some(columns) => Outcome::Matrix { columns, rows, values },
        None => Outcome::Vector(values),
    })
}

/// Returns the columns of the product of two matrices, one after the other. `a` has `rows` rows.
fn multiply<R: Lift>(rows: usize, a: &[Scalar], b: &[Scalar]) -> Components {
    let lines: Vector<R> = linear::transpose(rows, a).map(R::take).collect();
    let columns: Vector<R> = b.iter().map(|&x| R::take(x)).collect();
    let inner = a.len() / rows;
    let products = |column: &[R]| -> Components {
        lines.chunks_exact(inner).map(|line| dot(line, column).give(a[0])).collect()
    };
    columns.chunks_exact(inner).flat_map(products).collect()
}

#[cfg(test)]
mod tests {
    use super::binary_whole;
    use crate::arith::tests::edges::{FLOAT_TYPES, Make, real};
    use crate::arith::{Operand, Outcome, Scalar, math};
    use half::f16;
    use naga::{BinaryOperator as Op, MathFunction as Fun};

    /// A matrix as a list of its rows.
    type Rows = Vec<Vec<f64>>;

    /// Returns a matrix of integers from -3 to 3, whose products are exact in all types.
    fn small(random: &mut fastrand::Rng, columns: usize, rows: usize) -> Rows {
        (0..rows).map(|_| (0..columns).map(|_| f64::from(random.i8(-3..=3))).collect()).collect()
    }

    fn scalars(make: Make, rows: &Rows) -> Vec<Scalar> {
        (0..rows[0].len()).flat_map(|column| rows.iter().map(move |row| make(row[column]))).collect()
    }

    fn matrix<'a>(rows: &Rows, values: &'a [Scalar]) -> Operand<'a> {
        Operand::Matrix { columns: rows[0].len(), rows: rows.len(), values }
    }

    /// Returns the rows of a matrix, or a vector as one column.
    fn rows_of(outcome: Outcome) -> Rows {
        let (rows, values) = match outcome {
            Outcome::Matrix { columns, rows, values } => {
                assert_eq!(values.len(), columns * rows);
                (rows, values)
            }
            Outcome::Vector(values) => (values.len(), values),
            other => panic!("{other:?} is neither a matrix nor a vector"),
        };
        (0..rows).map(|row| values.iter().skip(row).step_by(rows).map(|&x| real(x)).collect()).collect()
    }

    /// Multiplies matrices by the definition of the product.
    fn multiplied(a: &Rows, b: &Rows) -> Rows {
        let component = |row: usize, column: usize| (0..b.len()).map(|i| a[row][i] * b[i][column]).sum();
        (0..a.len()).map(|row| (0..b[0].len()).map(|column| component(row, column)).collect()).collect()
    }

    #[test]
    fn products_of_matrices_and_vectors_are_those_of_linear_algebra() {
        let mut random = fastrand::Rng::with_seed(9);
        for (make, _) in FLOAT_TYPES {
            for (outer, inner, other) in (0..27).map(|i| (2 + i / 9, 2 + i / 3 % 3, 2 + i % 3)) {
                let a = small(&mut random, inner, outer);
                let b = small(&mut random, other, inner);
                let x = scalars(make, &a);
                let y = scalars(make, &b);
                let product = binary_whole(Op::Multiply, matrix(&a, &x), matrix(&b, &y));
                assert!(
                    matches!(product, Outcome::Matrix { columns, rows, .. } if (columns, rows) == (other, outer))
                );
                assert_eq!(rows_of(product), multiplied(&a, &b));
                let column = small(&mut random, 1, inner);
                let vector = scalars(make, &column);
                let product = binary_whole(Op::Multiply, matrix(&a, &x), Operand::Vector(&vector));
                assert_eq!(rows_of(product), multiplied(&a, &column));
                let row = small(&mut random, inner, 1);
                let vector = scalars(make, &row);
                let product = binary_whole(Op::Multiply, Operand::Vector(&vector), matrix(&b, &y));
                assert_eq!(rows_of(product).concat(), multiplied(&row, &b).concat());
            }
        }
    }

    #[test]
    fn other_operators_of_matrices_and_vectors_are_componentwise() {
        let mut random = fastrand::Rng::with_seed(10);
        for (make, _) in FLOAT_TYPES {
            for (columns, rows) in (0..9).map(|i| (2 + i / 3, 2 + i % 3)) {
                let a = small(&mut random, columns, rows);
                let b = small(&mut random, columns, rows);
                let x = scalars(make, &a);
                let y = scalars(make, &b);
                let zip = |f: fn(f64, f64) -> f64| -> Rows {
                    a.iter().zip(&b).map(|(a, b)| a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()).collect()
                };
                let call = |op| rows_of(binary_whole(op, matrix(&a, &x), matrix(&b, &y)));
                assert_eq!(call(Op::Add), zip(|a, b| a + b));
                assert_eq!(call(Op::Subtract), zip(|a, b| a - b));
                let doubled: Rows = a.iter().map(|row| row.iter().map(|a| a * 2.0).collect()).collect();
                let two = Operand::Scalar(make(2.0));
                assert_eq!(rows_of(binary_whole(Op::Multiply, matrix(&a, &x), two)), doubled);
                assert_eq!(rows_of(binary_whole(Op::Multiply, two, matrix(&a, &x))), doubled);
            }
        }
        let [x, y] = [[1, 5, -7], [2, 5, 3]].map(|x| x.map(Scalar::I32));
        let call = |op| binary_whole(op, Operand::Vector(&x), Operand::Vector(&y));
        assert_eq!(call(Op::Multiply), Outcome::Vector([2, 25, -21].map(Scalar::I32).as_slice().into()));
        assert_eq!(call(Op::Divide), Outcome::Vector([0, 1, -2].map(Scalar::I32).as_slice().into()));
        let less = [true, false, true].map(Scalar::Bool);
        assert_eq!(call(Op::Less), Outcome::Vector(less.as_slice().into()));
        let scaled = binary_whole(Op::Multiply, Operand::Scalar(Scalar::I32(3)), Operand::Vector(&x));
        assert_eq!(scaled, Outcome::Vector([3, 15, -21].map(Scalar::I32).as_slice().into()));
        let shifted = binary_whole(Op::ShiftLeft, Operand::Vector(&x), Operand::Vector(&[Scalar::U32(4); 3]));
        assert_eq!(shifted, Outcome::Vector([16, 80, -112].map(Scalar::I32).as_slice().into()));
    }

    #[test]
    fn a_product_of_f16_matrices_rounds_each_component_once() {
        // The partial sums of 2048 + 1 + 1 + 1 are not `f16`s, and the total is rounded to 2052.
        let rows = vec![vec![2048.0, 1.0, 1.0, 1.0], vec![0.0; 4]];
        let values = scalars(FLOAT_TYPES[0].0, &rows);
        let ones = [Scalar::F16(f16::ONE); 4];
        let product = binary_whole(Op::Multiply, matrix(&rows, &values), Operand::Vector(&ones));
        assert_eq!(rows_of(product), [[2052.0], [0.0]]);
    }

    #[test]
    fn a_matrix_times_its_inverse_is_the_identity() {
        let mut random = fastrand::Rng::with_seed(11);
        for (make, epsilon) in FLOAT_TYPES {
            for size in (2..=4).cycle().take(300) {
                let mut a = small(&mut random, size, size);
                // A large diagonal keeps the matrix far from singular.
                (0..size).for_each(|i| a[i][i] += 16.0);
                let x = scalars(make, &a);
                let inverse = rows_of(math(Fun::Inverse, &[matrix(&a, &x)]));
                for (row, line) in multiplied(&a, &inverse).into_iter().enumerate() {
                    for (column, got) in line.into_iter().enumerate() {
                        let expected = if row == column { 1.0 } else { 0.0 };
                        assert!((got - expected).abs() <= 8.0 * epsilon, "{a:?}: {got}, not {expected}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_determinant_is_the_volume_that_elimination_leaves_on_the_diagonal() {
        let mut random = fastrand::Rng::with_seed(12);
        for (make, _) in FLOAT_TYPES {
            for size in (2..=4).cycle().take(300) {
                let a = small(&mut random, size, size);
                let x = scalars(make, &a);
                let got = math(Fun::Determinant, &[matrix(&a, &x)]);
                let Outcome::Scalar(got) = got else { panic!("{got:?} is not a scalar") };
                // The determinant of integers is an integer, and here it is less than 2048.
                let exact = eliminated(a.clone()).round();
                assert!(exact.abs() >= 2048.0 || real(got) == exact, "{a:?}: {got:?}, not {exact}");
            }
        }
    }

    /// Returns the determinant, by elimination with partial pivoting.
    fn eliminated(mut a: Rows) -> f64 {
        let mut determinant = 1.0;
        for i in 0..a.len() {
            let pivot =
                (i..a.len()).max_by(|&p, &q| a[p][i].abs().total_cmp(&a[q][i].abs())).expect("a row is left");
            if a[pivot][i] == 0.0 {
                return 0.0;
            }
            determinant *= if pivot == i { a[pivot][i] } else { -a[pivot][i] };
            a.swap(i, pivot);
            let (done, below) = a.split_at_mut(i + 1);
            for row in below {
                let factor = row[i] / done[i][i];
                row.iter_mut().zip(&done[i]).for_each(|(x, pivot)| *x -= factor * pivot);
            }
        }
        determinant
    }

    #[test]
    fn a_transposed_matrix_has_the_rows_as_columns() {
        let mut random = fastrand::Rng::with_seed(13);
        for (columns, rows) in (0..9).map(|i| (2 + i / 3, 2 + i % 3)) {
            let a = small(&mut random, columns, rows);
            let x = scalars(Scalar::F64, &a);
            let got = rows_of(math(Fun::Transpose, &[matrix(&a, &x)]));
            let expected: Rows =
                (0..columns).map(|column| a.iter().map(|row| row[column]).collect()).collect();
            assert_eq!(got, expected);
        }
    }

    #[test]
    fn an_outer_product_has_a_column_for_each_component_of_the_second_vector() {
        let x = [1.0, 2.0, 3.0].map(Scalar::F32);
        let y = [10.0, 20.0].map(Scalar::F32);
        let product = math(Fun::Outer, &[Operand::Vector(&x), Operand::Vector(&y)]);
        assert!(matches!(product, Outcome::Matrix { columns: 2, rows: 3, .. }));
        assert_eq!(rows_of(product), [[10.0, 20.0], [20.0, 40.0], [30.0, 60.0]]);
    }
}
