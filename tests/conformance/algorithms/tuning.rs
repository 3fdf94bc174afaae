//! A26: a table of measured variants changes the kernels of the verbs, and no exact result.

use super::*;
use crate::common::{NO_FILES, hold, logger};
use fencepost::graph::Contents;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    let cases = [
        #[cfg(feature = "validation")]
        case("a26_each_variant_gives_exact_verbs_the_same_bits", listed::same),
        #[cfg(feature = "validation")]
        case("a26_a_table_changes_the_kernel_and_a_captured_graph_keeps_its_own", listed::captured),
        #[cfg(feature = "validation")]
        case("a26_a_captured_product_of_matrices_keeps_its_variant_and_its_bits", listed::captured_product),
        #[cfg(feature = "validation")]
        case("a26_no_table_changes_the_kernels_of_results_that_are_the_same_everywhere", listed::everywhere),
        #[cfg(feature = "validation")]
        case("a26_a_choice_for_other_kernels_is_ignored_with_a_message", listed::changed),
        case("a26_a_measured_table_gives_the_same_results", measured)
            .not_simulated_in_a_page("a page interprets the kernels of the simulator too slowly"),
        case("a26_a_capture_measures_nothing", capture),
        case("a26_without_threads_and_in_a_callback_nothing_is_measured", cannot_wait),
        case("a26_a_call_in_a_host_kernel_measures_nothing", in_a_kernel)
            .host_code_only("only there a kernel is code of the program"),
        case("a26_the_first_call_measures_the_variants", first_call)
            .on_devices("the CPU recorder may be too slow to measure anything")
            .not_in_a_page("in a page, a call cannot wait for a measurement"),
        case("a26_a_foreign_table_is_ignored_with_a_message", foreign),
        case("a26_without_time_the_verbs_keep_their_defaults", without_time),
        case("a26_a_verb_whose_measurement_is_held_up_takes_the_default", held_up),
        case("a26_a_lost_device_ends_a_measurement", lost)
            .host_code_only("a test cannot lose the device of a driver at a chosen moment"),
        case("a26_a_folder_keeps_the_measured_choices_of_an_adapter", kept)
            .on_devices("the CPU recorder opens no folder")
            .not_in_a_page(NO_FILES),
        case("a26_a_folder_keeps_the_choices_that_several_contexts_have_measured", together)
            .on_devices("the CPU recorder opens no folder")
            .not_in_a_page(NO_FILES),
    ];
    cases.into()
}

/// Number of attempts to measure on a machine that does other work.
const ATTEMPTS: usize = 20;

/// Bytes of the two arrays with which the variants of a kernel are measured for few elements.
const OF_VARIANT: u64 = 32 << 10;

/// Returns the number of bytes that the arrays of a context need more during a call. A measurement has arrays of its own.
fn growth(ctx: &Context, call: impl FnOnce()) -> u64 {
    ctx.pool().reset_high_water();
    let before = ctx.pool().stats().high_water;
    call();
    ctx.pool().stats().high_water - before
}

/// Elements of an array, and those of its transposition.
fn rows_and_columns(rows: usize, columns: usize) -> (Vec<u32>, Vec<u32>) {
    let list: Vec<u32> = (0..rows * columns).map(|i| (i as u32).wrapping_mul(2_654_435_761)).collect();
    let turned = (0..columns).flat_map(|c| (0..rows).map(move |r| r * columns + c)).map(|at| list[at]);
    (list.clone(), turned.collect())
}

/// Transposes an array on the queue, and checks the result.
fn check_transpose(queue: &CommandQueue, rows: usize, columns: usize) {
    let (list, turned) = rows_and_columns(rows, columns);
    let x = queue.array(&list).unwrap().reshape([rows, columns]).unwrap();
    let mut out = queue.zeros([columns, rows]).unwrap();
    queue.transpose(&x, &mut out).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), turned, "{rows} x {columns}");
}

/// Returns `true` if the transposition takes the kernel with tiles. A saved graph contains the texts of its kernels.
fn has_tiles(graph: &Graph) -> bool {
    let file = graph.to_bytes_with(Contents::Included).unwrap();
    let contains = |text: &str| file.windows(text.len()).any(|part| part == text.as_bytes());
    assert_ne!(contains("fn transpose("), contains("fn permute("), "the graph has one kernel");
    contains("fn transpose(")
}

