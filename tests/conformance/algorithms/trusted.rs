//! A18: the verbs compile proven kernels without unneeded runtime checks.

use super::verb_table::{Arrays, table};
use super::*;
use crate::common::cached;
use crate::common::subject::device_switches;
use fencepost::RecorderChoice;
use fencepost::graph::Contents;
use fencepost::kernel_check::{Finding, Mistake};
use fencepost::testing::{self, DeviceSwitches};
use fencepost_kernels::{Trust, trust_of};

pub fn cases() -> Vec<Case> {
    let driver = "the test records the calls of a Vulkan driver";
    vec![
        case("a18_each_verb_has_the_same_results_with_all_runtime_checks", same)
            .gpu_only("the CPU compiles all kernels with all runtime checks"),
        case("a18_a_verb_compiles_its_kernel_without_the_runtime_checks", less).vulkan_only(driver),
        case("a18_a_kernel_of_the_program_keeps_the_runtime_checks_after_a_verb_compiled_it", own)
            .vulkan_only(driver),
        case("a18_an_edited_launch_and_a_loaded_graph_have_the_runtime_checks", changed).vulkan_only(driver),
        case("a18_a_launch_with_a_named_value_has_the_runtime_checks", named).vulkan_only(driver),
        case("a18_the_checks_of_kernels_find_nothing_in_a_verb", silent)
            .native_only("the case opens its own contexts"),
    ]
}

/// Verbs that compute with floats: without runtime checks, a driver may round differently.
const ROUNDED: [&str; 31] = [
    "norm",
    "mean",
    "zip",
    "cholesky",
    "lu",
    "qr",
    "solve",
    "solve_triangular",
    "inverse",
    "determinant",
    "log_determinant",
    "eigh",
    "eigvalsh",
    "fill_random",
    "histogram_fixed",
    "fft",
    "ifft",
    "fft_in_place",
    "ifft_in_place",
    "rfft",
    "irfft",
    "convolve",
    "correlate",
    "stft",
    "istft",
    "welch",
    "median",
    "quantile",
    "mad",
    "rolling",
    "flag_interference",
];

fn same(s: &Subject) {
    let contexts = [true, false].map(|trusted| s.switched(|switches| switches.trusted_kernels = trusted));
    // The suite runs the other cases with all runtime checks too.
    for n in if large() { vec![320, 20_480] } else { vec![320] } {
        let mut sides = contexts.each_ref().map(|ctx| (ctx.queue("q"), Arrays::new(ctx, n)));
        for verb in table().into_iter().filter(|verb| !verb.returns) {
            let name = verb.name;
            let [trusted, checked] = sides.each_mut().map(|(queue, arrays)| {
                arrays.begin(queue, 0);
                verb.call(queue, arrays).unwrap();
                arrays.read(queue).concat()
            });
            let is_near = |(a, b): (&u32, &u32)| {
                let [a, b] = [*a, *b].map(f32::from_bits);
                (a - b).abs() <= 1e-5 * a.abs().max(1.0)
            };
            let is_rounded = ROUNDED.contains(&name) && trusted.iter().zip(&checked).all(is_near);
            assert!(trusted == checked || is_rounded, "{name} of {n} elements");
        }
    }
}

/// A context whose driver records the code of shaders.
struct Recorded {
    ctx: Context,
    device: ash::vk::Device,
}

impl Recorded {
    fn open(s: &Subject, recorder: RecorderChoice, trusted_kernels: bool) -> Self {
        let (device, queue, handle) = cached::open(s.place());
        let options =
            AdoptOptions::default().recorder(recorder).exclusive(recorder == RecorderChoice::Direct);
        let switches = DeviceSwitches { trusted_kernels, ..device_switches() };
        let ctx = testing::adopt(device, queue, options, switches).unwrap();
        s.watch(&ctx);
        Self { ctx, device: handle }
    }

    /// Returns the shaders that the driver received during a call.
    fn shaders<T>(&self, call: impl FnOnce(&Context) -> T) -> (Vec<Vec<u32>>, T) {
        let before = cached::shaders(self.device).len();
        let value = call(&self.ctx);
        (cached::shaders(self.device).split_off(before), value)
    }

