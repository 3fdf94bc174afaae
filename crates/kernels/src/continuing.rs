//! Saves values of a loop's body for its `continuing` block.
//!
//! In GLSL, HLSL and MSL, naga 30 writes this block before the body, and computes the values of the body there, from
//! inputs that the body may have changed; the code may even be invalid. Here a local variable holds each value that the
//! block uses. A pointer cannot be stored, so it is computed again from stored indices.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use naga::front::Typifier;
use naga::proc::{ResolveContext, TypeResolution};
use naga::{Block, Expression, Function, Handle, LocalVariable, Module, Span, Statement, Type};

use crate::visit::{emit, for_each_function, inner_blocks, operands, parts};
use crate::wording::Diagnostic;

/// Rewrites a module so that no `continuing` block uses an expression of its loop's body.
pub(crate) fn spill_body_values(module: &mut Module) {
    for_each_function(module, 0, |module, function| {
        if let Some(changed) = changed(module, function) {
            *function = changed;
        }
    });
}

/// Returns the first value that a `continue` skips and that the `continuing` block of its loop uses. WGSL does not
/// allow this but naga does, and such a value differs between drivers.
pub(crate) fn skipped_value(module: &Module) -> Option<Diagnostic> {
    let functions = module.functions.iter().map(|(_, function)| function);
    let mut functions = functions.chain(module.entry_points.iter().map(|entry| &entry.function));
    functions.find_map(|function| {
        let span = skipped(function, &function.body)?;
        let message = "a `continue` skips this value, which the `continuing` block uses: declare it before the `continue`";
        Some(Diagnostic { message: message.into(), span })
    })
}

