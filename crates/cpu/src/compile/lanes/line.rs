//! Integers that increase by a constant step from lane to lane.

use super::{Lane, Vector};
use crate::compile::layout::Kind;
use cranelift_codegen::ir::{self, InstBuilder, InstructionData, Opcode};
use naga::BinaryOperator;

/// Largest step from one lane to the next.
const MOST_STEP: u32 = 1 << 16;

impl Vector<'_, '_, '_> {
    /// Translates an operator if its result increases by a constant step from lane to lane; otherwise returns `None`.
    pub(super) fn line_operator(&mut self, op: BinaryOperator, kind: Kind, a: Lane, b: Lane) -> Option<Lane> {
        if !matches!(kind, Kind::I32 | Kind::U32) {
            return None;
        }
        let (first, step) = match (op, a, b) {
            (BinaryOperator::Add, Lane::Line { first, step }, Lane::One(other))
            | (BinaryOperator::Add, Lane::One(other), Lane::Line { first, step }) => {
                (self.lower.builder.ins().iadd(first, other), step)
            }
            (BinaryOperator::Add, Lane::Line { first, step }, Lane::Line { first: other, step: more }) => {
                (self.lower.builder.ins().iadd(first, other), within(step + more)?)
            }
            (BinaryOperator::Subtract, Lane::Line { first, step }, Lane::One(other)) => {
                (self.lower.builder.ins().isub(first, other), step)
            }
            (BinaryOperator::Multiply, Lane::Line { first, step }, Lane::One(factor))
            | (BinaryOperator::Multiply, Lane::One(factor), Lane::Line { first, step }) => {
                let step = within(step.checked_mul(self.constant(factor)?)?)?;
                (self.lower.builder.ins().imul(first, factor), step)
            }
            (BinaryOperator::ShiftLeft, Lane::Line { first, step }, Lane::One(amount)) => {
                let factor = 1_u32 << (self.constant(amount)? & 31);
                let step = within(step.checked_mul(factor)?)?;
                (self.lower.builder.ins().ishl(first, amount), step)
            }
            _ => return None,
        };
        Some(Lane::Line { first, step })
    }

    /// Returns the bits of a constant.
    pub(super) fn constant(&self, value: ir::Value) -> Option<u32> {
        let dfg = &self.lower.builder.func.dfg;
        match dfg.insts[dfg.value_def(value).inst()?] {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => Some(imm.bits() as u32),
            _ => None,
        }
    }
}

fn within(step: u32) -> Option<u32> {
    (1..=MOST_STEP).contains(&step).then_some(step)
}
