//! Regions that execute 4, 8 or 16 invocations together, one in each lane of 1, 2 or 4 vectors.
//!
//! The lanes are consecutive invocations along the first axis. Values that all lanes share stay scalars. If lanes
//! differ in the condition of a branch, both blocks are executed, each with a mask of the lanes that store. A loop ends
//! when all lanes have left it. Functions that a region calls are inlined.

mod atomic;
mod branchless;
mod call;
mod convert;
mod half;
mod line;
mod math;
mod memory;
mod operate;
mod place;
mod repeat;
mod rows;
mod scope;
mod statement;
mod stride;
mod subgroup;
mod varying;
mod vectors;
mod wide;

use super::function::Lower;
use super::layout::Kind;
use super::refusal::{Result, refuse};
use cranelift_codegen::ir::{self, Block, InstBuilder, MemFlags, types};
use cranelift_frontend::Variable;
use naga::{Expression, Handle, LocalVariable};
use place::{Places, Reach};
use rustc_hash::FxHashMap;
use scope::Scope;
use smallvec::SmallVec;
use std::rc::Rc;
use vectors::Vectors;

pub(super) use subgroup::numbers as subgroup_numbers;
pub(super) use varying::{Analyses, Varying};

/// Number of lanes in a vector of words, such as a mask.
const LANES: u32 = 4;

/// Flags of an access of elements that are aligned to 2 or 4, not to 16.
const UNALIGNED: MemFlags = MemFlags::new().with_notrap();

/// One component of a value in all lanes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lane {
    /// The lanes share a scalar.
    One(ir::Value),
    /// Each lane's integer is that of the previous lane plus a step.
    Line { first: ir::Value, step: u32 },
    /// Each lane has its element of a vector. A bool is a word of zeros or ones.
    Each(Vectors),
}

/// Components of a value.
pub(super) type Lanes = SmallVec<[Lane; 4]>;

/// An argument of a function in all lanes.
#[derive(Clone)]
enum Argument {
    Value(Lanes),
    Pointer(Places),
}

/// A local variable in all lanes.
#[derive(Clone)]
enum Local {
    /// The lanes share scalars.
    Shared(Vec<Variable>),
    /// Each component has one variable per vector.
    Each(Vec<Vec<Variable>>),
    Memory(Reach),
}

/// A function of the kernel whose body is being translated.
struct Body {
    values: FxHashMap<Handle<Expression>, Lanes>,
    arguments: Vec<Argument>,
    locals: FxHashMap<Handle<LocalVariable>, Local>,
    varying: Rc<Varying>,
    /// Lanes that called the function, if not all lanes did.
    callers: Option<Vectors>,
    /// Lanes of the innermost scope that execute the current block, if not all of them do.
    mask: Option<Vectors>,
    /// Block that follows the innermost masked block.
    after: Option<Block>,
    /// Scopes of the function and of the loops and `switch`es around the current place.
    scopes: Vec<Scope>,
    /// `true` if a loop is around the call of the function.
    in_loop: bool,
    /// `true` if all lanes in such a loop call the function together in each iteration.
    in_step: bool,
    /// Result, if a `return` is not the last statement.
    result: Option<Local>,
}

/// Translator of a region for the invocations that execute together.
pub(super) struct Vector<'l, 'a, 'm> {
    pub(super) lower: &'l mut Lower<'a, 'm>,
    body: Body,
    analyses: &'l mut Analyses<'m>,
}

impl<'l, 'a, 'm> Vector<'l, 'a, 'm> {
    /// Begins a region. `next` is the block that continues with the next invocations.
    pub(super) fn new(
        lower: &'l mut Lower<'a, 'm>,
        analyses: &'l mut Analyses<'m>,
        arguments: Vec<Lanes>,
        varying: Rc<Varying>,
        next: Block,
    ) -> Self {
        let arguments = arguments.into_iter().map(Argument::Value).collect();
        Self { lower, body: Body::new(arguments, varying, None, next), analyses }
    }

    /// Returns the number of invocations that execute together.
    fn width(&self) -> u32 {
        self.lower.shared.lanes
    }

    /// Returns the number of lanes in a vector of a kind.
    fn lanes_of(kind: Kind) -> u32 {
        if kind.is_wide() { LANES / 2 } else { LANES }
    }

    /// Returns the number of vectors of a component of a kind.
    fn count_of(&self, kind: Kind) -> usize {
        (self.width() / Self::lanes_of(kind)) as usize
    }

    /// Returns the number of vectors of a mask, and of a component that has a word in each lane.
    fn count(&self) -> usize {
        self.count_of(Kind::Bool)
    }

    /// Creates each vector of a component of a kind.
    fn vectors(&mut self, kind: Kind, mut make: impl FnMut(&mut Self, usize) -> ir::Value) -> Vectors {
        Vectors::make(self.count_of(kind), |at| make(self, at))
    }

    /// Applies an instruction to each vector.
    fn map(&mut self, a: Vectors, mut apply: impl FnMut(&mut Self, ir::Value) -> ir::Value) -> Vectors {
        Vectors::make(a.len(), |at| apply(self, a[at]))
    }

    /// Applies an instruction to each pair of vectors.
    fn map_pairs(
        &mut self,
        a: Vectors,
        b: Vectors,
        mut apply: impl FnMut(&mut Self, ir::Value, ir::Value) -> ir::Value,
    ) -> Vectors {
        Vectors::make(a.len(), |at| apply(self, a[at], b[at]))
    }

    /// Returns the lanes that are in both masks.
    fn both(&mut self, a: Vectors, b: Vectors) -> Vectors {
        self.map_pairs(a, b, |vector, a, b| vector.lower.builder.ins().band(a, b))
    }