fn skipped(function: &Function, block: &Block) -> Option<Span> {
    for statement in block {
        if let Statement::Loop { body, continuing, break_if } = statement {
            let mut used = HashSet::new();
            expressions(function, continuing, &mut HashSet::new(), &mut used)?;
            used.extend(*break_if);
            let mut after = body.iter().skip_while(|statement| !has_continue(statement)).skip(1);
            let found = after.find_map(|statement| {
                let mut made = HashSet::new();
                expressions(
                    function,
                    &Block::from_vec(vec![statement.clone()]),
                    &mut made,
                    &mut HashSet::new(),
                )?;
                made.into_iter().filter(|value| used.contains(value)).min()
            });
            if let Some(value) = found {
                return Some(function.expressions.get_span(value));
            }
        }
        let found = blocks(statement).into_iter().find_map(|inner| skipped(function, inner));
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Returns `true` if a statement may continue with the next iteration of the surrounding loop.
fn has_continue(statement: &Statement) -> bool {
    match statement {
        Statement::Continue => true,
        Statement::Loop { .. } => false,
        _ => blocks(statement).into_iter().any(|inner| inner.iter().any(has_continue)),
    }
}

fn blocks(statement: &Statement) -> Vec<&Block> {
    match statement {
        Statement::Block(block) => vec![block],
        Statement::If { accept, reject, .. } => vec![accept, reject],
        Statement::Loop { body, continuing, .. } => vec![body, continuing],
        Statement::Switch { cases, .. } => cases.iter().map(|case| &case.body).collect(),
        _ => Vec::new(),
    }
}

/// Uses of values across the loops of a function. Loops are numbered in the order of the text.
#[derive(Default)]
struct Loops {
    /// For each expression, the loops whose `continuing` blocks evaluate it, the outer ones first.
    around: HashMap<Handle<Expression>, Vec<usize>>,
    /// For each loop, the expressions of its body that its `continuing` block uses.
    used: Vec<BTreeSet<Handle<Expression>>>,
}

/// Returns the function with local variables for such values, or `None` if there are none.
fn changed(module: &mut Module, function: &Function) -> Option<Function> {
    let mut loops = Loops::default();
    loops.find(function, &function.body, &[])?;
    if loops.used.iter().all(BTreeSet::is_empty) {
        return None;
    }
    let context = ResolveContext::with_locals(module, &function.local_variables, &function.arguments);
    let mut types = Typifier::new();
    let (last, _) = function.expressions.iter().next_back()?;
    types.grow(last, &function.expressions, &context).ok()?;
    let kept: BTreeSet<_> = loops.used.iter().flatten().copied().collect();
    let values = kept.iter().filter(|&&value| types.get(value, &module.types).pointer_space().is_none());
    let resolutions: Vec<_> = values.map(|&value| (value, types[value].clone())).collect();
    let mut keeper = Keeper {
        loops: &loops,
        function,
        new: Function::default(),
        map: Vec::new(),
        kept: BTreeMap::new(),
        again: HashMap::new(),
    };
    keeper.new = Function { body: Block::new(), expressions: naga::Arena::new(), ..function.clone() };
    for (value, ty) in resolutions {
        let ty = handle(module, ty);
        let local = LocalVariable { name: Some("kept".into()), ty, init: None };
        keeper.kept.insert(value, keeper.new.local_variables.append(local, Span::UNDEFINED));
    }
    keeper.copy()
}

/// Returns the handle of a type.
fn handle(module: &mut Module, ty: TypeResolution) -> Handle<Type> {
    match ty {
        TypeResolution::Handle(handle) => handle,
        TypeResolution::Value(inner) => module.types.insert(Type { name: None, inner }, Span::UNDEFINED),
    }
}

impl Loops {
    /// Finds the loops of a block. `around` lists the loops whose `continuing` blocks contain it.
    fn find(&mut self, function: &Function, block: &Block, around: &[usize]) -> Option<()> {
        for statement in block {
            if let Statement::Emit(range) = statement {
                self.around.extend(range.clone().map(|expression| (expression, around.to_vec())));
            }
            if let Some(result) = parts(&mut statement.clone())?.result {
                self.around.insert(*result, around.to_vec());
            }
            let Statement::Loop { body, continuing, break_if } = statement else {
                for inner in inner_blocks(&mut statement.clone()) {
                    self.find(function, inner, around)?;
                }
                continue;
            };
            let number = self.used.len();
            let mut made = HashSet::new();
            let mut used = HashSet::new();
            expressions(function, body, &mut made, &mut HashSet::new())?;
            expressions(function, continuing, &mut HashSet::new(), &mut used)?;
            used.extend(*break_if);
            let mut wanted: BTreeSet<_> = used.intersection(&made).copied().collect();
            add_operands_of_pointers(function, &made, &mut wanted)?;
            self.used.push(wanted);
            self.find(function, body, around)?;
            self.find(function, continuing, &[around, &[number]].concat())?;
        }
        Some(())
    }
}

/// Collects the expressions that the statements of a block evaluate, and those that they use.
fn expressions(
    function: &Function,
    block: &Block,
    made: &mut HashSet<Handle<Expression>>,
    used: &mut HashSet<Handle<Expression>>,
) -> Option<()> {
    for statement in block {
        let mut statement = statement.clone();
        if let Statement::Emit(range) = &statement {
            for expression in range.clone() {
                made.insert(expression);
                used.extend(
                    operands(&mut function.expressions[expression].clone())?
                        .into_iter()
                        .map(|operand| *operand),
                );
            }
        }
        let parts = parts(&mut statement)?;
        used.extend(parts.uses.into_iter().map(|used| *used));
        made.extend(parts.result.map(|made| *made));
        for inner in inner_blocks(&mut statement) {
            expressions(function, inner, made, used)?;
        }
    }
    Some(())
}

/// Adds the expressions from which the wanted pointers are computed.
fn add_operands_of_pointers(
    function: &Function,
    made: &HashSet<Handle<Expression>>,
    wanted: &mut BTreeSet<Handle<Expression>>,
) -> Option<()> {
    let mut open: Vec<_> = wanted.iter().copied().collect();
    while let Some(expression) = open.pop() {
        // The type decides later if the value gets a variable. Extra values do no harm.
        if !matches!(
            function.expressions[expression],
            Expression::Access { .. } | Expression::AccessIndex { .. }
        ) {
            continue;
        }
        for operand in operands(&mut function.expressions[expression].clone())? {
            if made.contains(operand) && wanted.insert(*operand) {
                open.push(*operand);
            }
        }
    }
    Some(())
}

/// Copy of a function with a local variable for each value that is kept.
struct Keeper<'f> {
    loops: &'f Loops,
    function: &'f Function,
    new: Function,
    /// Copies of the expressions, in the order of their handles.
    map: Vec<Handle<Expression>>,
    /// Variable of each value that is kept.
    kept: BTreeMap<Handle<Expression>, Handle<LocalVariable>>,
    /// Replacement of an expression of the body in the `continuing` block, by loop and expression.
    again: HashMap<(usize, Handle<Expression>), Handle<Expression>>,
}

impl Keeper<'_> {
    fn copy(mut self) -> Option<Function> {
        let function = self.function;
        // The pointer to each variable, shared by stores and loads.
        let mut pointers = HashMap::new();
        for (&value, &local) in &self.kept {
            let pointer = self.new.expressions.append(Expression::LocalVariable(local), Span::UNDEFINED);
            pointers.insert(value, pointer);
        }
        let none = Vec::new();
        for (old, expression) in function.expressions.iter() {
            let span = function.expressions.get_span(old);
            let around = self.loops.around.get(&old).unwrap_or(&none);
            let copy = self.renamed(expression, around)?;
            let copy = self.new.expressions.append(copy, span);
            self.map.push(copy);
            for number in 0..self.loops.used.len() {
                if !self.loops.used[number].contains(&old) {
                    continue;
                }
                let again = match pointers.get(&old) {
                    Some(&pointer) => Expression::Load { pointer },
                    None => self.renamed(expression, &[around, &[number][..]].concat())?,
                };
                let again = self.new.expressions.append(again, span);
                self.again.insert((number, old), again);
            }
        }
        for (old, name) in &function.named_expressions {
            self.new.named_expressions.insert(self.map[old.index()], name.clone());
        }
        for local in function.local_variables.iter().map(|(handle, _)| handle) {
            if let Some(init) = function.local_variables[local].init {
                self.new.local_variables[local].init = Some(self.map[init.index()]);
            }
        }
        let mut number = 0;
        self.new.body = self.block(&function.body, &[], &mut number, &pointers)?;
        Some(self.new)
    }

    /// Returns the copy of an expression inside the `continuing` blocks of some loops.
    fn get(&self, old: Handle<Expression>, around: &[usize]) -> Handle<Expression> {
        let again = around.iter().rev().find_map(|&number| self.again.get(&(number, old)));
        again.copied().unwrap_or_else(|| self.map[old.index()])
    }

    fn renamed(&self, expression: &Expression, around: &[usize]) -> Option<Expression> {
        let mut copy = expression.clone();
        for operand in operands(&mut copy)? {
            *operand = self.get(*operand, around);
        }
        Some(copy)
    }

    fn block(
        &self,
        block: &Block,
        around: &[usize],
        number: &mut usize,
        pointers: &HashMap<Handle<Expression>, Handle<Expression>>,
    ) -> Option<Block> {
        let mut copy = Block::new();
        let keep = |old: Handle<Expression>, copy: &mut Block, span: Span| {
            if let Some(&pointer) = pointers.get(&old) {
                copy.push(Statement::Store { pointer, value: self.map[old.index()] }, span);
            }
        };
        for (statement, &span) in block.span_iter() {
            if let Statement::Emit(range) = statement {
                let mut together = Vec::new();
                for old in range.clone() {
                    together.push(self.map[old.index()]);
                    if pointers.contains_key(&old) {
                        emit(&std::mem::take(&mut together), span, &mut copy);
                        keep(old, &mut copy, span);
                    }
                }
                emit(&together, span, &mut copy);
                continue;
            }
            let mut new = statement.clone();
            let mut made = None;
            let parts = parts(&mut new)?;
            // The condition of a loop is part of its `continuing` block.
            let own = *number;
            let mut inside = around.to_vec();
            if matches!(statement, Statement::Loop { .. }) {
                inside.push(own);
                *number += 1;
            }
            for used in parts.uses {
                *used = self.get(*used, &inside);
            }
            if let Some(result) = parts.result {
                made = Some(*result);
                *result = self.map[result.index()];
            }
            match &mut new {
                Statement::Loop { body, continuing, .. } => {
                    *body = self.block(body, around, number, pointers)?;
                    let again: Vec<_> =
                        self.loops.used[own].iter().map(|&old| self.again[&(own, old)]).collect();
                    let mut first = Block::new();
                    emit(&again, span, &mut first);
                    let rest = self.block(continuing, &inside, number, pointers)?;
                    for (statement, span) in rest.span_into_iter() {
                        first.push(statement, span);
                    }
                    *continuing = first;
                }
                other => {
                    for inner in inner_blocks(other) {
                        *inner = self.block(inner, around, number, pointers)?;
                    }
                }
            }
            copy.push(new, span);
            if let Some(made) = made {
                keep(made, &mut copy, span);
            }
        }
        Some(copy)
    }
}