/// Captures a transposition of 40 rows and 30 columns.
fn capture_transpose(queue: &CommandQueue) -> (Graph, DeviceArray<u32, 2>, Vec<u32>) {
    let (list, turned) = rows_and_columns(40, 30);
    let x = queue.array(&list).unwrap().reshape([40, 30]).unwrap();
    let mut out = queue.zeros([30, 40]).unwrap();
    let (graph, ()) = queue.capture(|c| c.transpose(&x, &mut out)).unwrap();
    (graph, out, turned)
}

/// Receives the messages that contain a text. Warnings reach the logger from now on.
fn messages_with(text: String) -> (logger::Receiving, Receiver<String>) {
    log::set_max_level(log::max_level().max(log::LevelFilter::Warn));
    let (sender, receiver) = channel();
    let receiving = logger::receive(move |message| {
        if message.contains(&text) {
            let _ = sender.send(message.to_owned()); // the case may be over
        }
    });
    (receiving, receiver)
}

/// Cases that need the list of all variants.
#[cfg(feature = "validation")]
mod listed {
    use super::*;
    use crate::common::received;
    use fencepost::algorithms::variant_tables;

    pub(super) fn same(s: &Subject) {
        let (ctx, queue) = s.with_queue("q");
        let tables = variant_tables(&ctx);
        for &kernels in Tunable::ALL {
            let of_kernels = tables.iter().filter(|(name, _)| name.starts_with(&format!("{kernels} ")));
            assert!(of_kernels.count() > 1, "{kernels} has variants");
        }
        let lengths: &[usize] = if s.is_cpu() { &[300] } else { &[300, 20_003] };
        let arrays = [8192, 8192, 64, 1 << 18].map(|len| queue.zeros([len]).unwrap());
        // GL on llvmpipe compiles a kernel for a second.
        let few = s.place().is_gl() && !large();
        let mut files: Vec<(String, Vec<u8>)> = Vec::new();
        for (_, (name, table)) in tables.into_iter().enumerate().filter(|(at, _)| !few || at % 4 == 0) {
            let (kernels, values) = name.split_once(' ').unwrap();
            let usual = file_of(&queue, kernels, &arrays);
            ctx.set_tuning(TuningChoice::Table(table.clone()));
            let is_default = values == "[]";
            let file = file_of(&queue, kernels, &arrays);
            assert_eq!(file == usual, is_default, "{name}: the kernel of the variant");
            let same = files.iter().find(|(_, of_other)| *of_other == file).map(|(other, _)| other);
            assert_eq!(same, None, "{name}: the kernel of another variant");
            files.push((name.clone(), file));
            for &n in lengths {
                with_shares(s, || check(&queue, kernels, n));
            }
            assert_eq!(ctx.tuning_table(), table, "{name}: the table is not ignored");
            ctx.set_tuning(TuningChoice::Defaults);
        }
    }

    /// Returns the saved graph of a verb with these kernels. It contains the values of overrides and parameters.
    fn file_of(queue: &CommandQueue, kernels: &str, [x, y, few, many]: &[DeviceArray<u32>; 4]) -> Vec<u8> {
        let mut one = few.slice(0..1).unwrap();
        let [short, sorted] = [x, y].map(|array| array.slice(0..4096).unwrap());
        let square = x.reshape([64, 128]).unwrap();
        let mut turned = y.reshape([128, 64]).unwrap();
        let mut capture = |c: &CommandQueue| match kernels {
            "reduce" => c.dot(x, x, &mut one),
            "reduce_vectors" => c.sum(x, &mut one),
            "scan" => c.scan(x, &mut y.clone(), Scan::inclusive(Operation::Sum)),
            "histogram" => c.histogram(x, Bins::modulo(), &mut few.clone()),
            "sort" => c.sort(x, &mut y.clone(), Sort::ascending()),
            "sort_small" => c.sort(&short, &mut sorted.clone(), Sort::ascending()),
            "transpose" => c.transpose(&square, &mut turned),
            "matmul" => products(c, [x, y, many]),
            other => panic!("no verb has the kernels {other}"),
        };
        let (graph, ()) = queue.capture(|c| capture(c)).unwrap();
        graph.to_bytes_with(Contents::Included).unwrap()
    }

