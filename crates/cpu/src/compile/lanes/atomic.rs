//! Atomic operations on several lanes, one lane after the other.

use super::place::Places;
use super::{Lane, Lanes, Vector};
use crate::compile::layout::Kind;
use crate::compile::refusal::{Result, refuse};
use cranelift_codegen::ir::InstBuilder;
use naga::{AtomicFunction, Expression, Handle};

impl Vector<'_, '_, '_> {
    /// Translates an atomic operation.
    pub(super) fn atomic(
        &mut self,
        pointer: Handle<Expression>,
        fun: &AtomicFunction,
        value: Handle<Expression>,
        result: Option<Handle<Expression>>,
    ) -> Result<()> {
        let (kind, is_shared) = self.lower.atomic_kind(pointer)?;
        let Places::Memory(reach) = self.places(pointer)? else {
            return refuse("an atomic operation on registers");
        };
        let offset = reach.displacement(0, 0)?;
        let distances = self.distances(&reach.way);
        let value = self.value(value)?[0];
        let compare = match fun {
            AtomicFunction::Exchange { compare: Some(compare) } => Some(self.value(*compare)?[0]),
            _ => None,
        };
        let kinds = if compare.is_some() { vec![kind, Kind::Bool] } else { vec![kind] };
        let mask = self.storing();
        // An inactive lane gets zero.
        let mut old = Vec::new();
        for at in 0..self.width() {
            let variables: Vec<_> = kinds
                .iter()
                .map(|kind| {
                    let variable = self.lower.builder.declare_var(kind.ir());
                    let zero = self.lower.bits(*kind, 0);
                    self.lower.builder.def_var(variable, zero);
                    variable
                })
                .collect();
            self.if_lane(mask, at, |vector| {
                let address = match &distances {
                    Some(distances) => vector.lower.builder.ins().iadd(reach.address, distances[at as usize]),
                    None => reach.address,
                };
                let address = vector.lower.builder.ins().iadd_imm(address, i64::from(offset));
                let value = vector.lane(kind, value, at);
                let compare = compare.map(|compare| vector.lane(kind, compare, at));
                let results = vector.lower.atomic_at(is_shared, address, fun, kind, value, compare);
                vector.lower.define(&variables, &results);
            });
            old.push(self.lower.read(&variables));
        }
        let Some(result) = result else { return Ok(()) };
        let mut lanes = Lanes::new();
        for (component, &kind) in kinds.iter().enumerate() {
            let lane: Lane = self.gather(kind, |_, at| old[at as usize][component]);
            lanes.push(lane);
        }
        self.remember(result, lanes)
    }
}
