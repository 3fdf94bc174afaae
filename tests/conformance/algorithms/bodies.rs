//! A01, G11: each verb in the bodies of conditions and loops, against the same calls on a queue.

use super::verb_table::{Arrays, LIMIT, UNWRITTEN, Verb, table};
use super::verbs::part_of_table;
use super::*;
use fencepost::graph::Contents;
use std::cell::RefCell;

pub fn cases() -> Vec<Case> {
    let loaded = case("a01_each_verb_in_a_body_has_the_same_results_in_a_loaded_graph", loaded);
    vec![
        case("a01_each_verb_in_a_body_of_each_kind_equals_that_of_a_queue", |s| {
            with_shares(s, || in_bodies(s))
        })
        .within(LIMIT),
        loaded.native_only("a file has the same nodes for each adapter").within(LIMIT),
        case("a01_each_verb_that_returns_a_value_is_refused_in_a_body", refused).host_side(),
    ]
}

/// Number of elements: several shares of a reduction. The CPU recorder interprets the kernels of fewer elements.
fn elements(s: &Subject) -> usize {
    if s.is_cpu() { 320 } else { 20_480 }
}

/// Returns the verbs that may be captured, in a plain run a part of them.
fn verbs(s: &Subject, turn: usize) -> impl Iterator<Item = Verb> {
    part_of_table(s, turn).filter(|verb| !verb.returns)
}

/// Number of replays, and in each of them the iterations of the `repeat` and of the `while_`, and the condition of the
/// `if_else`.
const REPLAYS: [[u32; 3]; 2] = [[2, 1, 1], [0, 2, 0]];

fn in_bodies(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let n = elements(s);
    let [mut bodies, mut eager] = [(); 2].map(|()| [(); 3].map(|()| Arrays::new(&ctx, n)));
    let words = [(); 3].map(|()| queue.full([1], 0_u32).unwrap());
    let [count, left, flag] = &words;
    let one = queue.full([1], 1_u32).unwrap();
    for verb in verbs(s, 0) {
        let name = verb.id;
        let (graph, ()) = queue
            .capture(|c| {
                let [repeated, looped, chosen] = &mut bodies;
                c.repeat(count, Bound::AtMost(2), |body| verb.call(body, repeated))?;
                c.while_(left, Bound::AtMost(2), |body| {
                    verb.call(body, looped)?;
                    body.axpy(u32::MAX, &one, &mut left.clone())
                })?;
                let chosen = RefCell::new(chosen);
                let call = |body: &CommandQueue| verb.call(body, &mut chosen.borrow_mut());
                c.if_else(flag, |body| call(body), |body| call(body))
            })
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        for (round, counts) in REPLAYS.into_iter().enumerate() {
            bodies.iter_mut().chain(&mut eager).for_each(|arrays| arrays.begin(&queue, round as u32));
            for (word, count) in words.iter().zip(counts) {
                queue.fill(&mut word.clone(), count).unwrap();
            }
            queue.replay(&graph).unwrap();
            // One half of the `if_else` calls the verb in each replay.
            let calls = [counts[0], counts[1], 1];
            for (arrays, calls) in eager.iter_mut().zip(calls) {
                (0..calls).for_each(|_| verb.call(&queue, arrays).unwrap());
            }
            for (construct, (bodies, eager)) in
                ["repeat", "while_", "if_else"].into_iter().zip(bodies.iter().zip(&eager))
            {
                let found = bodies.read(&queue);
                assert!(found == eager.read(&queue), "{name} in `{construct}`, replay {round}");
                let is_written = found.iter().flatten().any(|&word| word != UNWRITTEN);
                assert!(round > 0 || is_written, "{name} in `{construct}` writes nothing");
            }
        }
    }
}

fn loaded(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let [mut saved, mut eager] = [(); 2].map(|()| Arrays::new(&ctx, elements(s)));
    for verb in verbs(s, 1) {
        let name = verb.id;
        let (graph, ()) = queue
            .capture(|c| {
                let count = c.array(&[2_u32])?;
                c.repeat(&count, Bound::AtMost(3), |body| verb.call(body, &mut saved))?;
                for (at, result) in saved.results().into_iter().enumerate() {
                    c.read_as(&at.to_string(), result)?;
                }
                Ok(())
            })
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        [&mut saved, &mut eager].into_iter().for_each(|arrays| arrays.begin(&queue, 1));
        // The file has the elements of the arrays before the first replay.
        let file = graph.to_bytes_with(Contents::Included).unwrap_or_else(|error| panic!("{name}: {error}"));
        let loaded = Graph::from_bytes(&ctx, &file).unwrap_or_else(|error| panic!("{name}: {error}"));
        let run = queue.replay(&loaded).unwrap();
        let found = [0, 1, 2, 3, 4, 5].map(|at: usize| {
            let output = loaded.output::<u32>(&at.to_string()).unwrap();
            run.read(&output).unwrap().wait().unwrap()
        });
        (0..2).for_each(|_| verb.call(&queue, &mut eager).unwrap());
        assert!(found == eager.read(&queue), "{name}");
    }
}

fn refused(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let flag = queue.full([1], 1_u32).unwrap();
    let mut arrays = Arrays::new(&ctx, 320);
    for verb in table().into_iter().filter(|verb| verb.returns) {
        let error = queue.if_(&flag, |body| verb.call(body, &mut arrays)).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::Captured { .. }), "{}: {error}", verb.id);
        verb.call(&queue, &mut arrays).unwrap();
    }
}
