//! A01: each verb, captured on two forked queues and replayed with changed inputs, and between elements that it may not
//! read or write.

use super::verb_table::{Arrays, EXTREMES, Inputs, LIMIT, UNWRITTEN, Verb, table};
use super::*;
use crate::common::full::full;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_each_verb_on_two_forked_queues_of_a_graph_equals_that_of_a_queue", captured).within(LIMIT),
        case("a01_each_verb_reads_its_arguments_alone_and_writes_its_results_alone", guards).within(LIMIT),
        case("a01_each_verb_that_returns_a_value_is_refused_in_a_capture", refused),
        case("a01_a_verb_with_a_hazard_enqueues_nothing", hazard).within(LIMIT),
        case("a01_a_hazard_of_a_verb_names_the_verb_and_its_argument", hazards),
    ]
}

/// Numbers of rows and of elements: one element, elements of one workgroup, and rows of whole groups; then rows of several
/// shares, and many short rows.
const SHAPES: [(usize, usize); 5] = [(1, 1), (7, 343), (5, 400), (2, 2 * 16_385), (1103, 5 * 1103)];

/// Returns the shapes. The last ones are for the full suite.
fn shapes() -> &'static [(usize, usize)] {
    if large() { &SHAPES } else { &SHAPES[..3] }
}

/// Returns the verbs of a case that takes long: every verb in the full suite, and a third of them in a plain run. Cases with
/// different turns take different verbs. GL has a twelfth, because its driver takes seconds to compile the kernels of a verb.
pub(super) fn part_of_table(s: &Subject, turn: usize) -> impl Iterator<Item = Verb> {
    let parts = if s.place().is_gl() { 12 } else { 3 };
    let all = table().into_iter().enumerate();
    all.filter(move |(at, _)| full() || at % parts == turn).map(|(_, verb)| verb)
}

/// Returns the verbs that may be captured, in a plain run a part of them.
fn verbs(s: &Subject, turn: usize) -> impl Iterator<Item = Verb> {
    part_of_table(s, turn).filter(|verb| !verb.returns)
}

fn captured(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    for &(rows, n) in shapes() {
        let [mut graphs, mut eager] = [(); 2].map(|()| [(); 2].map(|()| Arrays::with_rows(&ctx, rows, n)));
        let inputs: Vec<[Inputs; 2]> =
            (0..3).map(|round| [0, 1].map(|side| Inputs::new(rows, n, 2 * round + side))).collect();
        for verb in verbs(s, 0) {
            let name = verb.id;
            let (graph, ()) = queue
                .capture(|c| {
                    let forks = [c.fork("one"), c.fork("two")];
                    for (fork, arrays) in forks.iter().zip(&mut graphs) {
                        verb.call(fork, arrays)?;
                    }
                    forks.iter().try_for_each(|fork| c.wait_for(fork))
                })
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            for (round, inputs) in inputs.iter().enumerate() {
                for (inputs, arrays) in inputs.iter().cycle().zip(graphs.iter_mut().chain(&mut eager)) {
                    arrays.begin_with(&queue, inputs);
                }
                queue.replay(&graph).unwrap();
                eager.iter_mut().for_each(|arrays| verb.call(&queue, arrays).unwrap());
                for (side, (graph, eager)) in graphs.iter().zip(&eager).enumerate() {
                    let found = graph.read(&queue);
                    assert!(found == eager.read(&queue), "{name}, {n} elements, round {round}, queue {side}");
                    // In the last round, the verbs that add to their results add zeros.
                    let writes = n == 1 || round > 0 || found.iter().flatten().any(|&word| word != UNWRITTEN);
                    assert!(writes, "{name} writes nothing");
                }
            }
        }
    }
}

fn guards(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    for &(rows, n) in shapes() {
        let mut alone = Arrays::with_rows(&ctx, rows, n);
        let inputs = Inputs::new(rows, n, 3);
        for guard in EXTREMES {
            let mut guarded = Arrays::guarded(&queue, rows, n, guard);
            for verb in verbs(s, 1) {
                let name = verb.id;
                alone.begin_with(&queue, &inputs);
                guarded.arrays.begin_with(&queue, &inputs);
                let before = guarded.unwritten(&queue);
                verb.call(&queue, &mut alone).unwrap();
                verb.call(&queue, &mut guarded.arrays).unwrap();
                let [found, expected] = [&guarded.arrays, &alone].map(|arrays| arrays.read(&queue));
                assert!(
                    found == expected,
                    "{name} of {n} elements depends on the elements around its arrays"
                );
                let after = guarded.unwritten(&queue);
                assert!(after == before, "{name} of {n} elements writes more than its results");
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
        let ErrorDetail::Captured { call, location, .. } = error.detail() else { panic!("{name}: {error}") };
        if name != "warm_up" {
            let remedy = "a capture executes nothing: call the verb with an array of one element";
            assert!(*call == "value_of" && error.to_string().contains(remedy), "{error}");
            assert!(location.file().ends_with("verb_table.rs"), "{error}");
        }
        verb.call(&queue, &mut arrays).unwrap();
    }
}

fn hazard(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let one = ctx.queue("one");
    let two = ctx.queue("two");
    two.full([1], 0_u32).unwrap(); // the dump has the queues with commands
    let enqueued = || dump::enqueued(&ctx, "two");
    for (rows, n) in [SHAPES[1], SHAPES[3]] {
        let mut arrays = Arrays::with_rows(&ctx, rows, n);
        // The checks of a verb find the hazard first with an input, and then, once these are ordered, with a result.
        arrays.begin(&one, 0);
        for of in ["an input", "a result"] {
            let before = enqueued();
            for verb in verbs(s, 2) {
                let error = (verb.alone)(&two, &mut arrays).unwrap_err();
                assert!(matches!(error.detail(), ErrorDetail::Hazard { .. }), "{}: {error}", verb.id);
                assert_eq!(enqueued(), before, "{} with a hazard of {of}", verb.id);
            }
            two.wait_for(&one).unwrap();
            arrays.refill(&one);
        }
        two.wait_for(&one).unwrap();
        for verb in verbs(s, 0) {
            let before = enqueued();
            verb.call(&two, &mut arrays).unwrap();
            assert!(enqueued() > before, "{}", verb.id);
        }
        two.finish().wait().unwrap();
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
        let error = assert_refused!(sort(), Hazard);
        assert!(error.to_string().contains(named), "{named}: {error}");
    }
}
