//! G08: dumps and statistics of graphs.

use super::dot_parser::{self, Dot};
use super::dumped::{N, fixed};
use super::xml_checker;
use crate::common::{Calls, Case, Subject, case};
use fencepost::{Bound, Capture, CommandQueue, DeviceArray, Graph, Result};
use serde_json::Value;

pub fn cases() -> Vec<Case> {
    vec![
        case("g08_the_text_of_a_fixed_graph_is_the_same_on_every_adapter", fixed_text),
        case("g08_two_captures_of_the_same_commands_have_the_same_dumps", stable),
        case("g08_the_dot_dump_has_the_nodes_and_edges_of_the_graph", dot),
        case("g08_an_edge_that_others_imply_is_left_out", reduction),
        case("g08_the_drawing_is_well_formed_and_has_a_box_for_each_node", svg),
        case("g08_labels_of_the_program_break_no_dump", hostile),
        case("g08_a_long_label_makes_no_other_line_long", long_labels),
        case("g08_the_statistics_equal_a_hand_count", statistics),
        case("g08_the_barriers_equal_a_hand_count", barriers),
        case("g08_gates_are_counted_and_have_a_shape_of_their_own", gates),
        case("g08_an_empty_graph_has_dumps", empty),
    ]
}

/// Returns a dump without the folder of the file that captured the graph.
fn without_folder(dump: &str) -> String {
    let file = file!().replace("dumps.rs", "dumped.rs");
    assert!(dump.contains(&file), "{dump}");
    dump.replace(&file, "dumped.rs")
}

fn fixed_text(subject: &Subject) {
    let text = without_folder(&fixed(&subject.ctx()).to_text());
    assert_eq!(text, include_str!("dumped.txt"), "\n{text}");
}

fn stable(subject: &Subject) {
    let ctx = subject.ctx();
    let other = subject.ctx();
    let dumps = |graph: &Graph| [graph.to_text(), graph.to_dot(), graph.to_svg()];
    let first = fixed(&ctx);
    // The second capture has different blocks, kernels and numbers.
    let kept: Vec<_> = (0..5).map(|_| ctx.zeros::<u32, 1>([N]).unwrap()).collect();
    let second = fixed(&ctx);
    assert_eq!(dumps(&first), dumps(&second));
    assert_eq!(dumps(&first), dumps(&fixed(&other)));
    ctx.queue("replays").replay(&first).unwrap().wait().unwrap();
    assert_eq!(dumps(&first), dumps(&second), "a replay changes no dump");
    drop(kept);
}

/// Returns the edges of a dump: those with the attributes `style=dashed` and `color=red` are marked `-` and `!`.
fn edges(dot: &Dot) -> Vec<String> {
    let edge = |(from, to, attributes): &(String, String, dot_parser::Attributes)| {
        let style = attributes.get("style").map_or("", |style| if style == "dashed" { "-" } else { "?" });
        let color = attributes.get("color").map_or("", |color| if color == "red" { "!" } else { "?" });
        format!("{from}>{to}{style}{color}")
    };
    let mut edges: Vec<String> = dot.edges.iter().map(edge).collect();
    edges.sort();
    edges
}

fn dot(subject: &Subject) {
    let dot = dot_parser::parse(&fixed(&subject.ctx()).to_dot());
    assert_eq!((&*dot.name, dot.nodes.len()), ("main", 8));
    let cluster = |node: &str| dot.nodes[node].1.as_deref();
    assert_eq!(cluster("n2"), Some("side"));
    assert_eq!(cluster("nh0"), None);
    let of_main = dot.nodes.values().filter(|(_, cluster)| cluster.as_deref() == Some("main"));
    assert_eq!(of_main.count(), 6);
    assert!(dot.nodes["n2"].0["label"].contains("reads `x`[0..4096], updates `own`[0..4096]"), "{dot:#?}");
    // The launch of `side` reads what the upload wrote. Its barrier also orders the copy after the first fill. The
    // second fill follows the copy, and the last launch follows the second fill.
    let expected = ["n0>n1-", "n0>n2!", "n1>n2", "n1>n3-", "n2>n5", "n3>n4-!", "n4>n5-!", "n5>nh0", "nh0>n6"];
    let found = edges(&dot);
    assert_eq!(found, expected, "{found:#?}");
    assert!(dot.ranks.iter().any(|rank| rank == &["n2", "n3"]), "{:?}", dot.ranks);
}

