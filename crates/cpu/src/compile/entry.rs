//! The function that executes one workgroup.

use super::context;
use super::function::{Argument, Frame, Local, Lower};
use super::lanes::{Analyses, Lane, Lanes, Varying, Vector, subgroup_numbers};
use super::place::Place;
use super::plan::{Home, Piece, Plan, Step};
use super::refusal::{Result, refuse};
use super::shared::reserve;
use super::value::Components;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use cranelift_frontend::Variable;
use naga::{Binding, BuiltIn, GlobalVariable, Handle, LocalVariable, SwitchValue, TypeInner};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// Number of lanes of a subgroup.
const SUBGROUP: u32 = 4;

/// Index of the current invocation in its workgroup, linear and along each axis.
#[derive(Clone, Copy)]
struct Counters {
    index: Variable,
    place: [Variable; 3],
}

/// Translator of the steps of a plan.
struct Entry<'l, 'a, 'm> {
    lower: &'l mut Lower<'a, 'm>,
    plan: &'l Plan<'m>,
    /// Local variables that need memory.
    in_memory: FxHashSet<Handle<LocalVariable>>,
    /// Offsets of the variables that live across barriers in the memory of an invocation.
    offsets: FxHashMap<Handle<LocalVariable>, u32>,
    size: [u32; 3],
    /// Values that differ between invocations that execute together.
    varying: Rc<Varying>,
    analyses: Analyses<'m>,
}

/// Translates the entry point, whose frame already exists.
pub(super) fn entry<'m>(lower: &mut Lower<'_, 'm>, plan: &Plan<'m>) -> Result<()> {
    let function = lower.frame.function;
    let in_memory = super::locals::in_memory(lower.types(), function);
    let size = lower.shared.program.workgroup();
    let mut analyses = Analyses::new(lower.shared.program);
    let varying = analyses.entry(plan);
    let mut entry = Entry { lower, plan, in_memory, offsets: FxHashMap::default(), size, varying, analyses };
    entry.reserve()?;
    entry.begin()?;
    entry.steps(&plan.steps)?;
    Ok(())
}

impl<'m> Entry<'_, '_, 'm> {
    /// Reserves memory of an invocation for the values that live across barriers.
    fn reserve(&mut self) -> Result<()> {
        let lower = &mut *self.lower;
        for (handle, variable) in lower.frame.function.local_variables.iter() {
            if self.plan.homes.get(&handle) == Some(&Home::Invocation) {
                let size = lower.kept_bytes(lower.types().inner(variable.ty))?;
                self.offsets.insert(handle, reserve(&mut lower.shared.invocation_bytes, size)?);
            }
        }
        for &expression in &self.plan.spills {
            let size = lower.kept_bytes(lower.ty(expression))?;
            let offset = reserve(&mut lower.shared.invocation_bytes, size)?;
            lower.frame.spills.insert(expression, offset);
        }
        Ok(())
    }