    /// Enqueues a product with few results, and one with many, of the type with which variants are measured.
    fn products(queue: &CommandQueue, arrays: [&DeviceArray<u32>; 3]) -> Result<()> {
        let [x, y, out] = arrays.map(|array| array.cast_bits::<f32>());
        let mut few = out.slice(0..4096)?.reshape([64, 64])?;
        queue.matmul(&x.reshape([64, 128])?, &y.reshape([128, 64])?, &mut few, Matmul::default())?;
        let mut many = out.reshape([512, 512])?;
        queue.matmul(&x.reshape([512, 16])?, &y.reshape([16, 512])?, &mut many, Matmul::default())
    }

    /// Checks the exact verbs with these kernels.
    fn check(queue: &CommandQueue, kernels: &str, n: usize) {
        let mut rng = fastrand::Rng::with_seed(26);
        let list: Vec<u32> = (0..n).map(|_| rng.u32(..)).collect();
        match kernels {
            "reduce" => reductions(queue, &list),
            "reduce_vectors" => reductions(queue, &list[..n / 16 * 16]),
            "scan" => scans(queue, &list),
            "histogram" => histograms(queue, &list),
            "sort" | "sort_small" => sorts(queue, &list),
            "transpose" => {
                check_transpose(queue, 17, n / 17);
                check_transpose(queue, n / 40, 40);
            }
            "matmul" => {
                // The second shape has many results on the CPU recorder, where verbs divide few elements, and the third one
                // elsewhere.
                let shapes: &[[usize; 3]] =
                    if n < 1000 { &[[33, 17, 35], [100, 9, 90]] } else { &[[520, 5, 513]] };
                shapes.iter().for_each(|&shape| matmul::compare_all(queue, &mut rng, shape));
            }
            other => panic!("no verbs are checked with the kernels {other}"),
        }
    }

    fn reductions(queue: &CommandQueue, list: &[u32]) {
        let x = queue.array(list).unwrap();
        assert_eq!(guarded::<u32>(queue, 1, |out| queue.sum(&x, out)), [host::sum(list)]);
        assert_eq!(guarded::<u32>(queue, 1, |out| queue.dot(&x, &x, out)), [host::dot(list, list)]);
        let largest = host::max(list, Nan::Propagate).unwrap();
        assert_eq!(guarded::<u32>(queue, 1, |out| queue.max(&x, out)), [largest]);
        assert_eq!(
            guarded::<u32>(queue, 1, |out| queue.argmin(&x, out)),
            [host::argmin(list).unwrap() as u32]
        );
        let few: Vec<u32> = list.iter().map(|word| word % 3).collect();
        let y = queue.array(&few).unwrap();
        assert_eq!(
            guarded::<u32>(queue, 1, |out| queue.count_nonzero(&y, out)),
            [host::count_nonzero(&few) as u32]
        );
        let floats: Vec<f32> = list.iter().map(|&word| word as f32 - 2e9).collect();
        let z = queue.array(&floats).unwrap();
        let least = host::min(&floats, Nan::Propagate).unwrap();
        assert_eq!(guarded::<f32>(queue, 1, |out| queue.min(&z, out)), [least]);
        // Rows of a whole number of groups of 16 elements.
        let columns = list.len() / 32 * 16;
        let rows = x.slice(0..2 * columns).unwrap().reshape([2, columns]).unwrap();
        let mut sums = queue.zeros([2, 1]).unwrap();
        queue.sum(rows.axis(1), &mut sums).unwrap();
        let expected: Vec<u32> = list.chunks(columns).take(2).map(host::sum).collect();
        assert_eq!(queue.read(&sums).wait().unwrap(), expected);
    }

    fn scans(queue: &CommandQueue, list: &[u32]) {
        let x = queue.array(list).unwrap();
        for scan in [
            Scan::inclusive(Operation::Sum),
            Scan::exclusive(Operation::Sum).from(9).reversed(),
            Scan::inclusive(Operation::Largest),
        ] {
            let found = guarded::<u32>(queue, list.len(), |out| queue.scan(&x, out, scan));
            assert_eq!(found, host::scan(list, scan), "{scan:?}");
            let mut own = queue.array(list).unwrap();
            queue.scan_in_place(&mut own, scan).unwrap();
            assert_eq!(queue.read(&own).wait().unwrap(), found, "{scan:?}");
        }
        // An operation of the program has larger elements, and no variants.
        let pairs: Vec<[u32; 4]> = list.iter().map(|&word| [word; 4]).collect();
        let x = queue.array(&pairs).unwrap();
        let mut out = queue.zeros([list.len()]).unwrap();
        queue.scan(&x, &mut out, Scan::inclusive(Monoid::new("a + b", [0; 4]))).unwrap();
        let last = queue.read(&out).wait().unwrap().pop();
        assert_eq!(last, Some([host::sum(list); 4]));
    }

