//! WGSL's uniformity analysis (section 15.2 of its specification) of an entry point: barriers, `workgroupUniformLoad`
//! and subgroup operations must be reached by all invocations of a workgroup together. naga does not check that, but
//! browsers do.
//!
//! The analysis follows the statements in order. For each value, the contents of each variable and the control flow, it
//! knows if they depend on something that differs between invocations, or on an input of the function. A function is
//! analysed once; its callers substitute their arguments for its inputs.

use naga::{
    Barrier, Block, BuiltIn, Expression, Function, GatherMode, Handle, Module, Span, Statement, SwitchValue,
    TypeInner,
};

use crate::reach::reached;
use crate::wording::Diagnostic;

/// Maximum number of characters of a quoted cause.
const QUOTED: usize = 40;

/// Number of bits for the inputs of a function. All inputs from the last bit on share it.
const MAX_INPUTS: usize = 127;

/// Dependence of a value, of the contents of a variable, or of the control flow on invocations and inputs.
#[derive(Clone, Copy, Debug, Default)]
struct Dependence {
    /// Place of something that may differ between the invocations of a workgroup.
    differs: Option<Span>,
    /// Inputs of the function: the control flow of the call, the arguments, and the targets of pointers.
    inputs: u128,
}

impl Dependence {
    fn differing(span: Span) -> Self {
        Self { differs: Some(span), inputs: 0 }
    }

    fn on_input(input: usize) -> Self {
        Self { differs: None, inputs: 1 << input.min(MAX_INPUTS) }
    }

    fn and(self, other: Self) -> Self {
        Self { differs: self.differs.or(other.differs), inputs: self.inputs | other.inputs }
    }
}

impl PartialEq for Dependence {
    fn eq(&self, other: &Self) -> bool {
        self.differs.is_some() == other.differs.is_some() && self.inputs == other.inputs
    }
}

/// State of the analysis at a place in the control flow.
#[derive(Clone, PartialEq)]
struct Flow {
    control: Dependence,
    /// Contents of the function's variables, then of the targets of its pointer arguments.
    variables: Vec<Dependence>,
}

impl Flow {
    fn and(mut self, other: &Self) -> Self {
        self.control = self.control.and(other.control);
        for (own, other) in self.variables.iter_mut().zip(&other.variables) {
            *own = own.and(*other);
        }
        self
    }
}

/// Returns the state where two flows meet.
fn joined(one: Option<Flow>, other: Option<Flow>) -> Option<Flow> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.and(&other)),
        (one, other) => one.or(other),
    }
}

/// The ways in which a block ends.
#[derive(Default)]
struct Exits {
    next: Option<Flow>,
    breaks: Option<Flow>,
    continues: Option<Flow>,
    returns: bool,
}

impl Exits {
    fn only_go_on(&self) -> bool {
        self.breaks.is_none() && self.continues.is_none() && !self.returns
    }

    /// Adds the ways of another block, except the way to the next statement.
    fn add_leaving(&mut self, other: &mut Self) {
        self.breaks = joined(self.breaks.take(), other.breaks.take());
        self.continues = joined(self.continues.take(), other.continues.take());
        self.returns |= other.returns;
    }
}

/// An operation that all invocations must reach together.
#[derive(Clone)]
struct CollectiveOp {
    inputs: u128,
    /// Name of the operation.
    operation: &'static str,
    /// `true` if only the invocations of a subgroup must reach it together.
    of_subgroup: bool,
}

/// The properties of a function that its callers must know.
#[derive(Default)]
struct Summary {
    needs: Vec<CollectiveOp>,
    result: Dependence,
    /// Contents of each pointer argument's target after the call.
    contents: Vec<Dependence>,
}

/// Returns the operations of an entry point that not all invocations may reach together. Operations of subgroups count if
/// `subgroups` is `true`.
pub(crate) fn findings(module: &Module, text: &str, entry: usize, subgroups: bool) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    let reached = reached(module, &module.entry_points[entry].function);
    let mut summaries: Vec<Summary> = Vec::new();
    for (handle, function) in module.functions.iter() {
        let summary = if reached[handle.index()] {
            Walk::new(module, function, false, &summaries, subgroups).run(&mut findings)
        } else {
            Summary::default()
        };
        summaries.push(summary);
    }
    Walk::new(module, &module.entry_points[entry].function, true, &summaries, subgroups).run(&mut findings);
    findings.into_iter().map(|found| found.finding(text)).collect()
}

/// An operation that only some invocations may reach.
struct Divergence {
    span: Span,
    operation: String,
    of_subgroup: bool,
    cause: Span,
}