    /// Returns the only shader that the driver received during a call.
    fn shader<T>(&self, call: impl FnOnce(&Context) -> T) -> Vec<u32> {
        let (mut shaders, _) = self.shaders(call);
        assert_eq!(shaders.len(), 1, "the call compiles one kernel");
        shaders.remove(0)
    }
}

const RECORDERS: [RecorderChoice; 2] = [RecorderChoice::Wgpu, RecorderChoice::Direct];

fn search(ctx: &Context) {
    let queue = ctx.queue("q");
    let mut places = ctx.zeros([3]).unwrap();
    let x = ctx.array(&[1_u32, 4, 9]).unwrap();
    let queries = ctx.array(&[4_u32, 0, 10]).unwrap();
    queue.searchsorted(&x, &queries, Side::Left, &mut places).unwrap();
    assert_eq!(queue.read(&places).wait().unwrap(), [1, 0, 3]);
}

/// Compiles the kernel of `searchsorted`, as a program may do.
fn own_search(ctx: &Context) -> fencepost::DynKernel {
    let source = ShaderSource::builtin("search_sorted.wgsl").unwrap();
    ctx.kernel_from_with(&source, "search_sorted", &[]).unwrap()
}

fn less(s: &Subject) {
    for recorder in RECORDERS {
        let [trusted, checked] = [true, false].map(|trusted| Recorded::open(s, recorder, trusted));
        let [less, all] = [&trusted, &checked].map(|recorded| recorded.shader(search));
        assert!(less.len() < all.len(), "{recorder:?}: {} words of {}", less.len(), all.len());
        let has_zeros = |call: fn(&Context)| {
            [&trusted, &checked]
                .map(|recorded| recorded.shaders(call).0.iter().any(|code| begins_with_zeros(code)))
        };
        let [trusted, checked] = has_zeros(|ctx| {
            let x = ctx.array(&[1_u32, 0, 3]).unwrap();
            let queue = ctx.queue("q");
            assert_eq!(queue.value_of(|out| queue.all(&x, out)).wait().unwrap(), 0);
        });
        assert!(!trusted, "{recorder:?}: each invocation writes the memory that it reads");
        let [trusted, counters] = has_zeros(|ctx| {
            let x = ctx.array(&[1_u32, 0, 3]).unwrap();
            let mut counts = ctx.zeros([2]).unwrap();
            let queue = ctx.queue("q");
            queue.histogram(&x, Bins::modulo(), &mut counts).unwrap();
            queue.finish().wait().unwrap(); // the verb does not wait for the compilation
        });
        assert!(trusted == counters && counters == checked, "{recorder:?}: counters begin with zeros");
    }
}

/// Returns `true` if a variable of the workgroup has an initial value in the code of a shader.
fn begins_with_zeros(code: &[u32]) -> bool {
    const HEADER: usize = 5;
    const VARIABLE: u32 = 59;
    const WORKGROUP: u32 = 4;
    const WITH_INITIAL_VALUE: u32 = 5;
    let mut rest = &code[HEADER..];
    while let [first, ..] = rest {
        let words = first >> 16;
        let operation = first & 0xFFFF;
        if operation == VARIABLE && rest[3] == WORKGROUP && words == WITH_INITIAL_VALUE {
            return true;
        }
        rest = &rest[words as usize..];
    }
    false
}

fn own(s: &Subject) {
    for recorder in RECORDERS {
        let [trusted, checked] = [true, false].map(|trusted| Recorded::open(s, recorder, trusted));
        let all = checked.shader(search);
        let (own, ()) = checked.shaders(|ctx| drop(own_search(ctx)));
        assert!(own.is_empty(), "{recorder:?}: the verb and the program have one checked kernel");
        trusted.shader(search);
        assert_eq!(trusted.shader(own_search), all, "{recorder:?}");
        let (again, ()) = trusted.shaders(search);
        assert!(again.is_empty(), "{recorder:?}: the context keeps both kernels");
    }
}