    fn histograms(queue: &CommandQueue, list: &[u32]) {
        let x = queue.array(list).unwrap();
        for bins in [1, 7, 64, 256, 300] {
            let mut expected = vec![0; bins];
            list.iter().for_each(|&word| expected[word as usize % bins] += 1);
            let found = guarded::<u32>(queue, bins, |out| queue.histogram(&x, Bins::modulo(), out));
            assert_eq!(found, expected, "{bins} bins");
        }
    }

    fn sorts(queue: &CommandQueue, list: &[u32]) {
        let x = queue.array(list).unwrap();
        let mut sorted = list.to_vec();
        sorted.sort_unstable();
        assert_eq!(guarded::<u32>(queue, list.len(), |out| queue.sort(&x, out, Sort::ascending())), sorted);
        let few: Vec<u32> = list.iter().map(|word| word % 5).collect();
        let mut places: Vec<u32> = (0..list.len() as u32).collect();
        places.sort_by_key(|&at| few[at as usize]); // stable
        let y = queue.array(&few).unwrap();
        let found = guarded::<u32>(queue, list.len(), |out| queue.argsort(&y, out, Sort::ascending()));
        assert_eq!(found, places);
    }

    /// Returns a table that makes transpositions take the kernel with tiles, and a choice for the kernel without.
    fn tables(ctx: &Context) -> [TuningChoice; 2] {
        let tables = variant_tables(ctx);
        let of = |tile: u32| {
            let name = format!("transpose [(\"TILE\", {tile})]");
            tables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, table)| TuningChoice::Table(table.clone()))
        };
        // The default is not in the list a second time.
        [of(8).expect("tiles of 8 are no default"), of(0).unwrap_or(TuningChoice::Defaults)]
    }

    pub(super) fn captured(s: &Subject) {
        let (ctx, queue) = s.with_queue("q");
        let [with_tiles, without_tiles] = tables(&ctx);
        ctx.set_tuning(with_tiles);
        let (tiled, out, turned) = capture_transpose(&queue);
        assert!(has_tiles(&tiled));
        ctx.set_tuning(without_tiles);
        let (plain, other, _) = capture_transpose(&queue);
        assert!(!has_tiles(&plain), "a later capture takes the new choice");
        assert!(has_tiles(&tiled), "the graph keeps its kernel");
        for (graph, out) in [(&tiled, &out), (&plain, &other)] {
            for _ in 0..2 {
                queue.fill(&mut out.clone(), 0).unwrap();
                queue.replay(graph).unwrap();
                assert_eq!(queue.read(out).wait().unwrap(), turned);
            }
        }
    }

    /// Returns the source of choices whose only one is a variant of products of matrices. A variant that is not in the list
    /// is the default.
    fn table_of_products(ctx: &Context, parameters: &str) -> TuningChoice {
        let tables = variant_tables(ctx);
        let table = tables.into_iter().find(|(name, _)| *name == format!("matmul [{parameters}]"));
        table.map_or(TuningChoice::Defaults, |(_, table)| TuningChoice::Table(table))
    }

    pub(super) fn captured_product(s: &Subject) {
        let (ctx, queue) = s.with_queue("q");
        let mut rng = fastrand::Rng::with_seed(27);
        let mut factor = || (0..1600).map(|_| rng.f32() - 0.5).collect::<Vec<f32>>();
        let [x, y] = [factor(), factor()].map(|list| queue.array(&list).unwrap().reshape([40, 40]).unwrap());
        let bits = |out: &DeviceArray<f32, 2>| -> Vec<u32> {
            queue.read(out).wait().unwrap().into_iter().map(f32::to_bits).collect()
        };
        let file = |graph: &Graph| graph.to_bytes_with(Contents::Included).unwrap();
        let captured = |choice: TuningChoice| {
            ctx.set_tuning(choice);
            let mut out = queue.full([40, 40], f32::NAN).unwrap();
            queue.matmul(&x, &y, &mut out, Matmul::default()).unwrap();
            let expected = bits(&out);
            queue.fill(&mut out, f32::NAN).unwrap();
            let (graph, ()) = queue.capture(|c| c.matmul(&x, &y, &mut out, Matmul::default())).unwrap();
            (file(&graph), graph, out, expected)
        };
        let tiled = captured(table_of_products(&ctx, "(\"ACROSS\", 8), (\"DOWN\", 8), (\"DEPTH\", 8)"));
        let plain = captured(table_of_products(&ctx, "(\"WIDTH\", 64)"));
        for (graphs, own, other) in [
            (&tiled, "fn matmul_tiles(", "fn matmul_columns("),
            (&plain, "fn matmul_columns(", "fn matmul_tiles("),
        ] {
            let (before, graph, out, expected) = graphs;
            let contains = |text: &str| before.windows(text.len()).any(|part| part == text.as_bytes());
            assert!(contains(own) && !contains(other), "the graph has the kernel of the table");
            assert!(file(graph) == *before, "the graph keeps its kernel");
            for _ in 0..2 {
                queue.fill(&mut out.clone(), f32::NAN).unwrap();
                queue.replay(graph).unwrap();
                assert!(bits(out) == *expected, "the bits of a call with the table of the capture");
            }
        }
    }

    pub(super) fn everywhere(s: &Subject) {
        let (ctx, queue) = s.with_queue("q");
        let x = queue.full([4096], 0.5_f32).unwrap();
        let places = queue.zeros::<u32, 1>([4096]).unwrap();
        let out = queue.zeros::<f32, 1>([4096]).unwrap();
        let capture = || {
            let (graph, ()) = queue.capture(|c| everywhere_verbs(c, [&x, &out], &places)).unwrap();
            graph.to_bytes_with(Contents::Included).unwrap()
        };
        let usual = capture();
        for (name, table) in variant_tables(&ctx) {
            ctx.set_tuning(TuningChoice::Table(table.clone()));
            assert!(capture() == usual, "{name}");
            assert_eq!(ctx.tuning_table(), table, "{name}: the table is not ignored");
        }
        ctx.set_tuning(TuningChoice::OnFirstUse);
        everywhere_verbs(&queue, [&x, &out], &places).unwrap();
        queue.finish().wait().unwrap();
        assert!(ctx.tuning_table().choices().is_empty(), "there is nothing to measure");
    }

    /// Enqueues the verbs whose results are the same everywhere.
    fn everywhere_verbs(
        queue: &CommandQueue,
        [x, out]: [&DeviceArray<f32>; 2],
        places: &DeviceArray<u32>,
    ) -> Result<()> {
        let everywhere = Determinism::Everywhere;
        let mut one = out.slice(0..1)?;
        queue.sum(x.determinism(everywhere), &mut one)?;
        queue.mean(x.determinism(everywhere), &mut one)?;
        queue.norm(x.determinism(everywhere), &mut one)?;
        queue.dot(x.determinism(everywhere), x, &mut one)?;
        queue.scatter_add(x, places, &mut out.clone())?;
        queue.histogram_weighted(places, x, Bins::modulo(), &mut out.slice(0..64)?)?;
        let square = x.reshape([64, 64])?;
        let options = Matmul::default().determinism(everywhere);
        queue.matmul(&square, &square, &mut out.reshape([64, 64])?, options)
    }

    pub(super) fn changed(s: &Subject) {
        let (ctx, queue) = s.with_queue("q");
        let (usual, ..) = capture_transpose(&queue);
        let (_receiving, messages) = messages_with("the choice of the kernels `transpose` for few".into());
        for choice in tables(&ctx) {
            let TuningChoice::Table(table) = choice else { continue };
            // Each digit of a hash changes, and so does each variant.
            for (from, to) in [("choice transpose few ", "choice transpose few 0"), ("TILE=", "TILE=1")] {
                let text = table.to_string();
                let (before, after) = text.split_once(from).unwrap();
                let after = if from.ends_with(' ') { &after[1..] } else { after };
                let changed: TuningTable = format!("{before}{to}{after}").parse().unwrap();
                if changed == table {
                    continue; // the hash begins with 0
                }
                ctx.set_tuning(TuningChoice::Table(changed));
                let (graph, ..) = capture_transpose(&queue);
                assert_eq!(has_tiles(&graph), has_tiles(&usual), "the default");
                check_transpose(&queue, 40, 30);
                received(&messages);
            }
        }
    }
}

