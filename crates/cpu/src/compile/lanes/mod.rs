//! Regions that execute four invocations together, one in each lane of a vector.
//!
//! The lanes have adjacent numbers along the first axis. Values that the lanes share stay scalars. A branch whose condition
//! differs executes both of its blocks, with a mask that says which lanes store. A loop ends for all lanes at once; a kernel
//! whose loops do not is refused, and runs one invocation at a time.

mod memory;
mod operate;
mod statement;
mod varying;

use super::function::Lower;
use super::layout::Kind;
use super::refusal::{Result, refuse};
use cranelift_codegen::ir::{self, Block, InstBuilder, types};
use cranelift_frontend::Variable;
use naga::{Expression, Handle, LocalVariable};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

pub(super) use varying::varying;

/// Counts the invocations that execute together.
pub(super) const WIDTH: u32 = 4;

/// Is one component of a value in all lanes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lane {
    /// The lanes share a scalar.
    One(ir::Value),
    /// The first lane has this integer, and each lane has one more than the lane before it.
    Line(ir::Value),
    /// Each lane has its element of a vector. A bool is a word of zeros or ones.
    Four(ir::Value),
}

/// Holds the components of a value.
pub(super) type Lanes = SmallVec<[Lane; 4]>;

/// Is a local variable in all lanes.
#[derive(Clone)]
enum Local {
    /// The lanes share scalars.
    Shared(Vec<Variable>),
    Each(Vec<Variable>),
}

/// Translates a region for four invocations.
pub(super) struct Vector<'l, 'a, 'm> {
    pub(super) lower: &'l mut Lower<'a, 'm>,
    values: FxHashMap<Handle<Expression>, Lanes>,
    arguments: Vec<Lanes>,
    locals: FxHashMap<Handle<LocalVariable>, Local>,
    /// Lists the local variables that differ between lanes.
    varying: FxHashSet<Handle<LocalVariable>>,
    /// Says which lanes execute the current block, if not all of those that are active do.
    mask: Option<ir::Value>,
    /// Says which lanes have not returned, if some may have.
    active: Option<Variable>,
    /// Is the block that continues with the next four invocations.
    next: Block,
    /// Is the block behind the innermost block with a mask.
    after: Option<Block>,
    /// Holds the masks of the loops around the current place.
    loops: Vec<Option<ir::Value>>,
}

impl<'l, 'a, 'm> Vector<'l, 'a, 'm> {
    pub(super) fn new(
        lower: &'l mut Lower<'a, 'm>,
        arguments: Vec<Lanes>,
        varying: FxHashSet<Handle<LocalVariable>>,
        next: Block,
    ) -> Self {
        Self {
            lower,
            values: FxHashMap::default(),
            arguments,
            locals: FxHashMap::default(),
            varying,
            mask: None,
            active: None,
            next,
            after: None,
            loops: Vec::new(),
        }
    }

    /// Returns the mask of the lanes that store, or `None` if all lanes do.
    fn storing(&mut self) -> Option<ir::Value> {
        let active = self.active.map(|active| self.lower.builder.use_var(active));
        match (self.mask, active) {
            (Some(mask), Some(active)) => Some(self.lower.builder.ins().band(mask, active)),
            (mask, active) => mask.or(active),
        }
    }

    /// Returns the type of the vectors of a kind.
    fn vector_type(kind: Kind) -> ir::Type {
        match kind {
            Kind::F32 => types::F32X4,
            _ => types::I32X4,
        }
    }

    /// Returns a component as a vector.
    fn four(&mut self, kind: Kind, lane: Lane) -> ir::Value {
        match lane {
            Lane::Four(value) => value,
            Lane::One(value) if kind == Kind::Bool => {
                let word = self.lower.builder.ins().uextend(types::I32, value);
                let word = self.lower.builder.ins().ineg(word);
                self.lower.builder.ins().splat(types::I32X4, word)
            }
            Lane::One(value) => self.lower.builder.ins().splat(Self::vector_type(kind), value),
            Lane::Line(first) => {
                let steps: Vec<u8> = (0..WIDTH).flat_map(u32::to_le_bytes).collect();
                let steps = self.lower.builder.func.dfg.constants.insert(steps[..].into());
                let steps = self.lower.builder.ins().vconst(types::I32X4, steps);
                let first = self.lower.builder.ins().splat(types::I32X4, first);
                self.lower.builder.ins().iadd(first, steps)
            }
        }
    }

    /// Returns the scalar of one lane. A bool is a byte again.
    fn lane(&mut self, kind: Kind, lane: Lane, at: u32) -> ir::Value {
        match lane {
            Lane::One(value) => value,
            Lane::Line(first) => self.lower.builder.ins().iadd_imm(first, i64::from(at)),
            Lane::Four(value) => {
                let word = self.lower.builder.ins().extractlane(value, at as u8);
                if kind != Kind::Bool {
                    return word;
                }
                let bit = self.lower.builder.ins().band_imm(word, 1);
                self.lower.builder.ins().ireduce(types::I8, bit)
            }
        }
    }

    /// Puts the scalars of the four lanes together.
    fn gather(&mut self, kind: Kind, mut scalar: impl FnMut(&mut Self, u32) -> ir::Value) -> Lane {
        let mut vector = None;
        for at in 0..WIDTH {
            let mut value = scalar(self, at);
            if kind == Kind::Bool {
                value = self.lower.builder.ins().uextend(types::I32, value);
                value = self.lower.builder.ins().ineg(value);
            }
            vector = Some(match vector {
                None => self.lower.builder.ins().splat(Self::vector_type(kind), value),
                Some(vector) => self.lower.builder.ins().insertlane(vector, value, at as u8),
            });
        }
        Lane::Four(vector.expect("bug: there are lanes"))
    }

    /// Returns the scalar that all lanes share.
    fn shared(lane: Lane) -> Result<ir::Value> {
        match lane {
            Lane::One(value) => Ok(value),
            _ => refuse("a value that the lanes do not share"),
        }
    }
}
