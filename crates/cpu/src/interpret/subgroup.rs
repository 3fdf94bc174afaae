//! Operations of subgroups.
//!
//! A subgroup is [`LANES`] invocations with adjacent numbers. Its lanes wait at an operation until no lane of the
//! subgroup can continue. Then the lanes that wait at the first of these places in the program, with the same callers,
//! take part. The others keep waiting, so that lanes of different branches meet again after the branches. Lanes in
//! different iterations of a loop take part together if they are at the same place.

use super::invocation::{Invocation, State};
use super::op::{Exchange, Subgroup};
use crate::arith::{self, Operand, Outcome, Scalar};
use naga::{BinaryOperator, Direction, GatherMode, MathFunction, SubgroupOperation};
use smallvec::SmallVec;

/// Number of lanes of a subgroup.
pub(super) const LANES: u32 = 4;

/// Lanes that take part, by their index in the subgroup.
type Active = SmallVec<[usize; LANES as usize]>;

/// Lists the lanes of a subgroup that exchange values next. The list is empty if no lane waits for an exchange.
pub(super) fn first_waiting(lanes: &[Invocation]) -> Active {
    let waiting = |lane: &&Invocation| lane.state == State::Subgroup;
    let Some(first) = lanes.iter().filter(waiting).min_by(|a, b| a.compare_place(b)) else {
        return Active::new();
    };
    let here = |lane: &Invocation| lane.state == State::Subgroup && lane.compare_place(first).is_eq();
    lanes.iter().enumerate().filter(|(_, lane)| here(lane)).map(|(number, _)| number).collect()
}

/// Exchanges values between lanes, which can then continue.
pub(super) fn exchange(op: &Subgroup, lanes: &mut [Invocation], active: &[usize]) {
    let count = op.to.count;
    let from = |lane: usize| -> SmallVec<[u64; 4]> {
        op.from.map_or_else(SmallVec::new, |from| match op.exchange {
            Exchange::Ballot => SmallVec::from_slice(lanes[lane].row(from, 1)),
            _ => SmallVec::from_slice(lanes[lane].row(from, count)),
        })
    };
    let values: Vec<SmallVec<[u64; 4]>> = active.iter().map(|&lane| from(lane)).collect();
    let results: Vec<SmallVec<[u64; 4]>> = match op.exchange {
        Exchange::Barrier => vec![SmallVec::new(); active.len()],
        Exchange::Ballot => {
            let set = active.iter().zip(&values).filter(|(_, value)| value.first() != Some(&0));
            let bits = set.fold(0, |bits, (lane, _)| bits | 1 << lane);
            vec![SmallVec::from_slice(&[bits, 0, 0, 0]); active.len()]
        }
        Exchange::Gather(mode, slot) => {
            let source = |&lane: &usize| source(mode, lane, lanes[lane].get(slot) as u32, active[0]);
            let source = active.iter().map(source);
            let own =
                source.zip(&values).map(|(source, own)| (active.iter().position(|&l| l == source), own));
            own.map(|(source, own)| source.map_or(own, |source| &values[source]).clone()).collect()
        }
        Exchange::Reduce(kind) => {
            let all =
                values.iter().skip(1).fold(values[0].clone(), |sum, value| combine(kind, op.ty, &sum, value));
            vec![all; active.len()]
        }
        Exchange::InclusiveScan(kind) => scan(kind, op, &values, false),
        Exchange::ExclusiveScan(kind) => scan(kind, op, &values, true),
    };
    for (&lane, result) in active.iter().zip(&results) {
        lanes[lane].row_mut(op.to).copy_from_slice(result);
        lanes[lane].state = State::Ready;
    }
}

/// Returns the lane from which a lane takes a value. The caller replaces an inactive lane by the lane itself.
fn source(mode: GatherMode, lane: usize, value: u32, first: usize) -> usize {
    let lane = lane as u32;
    let source = match mode {
        GatherMode::BroadcastFirst => return first,
        GatherMode::Broadcast(_) | GatherMode::Shuffle(_) => value,
        GatherMode::ShuffleDown(_) => lane.wrapping_add(value),
        GatherMode::ShuffleUp(_) => lane.wrapping_sub(value),
        GatherMode::ShuffleXor(_) => lane ^ value,
        GatherMode::QuadBroadcast(_) => lane & !3 | value,
        GatherMode::QuadSwap(Direction::X) => lane ^ 1,
        GatherMode::QuadSwap(Direction::Y) => lane ^ 2,
        GatherMode::QuadSwap(Direction::Diagonal) => lane ^ 3,
    };
    source as usize
}

/// Combines the values of the lanes before each lane, and the lane's own value unless the scan is exclusive.
fn scan(
    kind: SubgroupOperation,
    op: &Subgroup,
    values: &[SmallVec<[u64; 4]>],
    exclusive: bool,
) -> Vec<SmallVec<[u64; 4]>> {
    let neutral = u32::from(kind == SubgroupOperation::Mul);
    let neutral = arith::convert(Scalar::U32(neutral), op.ty.kind, Some(op.ty.width)).bits();
    let mut sum: SmallVec<[u64; 4]> = SmallVec::from_elem(neutral, op.to.count as usize);
    let mut results = Vec::new();
    for (number, value) in values.iter().enumerate() {
        let next = if number == 0 { value.clone() } else { combine(kind, op.ty, &sum, value) };
        results.push(if exclusive { sum } else { next.clone() });
        sum = next;
    }
    results
}

/// Combines two values component by component.
fn combine(kind: SubgroupOperation, ty: naga::Scalar, a: &[u64], b: &[u64]) -> SmallVec<[u64; 4]> {
    let component = |(&a, &b): (&u64, &u64)| {
        let a = Scalar::from_bits(ty, a);
        let b = Scalar::from_bits(ty, b);
        let operator = match kind {
            SubgroupOperation::All => BinaryOperator::LogicalAnd,
            SubgroupOperation::Any => BinaryOperator::LogicalOr,
            SubgroupOperation::Add => BinaryOperator::Add,
            SubgroupOperation::Mul => BinaryOperator::Multiply,
            SubgroupOperation::And => BinaryOperator::And,
            SubgroupOperation::Or => BinaryOperator::InclusiveOr,
            SubgroupOperation::Xor => BinaryOperator::ExclusiveOr,
            SubgroupOperation::Min => return extreme(MathFunction::Min, a, b),
            SubgroupOperation::Max => return extreme(MathFunction::Max, a, b),
        };
        arith::binary(operator, a, b).bits()
    };
    a.iter().zip(b).map(component).collect()
}

fn extreme(fun: MathFunction, a: Scalar, b: Scalar) -> u64 {
    match arith::math(fun, &[Operand::Scalar(a), Operand::Scalar(b)]) {
        Outcome::Scalar(value) => value.bits(),
        outcome => unreachable!("bug: {fun:?} of two scalars is {outcome:?}"),
    }
}