fn changed(s: &Subject) {
    for recorder in RECORDERS {
        let all = Recorded::open(s, recorder, false).shader(own_search);
        let edited = Recorded::open(s, recorder, true);
        let loaded = Recorded::open(s, recorder, true);
        let queue = edited.ctx.queue("q");
        let mut places = edited.ctx.zeros::<u32, 1>([3]).unwrap();
        let x = edited.ctx.array(&[1_u32, 4, 9]).unwrap();
        let queries = edited.ctx.array(&[4_u32, 0, 10]).unwrap();
        let (mut graph, ()) =
            queue.capture(|c| c.searchsorted(&x, &queries, Side::Left, &mut places)).unwrap();
        let name = format!("fencepost-trusted-{}-{}", s.name(), std::process::id());
        let file = std::env::temp_dir().join(name);
        graph.save_with(&file, Contents::Included).unwrap();
        let of_file = loaded.shader(|ctx| Graph::load(ctx, &file).unwrap());
        std::fs::remove_file(&file).ok();
        assert_eq!(of_file, all, "{recorder:?}: a file may have any arguments");
        let edit = |_: &Context| {
            graph
                .edit()
                .unwrap()
                .node("searchsorted")
                .unwrap()
                .parameter("n", 2_u32)
                .unwrap()
                .apply()
                .unwrap();
        };
        assert_eq!(edited.shader(edit), all, "{recorder:?}: an edit may set any arguments");
        queue.replay(&graph).unwrap();
        assert_eq!(queue.read(&places).wait().unwrap(), [1, 0, 2]);
    }
}

fn named(s: &Subject) {
    for recorder in RECORDERS {
        let all = Recorded::open(s, recorder, false).shader(own_search);
        let recorded = Recorded::open(s, recorder, true);
        recorded.shader(search);
        let queue = recorded.ctx.queue("q");
        let mut places = recorded.ctx.zeros::<u32, 1>([3]).unwrap();
        let x = recorded.ctx.array(&[1_u32, 4, 9]).unwrap();
        let queries = recorded.ctx.array(&[4_u32, 0, 10]).unwrap();
        let mut graph = None;
        let of_capture = recorded.shader(|_| {
            let capture = queue.capture(|c| {
                let n = c.value("n", 3_u32)?;
                c.searchsorted(&x, &queries, Side::Left, &mut places)?;
                c.parameter("n", &n)
            });
            graph = Some(capture.unwrap().0);
        });
        assert_eq!(of_capture, all, "{recorder:?}: a replay may set any number");
        let graph = graph.expect("the capture makes a graph");
        for (n, expected) in [(3, [1, 0, 3]), (2, [1, 0, 2]), (u32::MAX, [1, 0, 3])] {
            queue.replay(&graph.with().value("n", n).unwrap()).unwrap();
            let found = queue.read(&places).wait().unwrap();
            assert!(n == u32::MAX || found == expected, "{recorder:?}: {found:?} for {n}");
        }
    }
}

/// Names of the workgroup variables that begin as zeros.
const COUNTERS: [&str; 4] = ["own", "counters", "all_words", "all_kinds"];

fn silent(s: &Subject) {
    let check = Some(CheckOptions::default().unwritten_workgroup(true));
    let device = ContextOptions::default().adapter(AdapterChoice::Cpu).check(check);
    let device = Context::with_options(device).wait().unwrap();
    // The CPU recorder uses a GPU's workgroup sizes. An array of several shares needs more launches.
    let recorder = Context::simulated(SimulatorOptions::default().check(check));
    for (ctx, n) in [(device, if large() { 20_480 } else { 320 }), (recorder, 16_896)] {
        s.watch(&ctx);
        let queue = ctx.queue("q");
        let mut arrays = Arrays::new(&ctx, n);
        for verb in table().into_iter().filter(|verb| !verb.returns) {
            let name = verb.name;
            arrays.begin(&queue, 0);
            verb.call(&queue, &mut arrays).unwrap();
            queue.finish().wait().unwrap();
            let is_counter = |finding: &Finding| match &finding.mistake {
                Mistake::UnwrittenRead { element, .. } => {
                    let kernel = finding.kernel.strip_prefix(&format!("{name}/")).unwrap();
                    trust_of(kernel) == Some(Trust::Indices) && COUNTERS.contains(&&*element.array)
                }
                _ => false,
            };
            let findings: Vec<_> = ctx
                .diagnostics()
                .take_findings()
                .into_iter()
                .filter(|finding| !is_counter(finding))
                .map(|finding| finding.to_string())
                .collect();
            assert!(findings.is_empty(), "{name}: {}", findings.join("\n"));
        }
    }
}
