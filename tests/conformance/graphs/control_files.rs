//! G09: files of graphs with conditions and loops.

use crate::common::partners::partners;
use crate::common::{Calls, Case, NO_FILES, Subject, assert_error, case};
use crate::graphs::control::{ended, iterations_of};
use fencepost::prelude::*;
use fencepost::{Bound, Capture, ErrorDetail, Graph, Result};

pub fn cases() -> Vec<Case> {
    vec![
        case("g09_a_loop_of_a_thousand_iterations_is_a_small_file", small_file),
        case("g09_a_loaded_graph_continues_its_loop_in_chunks", chunked_file),
        case("g09_the_loops_of_a_loaded_graph_have_labels_and_an_order", labels),
        case("g09_a_loaded_graph_with_a_loop_can_be_edited_and_included", edited),
        case("g09_a_condition_may_be_an_input_of_a_loaded_graph", input_condition),
        case("g09_files_of_version_2_load", version_2),
        case("r05_files_that_the_fuzzer_found_harm_nothing", found).not_in_a_page(NO_FILES),
    ]
}

/// Captures a loop that counts `left` down, and adds to `sum` in each iteration.
fn count_down(c: &Capture, left: &DeviceArray<u32>, bound: Bound) -> Result<()> {
    let nothing = c.zeros::<u32, 1>([1])?;
    let mut sum = c.zeros::<u32, 1>([1])?;
    let rounds = c.while_(left, bound, |body| {
        body.mix(1, 3, &nothing, &mut sum)?;
        body.label_node("add")?;
        body.mix(1, u32::MAX, &nothing, &mut left.clone())
    })?;
    c.label_loop("rounds", &rounds)?;
    c.read_as("sum", &sum).map(drop)
}

/// Returns the graph of a loop of at most `bound` iterations, whose count starts with `start`.
fn looped(ctx: &Context, start: u32, bound: u32) -> Graph {
    looped_with(ctx, start, Bound::AtMost(bound))
}

fn looped_with(ctx: &Context, start: u32, bound: Bound) -> Graph {
    let captured = ctx.queue("main").capture(|c| {
        let left = c.array(&[start])?;
        count_down(c, &left, bound)
    });
    captured.unwrap().0
}

/// Returns the sum, the iterations, and `true` if the bound was reached.
fn run(ctx: &Context, graph: &Graph) -> (u32, u32, bool) {
    let run = ctx.queue("replays").replay(graph).unwrap();
    let sum = graph.output::<u32>("sum").unwrap();
    let rounds = graph.loop_("rounds").unwrap();
    let sum = run.read(&sum).unwrap().wait().unwrap()[0];
    let (iterations, reached) = ended(&run, &rounds);
    (sum, iterations, reached)
}

fn small_file(subject: &Subject) {
    let ctx = subject.ctx();
    let short = looped(&ctx, 3, 4).to_bytes().unwrap();
    let graph = looped(&ctx, 5, 1000);
    assert_eq!(graph.nodes(), 3 + 3 * 1000 + 3);
    let long = graph.to_bytes().unwrap();
    assert_eq!(long.len(), short.len(), "the iterations are stored once");
    for (name, partner) in partners(subject, Policy::Ordered) {
        let loaded = Graph::from_bytes(&partner, &short).unwrap();
        assert_eq!(run(&partner, &loaded), (9, 3, false), "{name}");
    }
    let loaded = Graph::from_bytes(&ctx, &long).unwrap();
    assert_eq!(loaded.nodes(), graph.nodes());
    assert_eq!(run(&ctx, &loaded), (15, 5, false));
    assert!(loaded.to_bytes().unwrap() == long, "a loaded graph is the same graph");
    let bounded = Graph::from_bytes(&ctx, &looped(&ctx, 9, 4).to_bytes().unwrap()).unwrap();
    assert_eq!(run(&ctx, &bounded), (12, 4, true));
}

