//! G09 and R05: graphs in files that other contexts load.

use crate::common::full::full;
use crate::common::kernels::{Mix, Saxpy};
use crate::common::partners::partners;
use crate::common::{Calls, Case, NO_FILES, Subject, assert_error, case};
use fencepost::algorithms::prelude::*;
use fencepost::graph::{Contents, LoadOptions};
use fencepost::prelude::*;
use fencepost::{Download, ErrorDetail, Graph, HostArray, Upload, region};
use fencepost_oracles as host;

pub fn cases() -> Vec<Case> {
    vec![
        case("g09_a_saved_graph_gives_equal_bytes_in_every_context", everywhere).not_in_a_page(NO_FILES),
        case("g09_a_captured_verb_loads_on_every_adapter_with_the_results_of_the_call", verbs),
        case("g09_a_loaded_graph_has_the_bytes_of_its_file", stable),
        case("g09_an_array_made_outside_is_refused_or_included", outside),
        case("g09_a_loaded_graph_takes_its_inputs_and_values_by_name", inputs),
        case("g09_a_part_that_cannot_be_saved_is_named", not_savable),
        case("g09_a_file_of_version_1_loads", version_1),
        case("r05_a_damaged_graph_file_is_an_error_and_the_context_works", damaged).not_in_a_page(NO_FILES),
    ]
}

const N: usize = 256;

/// Returns a graph with two queues; all its arrays are made in the capture.
fn own_memory(ctx: &Context, queue: &CommandQueue) -> Graph {
    let saxpy = ctx.kernel::<Saxpy<'_, u32>>().unwrap();
    let numbers: Vec<u32> = (0..N as u32).collect();
    let captured = queue.capture(|c| {
        let x = c.array(&numbers)?;
        let mut y = c.full([N], 5_u32)?;
        let mut z = c.zeros::<u32, 1>([N])?;
        let side = c.fork("side");
        side.launch(&saxpy, Grid::threads([N]), Saxpy { a: 3, x: &x, y: &mut z })?;
        c.mix(2, 1, &x, &mut y)?;
        c.label_node("mixed")?;
        c.wait_for(&side)?;
        c.copy_region(&z, region![0..102; 3], &mut y, region![7..41])?;
        c.read_as("y", &y)?;
        c.read_as("z", &z)
    });
    captured.unwrap().0
}

/// Returns the outputs of two replays.
fn outputs(ctx: &Context, graph: &Graph) -> [Vec<u32>; 4] {
    let queue = ctx.queue("replays");
    let [y, z] = ["y", "z"].map(|name| graph.output::<u32>(name).unwrap());
    let [one, two] = [queue.replay(graph).unwrap(), queue.replay(graph).unwrap()];
    [one.read(&y), one.read(&z), two.read(&y), two.read(&z)].map(|read| read.unwrap().wait().unwrap())
}

fn expected() -> [Vec<u32>; 4] {
    let z: Vec<u32> = (0..N as u32).map(|x| 3 * x).collect();
    let mut y: Vec<u32> = (0..N as u32).map(|x| Mix::of(2, 1, x, 5)).collect();
    (0..34).for_each(|at| y[7 + at] = z[3 * at]);
    [y.clone(), z.clone(), y, z]
}

