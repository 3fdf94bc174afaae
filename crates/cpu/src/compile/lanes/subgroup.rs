//! Operations of subgroups. A subgroup consists of the 4 lanes of a vector of words. The mask of the statement says
//! which lanes take part.
//!
//! In the interpreter, a lane waits at an operation until no other lane of the subgroup can continue, so lanes of
//! different iterations can meet there. Compiled code cannot do that. So it requires that in a loop, either all lanes
//! execute an operation together in each iteration, or none does.

use super::scope::Form;
use super::{LANES, Lane, Lanes, Vector, Vectors};
use crate::compile::function::Lower;
use crate::compile::layout::Kind;
use crate::compile::refusal::{Result, refuse};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use naga::{
    BinaryOperator, BuiltIn, CollectiveOperation, Direction, Expression, GatherMode, Handle, MathFunction,
    SubgroupOperation,
};

/// Returns the number of each lane in its subgroup, or the numbers of the subgroups. `index` is the index of the first
/// invocation in the workgroup.
pub(in crate::compile) fn numbers(lower: &mut Lower<'_, '_>, builtin: BuiltIn, index: ir::Value) -> Lane {
    let count = (lower.shared.lanes / LANES) as usize;
    Lane::Each(Vectors::make(count, |at| match builtin {
        BuiltIn::SubgroupId => {
            let first = lower.builder.ins().ushr_imm(index, 2);
            let number = lower.builder.ins().iadd_imm(first, at as i64);
            lower.builder.ins().splat(types::I32X4, number)
        }
        _ => lane_numbers(lower),
    }))
}

fn lane_numbers(lower: &mut Lower<'_, '_>) -> ir::Value {
    let numbers: Vec<u8> = (0..LANES).flat_map(u32::to_le_bytes).collect();
    let numbers = lower.builder.func.dfg.constants.insert(numbers[..].into());
    lower.builder.ins().vconst(types::I32X4, numbers)
}