fn chunked_file(subject: &Subject) {
    let ctx = subject.ctx();
    // Chunks have 4, 8, 16 and 32 iterations. Loops end at a bound inside a chunk, or by their condition.
    let graph = looped_with(&ctx, 41, Bound::Chunked(u32::MAX));
    let bytes = graph.to_bytes().unwrap();
    let bounded = looped_with(&ctx, 41, Bound::Chunked(21)).to_bytes().unwrap();
    assert_eq!(bytes.len(), looped_with(&ctx, 41, Bound::Chunked(9)).to_bytes().unwrap().len());
    for (name, partner) in partners(subject, Policy::Ordered) {
        let loaded = Graph::from_bytes(&partner, &bytes).unwrap();
        assert_eq!(run(&partner, &loaded), (123, 41, false), "{name}");
        let loaded = Graph::from_bytes(&partner, &bounded).unwrap();
        // The condition is an array made in the capture, and each replay uploads it again.
        (0..2).for_each(|_| assert_eq!(run(&partner, &loaded), (63, 21, true), "{name}"));
    }
    let loaded = Graph::from_bytes(&ctx, &bytes).unwrap();
    assert!(loaded.to_text().contains("loop: nodes 4 to 15 are 4 iterations of at most 4294967295"));
    assert_eq!(format!("{:?}", loaded.statistics()), format!("{:?}", graph.statistics()));
    assert!(loaded.to_bytes().unwrap() == bytes, "a loaded graph is the same graph");
    let mut edited = loaded;
    edited.edit().unwrap().node("add").unwrap().parameter("b", 10_u32).unwrap().apply().unwrap();
    let again = Graph::from_bytes(&ctx, &edited.to_bytes().unwrap()).unwrap();
    assert_eq!(run(&ctx, &again), (410, 41, false));
    let (parent, ()) = ctx.queue("main").capture(|c| c.replay(&again).map(drop)).unwrap();
    let parent = Graph::from_bytes(&ctx, &parent.to_bytes().unwrap()).unwrap();
    assert_eq!(run(&ctx, &parent), (410, 41, false));
}

fn labels(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let mut kept = None;
    let (graph, ()) = queue.graph_of(|c| {
        let outer = c.array(&[2_u32])?;
        let inner = c.array(&[3_u32])?;
        let mut x = c.zeros::<u32, 1>([4])?;
        let first = c.repeat(&outer, Bound::AtMost(4), |body| {
            let nested = body.repeat(&inner, Bound::AtMost(4), |body| body.fill(&mut x, 1))?;
            body.label_loop("nested", &nested)
        })?;
        kept = Some(first.clone());
        c.repeat(&inner, Bound::AtMost(2), |body| body.fill(&mut x.clone(), 2)).map(drop)
    });
    let bytes = graph.to_bytes().unwrap();
    for (name, partner) in partners(subject, Policy::Ordered) {
        let loaded = Graph::from_bytes(&partner, &bytes).unwrap();
        let run = partner.queue("loaded").replay(&loaded).unwrap();
        let counts = loaded.loops().into_iter().map(|of| iterations_of(&run, &of));
        assert_eq!(counts.collect::<Vec<_>>(), [2, 6, 2], "{name}");
        assert_eq!(iterations_of(&run, &loaded.loop_("nested").unwrap()), 6, "{name}");
        let outer = loaded.loop_("outer");
        assert_error!(outer, ErrorDetail::GraphName { what: "loop", known, .. } if known == &["nested"]);
        // The handle of the captured graph is not a loop of the loaded one.
        assert!(run.iterations(kept.as_ref().unwrap()).is_err(), "{name}");
    }
    let error = queue.capture(|c| c.label_loop("other", kept.as_ref().unwrap())).unwrap_err();
    assert!(error.to_string().contains("the loop for label `other` belongs to another capture"), "{error}");
    assert!(graph.loop_("nested").is_ok() && graph.loops().len() == 3);
}

