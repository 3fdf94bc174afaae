//! G05: named values as arguments of launches that are checked at run time.

use crate::common::kernels::mix_by_text;
use crate::common::{Calls, Case, Subject, assert_error, assert_says, case};
use fencepost::graph::GraphValue;
use fencepost::prelude::*;
use fencepost::{Bound, ErrorDetail};

pub fn cases() -> Vec<Case> {
    vec![
        case("g05_a_launch_takes_a_named_value_by_name_or_by_position", by_name_and_position),
        case("g05_a_named_value_works_in_a_body_and_after_a_load", in_a_body),
        case("g05_a_named_value_outside_of_its_capture_is_an_error_by_name", outside),
    ]
}

const N: usize = 64;

fn by_name_and_position(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mixed = mix_by_text(&ctx).unwrap();
    let x = queue.full([N], 2_u32).unwrap();
    let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
    let (graph, ()) = queue.graph_of(|c| {
        let a = c.value("a", 3_u32)?;
        let b = c.value("b", 1_u32)?;
        c.launch_dyn(&mixed, Grid::threads([N]), args![b = &b, a = &a, x = &x, y = &mut y])?;
        c.launch_dyn(&mixed, Grid::threads([N]), args![&a, 10_u32, &x, &mut y])
    });
    // Eager launches are the reference.
    let expected = |a: u32, b: u32| {
        let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
        queue.launch_dyn(&mixed, Grid::threads([N]), args![a = a, b = b, x = &x, y = &mut y]).unwrap();
        queue.launch_dyn(&mixed, Grid::threads([N]), args![a = a, b = 10_u32, x = &x, y = &mut y]).unwrap();
        queue.read(&y).wait().unwrap()
    };
    let mut clear = y.clone();
    for (bound, a, b) in [
        (graph.with(), 3, 1),
        (graph.with().value("a", 7_u32).unwrap(), 7, 1),
        (graph.with().value("b", 5_u32).unwrap().value("a", 2_u32).unwrap(), 2, 5),
        (graph.with(), 3, 1),
    ] {
        queue.fill(&mut clear, 0).unwrap();
        assert_eq!(queue.read_after(&bound, &y), expected(a, b), "{a} {b}");
    }
}

fn in_a_body(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mixed = mix_by_text(&ctx).unwrap();
    let (graph, _) = queue.graph_of(|c| {
        let b = c.value("b", 1_u32)?;
        let x = c.zeros::<u32, 1>([N])?;
        let mut y = c.zeros::<u32, 1>([N])?;
        let count = c.array(&[3_u32])?;
        c.repeat(&count, Bound::AtMost(4), |body| {
            body.launch_dyn(&mixed, Grid::threads([N]), args![a = 1_u32, b = &b, x = &x, y = &mut y])
        })?;
        c.read_as("y", &y)
    });
    for graph in [Graph::from_bytes(&ctx, &graph.to_bytes().unwrap()).unwrap(), graph] {
        let y = graph.output::<u32>("y").unwrap();
        for b in [1, 4, 1] {
            assert_eq!(queue.output_of(&graph.with().value("b", b).unwrap(), &y), [3 * b; N]);
        }
    }
}

fn outside(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mixed = mix_by_text(&ctx).unwrap();
    let x = queue.full([N], 2_u32).unwrap();
    let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
    let (_, gain): (_, GraphValue<u32>) = queue.capture(|c| c.value("gain", 3_u32)).unwrap();
    let mut launch = |queue: &CommandQueue| {
        queue.launch_dyn(&mixed, Grid::threads([N]), args![a = &gain, b = 0_u32, x = &x, y = &mut y])
    };
    let error = assert_error!(launch(&queue), ErrorDetail::Graph { .. });
    assert!(error.to_string().contains("value `gain` is a value of a graph"), "{error}");
    assert_says(queue.capture(|c| launch(c)), "value `gain` belongs to another capture");
    let error = queue
        .capture(|c| {
            let half = c.value("half", 0.5_f32)?;
            c.launch_dyn(&mixed, Grid::threads([N]), args![a = &half, b = 0_u32, x = &x, y = &mut y.clone()])
        })
        .unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Kernel(_)), "{error}");
    assert!(error.to_string().contains("argument `a`") && error.to_string().contains("f32"), "{error}");
    assert_eq!(queue.read(&y).wait().unwrap(), [0; N], "nothing was launched");
    // The queue and the kernel work after the errors.
    queue.launch_dyn(&mixed, Grid::threads([N]), args![a = 0_u32, b = 6_u32, x = &x, y = &mut y]).unwrap();
    assert_eq!(queue.read(&y).wait().unwrap(), [8; N]);
}