/// Captures commands on `queues` queues; each is a launch that reads one array and writes another.
fn launches(
    subject: &Subject,
    f: impl FnOnce(&Capture, &dyn Fn(&CommandQueue, usize, usize) -> Result<()>) -> Result<()>,
) -> Graph {
    let (ctx, queue) = subject.with_queue("main");
    let arrays: Vec<DeviceArray<u32, 1>> = (0..8).map(|_| ctx.zeros([N]).unwrap()).collect();
    let launch = |queue: &CommandQueue, from: usize, to: usize| {
        queue.mix(1, 1, &arrays[from], &mut arrays[to].slice(0..N)?)
    };
    queue.capture(|c| f(c, &launch)).unwrap().0
}

fn reduction(subject: &Subject) {
    // `side` reads the first result, and `main` comes after both, so the edge of the queue is implied by the two
    // others.
    let graph = launches(subject, |c, launch| {
        launch(c, 0, 1)?;
        let side = c.fork("side");
        launch(&side, 1, 2)?;
        c.wait_for(&side)?;
        launch(c, 2, 3)
    });
    assert_eq!(edges(&dot_parser::parse(&graph.to_dot())), ["n0>n1!", "n1>n2!"]);
}

fn svg(subject: &Subject) {
    let graph = fixed(&subject.ctx());
    let root = xml_checker::parse(&graph.to_svg());
    assert_eq!((&*root.name, root.attribute("xmlns")), ("svg", "http://www.w3.org/2000/svg"));
    let groups = root.all("g");
    let boxes: Vec<_> = groups.iter().filter(|g| g.attribute("class").starts_with("node")).collect();
    let titled: Vec<_> = boxes.iter().filter(|g| !g.all("title").is_empty()).collect();
    assert_eq!(titled.len(), 8, "seven nodes and a host callback");
    let title = &titled[2].all("title")[0].text;
    assert!(title.contains("launch mix") && title.contains("updates `own`[0..4096]"), "{title}");
    // Upload, fill, copy, fill, launch, host callback, read: the longest path.
    let on_path = titled.iter().filter(|g| g.attribute("class").ends_with(" path"));
    assert_eq!(on_path.count(), 7);
    let lines =
        groups.iter().filter(|g| g.attribute("class").starts_with("edge") && !g.all("title").is_empty());
    assert_eq!(lines.count(), dot_parser::parse(&graph.to_dot()).edges.len());
    // Boxes of one queue do not overlap.
    let rect = |g: &xml_checker::Element| {
        let number = |name: &str| g.all("rect")[0].attribute(name).parse::<f64>().unwrap();
        (number("x"), number("y"), number("width"), number("height"))
    };
    for (at, first) in titled.iter().enumerate() {
        for second in &titled[at + 1..] {
            let ((x, y, w, h), (ox, oy, ow, oh)) = (rect(first), rect(second));
            assert!(x + w <= ox || ox + ow <= x || y + h <= oy || oy + oh <= y, "{first:?} {second:?}");
        }
    }
}

fn hostile(subject: &Subject) {
    let ctx = subject.ctx();
    let label = "</title>\"]; \\ & <b>\u{1}\n-->";
    let queue = ctx.queue(label);
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap().named(label);
    let (graph, ()) = queue.graph_of(|c| {
        c.fill(&mut x, 1)?;
        c.read_as(label, &x).map(|_| ())
    });
    let dot = dot_parser::parse(&graph.to_dot());
    assert_eq!(dot.name, label.replace('\u{1}', "\u{fffd}"));
    assert_eq!(dot.nodes.len(), 2);
    let root = xml_checker::parse(&graph.to_svg());
    assert!(root.all("title")[0].text.contains("</title>\"]; \\ & <b>"), "{root:?}");
    let text = graph.to_text();
    assert_eq!(text.lines().count(), 1 + graph.nodes(), "{text}");
    assert!(text.contains("</title>\"]; \\ & <b>\\u{1}\\n-->"), "{text}");
}