    /// Returns the lanes that are in one of two masks.
    fn either(&mut self, a: Vectors, b: Vectors) -> Vectors {
        self.map_pairs(a, b, |vector, a, b| vector.lower.builder.ins().bor(a, b))
    }

    /// Returns the lanes of the first mask that are not in the second one.
    fn without(&mut self, a: Vectors, b: Vectors) -> Vectors {
        self.map_pairs(a, b, |vector, a, b| vector.lower.builder.ins().band_not(a, b))
    }

    /// Returns a flag that is set if any lane is in a mask.
    fn any(&mut self, mask: Vectors) -> ir::Value {
        let mut sum = mask[0];
        for &part in &mask[1..] {
            sum = self.lower.builder.ins().bor(sum, part);
        }
        self.lower.builder.ins().vany_true(sum)
    }

    /// Returns a flag that is set if all lanes are in a mask.
    fn all(&mut self, mask: Vectors) -> ir::Value {
        let mut product = mask[0];
        for &part in &mask[1..] {
            product = self.lower.builder.ins().band(product, part);
        }
        self.lower.builder.ins().vall_true(product)
    }

    /// Returns the mask of all lanes.
    fn ones(&mut self) -> Vectors {
        let ones = self.words(u32::MAX);
        Vectors::repeat(self.count(), ones)
    }

    /// Returns a vector whose words have these bits.
    fn words(&mut self, bits: u32) -> ir::Value {
        let word = self.lower.word(bits);
        self.lower.builder.ins().splat(types::I32X4, word)
    }

    /// Declares a variable for each vector of a component of a kind.
    fn declare_vectors(&mut self, kind: Kind) -> Vec<Variable> {
        let ty = Self::vector_type(kind);
        (0..self.count_of(kind)).map(|_| self.lower.builder.declare_var(ty)).collect()
    }

    fn use_vectors(&mut self, variables: &[Variable]) -> Vectors {
        Vectors::make(variables.len(), |at| self.lower.builder.use_var(variables[at]))
    }

    fn def_vectors(&mut self, variables: &[Variable], values: Vectors) {
        for (&variable, &value) in variables.iter().zip(&*values) {
            self.lower.builder.def_var(variable, value);
        }
    }

    /// Returns the type of the vectors of a kind.
    fn vector_type(kind: Kind) -> ir::Type {
        match kind {
            Kind::F16 | Kind::F32 => types::F32X4,
            Kind::F64 => types::F64X2,
            Kind::I64 | Kind::U64 => types::I64X2,
            _ => types::I32X4,
        }
    }

    /// Returns a component as vectors.
    fn each(&mut self, kind: Kind, lane: Lane) -> Vectors {
        match lane {
            Lane::Each(vectors) => vectors,
            Lane::One(value) if kind == Kind::Bool => {
                let word = self.lower.builder.ins().uextend(types::I32, value);
                let word = self.lower.builder.ins().ineg(word);
                let word = self.lower.builder.ins().splat(types::I32X4, word);
                Vectors::repeat(self.count(), word)
            }
            Lane::One(value) => {
                let value = self.lower.builder.ins().splat(Self::vector_type(kind), value);
                Vectors::repeat(self.count_of(kind), value)
            }
            Lane::Line { first, step } => {
                let first = self.lower.builder.ins().splat(types::I32X4, first);
                self.vectors(Kind::U32, |vector, at| {
                    let start = at as u32 * LANES;
                    let steps: Vec<u8> =
                        (start..start + LANES).flat_map(|lane| (lane * step).to_le_bytes()).collect();
                    let steps = vector.lower.builder.func.dfg.constants.insert(steps[..].into());
                    let steps = vector.lower.builder.ins().vconst(types::I32X4, steps);
                    vector.lower.builder.ins().iadd(first, steps)
                })
            }
        }
    }

    /// Returns the scalar of one lane. A bool becomes a byte again.
    fn lane(&mut self, kind: Kind, lane: Lane, at: u32) -> ir::Value {
        match lane {
            Lane::One(value) => value,
            Lane::Line { first, step } => self.lower.builder.ins().iadd_imm(first, i64::from(at * step)),
            Lane::Each(vectors) => {
                let lanes = Self::lanes_of(kind);
                let vector = vectors[(at / lanes) as usize];
                let word = self.lower.builder.ins().extractlane(vector, (at % lanes) as u8);
                if kind != Kind::Bool {
                    return word;
                }
                let bit = self.lower.builder.ins().band_imm(word, 1);
                self.lower.builder.ins().ireduce(types::I8, bit)
            }
        }
    }

    /// Puts the scalars of the lanes together.
    fn gather(&mut self, kind: Kind, mut scalar: impl FnMut(&mut Self, u32) -> ir::Value) -> Lane {
        let lanes = Self::lanes_of(kind);
        Lane::Each(self.vectors(kind, |vector, at| {
            let mut all = None;
            for part in 0..lanes {
                let mut value = scalar(vector, at as u32 * lanes + part);
                if kind == Kind::Bool {
                    value = vector.lower.builder.ins().uextend(types::I32, value);
                    value = vector.lower.builder.ins().ineg(value);
                }
                all = Some(match all {
                    None => vector.lower.builder.ins().splat(Self::vector_type(kind), value),
                    Some(all) => vector.lower.builder.ins().insertlane(all, value, part as u8),
                });
            }
            all.expect("bug: a vector has lanes")
        }))
    }

    /// Returns the scalar that all lanes share.
    fn shared(lane: Lane) -> Result<ir::Value> {
        match lane {
            Lane::One(value) => Ok(value),
            _ => refuse("a value that the lanes do not share"),
        }
    }
}
