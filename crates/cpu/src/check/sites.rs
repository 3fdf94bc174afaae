//! The instructions of a program, as a check needs them.

use super::operands::Check;
use crate::interpret::{Interpreter, Site};
use crate::program::Program;
use naga::valid::FunctionInfo;
use naga::{Barrier, Block, Expression, Function, Handle, Span, Statement, TypeInner, VectorSize};
use rustc_hash::FxHashMap;

/// A vector in memory, of which an instruction accesses a component.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vector {
    /// Alignment of the vector's first byte.
    pub(super) alignment: u64,
    pub(super) bytes: u64,
}

/// Instructions of all functions, each with a number. Created once per kernel.
pub(crate) struct Sites {
    /// Number of each function's first instruction.
    first: Vec<u32>,
    spans: Vec<Span>,
    checks: Vec<Check>,
    /// Vector of each instruction whose pointer names a component.
    vectors: Vec<Option<Vector>>,
    /// Barriers, by function and by the first byte of the statement in the shader.
    barriers: FxHashMap<(usize, usize), Barrier>,
}

impl Sites {
    /// Lists the instructions of a program.
    pub(crate) fn new(program: &Program, interpreter: &Interpreter) -> Self {
        let mut first = Vec::new();
        let mut spans = Vec::new();
        let mut checks = Vec::new();
        let mut vectors = Vec::new();
        let mut barriers = FxHashMap::default();
        for number in 0..interpreter.functions() {
            let function = interpreter.function(number);
            let info = info(program, number);
            first.push(spans.len() as u32);
            for (expression, span) in interpreter.origins(number) {
                spans.push(span);
                vectors.push(expression.and_then(|at| vector(program, function, info, at)));
                checks.push(expression.map_or(Check::None, |at| Check::new(program, function, info, at)));
            }
            for (flags, span) in barriers_of(&function.body) {
                barriers.insert((number, start(span)), flags);
            }
        }
        Self { first, spans, checks, vectors, barriers }
    }

    /// Returns the number of an instruction.
    pub(super) fn number(&self, site: &Site) -> u32 {
        self.first[site.function] + site.op as u32
    }

    /// Returns the span of an instruction.
    pub(super) fn span(&self, number: u32) -> Span {
        self.spans[number as usize]
    }

    /// Returns the check of an instruction's operands.
    pub(super) fn check(&self, number: u32) -> &Check {
        &self.checks[number as usize]
    }

    /// Returns the vector of an instruction that has a pointer to one of its components.
    pub(super) fn vector(&self, number: u32) -> Option<Vector> {
        self.vectors[number as usize]
    }

    /// Returns the memory that a barrier orders.
    pub(super) fn barrier(&self, site: &Site) -> Barrier {
        let span = self.span(self.number(site));
        self.barriers.get(&(site.function, start(span))).copied().unwrap_or(Barrier::all())
    }
}

/// Returns naga's analysis of the function with this number.
pub(super) fn info(program: &Program, function: usize) -> &FunctionInfo {
    let handle = program.module().functions.iter().nth(function).map(|(handle, _)| handle);
    handle.map_or_else(
        || program.info().get_entry_point(program.entry_index()),
        |handle| &program.info()[handle],
    )
}

/// Returns the vector of an expression that points to one of its components.
fn vector(
    program: &Program,
    function: &Function,
    info: &FunctionInfo,
    pointer: Handle<Expression>,
) -> Option<Vector> {
    let (Expression::Access { base, .. } | Expression::AccessIndex { base, .. }) =
        function.expressions[pointer]
    else {
        return None;
    };
    let types = &program.module().types;
    let (size, scalar) = match *info[base].ty.inner_with(types) {
        TypeInner::ValuePointer { size: Some(size), scalar, .. } => (size, scalar),
        TypeInner::Pointer { base, .. } => match types[base].inner {
            TypeInner::Vector { size, scalar } => (size, scalar),
            _ => return None,
        },
        _ => return None,
    };
    let width = u64::from(scalar.width);
    let alignment = if size == VectorSize::Bi { 2 * width } else { 4 * width };
    Some(Vector { alignment, bytes: size as u64 * width })
}

fn start(span: Span) -> usize {
    span.to_range().map_or(usize::MAX, |range| range.start)
}

/// Lists the barriers of a block and of all blocks in it.
fn barriers_of(block: &Block) -> Vec<(Barrier, Span)> {
    let mut todo = vec![block];
    let mut found = Vec::new();
    while let Some(block) = todo.pop() {
        for (statement, &span) in block.span_iter() {
            match statement {
                Statement::ControlBarrier(flags) => found.push((*flags, span)),
                Statement::WorkGroupUniformLoad { .. } => found.push((Barrier::WORK_GROUP, span)),
                Statement::Block(block) => todo.push(block),
                Statement::If { accept, reject, .. } => todo.extend([accept, reject]),
                Statement::Switch { cases, .. } => todo.extend(cases.iter().map(|case| &case.body)),
                Statement::Loop { body, continuing, .. } => todo.extend([body, continuing]),
                _ => {}
            }
        }
    }
    found
}
