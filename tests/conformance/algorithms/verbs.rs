//! A01: each verb, captured on two forked queues and replayed with changed inputs.

use super::verb_table::{Arrays, table};
use crate::common::full::large;
use crate::common::{Case, Subject, case};
use fencepost::algorithms::prelude::*;
use fencepost::{ErrorDetail, Policy, Result};

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_each_verb_on_two_forked_queues_of_a_graph_equals_that_of_a_queue", captured),
        case("a01_each_verb_that_returns_a_value_is_refused_in_a_capture", refused),
        case("a01_a_hazard_of_a_verb_names_the_verb_and_its_argument", hazards),
    ]
}

fn captured(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    for n in if large() { vec![320, 20_480] } else { vec![320] } {
        let [mut graphs, mut eager] = [(); 2].map(|()| [(); 2].map(|()| Arrays::new(&ctx, n)));
        for verb in table().into_iter().filter(|verb| !verb.returns) {
            let name = verb.name;
            let (graph, ()) = queue
                .capture(|c| {
                    let forks = [c.fork("one"), c.fork("two")];
                    for (fork, arrays) in forks.iter().zip(&mut graphs) {
                        verb.call(fork, arrays)?;
                    }
                    forks.iter().try_for_each(|fork| c.wait_for(fork))
                })
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            for round in 0..3 {
                for (side, arrays) in (0..2).cycle().zip(graphs.iter_mut().chain(&mut eager)) {
                    arrays.begin(&queue, 2 * round + side);
                }
                queue.replay(&graph).unwrap();
                eager.iter_mut().for_each(|arrays| verb.call(&queue, arrays).unwrap());
                for (side, (graph, eager)) in graphs.iter().zip(&eager).enumerate() {
                    let found = graph.read(&queue);
                    assert!(found == eager.read(&queue), "{name}, {n} elements, round {round}, queue {side}");
                    assert!(found.iter().flatten().any(|&word| word != 9), "{name} writes nothing");
                }
            }
        }
    }
}

fn refused(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut arrays = Arrays::new(&ctx, 320);
    for verb in table().into_iter().filter(|verb| verb.returns) {
        let name = verb.name;
        let error = queue.capture(|c| verb.call(c, &mut arrays)).map(drop).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::Captured { .. }), "{name}: {error}");
        verb.call(&queue, &mut arrays).unwrap();
    }
}

fn hazards(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let one = ctx.queue("one");
    let two = ctx.queue("two");
    let x = one.zeros::<u32, 1>([100]).unwrap();
    let out = two.zeros::<u32, 1>([100]).unwrap();
    let offsets = two.zeros::<u32, 1>([3]).unwrap();
    two.wait_for(&one).unwrap();
    one.fill(&mut x.clone(), 1).unwrap();
    let sorts: [(&str, &dyn Fn() -> Result<()>); 4] = [
        ("read by verb `sort` with argument `x`", &|| two.sort(&x, &mut out.clone(), Sort::ascending())),
        ("write by verb `sort` with argument `out`", &|| two.sort(&out, &mut x.clone(), Sort::ascending())),
        ("write by verb `sort_in_place` with argument `x`", &|| {
            two.sort_in_place(&mut x.clone(), Sort::ascending())
        }),
        ("read by verb `sort` with argument `x`", &|| {
            two.sort(x.segments(&offsets), &mut out.clone(), Sort::ascending())
        }),
    ];
    for (named, sort) in sorts {
        let error = sort().unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::Hazard { .. }), "{error}");
        assert!(error.to_string().contains(named), "{named}: {error}");
    }
}