fn measured(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    // An interpreter could measure for minutes.
    let is_fast = s.place().has_wgpu() || s.place().is_native();
    let limit = if is_fast { Duration::MAX } else { Duration::from_millis(100) };
    let options = TuneOptions::default().kernels([Tunable::Transpose, Tunable::SortSmall]).limit(limit);
    let table = crate::common::block_on(ctx.tune(options)).unwrap();
    let cases: Vec<String> =
        table.choices().iter().map(|choice| format!("{} {}", choice.kernels, choice.size)).collect();
    if is_fast {
        assert_eq!(cases, ["sort_small few", "transpose few", "transpose many"]);
        assert!(table.ceilings().is_some(), "the highest rates are measured");
    }
    assert!(table.choices().iter().all(|choice| choice.seconds <= choice.default_seconds), "{table}");
    assert_eq!(ctx.tuning_table(), table, "the context takes the table");
    let parsed: TuningTable = table.to_string().parse().unwrap();
    assert_eq!(parsed, table);
    let other = s.ctx();
    other.set_tuning(TuningChoice::Table(parsed));
    assert_eq!(other.tuning_table(), table, "another context of the adapter takes it too");
    for queue in [queue, other.queue("q")] {
        check_transpose(&queue, 33, 47);
        let list = scrambled(100, 3);
        let mut sorted = list.clone();
        sorted.sort_unstable();
        let x = queue.array(&list).unwrap();
        assert_eq!(guarded::<i32>(&queue, 100, |out| queue.sort(&x, out, Sort::ascending())), sorted);
    }
    other.set_tuning(TuningChoice::Defaults);
    assert!(other.tuning_table().choices().is_empty());
}