fn everywhere(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let graph = own_memory(&ctx, &queue);
    let folder =
        std::env::temp_dir().join(format!("fencepost-g09-{}-{}", std::process::id(), subject.name()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("graph.fpg");
    graph.save(&path).unwrap();
    assert_eq!(outputs(&ctx, &graph), expected());
    drop((graph, queue));
    for policy in [Policy::Ordered, Policy::Checked, Policy::Unchecked] {
        for (name, partner) in partners(subject, policy) {
            let loaded = Graph::load(&partner, &path).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!((loaded.nodes(), loaded.label()), (8, "main"), "{name}");
            assert_eq!(outputs(&partner, &loaded), expected(), "{name} under {policy:?}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Number of elements for which a verb needs several launches: whole groups, for kernels that load several elements at
/// a time.
const MANY: usize = 100_000;

/// Results of the verbs.
#[derive(PartialEq, Debug)]
struct Results {
    sum: Vec<u32>,
    least: Vec<f32>,
    place: Vec<u32>,
    sorted: Vec<u32>,
    scanned: Vec<u32>,
    counts: Vec<u32>,
    /// The bits depend on the order of the operations.
    total: f32,
    mean: f32,
}

/// Calls verbs on a queue, which may be captured, and passes each result with its name to `read`.
fn call_verbs(
    q: &CommandQueue,
    (words, numbers): (&[u32], &[f32]),
    mut read: impl FnMut(&str, DeviceArray<u32>) -> fencepost::Result<()>,
) -> fencepost::Result<()> {
    let words = q.array(words)?;
    let numbers = q.array(numbers)?;
    let mut sum = q.empty([1])?;
    let mut place = q.empty([1])?;
    let [mut least, mut total, mut mean] = [q.empty([1])?, q.empty([1])?, q.empty([1])?];
    let [mut sorted, mut scanned] = [q.empty([MANY])?, q.empty([MANY])?];
    let mut counts = q.empty([10])?;
    q.sum(&words, &mut sum)?;
    q.min(&numbers, &mut least)?;
    q.argmax(&words, &mut place)?;
    q.sort(&words, &mut sorted, Sort::ascending())?;
    q.scan(&words, &mut scanned, Scan::inclusive(Operation::Sum))?;
    q.histogram(&numbers, Bins::even(0.0..1.0), &mut counts)?;
    q.sum(&numbers, &mut total)?;
    q.mean(&numbers, &mut mean)?;
    let numbers = [("least", least), ("total", total), ("mean", mean)];
    let words =
        [("sum", sum), ("place", place), ("sorted", sorted), ("scanned", scanned), ("counts", counts)];
    words.into_iter().try_for_each(|(name, array)| read(name, array))?;
    numbers.into_iter().try_for_each(|(name, array): (_, DeviceArray<f32>)| read(name, array.cast_bits()))
}

fn results(mut read: impl FnMut(&str) -> Vec<u32>) -> Results {
    let [sum, place, sorted, scanned, counts] =
        ["sum", "place", "sorted", "scanned", "counts"].map(&mut read);
    let [least, total, mean] =
        ["least", "total", "mean"].map(|name| read(name).into_iter().map(f32::from_bits).collect::<Vec<_>>());
    Results { sum, least, place, sorted, scanned, counts, total: total[0], mean: mean[0] }
}

/// Returns the results of a replay of a graph of verbs.
fn replayed(ctx: &Context, graph: &Graph) -> Results {
    let replay = ctx.queue("replays").replay(graph).unwrap();
    results(|name| replay.read(&graph.output::<u32>(name).unwrap()).unwrap().wait().unwrap())
}

fn verbs(subject: &Subject) {
    let words: Vec<u32> = (0..MANY as u32).map(|i| i.wrapping_mul(0x9E37_79B1) >> 3).collect();
    let numbers: Vec<f32> = words.iter().map(|&word| (word >> 5) as f32 / 16_777_216.0).collect();
    let ctx = subject.ctx();
    let lists = (&*words, &*numbers);
    let queue = ctx.queue("main");
    let mut reads = Vec::new();
    let keep = |name: &str, array| {
        reads.push((name.to_owned(), queue.read(&array)));
        Ok(())
    };
    call_verbs(&queue, lists, keep).unwrap();
    let called = results(|name| {
        let at = reads.iter().position(|(read, _)| read == name).unwrap();
        reads.swap_remove(at).1.wait().unwrap()
    });
    let exact: f64 = numbers.iter().map(|&x| f64::from(x)).sum();
    let is_right = |name: &str, found: &Results| {
        let bound = 53.0 * 2_f64.powi(-24) * exact;
        assert!((f64::from(found.total) - exact).abs() <= bound, "{name}: the sum is {}", found.total);
        assert!((f64::from(found.mean) * MANY as f64 - exact).abs() <= 2.0 * bound, "{name}: {}", found.mean);
        let expected = Results {
            sum: host::reduce(&words, [MANY], Operation::Sum, 0).unwrap(),
            least: host::reduce(&numbers, [MANY], Operation::Smallest, 0).unwrap(),
            place: vec![host::argmax(&words).unwrap() as u32],
            sorted: host::sort(&words, Sort::ascending()).unwrap(),
            scanned: host::scan(&words, Scan::inclusive(Operation::Sum)),
            counts: host::histogram(&numbers, Bins::even(0.0..1.0), 10).unwrap(),
            total: found.total,
            mean: found.mean,
        };
        assert!(*found == expected, "{name}: a result of a verb differs from that of the host");
    };
    is_right(subject.name(), &called);
    let (graph, ()) =
        queue.capture(|c| call_verbs(c, lists, |name, array| c.read_as(name, &array).map(drop))).unwrap();
    // The captured kernels are those of a direct call, so even the order of the operations is the same.
    assert!(replayed(&ctx, &graph) == called, "the replay differs from the call");
    let file = graph.to_bytes().unwrap();
    // The first partner is at the subject's own place, which has replayed the graph. Taken over all places, the next
    // places are all places.
    let (first, last) = if full() { (0, usize::MAX) } else { (1, 1) };
    for (name, partner) in partners(subject, Policy::Ordered).into_iter().skip(first).take(last) {
        let loaded = Graph::from_bytes(&partner, &file).unwrap_or_else(|error| panic!("{name}: {error}"));
        is_right(&name, &replayed(&partner, &loaded));
    }
}

fn stable(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let graph = own_memory(&ctx, &queue);
    let bytes = graph.to_bytes().unwrap();
    queue.replay(&graph).unwrap();
    assert_eq!(graph.to_bytes().unwrap(), bytes, "a replay changes nothing");
    assert_eq!(own_memory(&ctx, &queue).to_bytes().unwrap(), bytes, "equal graphs have equal bytes");
    let mut loaded = Graph::from_bytes(&ctx, &bytes).unwrap();
    assert_eq!(loaded.to_bytes().unwrap(), bytes, "a loaded graph is the same graph");
    assert!(loaded.edit().unwrap().node("mixed").is_ok(), "labels are kept");
    // A loaded graph may be a part of another graph.
    let (parent, ()) = queue.capture(|c| c.replay(&loaded).map(drop)).unwrap();
    assert_eq!(outputs(&ctx, &parent), expected());
    let again = Graph::from_bytes(&ctx, &parent.to_bytes().unwrap()).unwrap();
    assert_eq!(outputs(&ctx, &again), expected());
}

fn outside(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let [x, mut sum] = [3_u32, 1].map(|value| queue.full([N], value).unwrap());
    let (graph, _) = queue.graph_of(|c| {
        c.mix(2, 0, &x, &mut sum)?;
        c.read_as("sum", &sum)
    });
    let error = graph.to_bytes().unwrap_err();
    let ErrorDetail::NotSavable { node, reason, .. } = error.detail() else { panic!("{error}") };
    assert_eq!(node, "mix");
    assert!(reason.contains("made outside of the capture"), "{reason}");
    queue.replay(&graph).unwrap();
    let bytes = graph.to_bytes_with(Contents::Included).unwrap();
    // The file contains the bytes after the replay, and the loaded graph has its own array.
    let once = Mix::of(2, 0, 3, 1);
    let twice = Mix::of(2, 0, 3, once);
    assert_eq!(queue.read_after(&graph, &sum), [twice; N]);
    // The first partner is at the subject's own place, which has replayed the graph.
    for (name, partner) in partners(subject, Policy::Ordered).into_iter().skip(usize::from(!full())) {
        let loaded = Graph::from_bytes(&partner, &bytes).unwrap();
        let queue = partner.queue("loaded");
        let output = loaded.output::<u32>("sum").unwrap();
        let mut expected = once;
        for _ in 0..3 {
            expected = Mix::of(2, 0, 3, expected);
            assert_eq!(queue.output_of(&loaded, &output), vec![expected; N], "{name}");
        }
    }
    assert_eq!(queue.read(&sum).wait().unwrap(), [twice; N], "the array of the program is unchanged");
}

fn inputs(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let x = queue.full([N], 3_u32).unwrap();
    let mut y = ctx.zeros::<u32, 1>([2 * N]).unwrap();
    let unused = ctx.zeros::<f32, 2>([2, 3]).unwrap();
    let (graph, ()) = queue.graph_of(|c| {
        let x = c.input("x", &x)?;
        // The second half of an array is an input.
        let mut half = c.input("y", &y.slice(N..2 * N)?)?;
        let gain = c.value("gain", 2_u32)?;
        c.input("unused", &unused)?;
        c.mix(0, 1, &x, &mut half)?;
        c.parameter("a", &gain)
    });
    queue.fill(&mut y, 1).unwrap();
    let bytes = graph.to_bytes().unwrap();
    // The first partner is at the subject's own place, which has replayed the graph.
    for (name, partner) in partners(subject, Policy::Ordered).into_iter().skip(usize::from(!full())) {
        let loaded = Graph::from_bytes(&partner, &bytes).unwrap();
        assert_eq!(loaded.to_bytes().unwrap(), bytes, "{name}");
        let queue = partner.queue("loaded");
        let [x, y] = [10_u32, 4].map(|value| queue.full([N], value).unwrap());
        assert_error!(queue.replay(&loaded), ErrorDetail::Unbound { input, .. } if input == "x");
        let error = queue.replay(&loaded.with().input("x", &x).unwrap()).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::Unbound { input, .. } if input == "y"), "{error}");
        let error = loaded.with().input("x", &partner.zeros::<f32, 1>([N]).unwrap()).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::GraphBinding { .. }), "{error}");
        let unused = partner.zeros::<f32, 2>([2, 3]).unwrap();
        let bound = loaded.with().input("x", &x).unwrap().input("y", &y).unwrap();
        let bound = bound.input("unused", &unused).unwrap();
        queue.replay(&bound).unwrap();
        let once = Mix::of(2, 1, 10, 4);
        assert_eq!(queue.read(&y).wait().unwrap(), [once; N], "{name}");
        queue.replay(&bound.value("gain", 7_u32).unwrap()).unwrap();
        assert_eq!(queue.read(&y).wait().unwrap(), [Mix::of(7, 1, 10, once); N], "{name}");
    }
}

fn not_savable(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let refused = |graph: &Graph| match graph.to_bytes_with(Contents::Included).unwrap_err().detail() {
        ErrorDetail::NotSavable { node, reason, .. } => format!("{node}: {reason}"),
        kind => panic!("{kind}"),
    };
    let (host, ()) = queue.capture(|c| c.host(|| ())).unwrap();
    assert!(refused(&host).starts_with("host: a host callback"), "{}", refused(&host));
    let pinned: HostArray<u32, Upload> = ctx.pinned([N]).unwrap();
    let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
    let (upload, ()) = queue.capture(|c| c.upload(&pinned, &mut y)).unwrap();
    let mut back: HostArray<u32, Download> = ctx.pinned([N]).unwrap();
    let (download, ()) = queue.capture(|c| c.download(&y, &mut back)).unwrap();
    for graph in [upload, download] {
        assert!(refused(&graph).contains("it uses pinned array"), "{}", refused(&graph));
    }
    queue.finish().wait().unwrap();
}

/// Written by a program that shares no code with the library.
const VERSION_1: &[u8] = include_bytes!("../../data/graph_version_1.fpg");

fn version_1(subject: &Subject) {
    let ctx = subject.ctx();
    let graph = Graph::from_bytes(&ctx, VERSION_1).unwrap();
    assert_eq!((graph.label(), graph.nodes()), ("version 1", 6));
    assert!(graph.clone().edit().unwrap().node("twice").is_ok());
    let mut expected: Vec<u32> = (0..64).map(|x| 2 * x).collect();
    (expected[0], expected[8], expected[16]) = (7, 100, 200);
    let queue = ctx.queue("main");
    let y = graph.output::<u32>("y").unwrap();
    for _ in 0..2 {
        assert_eq!(queue.replay(&graph).unwrap().read(&y).unwrap().wait().unwrap(), expected);
    }
}

fn damaged(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let bytes = own_memory(&ctx, &queue).to_bytes().unwrap();
    let refused = |bytes: &[u8]| {
        assert_error!(Graph::from_bytes(&ctx, bytes), ErrorDetail::GraphFile { .. });
    };
    for at in (0..bytes.len()).step_by(97) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        refused(&damaged);
        refused(&bytes[..at]);
    }
    let folder =
        std::env::temp_dir().join(format!("fencepost-r05-{}-{}", std::process::id(), subject.name()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("graph.fpg");
    for (contents, is_whole) in [(&bytes[..], true), (&bytes[..20], false), (b"text", false), (b"", false)] {
        std::fs::write(&path, contents).unwrap();
        assert_eq!(Graph::load(&ctx, &path).is_ok(), is_whole);
    }
    std::fs::write(&path, [&bytes[..], &[0]].concat()).unwrap();
    let error = Graph::load(&ctx, &path).unwrap_err();
    assert!(error.to_string().contains("graph.fpg") && error.to_string().contains("bytes"), "{error}");
    let error = Graph::load_with(&ctx, &path, LoadOptions::default().memory_limit(100)).unwrap_err();
    // If a file is above the limit, the call reads only its header.
    let ErrorDetail::GraphMemory { needed, limit: 100, .. } = error.detail() else { panic!("{error}") };
    assert_eq!(*needed, bytes.len() as u64);
    for unread in [folder.join("none"), folder.clone()] {
        let error = Graph::load(&ctx, &unread).unwrap_err();
        let ErrorDetail::GraphFileUnread { file, .. } = error.detail() else { panic!("{error}") };
        assert_eq!(*file, unread.display().to_string());
    }
    std::fs::remove_dir_all(folder).unwrap();
    let loaded = Graph::from_bytes(&ctx, &bytes).unwrap();
    assert_eq!(outputs(&ctx, &loaded), expected(), "the context works");
}