impl Divergence {
    fn finding(self, text: &str) -> Diagnostic {
        let group = if self.of_subgroup { "subgroup" } else { "workgroup" };
        let range = self.cause.is_defined().then(|| self.cause.to_range()).flatten();
        let cause = match range.and_then(|range| Some((range.start, text.get(range)?))) {
            Some((start, quoted)) => {
                let words = quoted.split_whitespace().collect::<Vec<_>>().join(" ");
                let short = match words.char_indices().nth(QUOTED) {
                    Some((end, _)) => format!("{}..", &words[..end]),
                    None => words,
                };
                let line = text[..start].matches('\n').count() + 1;
                format!("`{short}` in line {line}")
            }
            None => "a condition before it".into(),
        };
        let message = format!(
            "{} must be reached by all invocations of a {group}, and {cause} may differ between them: move it out of the \
             condition or the loop, or make the condition the same for all",
            self.operation
        );
        Diagnostic { message, span: self.span }
    }
}

/// The analysis of one function.
struct Walk<'a> {
    module: &'a Module,
    function: &'a Function,
    is_entry: bool,
    summaries: &'a [Summary],
    subgroups: bool,
    /// Dependence of each evaluated expression.
    values: Vec<Dependence>,
    summary: Summary,
    found: Vec<Divergence>,
}

impl<'a> Walk<'a> {
    fn new(
        module: &'a Module,
        function: &'a Function,
        is_entry: bool,
        summaries: &'a [Summary],
        subgroups: bool,
    ) -> Self {
        let values = vec![Dependence::default(); function.expressions.len()];
        let contents = vec![Dependence::default(); function.arguments.len()];
        let summary = Summary { contents, ..Summary::default() };
        Self { module, function, is_entry, summaries, subgroups, values, summary, found: Vec::new() }
    }

    fn run(mut self, findings: &mut Vec<Divergence>) -> Summary {
        for (handle, expression) in self.function.expressions.iter() {
            if let Expression::FunctionArgument(at) = *expression {
                self.values[handle.index()] = self.argument(at as usize, handle);
            }
        }
        let mut variables = vec![Dependence::default(); self.function.local_variables.len()];
        variables.extend((0..self.function.arguments.len()).map(|at| self.pointed_to(at)));
        let control = if self.is_entry { Dependence::default() } else { Dependence::on_input(0) };
        let exits = self.block(&self.function.body, Flow { control, variables });
        if let Some(end) = exits.next {
            self.leave(&end);
        }
        findings.append(&mut self.found);
        self.summary
    }

    /// Returns the dependence of an argument. The built-in values of an entry point are known.
    fn argument(&self, at: usize, handle: Handle<Expression>) -> Dependence {
        if !self.is_entry {
            return Dependence::on_input(1 + at);
        }
        let argument = &self.function.arguments[at];
        let members = match &self.module.types[argument.ty].inner {
            TypeInner::Struct { members, .. } => &members[..],
            _ => &[],
        };
        let mut bindings = members.iter().map(|member| &member.binding).chain([&argument.binding]).flatten();
        if bindings.all(is_uniform) {
            Dependence::default()
        } else {
            Dependence::differing(self.function.expressions.get_span(handle))
        }
    }

    /// Returns the initial dependence of a pointer argument's target.
    fn pointed_to(&self, at: usize) -> Dependence {
        let space = self.module.types[self.function.arguments[at].ty].inner.pointer_space();
        match space {
            Some(naga::AddressSpace::Function) => {
                Dependence::on_input(1 + self.function.arguments.len() + at)
            }
            Some(space) if !is_read_only(space) => Dependence::differing(Span::UNDEFINED),
            _ => Dependence::default(),
        }
    }

    fn span(&self, handle: Handle<Expression>) -> Span {
        self.function.expressions.get_span(handle)
    }

    fn value(&self, handle: Handle<Expression>) -> Dependence {
        self.values[handle.index()]
    }

    fn all(&self, handles: impl IntoIterator<Item = Handle<Expression>>) -> Dependence {
        handles.into_iter().fold(Dependence::default(), |all, handle| all.and(self.value(handle)))
    }