fn capture(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    ctx.set_tuning(TuningChoice::OnFirstUse);
    let x = queue.zeros::<u32, 2>([40, 30]).unwrap();
    let mut out = queue.zeros([30, 40]).unwrap();
    queue.finish().wait().unwrap();
    let mut captured = None;
    let growth = growth(&ctx, || captured = Some(queue.capture(|c| c.transpose(&x, &mut out)).unwrap()));
    assert_eq!(growth, 0, "a measurement takes memory for its arrays");
    let (graph, ()) = captured.unwrap();
    queue.replay(&graph).unwrap();
    queue.finish().wait().unwrap();
    assert!(ctx.tuning_table().choices().is_empty());
}

/// Returns a matrix of 40 rows and 30 columns, an array for its transposition, and the elements of that.
fn to_transpose(queue: &CommandQueue) -> (DeviceArray<u32, 2>, DeviceArray<u32, 2>, Vec<u32>) {
    let (list, turned) = rows_and_columns(40, 30);
    let x = queue.array(&list).unwrap().reshape([40, 30]).unwrap();
    let out = queue.zeros([30, 40]).unwrap();
    queue.finish().wait().unwrap();
    (x, out, turned)
}

fn cannot_wait(s: &Subject) {
    let ctx = s.without_threads();
    ctx.set_tuning(TuningChoice::OnFirstUse);
    let queue = ctx.queue("q");
    let (x, mut out, turned) = to_transpose(&queue);
    assert!(growth(&ctx, || queue.transpose(&x, &mut out).unwrap()) < OF_VARIANT);
    assert_eq!(queue.read(&out).wait().unwrap(), turned);
    let (ctx, queue) = s.with_queue("q");
    ctx.set_tuning(TuningChoice::OnFirstUse);
    let (x, out, turned) = to_transpose(&queue);
    let growth = growth(&ctx, || {
        let inside = queue.clone();
        let mut result = out.clone();
        queue.callback(move || inside.transpose(&x, &mut result).unwrap()).unwrap();
        queue.finish().wait().unwrap();
    });
    assert!(growth < OF_VARIANT);
    assert_eq!(queue.read(&out).wait().unwrap(), turned);
}