fn edited(subject: &Subject) {
    let ctx = subject.ctx();
    let captured = looped(&ctx, 3, 50);
    let bytes = captured.to_bytes().unwrap();
    let mut loaded = Graph::from_bytes(&ctx, &bytes).unwrap();
    loaded.edit().unwrap().node("add").unwrap().parameter("b", 10_u32).unwrap().apply().unwrap();
    // The file of the edited graph contains the changed launch once.
    let again = loaded.to_bytes().unwrap();
    assert_eq!(again.len(), bytes.len());
    assert_eq!(run(&ctx, &Graph::from_bytes(&ctx, &again).unwrap()), (30, 3, false));
    assert_eq!(run(&ctx, &loaded), (30, 3, false));
    let (parent, ()) = ctx.queue("main").capture(|c| c.replay(&loaded).map(drop)).unwrap();
    let parent = Graph::from_bytes(&ctx, &parent.to_bytes().unwrap()).unwrap();
    assert_eq!(run(&ctx, &parent), (30, 3, false));
}

fn input_condition(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let default = queue.full([1], 1_u32).unwrap();
    let (graph, ()) = queue.graph_of(|c| {
        let left = c.input("left", &default)?;
        count_down(c, &left, Bound::AtMost(8))
    });
    let bytes = graph.to_bytes().unwrap();
    for (name, partner) in partners(subject, Policy::Ordered) {
        let loaded = Graph::from_bytes(&partner, &bytes).unwrap();
        let queue = partner.queue("loaded");
        assert_error!(queue.replay(&loaded), ErrorDetail::Unbound { input, .. } if input == "left");
        let sum = loaded.output::<u32>("sum").unwrap();
        for start in [0, 4, 8, 9] {
            let left = queue.full([1], start).unwrap();
            let run = queue.replay(&loaded.with().input("left", &left).unwrap()).unwrap();
            assert_eq!(run.read(&sum).unwrap().wait().unwrap(), [3 * start.min(8)], "{name}");
        }
    }
}

/// Written by `fuzz/src/seeds.rs` when version 2 was introduced.
const CONDITIONS: &[u8] = include_bytes!("../../data/graph_version_2_conditions.fpg");
const LOOPS: &[u8] = include_bytes!("../../data/graph_version_2_loops.fpg");

fn version_2(subject: &Subject) {
    let ctx = subject.ctx();
    let queue = ctx.queue("main");
    let graph = Graph::from_bytes(&ctx, CONDITIONS).unwrap();
    let y = graph.output::<u32>("y").unwrap();
    for _ in 0..2 {
        let found = queue.replay(&graph).unwrap().read(&y).unwrap().wait().unwrap();
        assert_eq!((found[0], found[8], found[12]), (3, 1, 3));
    }
    let graph = Graph::from_bytes(&ctx, LOOPS).unwrap();
    let x = queue.full([64], 6_u32).unwrap();
    let run = queue.replay(&graph.with().input("x", &x).unwrap()).unwrap();
    let counts = graph.loops().into_iter().map(|of| iterations_of(&run, &of));
    assert_eq!(counts.collect::<Vec<_>>(), [3, 6, 10]);
    assert_eq!(iterations_of(&run, &graph.loop_("rounds").unwrap()), 3);
    let found = run.read(&graph.output::<u32>("y").unwrap()).unwrap().wait().unwrap();
    assert_eq!((found[0], found[40], found[44]), (9, 6, 9));
}

fn found(subject: &Subject) {
    let ctx = subject.ctx();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/fuzz");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        count += 1;
        let Ok(graph) = Graph::from_bytes(&ctx, &bytes) else { continue };
        let queue = ctx.queue("found");
        let x = queue.full([64], 6_u32).unwrap();
        let run = match graph.with().input("x", &x) {
            Ok(bound) => queue.replay(&bound),
            Err(_) => queue.replay(&graph),
        };
        let _ = run.and_then(|run| run.wait());
    }
    assert!(count > 0, "the files are there");
    let graph = looped(&ctx, 3, 4);
    assert_eq!(run(&ctx, &graph), (9, 3, false), "the context works");
}