    fn evaluate(&self, handle: Handle<Expression>, flow: &Flow) -> Dependence {
        use Expression as E;
        match self.function.expressions[handle] {
            E::Access { base, index } => self.all([base, index]),
            E::AccessIndex { base, index } => {
                self.builtin_member(base, index).unwrap_or_else(|| self.value(base))
            }
            E::Splat { value, .. } => self.value(value),
            E::Swizzle { vector, .. } => self.value(vector),
            E::Load { pointer } => {
                let contents = match self.contents(pointer, flow) {
                    Dependence { differs: Some(_), .. } => Dependence::differing(self.span(handle)),
                    known => known,
                };
                // The place of an index is more helpful than that of the load.
                self.value(pointer).and(contents)
            }
            E::Compose { ref components, .. } => self.all(components.iter().copied()),
            E::Unary { expr, .. } | E::As { expr, .. } => self.value(expr),
            E::Binary { left, right, .. } => self.all([left, right]),
            E::Select { condition, accept, reject } => self.all([condition, accept, reject]),
            E::Relational { argument, .. } => self.value(argument),
            E::Math { arg, arg1, arg2, arg3, .. } => {
                self.all([Some(arg), arg1, arg2, arg3].into_iter().flatten())
            }
            E::ArrayLength(pointer) => self.value(pointer),
            E::ImageLoad { .. } | E::ImageSample { .. } => Dependence::differing(self.span(handle)),
            _ => self.value(handle),
        }
    }

    /// Returns the dependence of a built-in value in an argument struct of an entry point.
    fn builtin_member(&self, base: Handle<Expression>, index: u32) -> Option<Dependence> {
        let Expression::FunctionArgument(at) = self.function.expressions[base] else { return None };
        let argument = &self.function.arguments[at as usize];
        let TypeInner::Struct { members, .. } = &self.module.types[argument.ty].inner else { return None };
        let binding = members.get(index as usize)?.binding.as_ref()?;
        (self.is_entry && is_uniform(binding)).then(Dependence::default)
    }

    /// Returns the expression at which the path of a pointer starts.
    fn root(&self, mut pointer: Handle<Expression>) -> Handle<Expression> {
        while let Expression::Access { base, .. } | Expression::AccessIndex { base, .. } =
            self.function.expressions[pointer]
        {
            pointer = base;
        }
        pointer
    }

    /// Returns the index in a [`Flow`] of a pointer's target variable.
    fn variable(&self, pointer: Handle<Expression>) -> Option<usize> {
        match self.function.expressions[self.root(pointer)] {
            Expression::LocalVariable(variable) => Some(variable.index()),
            Expression::FunctionArgument(at) => Some(self.function.local_variables.len() + at as usize),
            _ => None,
        }
    }

    /// Returns the dependence of a pointer's target memory.
    fn contents(&self, pointer: Handle<Expression>, flow: &Flow) -> Dependence {
        if let Some(variable) = self.variable(pointer) {
            return flow.variables[variable];
        }
        match self.function.expressions[self.root(pointer)] {
            Expression::GlobalVariable(global)
                if is_read_only(self.module.global_variables[global].space) =>
            {
                Dependence::default()
            }
            _ => Dependence::differing(self.span(pointer)),
        }
    }

    fn store(&self, pointer: Handle<Expression>, value: Dependence, flow: &mut Flow) {
        let Some(variable) = self.variable(pointer) else { return };
        let stored = value.and(flow.control).and(self.value(pointer));
        let is_whole = self.root(pointer) == pointer;
        let before = flow.variables[variable];
        flow.variables[variable] = if is_whole { stored } else { before.and(stored) };
    }

    /// Records that all invocations must reach an operation together.
    fn require(&mut self, dependence: Dependence, need: &CollectiveOp, span: Span, called: Option<&str>) {
        if need.of_subgroup && !self.subgroups {
            return;
        }
        if let Some(cause) = dependence.differs {
            let operation = match called {
                Some(name) => format!("`{name}` calls `{}`, which", need.operation),
                None => format!("`{}`", need.operation),
            };
            if !self.found.iter().any(|found| found.span == span) {
                self.found.push(Divergence { span, operation, of_subgroup: need.of_subgroup, cause });
            }
        } else if dependence.inputs != 0 {
            let known = &mut self.summary.needs;
            match known.iter_mut().find(|known| known.operation == need.operation) {
                Some(known) => known.inputs |= dependence.inputs,
                None => known.push(CollectiveOp { inputs: dependence.inputs, ..need.clone() }),
            }
        }
    }

    fn leave(&mut self, flow: &Flow) {
        let contents = &flow.variables[self.function.local_variables.len()..];
        for (known, contents) in self.summary.contents.iter_mut().zip(contents) {
            *known = known.and(*contents);
        }
    }

