//! Walks over the expressions and statement lists of a tree.

use super::statement::Stmt;
use super::types::Type;
use super::{Argument, Expr, Node, Place, Space, Step, Tree};
use crate::tolerance::Tolerance;

/// Calls `found` with an expression and each expression in it.
pub(crate) fn expressions(expr: &mut Expr, found: &mut impl FnMut(&Expr)) {
    found(expr);
    for child in children(expr) {
        expressions(child, found);
    }
}

/// Returns the expressions directly in an expression.
pub(crate) fn children(expr: &mut Expr) -> Vec<&mut Expr> {
    match &mut expr.node {
        Node::Read(place) => indices(place),
        Node::Unary(_, of) | Node::Swizzle(of, _) => vec![of],
        Node::Binary(_, left, right) | Node::Element(left, right, _) => vec![left, right],
        Node::Builtin(_, of) | Node::Construct(of) => of.iter_mut().collect(),
        Node::Call(_, arguments) => {
            let values = arguments.iter_mut().filter_map(|argument| match argument {
                Argument::Value(value) => Some(value),
                Argument::Pointer(_) => None,
            });
            values.collect()
        }
        Node::Bool(_) | Node::I32(_) | Node::U32(_) | Node::F32(_) | Node::Zero => Vec::new(),
    }
}

/// Returns `true` if the expression is a call of a function that rounds.
fn rounds(expr: &Expr) -> bool {
    matches!(&expr.node, Node::Builtin(name, _) if Tolerance::of(name).is_some())
}

/// Returns the operands of an argument of a rounding function, without the operations that limit them.
fn free_operands(argument: &mut Expr) -> Vec<&mut Expr> {
    let limits = match &argument.node {
        Node::Builtin("clamp" | "abs", _) | Node::Construct(_) => true,
        Node::Binary("+", left, _) => matches!(left.node, Node::Builtin("abs", _)),
        _ => false,
    };
    if !limits {
        return vec![argument];
    }
    let is_construct = matches!(argument.node, Node::Construct(_));
    let mut operands = children(argument);
    if !is_construct {
        operands.truncate(1);
    }
    if operands.len() == 1 { operands.into_iter().flat_map(free_operands).collect() } else { operands }
}

fn indices(place: &mut Place) -> Vec<&mut Expr> {
    let indices = place.steps.iter_mut().filter_map(|step| match step {
        Step::Index(index, _) => Some(&mut **index),
        _ => None,
    });
    indices.collect()
}

/// Returns the expressions directly in a statement, and the lists of statements directly in it.
pub(crate) fn parts(stmt: &mut Stmt) -> (Vec<&mut Expr>, Vec<&mut Vec<Stmt>>) {
    match stmt {
        Stmt::Let(_, value)
        | Stmt::Call(value)
        | Stmt::Count(_, value)
        | Stmt::Own(_, _, value)
        | Stmt::OwnOfGroup(.., value) => (vec![value], Vec::new()),
        Stmt::Var(_, _, value) | Stmt::Return(value) => (value.iter_mut().collect(), Vec::new()),
        Stmt::Assign(place, _, value) => {
            let mut all = indices(place);
            if rounds(value) {
                all.extend(children(value).into_iter().flat_map(free_operands));
            } else {
                all.push(value);
            }
            (all, Vec::new())
        }
        Stmt::If(condition, yes, no) => (vec![condition], vec![yes, no]),
        Stmt::Switch(selector, cases, default) => {
            let mut lists: Vec<&mut Vec<Stmt>> = cases.iter_mut().map(|(_, body)| body).collect();
            lists.push(default);
            (vec![selector], lists)
        }
        Stmt::Loop(of) => {
            let mut all = vec![&mut of.bound];
            all.extend(&mut of.until);
            (all, vec![&mut of.body])
        }
        Stmt::Block(body) => (Vec::new(), vec![body]),
        Stmt::Pointer(_, place) => (indices(place), Vec::new()),
        Stmt::Exchange(_, value, body) => (vec![value], vec![body]),
        Stmt::Broadcast(of) => (vec![&mut of.value], Vec::new()),
        Stmt::Tally(of) => (vec![&mut of.condition, &mut of.index, &mut of.value, &mut of.seen], Vec::new()),
        Stmt::Swap(_, compared, value) | Stmt::SwapOfGroup(_, _, compared, value) => {
            (vec![compared, value], Vec::new())
        }
        Stmt::Break | Stmt::Continue => (Vec::new(), Vec::new()),
    }
}

/// Calls `found` with each list of statements of a tree, the outer ones first.
pub(crate) fn lists(tree: &mut Tree, found: &mut impl FnMut(&mut Vec<Stmt>)) {
    for function in &mut tree.functions {
        list(&mut function.body, found);
    }
    list(&mut tree.main, found);
}

fn list(body: &mut Vec<Stmt>, found: &mut impl FnMut(&mut Vec<Stmt>)) {
    found(body);
    for stmt in body {
        for inner in parts(stmt).1 {
            list(inner, found);
        }
    }
}

/// Returns `true` if a compiler may evaluate a zero vector or the operand of an integer clamp.
pub(crate) fn has_known_zeros(tree: &mut Tree) -> bool {
    let mut known = has_unset_privates(tree);
    lists(tree, &mut |body| {
        known |= body.iter().any(|stmt| matches!(stmt, Stmt::Var(.., None)));
        for expr in body.iter_mut().flat_map(|stmt| parts(stmt).0) {
            expressions(expr, &mut |inner| match &inner.node {
                Node::Builtin("clamp" | "pack4xI8Clamp" | "pack4xU8Clamp", of) => {
                    known |= !of[0].ty.is_float() && !is_unknown(&of[0]);
                }
                Node::Zero => known |= !matches!(inner.ty, Type::Scalar(_)),
                _ => {}
            });
        }
    });
    known
}

/// Returns `true` if the value depends on a parameter.
fn is_unknown(expr: &Expr) -> bool {
    let part = if let Node::Binary("+", _, right) = &expr.node { right } else { expr };
    let mut unknown = false;
    expressions(&mut part.clone(), &mut |inner| {
        unknown |= matches!(&inner.node, Node::Read(place) if place.root.starts_with("params."));
    });
    unknown
}

/// Returns `true` if the program uses a private variable that the entry point does not set.
fn has_unset_privates(tree: &Tree) -> bool {
    let is_set = |name: &String| {
        let sets = |stmt: &Stmt| matches!(stmt, Stmt::Assign(place, "=", _) if place.root == *name && place.steps.is_empty());
        tree.main.iter().any(sets)
    };
    let text = super::print::functions(tree);
    let written = tree.globals.iter().filter(|global| global.space == Space::Private);
    let mut written = written.filter(|global| !super::print::NUMBERS.contains(&global.name.as_str()));
    written.any(|global| super::print::mentions(&text, &global.name) && !is_set(&global.name))
}

/// Returns `true` if every float of a tree is exact, so that each engine must give the same bits.
pub(crate) fn is_exact(tree: &mut Tree) -> bool {
    let mut exact = true;
    lists(tree, &mut |body| {
        for stmt in body {
            let is_free = match stmt {
                Stmt::If(..) | Stmt::Switch(..) | Stmt::Loop(_) => true,
                Stmt::Assign(_, _, value) => rounds(value),
                _ => false,
            };
            for expr in parts(stmt).0 {
                exact &= super::bounds::is_exact(expr) && (is_free || super::bounds::is_storable(expr));
            }
        }
    });
    exact
}