/// A label that is longer than a line makes only its own line longer.
fn long_labels(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = ctx.zeros::<u32, 1>([N]).unwrap().named("x");
    let (graph, ()) = queue.graph_of(|c| {
        for name in ["short", &"long".repeat(20_000), "second"] {
            c.fill(&mut x, 1)?;
            c.label_node(name)?;
        }
        Ok(())
    });
    let text = graph.to_text();
    let lengths: Vec<usize> = text.lines().map(str::len).collect();
    assert!(lengths[2] > 80_000 && [1, 3].iter().all(|&line| lengths[line] < 300), "{lengths:?}");
    dot_parser::parse(&graph.to_dot());
    xml_checker::parse(&graph.to_svg());
}

fn statistics(subject: &Subject) {
    let graph = fixed(&subject.ctx());
    let s = graph.statistics();
    assert_eq!((s.nodes, s.launches, s.copies, s.fills, s.uploads, s.reads), (7, 2, 1, 2, 1, 1));
    assert_eq!((s.host_functions, s.outputs, s.queues, s.times, s.gates), (1, 1, 2, 0, 0));
    assert_eq!((s.levels, s.barriers), (7, 3));
    assert_eq!((s.owned_bytes, s.constant_bytes), (4 * N as u64, 4 * N as u64));
    let json: Value = serde_json::from_str(&s.to_json()).unwrap();
    assert_eq!(
        (&json["nodes"], &json["owned_bytes"], &json["barriers"]),
        (&7.into(), &4096.into(), &3.into())
    );
    let table = s.to_string();
    assert_eq!(table.lines().count(), json.as_object().unwrap().len());
    assert!(table.contains("owned bytes      4096") && table.contains("host functions      1"), "{table}");
}

fn barriers(subject: &Subject) {
    // Each launch reads what the previous one wrote.
    let chain = launches(subject, |c, launch| (0..5).try_for_each(|at| launch(c, at, at + 1)));
    assert_eq!(chain.statistics().barriers, 4);
    // Launches that share only arrays that they read.
    let apart = launches(subject, |c, launch| (1..6).try_for_each(|at| launch(c, 0, at)));
    assert_eq!(apart.statistics().barriers, 0);
    // Two branches on two queues: one barrier serves both branches, and one serves the join.
    let diamond = launches(subject, |c, launch| {
        launch(c, 0, 1)?;
        let side = c.fork("side");
        launch(c, 1, 2)?;
        launch(&side, 1, 3)?;
        c.wait_for(&side)?;
        launch(c, 2, 4)?;
        launch(c, 3, 5)
    });
    assert_eq!(diamond.statistics().barriers, 2);
    // A host callback ends the submission, so nothing before it needs a barrier.
    let cut = launches(subject, |c, launch| {
        launch(c, 0, 1)?;
        c.host(|| ())?;
        launch(c, 1, 2)?;
        launch(c, 2, 3)
    });
    assert_eq!((cut.statistics().barriers, cut.statistics().levels), (1, 4));
}

fn gates(subject: &Subject) {
    let graph = launches(subject, |c, launch| {
        let count = c.array(&[1_u32])?;
        c.repeat(&count, Bound::AtMost(2), |body| launch(body, 0, 1)).map(drop)
    });
    let statistics = graph.statistics();
    // The upload of the count, three gates, two launches and the read of the counters follow each other.
    assert_eq!((statistics.nodes, statistics.gates, statistics.launches, statistics.reads), (7, 3, 2, 1));
    assert_eq!((statistics.gated_dispatches, statistics.barriers, statistics.levels), (5, 6, 7));
    let dot = graph.to_dot();
    assert_eq!(dot.matches("shape=diamond").count(), 3, "{dot}");
    dot_parser::parse(&dot);
    let svg = graph.to_svg();
    assert_eq!(svg.matches("<polygon").count(), 4, "three gates and one in the legend: {svg}");
    xml_checker::parse(&svg);
}

fn empty(subject: &Subject) {
    let (graph, ()) = subject.ctx().queue("main").capture(|_| Ok(())).unwrap();
    assert_eq!(graph.to_text(), "graph `main`: 0 nodes on 1 queue, 0 levels\n");
    assert!(dot_parser::parse(&graph.to_dot()).nodes.is_empty());
    xml_checker::parse(&graph.to_svg());
    assert_eq!(graph.statistics().nodes, 0);
}