    fn block(&mut self, block: &Block, flow: Flow) -> Exits {
        let mut exits = Exits { next: Some(flow), ..Exits::default() };
        for (statement, span) in block.span_iter() {
            // Statements after a jump never run.
            let Some(flow) = exits.next.take() else { break };
            let mut after = self.statement(statement, *span, flow);
            exits.add_leaving(&mut after);
            exits.next = after.next;
        }
        exits
    }

    fn statement(&mut self, statement: &Statement, span: Span, mut flow: Flow) -> Exits {
        use Statement as S;
        match *statement {
            S::Emit(ref range) => {
                for handle in range.clone() {
                    self.values[handle.index()] = self.evaluate(handle, &flow);
                }
            }
            S::Block(ref inner) => return self.block(inner, flow),
            S::If { condition, ref accept, ref reject } => {
                return self.branches(flow, condition, &[accept, reject]);
            }
            S::Switch { selector, ref cases } => return self.switch(flow, selector, cases),
            S::Loop { ref body, ref continuing, break_if } => {
                return self.repeat(&flow, body, continuing, break_if);
            }
            S::Break => return Exits { breaks: Some(flow), ..Exits::default() },
            S::Continue => return Exits { continues: Some(flow), ..Exits::default() },
            S::Return { value } => {
                let value = value.map(|value| self.value(value)).unwrap_or_default();
                self.summary.result = self.summary.result.and(value).and(flow.control);
                self.leave(&flow);
                return Exits { returns: true, ..Exits::default() };
            }
            S::Kill => return Exits { returns: true, ..Exits::default() },
            S::Store { pointer, value } => self.store(pointer, self.value(value), &mut flow),
            S::ControlBarrier(barrier) => {
                let operation = match barrier {
                    Barrier::STORAGE => "storageBarrier",
                    Barrier::TEXTURE => "textureBarrier",
                    Barrier::SUB_GROUP => "subgroupBarrier",
                    _ => "workgroupBarrier",
                };
                self.operation(operation, flow.control, span);
            }
            S::WorkGroupUniformLoad { pointer, result } => {
                self.operation("workgroupUniformLoad", flow.control.and(self.value(pointer)), span);
                self.values[result.index()] = Dependence::default();
            }
            S::Atomic { result, .. } => self.set_differing(result, span),
            S::SubgroupBallot { result, .. } => {
                self.operation("subgroupBallot", flow.control, span);
                self.set_differing(Some(result), span);
            }
            S::SubgroupCollectiveOperation { result, .. } => {
                self.operation("an operation of a subgroup", flow.control, span);
                self.set_differing(Some(result), span);
            }
            S::SubgroupGather { mode, result, .. } => {
                let operation = match mode {
                    GatherMode::BroadcastFirst => "subgroupBroadcastFirst",
                    GatherMode::Broadcast(_) => "subgroupBroadcast",
                    _ => "subgroupShuffle",
                };
                self.operation(operation, flow.control, span);
                self.set_differing(Some(result), span);
            }
            S::Call { function, ref arguments, result } => {
                self.call(function, arguments, result, span, &mut flow);
            }
            _ => {}
        }
        Exits { next: Some(flow), ..Exits::default() }
    }

    fn operation(&mut self, operation: &'static str, dependence: Dependence, span: Span) {
        let of_subgroup = operation.contains("subgroup");
        self.require(dependence, &CollectiveOp { inputs: 0, operation, of_subgroup }, span, None);
    }

    fn set_differing(&mut self, result: Option<Handle<Expression>>, span: Span) {
        if let Some(result) = result {
            self.values[result.index()] = Dependence::differing(span);
        }
    }

    fn branches(&mut self, flow: Flow, condition: Handle<Expression>, branches: &[&Block]) -> Exits {
        let mut inside = flow.clone();
        inside.control = inside.control.and(self.value(condition));
        let mut exits = Exits::default();
        let mut next = None;
        let mut plain = true;
        for branch in branches {
            let mut after = self.block(branch, inside.clone());
            plain &= after.only_go_on();
            exits.add_leaving(&mut after);
            next = joined(next, after.next);
        }
        exits.next = next.map(|next| if plain { Flow { control: flow.control, ..next } } else { next });
        exits
    }

    fn switch(&mut self, flow: Flow, selector: Handle<Expression>, cases: &[naga::SwitchCase]) -> Exits {
        let mut inside = flow.clone();
        inside.control = inside.control.and(self.value(selector));
        let mut exits = Exits::default();
        let mut next = None;
        let mut falls = None;
        for case in cases {
            let start = joined(Some(inside.clone()), falls.take()).expect("bug: a flow is lost");
            let mut after = self.block(&case.body, start);
            if case.fall_through {
                falls = after.next.take();
            }
            next = joined(next, joined(after.next.take(), after.breaks.take()));
            exits.add_leaving(&mut after);
        }
        if !cases.iter().any(|case| case.value == SwitchValue::Default) {
            next = joined(next, Some(inside));
        }
        let plain = exits.only_go_on();
        exits.next = next.map(|next| if plain { Flow { control: flow.control, ..next } } else { next });
        exits
    }

