//! Built-in functions of numbers that are not 32 bits wide, computed by the interpreter's arithmetic for one invocation
//! per call.

use crate::arith::{Operand, Outcome, Reference, Scalar};
use naga::TypeInner;
use smallvec::SmallVec;

/// Shape of an argument.
#[derive(Clone, Copy)]
enum Form {
    Scalar,
    Vector,
    Matrix { columns: usize, rows: usize },
}

/// An argument of a function.
struct Argument {
    ty: naga::Scalar,
    form: Form,
    count: usize,
}

/// A function with its arguments.
pub(super) struct Whole {
    reference: Reference,
    arguments: Vec<Argument>,
}

impl Whole {
    /// Takes the types of the arguments. Returns `None` if one of them is neither a scalar, a vector nor a matrix.
    pub(super) fn new<'t>(
        reference: Reference,
        arguments: impl Iterator<Item = &'t TypeInner>,
    ) -> Option<Self> {
        let argument = |inner: &TypeInner| {
            Some(match *inner {
                TypeInner::Scalar(ty) => Argument { ty, form: Form::Scalar, count: 1 },
                TypeInner::Vector { size, scalar } => {
                    Argument { ty: scalar, form: Form::Vector, count: size as usize }
                }
                TypeInner::Matrix { columns, rows, scalar } => {
                    let columns = columns as usize;
                    let rows = rows as usize;
                    Argument { ty: scalar, form: Form::Matrix { columns, rows }, count: columns * rows }
                }
                _ => return None,
            })
        };
        Some(Self { reference, arguments: arguments.map(argument).collect::<Option<_>>()? })
    }

    /// Computes the function. Each component takes two words; the words of the result replace those of the arguments.
    pub(super) fn run(&self, words: &mut [u32]) {
        let mut components = words.chunks_exact(2).map(|pair| u64::from(pair[1]) << 32 | u64::from(pair[0]));
        let mut values: Vec<SmallVec<[Scalar; 4]>> = Vec::new();
        for argument in &self.arguments {
            let bits = components.by_ref().take(argument.count);
            values.push(bits.map(|bits| Scalar::from_bits(argument.ty, bits)).collect());
        }
        let operands = self.arguments.iter().zip(&values).map(|(argument, values)| match argument.form {
            Form::Scalar => Operand::Scalar(values[0]),
            Form::Vector => Operand::Vector(values),
            Form::Matrix { columns, rows } => Operand::Matrix { columns, rows, values },
        });
        let operands: SmallVec<[Operand<'_>; 4]> = operands.collect();
        let mut pairs = words.chunks_exact_mut(2);
        put(&self.reference.call(&operands), &mut |component| {
            let pair = pairs.next().expect("bug: the result has words");
            let bits = component.bits();
            pair.copy_from_slice(&[bits as u32, (bits >> 32) as u32]);
        });
    }
}

/// Calls a function with each component of a result, in memory order.
fn put(outcome: &Outcome, component: &mut impl FnMut(Scalar)) {
    match outcome {
        Outcome::Scalar(value) => component(*value),
        Outcome::Vector(values) | Outcome::Matrix { values, .. } => {
            values.iter().for_each(|value| component(*value));
        }
        Outcome::Pair(members) => members.iter().for_each(|member| put(member, component)),
    }
}