impl Vector<'_, '_, '_> {
    /// Returns the bits of the lanes whose predicate is true.
    pub(super) fn ballot(
        &mut self,
        predicate: Option<Handle<Expression>>,
        result: Handle<Expression>,
    ) -> Result<()> {
        self.require_steps()?;
        let mut set = self.active();
        if let Some(predicate) = predicate {
            let predicate = self.value(predicate)?[0];
            let predicate = self.each(Kind::Bool, predicate);
            set = self.both(set, predicate);
        }
        let bits = self.map(set, |vector, set| {
            let bits = vector.lower.builder.ins().vhigh_bits(types::I32, set);
            vector.lower.builder.ins().splat(types::I32X4, bits)
        });
        let zero = Lane::One(self.lower.word(0));
        self.remember(result, [Lane::Each(bits), zero, zero, zero].into_iter().collect())
    }

    /// Gives each lane the value of another lane. A lane keeps its own value if the other lane is inactive.
    pub(super) fn take(
        &mut self,
        mode: GatherMode,
        argument: Handle<Expression>,
        result: Handle<Expression>,
    ) -> Result<()> {
        self.require_steps()?;
        let active = self.active();
        let source = self.sources(mode, active)?;
        let mut chosen = Vec::new();
        for lane in 0..LANES {
            let number = self.words(lane);
            let same = self
                .map(source, |vector, source| vector.lower.builder.ins().icmp(IntCC::Equal, source, number));
            let there = self.spread(Kind::Bool, active, lane);
            chosen.push(self.both(same, there));
        }
        let kinds = self.kinds(self.lower.ty(argument))?;
        let mut taken = Lanes::new();
        for (own, kind) in self.value(argument)?.into_iter().zip(kinds) {
            let own = self.each(kind, own);
            let mut value = own;
            for (lane, &mask) in chosen.iter().enumerate() {
                let other = self.spread(kind, own, lane as u32);
                value = self.blend_vectors(kind, mask, other, value);
            }
            taken.push(Lane::Each(value));
        }
        self.remember(result, taken)
    }

    /// Returns the lane whose value each lane takes.
    fn sources(&mut self, mode: GatherMode, active: Vectors) -> Result<Vectors> {
        let own = lane_numbers(self.lower);
        let own = Vectors::repeat(self.count(), own);
        let with = |vector: &mut Self, lane: Handle<Expression>| -> Result<Vectors> {
            let lane = vector.value(lane)?[0];
            Ok(vector.each(Kind::U32, lane))
        };
        let turned = |vector: &mut Self, bits: u32| {
            let bits = vector.words(bits);
            vector.map(own, |vector, own| vector.lower.builder.ins().bxor(own, bits))
        };
        Ok(match mode {
            GatherMode::BroadcastFirst => self.map(active, |vector, active| {
                let bits = vector.lower.builder.ins().vhigh_bits(types::I32, active);
                let first = vector.lower.builder.ins().ctz(bits);
                vector.lower.builder.ins().splat(types::I32X4, first)
            }),
            GatherMode::Broadcast(lane) | GatherMode::Shuffle(lane) | GatherMode::QuadBroadcast(lane) => {
                with(self, lane)?
            }
            GatherMode::ShuffleDown(lane) => {
                let distance = with(self, lane)?;
                self.map_pairs(own, distance, |vector, own, distance| {
                    vector.lower.builder.ins().iadd(own, distance)
                })
            }
            GatherMode::ShuffleUp(lane) => {
                let distance = with(self, lane)?;
                self.map_pairs(own, distance, |vector, own, distance| {
                    vector.lower.builder.ins().isub(own, distance)
                })
            }
            GatherMode::ShuffleXor(lane) => {
                let bits = with(self, lane)?;
                self.map_pairs(own, bits, |vector, own, bits| vector.lower.builder.ins().bxor(own, bits))
            }
            GatherMode::QuadSwap(Direction::X) => turned(self, 1),
            GatherMode::QuadSwap(Direction::Y) => turned(self, 2),
            GatherMode::QuadSwap(Direction::Diagonal) => turned(self, 3),
        })
    }

    /// Combines the values of the active lanes, in the order of the lanes.
    pub(super) fn combine_lanes(
        &mut self,
        op: SubgroupOperation,
        collective: CollectiveOperation,
        argument: Handle<Expression>,
        result: Handle<Expression>,
    ) -> Result<()> {
        self.require_steps()?;
        let active = self.active();
        let kinds = self.kinds(self.lower.ty(argument))?;
        let mut results = Lanes::new();
        for (value, kind) in self.value(argument)?.into_iter().zip(kinds) {
            let value = self.each(kind, value);
            results.push(self.combined(op, collective, kind, value, active)?);
        }
        self.remember(result, results)
    }

    fn combined(
        &mut self,
        op: SubgroupOperation,
        collective: CollectiveOperation,
        kind: Kind,
        value: Vectors,
        active: Vectors,
    ) -> Result<Lane> {
        let neutral = f64::from(u8::from(op == SubgroupOperation::Mul));
        let neutral = if kind.is_float() {
            self.lower.number(kind, neutral)
        } else {
            self.lower.bits(kind, neutral as u64)
        };
        let mut sum = self.each(kind, Lane::One(neutral));
        let mut scan = sum;
        let mut seen = None;
        let own = lane_numbers(self.lower);
        for lane in 0..LANES {
            let other = self.spread(kind, value, lane);
            let there = self.spread(Kind::Bool, active, lane);
            let before = sum;
            let next = match seen {
                None => other,
                Some(seen) => {
                    let both = self.combine(op, kind, sum, other)?;
                    self.blend_vectors(kind, seen, both, other)
                }
            };
            sum = self.blend_vectors(kind, there, next, sum);
            seen = Some(match seen {
                None => there,
                Some(seen) => self.either(seen, there),
            });
            if collective != CollectiveOperation::Reduce {
                let number = self.words(lane);
                let here = self.lower.builder.ins().icmp(IntCC::Equal, own, number);
                let here = Vectors::repeat(self.count(), here);
                let part = if collective == CollectiveOperation::ExclusiveScan { before } else { sum };
                scan = self.blend_vectors(kind, here, part, scan);
            }
        }
        Ok(Lane::Each(if collective == CollectiveOperation::Reduce { sum } else { scan }))
    }

    /// Combines two values.
    fn combine(&mut self, op: SubgroupOperation, kind: Kind, a: Vectors, b: Vectors) -> Result<Vectors> {
        let a = Lane::Each(a);
        let b = Lane::Each(b);
        let operator = match op {
            SubgroupOperation::All => BinaryOperator::LogicalAnd,
            SubgroupOperation::Any => BinaryOperator::LogicalOr,
            SubgroupOperation::Add => BinaryOperator::Add,
            SubgroupOperation::Mul => BinaryOperator::Multiply,
            SubgroupOperation::And => BinaryOperator::And,
            SubgroupOperation::Or => BinaryOperator::InclusiveOr,
            SubgroupOperation::Xor => BinaryOperator::ExclusiveOr,
            SubgroupOperation::Min => return self.extreme_of_lanes(MathFunction::Min, kind, a, b),
            SubgroupOperation::Max => return self.extreme_of_lanes(MathFunction::Max, kind, a, b),
        };
        let combined = self.binary_component(operator, kind, a, b)?;
        Ok(self.each(kind, combined))
    }

    fn extreme_of_lanes(&mut self, fun: MathFunction, kind: Kind, a: Lane, b: Lane) -> Result<Vectors> {
        // A component of 16 bits is an `f32`, and the result needs no rounding.
        let known = if kind == Kind::F16 { Kind::F32 } else { kind };
        let values = [a, b].map(|lane| [lane].into_iter().collect::<Lanes>());
        match self.known_math(fun, &[known; 2], &values)? {
            Some(found) => Ok(self.each(kind, found[0])),
            None => refuse(format!("the function {fun:?} of a subgroup")),
        }
    }

    /// Returns the active lanes of an operation.
    fn active(&mut self) -> Vectors {
        match self.storing() {
            Some(mask) => mask,
            None => self.ones(),
        }
    }

    /// Broadcasts the value of one lane of each subgroup to its 4 lanes.
    fn spread(&mut self, kind: Kind, value: Vectors, lane: u32) -> Vectors {
        let bytes = if kind.is_wide() { 8 } else { 4 };
        let per_vector = 16 / bytes;
        let vectors = (LANES / per_vector) as usize;
        let start = (lane % per_vector) * bytes;
        let bytes: [u8; 16] = std::array::from_fn(|at| (start + at as u32 % bytes) as u8);
        self.vectors(kind, |vector, at| {
            let from = value[at / vectors * vectors + (lane / per_vector) as usize];
            let spread = vector.mixed(from, from, bytes);
            vector.lower.cast(spread, Self::vector_type(kind))
        })
    }

    /// Refuses an operation that lanes in different iterations of a loop may reach.
    fn require_steps(&self) -> Result<()> {
        if self.is_in_step() {
            return Ok(());
        }
        refuse("an operation of a subgroup that some lanes of a loop may leave out")
    }

    /// Returns `true` if no loop is around the current place.
    pub(super) fn is_outside_of_loops(&self) -> bool {
        !self.body.in_loop && self.body.scopes.iter().all(|scope| scope.form != Form::Loop)
    }

    /// Returns `true` if no loop is around the current place, or if exactly the lanes of the outermost loop's iteration
    /// execute it.
    pub(super) fn is_in_step(&self) -> bool {
        let scopes = &self.body.scopes;
        if self.body.in_loop {
            let together = scopes.iter().all(|scope| scope.here.is_none());
            return self.body.in_step && self.body.mask.is_none() && together;
        }
        let Some(outermost) = scopes.iter().position(|scope| scope.form == Form::Loop) else { return true };
        let scope = &scopes[outermost];
        let mask = if scope.here.is_some() { None } else { scope.mask };
        let together = scopes[outermost + 1..].iter().all(|inner| inner.here.is_none());
        self.body.mask == mask && together && !scope.continues
    }
}