fn in_a_kernel(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let (x, out, turned) = to_transpose(&queue);
    let inside = ctx.queue("inside");
    let once = Mutex::new(Some((inside.clone(), x, out.clone())));
    let transposes = move |_: [u32; 3], _: [u32; 3], _: &[u8], _: &mut [fencepost::HostBuffer<'_>]| {
        let (inside, x, mut out) = once.lock().unwrap().take().expect("one workgroup");
        inside.transpose(&x, &mut out).unwrap();
    };
    ctx.host_kernel("transposes", Arc::new(transposes)).unwrap();
    let text = "@group(0) @binding(0) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(1) fn transposes() { y[0] = 1u; }";
    let kernel = ctx.kernel_from(text, "transposes").unwrap();
    let mut y = ctx.zeros::<u32, 1>([1]).unwrap();
    check_transpose(&queue, 40, 30); // compiles the kernels of the verb
    ctx.set_tuning(TuningChoice::OnFirstUse);
    let growth = growth(&ctx, || {
        queue.launch_dyn(&kernel, Grid::groups([1]), args![y = &mut y]).unwrap();
        queue.finish().wait().unwrap();
    });
    assert!(growth < OF_VARIANT);
    assert_eq!(inside.read(&out).wait().unwrap(), turned);
}

fn first_call(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    check_transpose(&queue, 33, 47);
    assert!(ctx.tuning_table().choices().is_empty(), "the defaults measure nothing");
    let found = (0..ATTEMPTS).any(|_| {
        ctx.set_tuning(TuningChoice::OnFirstUse);
        check_transpose(&queue, 33, 47);
        !ctx.tuning_table().choices().is_empty()
    });
    assert!(found, "a call measures the variants");
    let table = ctx.tuning_table();
    let [choice] = table.choices() else { panic!("one case is measured: {table}") };
    assert_eq!((&*choice.kernels, choice.size.to_string()), ("transpose", "few".to_owned()));
    check_transpose(&queue, 47, 33);
    assert_eq!(ctx.tuning_table(), table, "the second call measures nothing");
}

/// Returns the text of a table with another adapter.
fn of_another_adapter(table: &TuningTable, name: &str) -> String {
    let line = |line: &str| {
        if line.starts_with("adapter ") { format!("adapter {name}\n") } else { format!("{line}\n") }
    };
    table.to_string().lines().map(line).collect()
}

fn foreign(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let (usual, ..) = capture_transpose(&queue);
    let name = format!("the card of {}", s.name());
    let (_receiving, messages) = messages_with(name.clone());
    let hash = "0123456789abcdef";
    let choices = [8, 0].map(|tile| {
        let text = of_another_adapter(&ctx.tuning_table(), &name);
        text.replace("end 0", &format!("choice transpose few {hash} 1e-6 2e-6 TILE={tile}\nend 1"))
    });
    for text in choices {
        ctx.set_tuning(TuningChoice::Table(text.parse().unwrap()));
        let message = crate::common::received(&messages);
        assert!(message.contains(ctx.tuning_table().adapter()), "{message}");
        assert!(ctx.tuning_table().choices().is_empty(), "the table is ignored");
        let (graph, ..) = capture_transpose(&queue);
        assert_eq!(has_tiles(&graph), has_tiles(&usual), "the default");
        check_transpose(&queue, 40, 30);
    }
}

fn without_time(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let before = dump::enqueued(&ctx, "q");
    let table = ctx.tune(TuneOptions::default().limit(Duration::ZERO)).wait().unwrap();
    assert!(table.choices().is_empty());
    assert_eq!(dump::enqueued(&ctx, "q"), before);
    check_transpose(&queue, 33, 47);
}

fn held_up(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    ctx.set_tuning(TuningChoice::OnFirstUse);
    let (x, mut out, turned) = to_transpose(&queue);
    // A measurement comes after everything on the context, and so after the event.
    let gate = hold(&queue);
    let growth = growth(&ctx, || queue.transpose(&x, &mut out).unwrap());
    assert!(ctx.tuning_table().choices().is_empty());
    // The time ends with the first call that is measured, a copy of as many elements.
    assert!(growth < OF_VARIANT * 3 / 2, "no variant is tried after the end of the time");
    gate.signal();
    assert_eq!(queue.read(&out).wait().unwrap(), turned);
}

