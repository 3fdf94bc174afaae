//! Built-in functions of numbers that are not 32 bits wide, computed by the interpreter's arithmetic for one invocation
//! per call.

use crate::arith::{Operand, Reference, Scalar};
use naga::TypeInner;
use smallvec::SmallVec;

/// An argument of a function, with its [shape](Operand::shape).
struct Argument {
    ty: naga::Scalar,
    columns: usize,
    rows: usize,
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
            let (columns, rows) = Operand::shape(inner);
            Some(Argument { ty: inner.scalar()?, columns, rows })
        };
        Some(Self { reference, arguments: arguments.map(argument).collect::<Option<_>>()? })
    }

    /// Computes the function. Each component takes two words; the words of the result replace those of the arguments.
    pub(super) fn run(&self, words: &mut [u32]) {
        let mut components = words.chunks_exact(2).map(|pair| u64::from(pair[1]) << 32 | u64::from(pair[0]));
        let mut values: Vec<SmallVec<[Scalar; 4]>> = Vec::new();
        for argument in &self.arguments {
            let bits = components.by_ref().take(argument.columns.max(1) * argument.rows.max(1));
            values.push(bits.map(|bits| Scalar::from_bits(argument.ty, bits)).collect());
        }
        let operands = self.arguments.iter().zip(&values);
        let operands = operands.map(|(it, values)| Operand::new(it.columns, it.rows, values));
        let operands: SmallVec<[Operand<'_>; 4]> = operands.collect();
        let mut pairs = words.chunks_exact_mut(2);
        self.reference.call(&operands).each(&mut |component| {
            let pair = pairs.next().expect("bug: the result has words");
            let bits = component.bits();
            pair.copy_from_slice(&[bits as u32, (bits >> 32) as u32]);
        });
    }
}
