//! Calls, atomic operations, uniform loads and operations of subgroups.

use super::function::FunctionDecoder;
use super::refusal;
use crate::error::Result;
use crate::interpret::op::{Atomic, Call, Exchange, Op, Subgroup, To};
use naga::{AtomicFunction, CollectiveOperation, Expression, Function, GatherMode, Handle, Scalar};
use naga::{Statement, TypeInner};

impl FunctionDecoder<'_, '_> {
    /// Decodes a statement other than control flow.
    pub(super) fn operation(&mut self, statement: &Statement) -> Result<()> {
        match *statement {
            Statement::Call { function, ref arguments, result } => self.call(function, arguments, result),
            Statement::Atomic { pointer, fun, value, result } => self.atomic(pointer, fun, value, result),
            Statement::WorkGroupUniformLoad { pointer, result } => {
                self.push(Op::Barrier);
                let to = self.result(result)?;
                self.load(pointer, to)?;
                // The second barrier keeps later writes of other invocations from overtaking the load.
                self.push(Op::Barrier);
                Ok(())
            }
            Statement::SubgroupBallot { result, predicate } => {
                let from = predicate.map(|predicate| self.slot(predicate)).transpose()?;
                let to = self.result(result)?;
                self.exchange(Subgroup { exchange: Exchange::Ballot, ty: Scalar::BOOL, from, to });
                Ok(())
            }
            Statement::SubgroupGather { mode, argument, result } => self.gather(mode, argument, result),
            Statement::SubgroupCollectiveOperation { op, collective_op, argument, result } => {
                let exchange = match collective_op {
                    CollectiveOperation::Reduce => Exchange::Reduce(op),
                    CollectiveOperation::InclusiveScan => Exchange::InclusiveScan(op),
                    CollectiveOperation::ExclusiveScan => Exchange::ExclusiveScan(op),
                };
                let from = Some(self.slot(argument)?);
                let ty = self.scalar(argument)?;
                let to = self.result(result)?;
                self.exchange(Subgroup { exchange, ty, from, to });
                Ok(())
            }
            _ => Err(self.unsupported(refusal::of_statement(statement))),
        }
    }

    fn call(
        &mut self,
        function: Handle<Function>,
        arguments: &[Handle<Expression>],
        result: Option<Handle<Expression>>,
    ) -> Result<()> {
        if let Some(Err(error)) = self.decoder.functions.get(function.index()) {
            return Err(error.clone());
        }
        let mut slots = Vec::new();
        for &argument in arguments {
            slots.push((self.slot(argument)?, self.count(argument)?));
        }
        let to = result.map(|result| self.result(result)).transpose()?.map_or(0, |to| to.slot);
        self.calls.push(function.index());
        self.push(Op::Call(Box::new(Call { function: function.index(), arguments: slots, to })));
        Ok(())
    }

    fn atomic(
        &mut self,
        pointer: Handle<Expression>,
        fun: AtomicFunction,
        value: Handle<Expression>,
        result: Option<Handle<Expression>>,
    ) -> Result<()> {
        self.origin.expression = Some(pointer);
        let ty = self.pointee(pointer).map(|ty| self.decoder.shapes.inner(&ty).clone());
        let Some(TypeInner::Atomic(ty)) = ty else {
            return Err(self.unsupported_at(pointer, "an atomic operation on this type"));
        };
        let compare = match fun {
            AtomicFunction::Exchange { compare: Some(compare) } => Some(self.slot(compare)?),
            _ => None,
        };
        let value = self.slot(value)?;
        let at = self.address(pointer)?;
        let to = result.map(|result| self.result(result)).transpose()?.map(|to| to.slot);
        self.push(Op::Atomic(Box::new(Atomic { fun, ty, at, value, compare, to })));
        Ok(())
    }

    fn gather(
        &mut self,
        mode: GatherMode,
        argument: Handle<Expression>,
        result: Handle<Expression>,
    ) -> Result<()> {
        let lane = match mode {
            GatherMode::BroadcastFirst | GatherMode::QuadSwap(_) => 0,
            GatherMode::Broadcast(lane)
            | GatherMode::Shuffle(lane)
            | GatherMode::ShuffleDown(lane)
            | GatherMode::ShuffleUp(lane)
            | GatherMode::ShuffleXor(lane)
            | GatherMode::QuadBroadcast(lane) => self.slot(lane)?,
        };
        let from = Some(self.slot(argument)?);
        let ty = self.scalar(argument)?;
        let to = self.result(result)?;
        self.exchange(Subgroup { exchange: Exchange::Gather(mode, lane), ty, from, to });
        Ok(())
    }

    /// Decodes a barrier of a subgroup.
    pub(super) fn subgroup_barrier(&mut self) {
        let to = To { slot: 0, count: 0 };
        self.exchange(Subgroup { exchange: Exchange::Barrier, ty: Scalar::BOOL, from: None, to });
    }

    fn exchange(&mut self, subgroup: Subgroup) {
        self.push(Op::Subgroup(Box::new(subgroup)));
    }
}