fn lost(s: &Subject) {
    let is_lost = |error: Error| error.kind() == ErrorKind::DeviceLost;
    let (ctx, queue) = s.with_queue("q");
    let x = queue.zeros::<u32, 2>([40, 30]).unwrap();
    let mut out = queue.zeros([30, 40]).unwrap();
    queue.finish().wait().unwrap();
    ctx.set_tuning(TuningChoice::OnFirstUse);
    fencepost::testing::lose(&ctx);
    let enqueued = queue.transpose(&x, &mut out).and_then(|()| queue.finish().wait());
    assert!(is_lost(enqueued.unwrap_err()));
    assert!(ctx.tuning_table().choices().is_empty());
    assert!(is_lost(ctx.tune(TuneOptions::default()).wait().unwrap_err()));
    // The loss during a measurement that the program asked for.
    let (ctx, queue) = s.with_queue("q");
    queue.finish().wait().unwrap();
    fencepost::testing::lose(&ctx);
    assert!(is_lost(ctx.tune(TuneOptions::default()).wait().unwrap_err()));
}

struct Folder(PathBuf);

impl Folder {
    fn new(s: &Subject, case: &str) -> Self {
        let name = format!("fencepost-tuning-{case}-{}-{}", s.name(), std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::remove_dir_all(&path).ok(); // a killed run may have left the folder
        Self(path)
    }

    /// Opens a context with this folder.
    fn open(&self, s: &Subject, tuning: TuningChoice) -> Context {
        s.options(|options| {
            options.kernel_folder = Some(self.0.clone());
            options.tuning = tuning;
        })
    }

    /// Returns the file of the table. Compiled kernels have files of their own.
    fn file(&self) -> Option<PathBuf> {
        let files = std::fs::read_dir(&self.0).ok()?.map(|file| file.unwrap().path());
        let mut tables = files.filter(|path| path.extension().is_some_and(|ending| ending == "tuning"));
        let file = tables.next();
        assert!(tables.next().is_none(), "an adapter has one table");
        file
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn kept(s: &Subject) {
    let folder = Folder::new(s, "kept");
    let open = |tuning: TuningChoice| folder.open(s, tuning);
    let measured = (0..ATTEMPTS).find_map(|_| {
        let ctx = open(TuningChoice::OnFirstUse);
        check_transpose(&ctx.queue("q"), 33, 47);
        Some(ctx.tuning_table()).filter(|table| !table.choices().is_empty())
    });
    let table = measured.expect("a call measures the variants");
    let file = folder.file().expect("the choices are stored");
    let bytes = std::fs::read(&file).unwrap();
    assert_eq!(open(TuningChoice::OnFirstUse).tuning_table(), table, "the next context loads them");
    assert!(open(TuningChoice::Defaults).tuning_table().choices().is_empty(), "the defaults load nothing");
    let (_receiving, messages) = messages_with(file.display().to_string());
    for at in [0, bytes.len() / 2, bytes.len() - 1] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        std::fs::write(&file, damaged).unwrap();
        let ctx = open(TuningChoice::OnFirstUse);
        assert!(ctx.tuning_table().choices().is_empty(), "byte {at} is damaged");
        let message = crate::common::received(&messages);
        assert!(message.contains("the tuning table in it is ignored"), "{message}");
        check_transpose(&ctx.queue("q"), 40, 30);
    }
    std::fs::write(&file, bytes).unwrap();
    assert_eq!(open(TuningChoice::OnFirstUse).tuning_table(), table);
}

fn together(s: &Subject) {
    let folder = Folder::new(s, "together");
    for kernels in [Tunable::Transpose, Tunable::SortSmall] {
        let options = TuneOptions::default().kernels([kernels]).limit(Duration::MAX);
        let table = folder.open(s, TuningChoice::Defaults).tune(options).wait().unwrap();
        assert!(table.choices().iter().all(|choice| choice.kernels == kernels.name()), "{table}");
    }
    let loaded = folder.open(s, TuningChoice::OnFirstUse).tuning_table();
    let cases: Vec<String> =
        loaded.choices().iter().map(|choice| format!("{} {}", choice.kernels, choice.size)).collect();
    assert_eq!(cases, ["sort_small few", "transpose few", "transpose many"]);
}