    /// Sets the variables of the workgroup, and the variables that live across barriers, to their first values.
    fn begin(&mut self) -> Result<()> {
        self.set_arguments(None)?;
        for (handle, _) in self.lower.frame.function.local_variables.iter() {
            if self.plan.homes.get(&handle) == Some(&Home::Workgroup) {
                self.lower.declare_local(handle, false)?;
            }
        }
        if self.plan.has_barriers && self.lower.shared.invocation_bytes > 0 {
            if self.lower.shared.lanes > 1 {
                return self.begin_lanes();
            }
            self.for_each_invocation(1, |entry, _| {
                entry.lower.initialise_privates()?;
                for (handle, offset) in entry.sorted_offsets() {
                    entry.lower.initialise(handle, &Local::Invocation(offset))?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Sets the variables that live across barriers to their first values, for several invocations together.
    fn begin_lanes(&mut self) -> Result<()> {
        let width = self.lower.shared.lanes;
        self.for_each_invocation(width, |entry, _| {
            let offsets = entry.sorted_offsets();
            let next = entry.lower.frame.exit;
            let varying = entry.varying.clone();
            let mut vector = Vector::new(entry.lower, &mut entry.analyses, Vec::new(), varying, next);
            initialise_privates(&mut vector)?;
            for (handle, offset) in offsets {
                let ty = vector.lower.frame.function.local_variables[handle].ty;
                let first = vector.first_value(handle)?;
                vector.store_invocations(vector.lower.types().inner(ty), offset, &first)?;
            }
            Ok(())
        })
    }

    fn sorted_offsets(&self) -> Vec<(Handle<LocalVariable>, u32)> {
        let mut offsets: Vec<_> = self.offsets.iter().map(|(&handle, &offset)| (handle, offset)).collect();
        offsets.sort_unstable_by_key(|(_, offset)| *offset);
        offsets
    }

    fn steps(&mut self, steps: &[Step<'m>]) -> Result<()> {
        for step in steps {
            if self.lower.jumped {
                break;
            }
            self.step(step)?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step<'m>) -> Result<()> {
        match step {
            Step::Evaluate(expression) => self.lower.emit(*expression),
            Step::Store { pointer, value } => {
                let values = self.lower.value(*value)?;
                let place = self.lower.place(*pointer)?;
                let inner = self.lower.pointee(*pointer)?;
                self.lower.store(&place, &inner, &values)
            }
            Step::Load { pointer, result } => {
                let values = self.lower.load_expression(*pointer)?;
                self.lower.remember(*result, values)
            }
            Step::Region(region) => self.region(*region),
            Step::If { condition, accept, reject } => {
                let condition = self.lower.value(*condition)?[0];
                self.branch(condition, accept, reject)
            }
            Step::Switch { selector, cases } => {
                let values: Vec<SwitchValue> = cases.iter().map(|case| case.value).collect();
                let blocks = self.lower.begin_switch(*selector, &values)?;
                for (at, case) in cases.iter().enumerate() {
                    self.lower.enter(blocks[at]);
                    self.steps(&case.steps)?;
                    self.lower.end_case(&blocks, at, case.falls);
                }
                self.lower.end_switch(&blocks);
                Ok(())
            }
            Step::Loop { body, continuing, break_if } => {
                let [head, next, exit] = [(); 3].map(|()| self.lower.builder.create_block());
                self.lower.jump(head);
                self.lower.enter(head);
                self.lower.frame.targets.push(super::function::Targets { exit, next: Some(next) });
                self.steps(body)?;
                self.lower.fall(next);
                self.lower.enter(next);
                self.steps(continuing)?;
                self.lower.frame.targets.pop();
                self.lower.repeat_or_leave(*break_if, head, exit)?;
                self.lower.enter(exit);
                Ok(())
            }
            Step::Jump(statement) => self.lower.statement(statement, naga::Span::UNDEFINED),
        }
    }

    fn branch(&mut self, condition: ir::Value, accept: &[Step<'m>], reject: &[Step<'m>]) -> Result<()> {
        let [accepted, rejected, after] = [(); 3].map(|()| self.lower.builder.create_block());
        self.lower.builder.ins().brif(condition, accepted, &[], rejected, &[]);
        let mut reached = false;
        for (block, steps) in [(accepted, accept), (rejected, reject)] {
            self.lower.enter(block);
            self.steps(steps)?;
            reached |= self.lower.fall(after);
        }
        self.lower.end_branch(after, reached);
        Ok(())
    }

    /// Translates a region, as a loop over the invocations.
    fn region(&mut self, at: usize) -> Result<()> {
        if self.lower.shared.lanes > 1 {
            return self.vector_region(at);
        }
        let values = self.lower.frame.values.clone();
        let locals = self.lower.frame.locals.clone();
        let targets = std::mem::take(&mut self.lower.frame.targets);
        self.for_each_invocation(1, |entry, _| {
            if !entry.plan.has_barriers {
                entry.lower.initialise_privates()?;
            }
            let kept = entry.take_locals(at)?;
            for piece in &entry.plan.regions[at].pieces {
                match piece {
                    _ if entry.lower.jumped => break,
                    Piece::Emit(expression) => entry.lower.emit(*expression)?,
                    Piece::Statement(statement, span) => entry.lower.statement(statement, *span)?,
                }
            }
            if !entry.lower.jumped {
                entry.keep_locals(&kept)?;
            }
            Ok(())
        })?;
        self.lower.frame.targets = targets;
        self.lower.frame.locals = locals;
        self.lower.frame.values = values;
        Ok(())
    }

    /// Translates a region for several invocations that execute together.
    fn vector_region(&mut self, at: usize) -> Result<()> {
        let targets = std::mem::take(&mut self.lower.frame.targets);
        let width = self.lower.shared.lanes;
        self.for_each_invocation(width, |entry, counters| {
            let arguments = entry.lane_arguments(counters)?;
            let next = entry.lower.frame.exit;
            let varying = entry.varying.clone();
            let plan = entry.plan;
            let mut vector = Vector::new(entry.lower, &mut entry.analyses, arguments, varying, next);
            let pieces = &plan.regions[at].pieces;
            vector.begin();
            if !plan.has_barriers {
                initialise_privates(&mut vector)?;
            }
            let mut kept = Vec::new();
            for (handle, variable) in vector.lower.frame.function.local_variables.iter() {
                let inner = vector.lower.types().inner(variable.ty);
                let in_memory = entry.in_memory.contains(&handle);
                match plan.homes.get(&handle) {
                    Some(Home::Region(home)) if *home == at && in_memory => {
                        vector.declare_in_memory(handle)?;
                        vector.initialise(handle)?;
                    }
                    Some(Home::Region(home)) if *home == at => {
                        let first = vector.first_value(handle)?;
                        vector.declare(handle, &first)?;
                    }
                    Some(Home::Invocation) if in_memory => {
                        vector.declare_in_invocations(handle, entry.offsets[&handle]);
                    }
                    Some(Home::Invocation) if plan.uses_local(at, handle) => {
                        kept.push(handle);
                        let first = vector.load_invocations(inner, entry.offsets[&handle])?;
                        vector.declare(handle, &first)?;
                    }
                    _ => {}
                }
            }
            vector.pieces(pieces)?;
            if !vector.lower.jumped {
                for handle in kept {
                    let ty = vector.lower.frame.function.local_variables[handle].ty;
                    let values = vector.read_local(handle);
                    let offset = entry.offsets[&handle];
                    vector.store_invocations(vector.lower.types().inner(ty), offset, &values)?;
                }
            }
            Ok(())
        })?;
        self.lower.frame.targets = targets;
        Ok(())
    }

    /// Returns the arguments of the entry point for the invocations that execute together.
    fn lane_arguments(&mut self, counters: Counters) -> Result<Vec<Lanes>> {
        let mut arguments = Vec::new();
        for argument in &self.lower.frame.function.arguments {
            let bindings: Vec<&Option<Binding>> =
                match (self.lower.types().inner(argument.ty), &argument.binding) {
                    (TypeInner::Struct { members, .. }, None) => {
                        members.iter().map(|member| &member.binding).collect()
                    }
                    (_, binding) => vec![binding],
                };
            let mut lanes = Lanes::new();
            for binding in bindings {
                let along =
                    [BuiltIn::LocalInvocationId, BuiltIn::GlobalInvocationId, BuiltIn::LocalInvocationIndex];
                let along = matches!(binding, Some(Binding::BuiltIn(builtin)) if along.contains(builtin));
                if let Some(Binding::BuiltIn(
                    builtin @ (BuiltIn::SubgroupId | BuiltIn::SubgroupInvocationId),
                )) = binding
                {
                    let index = self.lower.builder.use_var(counters.index);
                    lanes.push(subgroup_numbers(self.lower, *builtin, index));
                    continue;
                }
                let values = self.builtin(binding, Some(counters))?;
                lanes.extend(values.iter().enumerate().map(|(axis, &value)| {
                    if along && axis == 0 { Lane::Line { first: value, step: 1 } } else { Lane::One(value) }
                }));
            }
            arguments.push(lanes);
        }
        Ok(arguments)
    }

    /// Declares the local variables of a region. Returns the ones that live across barriers and are now in registers.
    fn take_locals(&mut self, region: usize) -> Result<Vec<(Handle<LocalVariable>, Vec<Variable>)>> {
        let mut kept = Vec::new();
        for (handle, variable) in self.lower.frame.function.local_variables.iter() {
            let in_memory = self.in_memory.contains(&handle);
            match self.plan.homes.get(&handle) {
                Some(Home::Region(home)) if *home == region => self.lower.declare_local(handle, in_memory)?,
                Some(Home::Invocation) if in_memory => {
                    let local = Local::Invocation(self.offsets[&handle]);
                    self.lower.frame.locals.insert(handle, local);
                }
                Some(Home::Invocation) if self.plan.uses_local(region, handle) => {
                    let inner = self.lower.types().inner(variable.ty);
                    let variables = self.lower.variables(inner)?;
                    let place = self.kept_place(handle);
                    let values = self.lower.load(&place, inner)?;
                    self.lower.define(&variables, &values);
                    self.lower.frame.locals.insert(handle, Local::Registers(variables.clone()));
                    kept.push((handle, variables));
                }
                _ => {}
            }
        }
        Ok(kept)
    }

    /// Stores the local variables that live across barriers to memory.
    fn keep_locals(&mut self, kept: &[(Handle<LocalVariable>, Vec<Variable>)]) -> Result<()> {
        for (handle, variables) in kept {
            let ty = self.lower.frame.function.local_variables[*handle].ty;
            let values = self.lower.read(variables);
            let place = self.kept_place(*handle);
            self.lower.store(&place, self.lower.types().inner(ty), &values)?;
        }
        Ok(())
    }

    fn kept_place(&self, handle: Handle<LocalVariable>) -> Place {
        Place::Memory { address: self.lower.invocation, offset: self.offsets[&handle], length: None }
    }

    /// Translates a loop over the invocations, in which `body` handles `step` invocations per iteration.
    fn for_each_invocation(
        &mut self,
        step: u32,
        body: impl FnOnce(&mut Self, Counters) -> Result<()>,
    ) -> Result<()> {
        let [head, next, after] = [(); 3].map(|()| self.lower.builder.create_block());
        let invocation = self.lower.invocation;
        let exit = self.lower.frame.exit;
        let arguments = self.lower.frame.arguments.clone();
        let zero = self.lower.word(0);
        let [index, x, y, z] = [(); 4].map(|()| self.lower.builder.declare_var(types::I32));
        self.lower.define(&[index, x, y, z], &[zero; 4]);
        let counters = Counters { index, place: [x, y, z] };
        self.lower.jump(head);
        self.lower.enter(head);
        self.set_arguments(Some(counters))?;
        if self.plan.has_barriers {
            let index = self.lower.builder.use_var(index);
            let index = self.lower.builder.ins().uextend(types::I64, index);
            // With several lanes, each component has its own array in memory.
            let scalar = self.lower.shared.lanes == 1;
            let bytes = if scalar { i64::from(self.lower.shared.invocation_bytes) } else { 4 };
            let distance = self.lower.builder.ins().imul_imm(index, bytes);
            self.lower.invocation = self.lower.builder.ins().iadd(invocation, distance);
        }
        self.lower.frame.exit = next;
        body(self, counters)?;
        self.lower.fall(next);
        self.lower.invocation = invocation;
        self.lower.frame.exit = exit;
        self.lower.frame.arguments = arguments;
        self.lower.enter(next);
        self.advance(counters, step, head, after);
        Ok(())
    }

    /// Continues with the next invocation, or after the last one.
    fn advance(&mut self, counters: Counters, step: u32, head: ir::Block, after: ir::Block) {
        let builder = &mut self.lower.builder;
        let mut carry = builder.ins().iconst(types::I32, i64::from(step));
        for (axis, variable) in counters.place.into_iter().enumerate() {
            if self.size[axis] == 1 {
                continue;
            }
            let place = builder.use_var(variable);
            let place = builder.ins().iadd(place, carry);
            let full = builder.ins().icmp_imm(IntCC::Equal, place, i64::from(self.size[axis]));
            let zero = builder.ins().iconst(types::I32, 0);
            let wrapped = builder.ins().select(full, zero, place);
            builder.def_var(variable, wrapped);
            carry = builder.ins().uextend(types::I32, full);
        }
        let index = builder.use_var(counters.index);
        let index = builder.ins().iadd_imm(index, i64::from(step));
        builder.def_var(counters.index, index);
        let count: u32 = self.size.iter().product();
        let more = builder.ins().icmp_imm(IntCC::UnsignedLessThan, index, i64::from(count));
        builder.ins().brif(more, head, &[], after, &[]);
        self.lower.enter(after);
    }

    /// Sets the arguments of the entry point. Outside of regions, arguments that differ between invocations are zero.
    fn set_arguments(&mut self, counters: Option<Counters>) -> Result<()> {
        let function = self.lower.frame.function;
        let mut arguments = Vec::new();
        for argument in &function.arguments {
            let mut values = Components::new();
            match (self.lower.types().inner(argument.ty), &argument.binding) {
                (TypeInner::Struct { members, .. }, None) => {
                    for member in members {
                        values.extend(self.builtin(&member.binding, counters)?);
                    }
                }
                (_, binding) => values = self.builtin(binding, counters)?,
            }
            arguments.push(Argument::Value(values));
        }
        self.lower.frame.arguments = arguments;
        Ok(())
    }

    fn builtin(&mut self, binding: &Option<Binding>, counters: Option<Counters>) -> Result<Components> {
        let Some(Binding::BuiltIn(builtin)) = binding else {
            return refuse("an argument of the entry point");
        };
        let lower = &mut *self.lower;
        let field = |lower: &mut Lower<'_, '_>, start| -> Components {
            (0..3).map(|axis| lower.context_field(types::I32, start + 4 * axis)).collect()
        };
        let zero = lower.word(0);
        let place: Components = match counters {
            Some(counters) => counters.place.iter().map(|place| lower.builder.use_var(*place)).collect(),
            None => [zero; 3].into_iter().collect(),
        };
        Ok(match builtin {
            BuiltIn::WorkGroupId => field(lower, context::GROUP),
            BuiltIn::NumWorkGroups => field(lower, context::GROUPS),
            BuiltIn::WorkGroupSize => self.size.iter().map(|size| lower.word(*size)).collect(),
            BuiltIn::LocalInvocationId => place,
            BuiltIn::LocalInvocationIndex => {
                let index = counters.map_or(zero, |counters| lower.builder.use_var(counters.index));
                [index].into_iter().collect()
            }
            BuiltIn::GlobalInvocationId => {
                let group = field(lower, context::GROUP);
                (0..3)
                    .map(|axis| {
                        let size = i64::from(self.size[axis]);
                        let start = lower.builder.ins().imul_imm(group[axis], size);
                        lower.builder.ins().iadd(start, place[axis])
                    })
                    .collect()
            }
            BuiltIn::NumSubgroups => {
                let count: u32 = self.size.iter().product();
                [lower.word(count.div_ceil(SUBGROUP))].into_iter().collect()
            }
            BuiltIn::SubgroupSize => [lower.word(SUBGROUP)].into_iter().collect(),
            BuiltIn::SubgroupId | BuiltIn::SubgroupInvocationId => {
                let index = counters.map_or(zero, |counters| lower.builder.use_var(counters.index));
                let number = match builtin {
                    BuiltIn::SubgroupId => lower.builder.ins().ushr_imm(index, 2),
                    _ => lower.builder.ins().band_imm(index, i64::from(SUBGROUP) - 1),
                };
                [number].into_iter().collect()
            }
            other => return refuse(format!("the builtin {other:?}")),
        })
    }
}

impl<'m> Lower<'_, 'm> {
    /// Returns the bytes of a value in the memory of an invocation. With several lanes, each component occupies a cell.
    fn kept_bytes(&self, inner: &TypeInner) -> Result<u32> {
        if self.shared.lanes == 1 {
            return Ok(inner.size(self.shared.program.module().to_ctx()));
        }
        Ok(self.shared.cell * self.types().count(inner)? as u32)
    }

    /// Sets the private variables of an invocation to their first values.
    fn initialise_privates(&mut self) -> Result<()> {
        let module = self.shared.program.module();
        for (handle, offset) in self.privates() {
            let variable = &module.global_variables[handle];
            let Some(values) = self.first_private(handle)? else {
                let start = self.builder.ins().iadd_imm(self.invocation, i64::from(offset));
                self.clear(start, self.types().size(variable.ty));
                continue;
            };
            let place = Place::Memory { address: self.invocation, offset, length: None };
            self.store(&place, self.types().inner(variable.ty), &values)?;
        }
        Ok(())
    }

    /// Lists the private variables and their distances from the start of the memory of an invocation.
    fn privates(&self) -> Vec<(Handle<GlobalVariable>, u32)> {
        let mut privates: Vec<_> =
            self.shared.private_offsets.iter().map(|(&handle, &offset)| (handle, offset)).collect();
        privates.sort_unstable_by_key(|(_, offset)| *offset);
        privates
    }

    /// Returns the first value of a private variable, or `None` if it is zero.
    fn first_private(&mut self, handle: Handle<GlobalVariable>) -> Result<Option<Components>> {
        let module = self.shared.program.module();
        let Some(init) = module.global_variables[handle].init else { return Ok(None) };
        let arena = &module.global_expressions;
        match super::constant::components(module, self.types(), arena, init)? {
            Some(values) => Ok(Some(self.constants(&values))),
            None => refuse("the first value of a private variable"),
        }
    }
}

/// Sets the private variables of the invocations that execute together to their first values.
fn initialise_privates(vector: &mut Vector<'_, '_, '_>) -> Result<()> {
    for (handle, offset) in vector.lower.privates() {
        let variable = &vector.lower.shared.program.module().global_variables[handle];
        let inner = vector.lower.types().inner(variable.ty);
        let first = match vector.lower.first_private(handle)? {
            Some(first) => first,
            None => vector.lower.zero(inner)?,
        };
        let first: Lanes = first.into_iter().map(Lane::One).collect();
        vector.store_invocations(inner, offset, &first)?;
    }
    Ok(())
}

/// Creates the frame of the entry point.
pub(super) fn frame<'m>(program: &'m crate::program::Program, exit: ir::Block) -> Frame<'m> {
    let info = program.info().get_entry_point(program.entry_index());
    Frame::new(&program.entry().function, info, exit)
}