    fn repeat(
        &mut self,
        flow: &Flow,
        body: &Block,
        continuing: &Block,
        break_if: Option<Handle<Expression>>,
    ) -> Exits {
        let mut head = flow.clone();
        loop {
            let mut exits = self.block(body, head.clone());
            let mut breaks = exits.breaks.take();
            let end = joined(exits.next.take(), exits.continues.take());
            let mut after = end.map(|end| self.block(continuing, end)).unwrap_or_default();
            let mut back = after.next.take();
            if let (Some(condition), Some(back)) = (break_if, &mut back) {
                back.control = back.control.and(self.value(condition));
                breaks = joined(breaks, Some(back.clone()));
            }
            let next_head = joined(Some(flow.clone()), back).expect("bug: a flow is lost");
            let next_head = next_head.and(&head);
            if next_head != head {
                head = next_head;
                continue;
            }
            let returns = exits.returns || after.returns;
            let next = breaks.map(|breaks| {
                let control = if returns { breaks.control.and(head.control) } else { flow.control };
                Flow { control, ..breaks }
            });
            return Exits { next, returns, ..Exits::default() };
        }
    }

    fn call(
        &mut self,
        function: Handle<Function>,
        arguments: &[Handle<Expression>],
        result: Option<Handle<Expression>>,
        span: Span,
        flow: &mut Flow,
    ) {
        let summary = &self.summaries[function.index()];
        let inputs: Vec<Dependence> = std::iter::once(flow.control)
            .chain(arguments.iter().map(|&argument| self.value(argument)))
            .chain(arguments.iter().map(|&argument| match self.is_pointer(argument) {
                true => self.contents(argument, flow),
                false => Dependence::default(),
            }))
            .collect();
        let given = |wanted: u128| {
            let bit = |at: usize| 1_u128 << at.min(MAX_INPUTS);
            let wanted = inputs.iter().enumerate().filter(|(at, _)| wanted & bit(*at) != 0);
            wanted.fold(Dependence::default(), |all, (_, input)| all.and(*input))
        };
        let with_inputs = |known: Dependence| {
            Dependence { differs: known.differs.map(|_| span), inputs: 0 }.and(given(known.inputs))
        };
        let needs: Vec<_> = summary.needs.iter().map(|need| (given(need.inputs), need.clone())).collect();
        let value = with_inputs(summary.result);
        let contents: Vec<_> = summary.contents.iter().map(|contents| with_inputs(*contents)).collect();
        let name = self.module.functions[function].name.as_deref();
        for (dependence, need) in needs {
            self.require(dependence, &need, span, name);
        }
        if let Some(result) = result {
            self.values[result.index()] = value;
        }
        for (&argument, contents) in arguments.iter().zip(contents) {
            if self.is_pointer(argument) {
                let Some(variable) = self.variable(argument) else { continue };
                let is_whole = self.root(argument) == argument;
                let before = flow.variables[variable];
                flow.variables[variable] = if is_whole { contents } else { before.and(contents) };
            }
        }
    }

    fn is_pointer(&self, handle: Handle<Expression>) -> bool {
        match self.function.expressions[self.root(handle)] {
            Expression::LocalVariable(_) | Expression::GlobalVariable(_) => true,
            Expression::FunctionArgument(at) => {
                let ty = self.function.arguments[at as usize].ty;
                self.module.types[ty].inner.pointer_space().is_some()
            }
            _ => false,
        }
    }
}

/// Returns `true` for a built-in value that is the same for all invocations of a workgroup.
fn is_uniform(binding: &naga::Binding) -> bool {
    use BuiltIn as B;
    matches!(
        binding,
        naga::Binding::BuiltIn(
            B::WorkGroupId | B::NumWorkGroups | B::WorkGroupSize | B::SubgroupSize | B::NumSubgroups
        )
    )
}

/// Returns `true` for memory that a kernel does not write.
fn is_read_only(space: naga::AddressSpace) -> bool {
    use naga::AddressSpace as A;
    match space {
        A::Uniform | A::Immediate | A::Handle => true,
        A::Storage { access } => !access.contains(naga::StorageAccess::STORE),
        _ => false,
    }
}
