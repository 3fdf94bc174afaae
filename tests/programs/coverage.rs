//! Checks that the drawn programs contain every kind of operation and every case.

use super::generate::{Style, program};
use super::kinds::KINDS;
use super::legal::Legal;
use super::op::{How, Kernel, Op, Pick, Scope, Ty};
use super::oracle::Oracle;
use fastrand::Rng;
use fencepost::Policy;
use std::collections::BTreeMap;

/// Number of programs that an adapter runs under one policy.
const SEEDS: u64 = 100;

/// Function that checks if an operation, at its position in a program, is an instance of the case.
type Is = fn(&Op, &Legal, &Oracle) -> bool;

/// Cases of operations that must occur, besides the kinds.
const CASES: &[(&str, Is)] = &[
    ("an indirect launch of a workgroup", |op, _, oracle| groups(op, oracle).is_some_and(|count| count > 0)),
    ("an indirect launch of nothing", |op, _, oracle| groups(op, oracle) == Some(0)),
    ("numbers of workgroups that a kernel writes", |op, legal, _| writes(op, legal, Ty::Groups)),
    ("f32 that a kernel writes", |op, legal, _| writes(op, legal, Ty::F32)),
    ("a kernel that sees padding", |op, legal, _| {
        launched(op).is_some_and(|kernel| sees_padding(kernel, legal))
    }),
    ("a map of padding", |op, legal, _| match op {
        Op::MapRead { part, .. } | Op::MapWrite { part, .. } => is_padded(part.a, legal),
        _ => false,
    }),
    ("a region of a padded table", |op, legal, _| match op {
        Op::CopyRegion { src, dst, .. } => is_padded(src.a(), legal) && is_padded(dst.a(), legal),
        _ => false,
    }),
    ("a region of two dimensions with steps", |op, _, _| match op {
        Op::CopyRegion { src: Pick::Window(x), dst: Pick::Window(y), .. } => {
            x.rows.count > 1 && x.cols.count > 1 && x.cols.step != y.cols.step
        }
        _ => false,
    }),
    ("a region of a table to one of a plain array", |op, _, _| {
        matches!(op, Op::CopyRegion { src: Pick::Window(_), dst: Pick::Steps(_), .. })
    }),
    ("a copy within a table", |op, _, _| matches!(op, Op::CopyRows { src, dst, .. } if src.a == dst.a)),
    ("an encoded copy", |op, _, _| matches!(op, Op::Encode { src: Some(_), .. })),
    ("an encoded clearing", |op, _, _| matches!(op, Op::Encode { src: None, .. })),
    ("a scope that waits for the queue that was made current", |op, _, _| {
        matches!(op, Op::Within { before: Some(before), scopes, .. }
            if scopes.first().is_some_and(|scope| scope.waits && scope.q != *before))
    }),
    (
        "a scope that waits for an outer one",
        |op, _, _| matches!(op, Op::Within { scopes, .. } if matches!(scopes[..], [Scope { q, .. }, inner] if inner.waits && inner.q != q)),
    ),
    (
        "a scope that does not wait",
        |op, _, _| matches!(op, Op::Within { before: Some(_), scopes, .. } if scopes.iter().any(|scope| !scope.waits)),
    ),
    ("a verb in the current queue", |op, _, _| matches!(op, Op::Within { scopes, .. } if scopes.is_empty())),
    ("a wait for an event of the other context", |op, legal, _| match op {
        Op::WaitFor { q, events } => events.iter().any(|e| legal.event_homes[e] != legal.homes[q]),
        _ => false,
    }),
    ("a copy from another context", |op, legal, _| {
        across(op, legal).is_some_and(|(q, [_, to])| legal.homes[&q] == legal.arrays[&to].home)
    }),
    ("a copy to another context", |op, legal, _| {
        across(op, legal).is_some_and(|(q, [from, _])| legal.homes[&q] == legal.arrays[&from].home)
    }),
    ("a region copied between contexts", |op, legal, _| {
        matches!(op, Op::CopyRegion { .. }) && across(op, legal).is_some()
    }),
    ("rows copied between contexts", |op, legal, _| {
        matches!(op, Op::CopyRows { .. }) && across(op, legal).is_some()
    }),
];

fn launched(op: &Op) -> Option<&Kernel> {
    if let Op::Launch { kernel, .. } = op.verb() { Some(kernel) } else { None }
}

fn groups(op: &Op, oracle: &Oracle) -> Option<usize> {
    match op.verb() {
        Op::Launch { how: how @ How::Indirect(_), .. } => oracle.invocations(*how),
        _ => None,
    }
}

fn writes(op: &Op, legal: &Legal, ty: Ty) -> bool {
    launched(op).is_some_and(|kernel| legal.arrays[&kernel.parts().1.a].ty == ty)
}

fn is_padded(a: usize, legal: &Legal) -> bool {
    legal.arrays[&a].frame.is_some_and(|frame| frame.is_padded())
}

fn sees_padding(kernel: &Kernel, legal: &Legal) -> bool {
    let (reads, write) = kernel.parts();
    reads.into_iter().chain([write]).any(|part| is_padded(part.a, legal))
}

/// Returns the queue, the source and the target of a copy between two contexts.
fn across(op: &Op, legal: &Legal) -> Option<(usize, [usize; 2])> {
    let arrays = match op.verb() {
        Op::Copy { src, dst, .. } => [src.a, dst.a],
        Op::CopyRegion { src, dst, .. } => [src.a(), dst.a()],
        Op::CopyRows { src, dst, .. } => [src.a, dst.a],
        _ => return None,
    };
    let [from, to] = arrays.map(|a| legal.arrays[&a].home);
    (from != to).then_some((op.queue()?, arrays))
}

/// Checks that every kind of operation, and every case, occurs in the programs that an adapter runs.
pub fn run() -> Result<(), String> {
    let mut seen = BTreeMap::new();
    for seed in 0..SEEDS {
        note(&program(&mut Rng::with_seed(seed), Style::of_seed(seed, Policy::Ordered)), &mut seen);
    }
    let names = KINDS.iter().chain(CASES.iter().map(|(name, _)| name));
    let missing: Vec<_> = names.filter(|name| !seen.contains_key(**name)).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("in {SEEDS} programs there is no {missing:?}")) }
}

fn note(ops: &[Op], seen: &mut BTreeMap<&'static str, usize>) {
    let mut legal = Legal::default();
    let mut oracle = Oracle::default();
    for op in ops {
        let cases = CASES.iter().filter(|(_, is)| is(op, &legal, &oracle)).map(|(name, _)| *name);
        cases.chain([op.kind()]).for_each(|name| *seen.entry(name).or_default() += 1);
        legal.apply(op);
        oracle.apply(op);
    }
}
