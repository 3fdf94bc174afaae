//! Tests of whole processes: holding the lock of the standard output (R08), and fork(2).
//!
//! Each test starts this program again, with a word and the name of a place.
#![cfg_attr(unix, allow(unsafe_code, reason = "fork(2)"))]

mod common;

use common::{Subject, adapters};
use fencepost::HostBuffer;
use fencepost::prelude::*;
use libtest_mimic::{Arguments, Failed, Trial};
use std::io::Write as _;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A program, selected by the first argument.
type Program = (&'static str, &'static str, fn(&Subject));

const PROGRAMS: [Program; 2] = [
    ("stdout", "r08_a_program_that_holds_the_standard_output_waits_for_lines", holds_standard_output),
    ("fork", "r08_a_child_of_fork_gets_errors_and_drops_what_its_parent_opened", forks),
];

/// A call on objects of the parent, with its name.
#[cfg(unix)]
type NamedCall<'a> = (&'static str, Box<dyn FnOnce() -> fencepost::Result<()> + 'a>);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let found = adapters::find().places;
    if let [_, word, place] = &arguments[..]
        && let Some((.., run)) = PROGRAMS.iter().find(|(name, ..)| name == word)
    {
        let place = found.into_iter().find(|known| known.name() == place).expect("the place is there");
        return run(&Subject::new(place));
    }
    let mut trials = Vec::new();
    for (word, name, _) in PROGRAMS {
        for place in &found {
            let place = place.name().to_owned();
            trials.push(Trial::test(format!("{name}::{place}"), move || passes(word, &place)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn passes(word: &str, place: &str) -> Result<(), Failed> {
    let mut program = Command::new(std::env::current_exe()?);
    let output = program.args([word, place]).env("RUST_BACKTRACE", "1").output()?;
    let [said, failed] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    if output.status.success() && said.ends_with("passed\n") {
        return Ok(());
    }
    Err(format!("{}: {said}{failed}", output.status).into())
}

/// Waits for a launch that prints, while this thread holds the lock of the standard output.
fn holds_standard_output(s: &Subject) {
    let text = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(1) fn prints() { x[0] = 7u; print(\"x = {}\", x[0]); }";
    for ctx in [s.ctx(), s.without_threads()] {
        let queue = ctx.queue("q");
        let kernel = ctx.kernel_from(text, "prints").unwrap();
        let mut x = ctx.zeros::<u32, 1>([4]).unwrap();
        let mut out = std::io::stdout().lock();
        queue.launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x]).unwrap();
        queue.finish().wait().unwrap();
        writeln!(out, "{:?}", queue.read(&x).wait().unwrap()).unwrap();
    }
    let mut out = std::io::stdout().lock();
    out.write_all(b"passed\n").unwrap();
}

#[cfg(not(unix))]
fn forks(_: &Subject) {
    println!("passed");
}

/// Forks with and without work on the device, and uses the parent's objects in the child.
///
/// A thread holds the lock of the standard library's backtraces most of the time. wgpu-core takes that lock in debug
/// builds when an object is dropped, so a child that drops one hangs.
#[cfg(unix)]
fn forks(s: &Subject) {
    std::thread::spawn(|| {
        loop {
            std::hint::black_box(std::backtrace::Backtrace::force_capture().to_string());
        }
    });
    for busy in [false, true] {
        let (ctx, queue) = s.with_queue("q");
        let recorded = ctx.event();
        let other = Context::simulated(SimulatorOptions::default());
        let of_other = other.queue("other").marker();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _over = Over(&is_over);
            if busy {
                scope.spawn(|| keeps_busy(&ctx, &other, &recorded, &is_over));
            }
            forks_once(s, busy, (&ctx, &queue), &recorded, &of_other);
        });
    }
    println!("passed");
}

/// Guard that ends the busy thread, even after a panic.
#[cfg(unix)]
struct Over<'a>(&'a AtomicBool);

#[cfg(unix)]
impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Repeatedly takes locks of the library: those of an event, of waits between contexts, and of compiled kernels.
#[cfg(unix)]
fn keeps_busy(ctx: &Context, other: &Context, recorded: &Event, is_over: &AtomicBool) {
    let queue = ctx.queue("busy");
    let waits = other.queue("waits");
    for at in 0.. {
        for _ in 0..50 {
            recorded.record(&queue).unwrap();
            waits.wait_for(recorded).unwrap();
        }
        let text = format!("@compute @workgroup_size(1) fn nothing() {{ let x = {at}u; _ = x; }}");
        other.kernel_from(text, "nothing").unwrap();
        waits.finish().wait().unwrap();
        if is_over.load(Ordering::Relaxed) {
            return;
        }
    }
}

/// Uses contexts that the child makes itself.
#[cfg(unix)]
fn uses_own_contexts() {
    let [one, two] = [1, 2].map(|seed| Context::simulated(SimulatorOptions::default().seed(seed)));
    let text = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(1) fn sevens() { x[0] = 7u; }";
    let kernel = one.kernel_from(text, "sevens").unwrap();
    let queue = one.queue("own");
    let mut x = one.zeros::<u32, 1>([4]).unwrap();
    let mut y = two.zeros::<u32, 1>([4]).unwrap();
    queue.launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x]).unwrap();
    queue.copy(&x, &mut y).unwrap();
    let later = two.queue("later");
    later.wait_for(&queue.marker()).unwrap();
    let waits = two.event();
    later.callback(move || waits.wait().unwrap()).unwrap();
    assert_eq!(later.read(&y).wait().unwrap(), [7, 0, 0, 0]);
}

#[cfg(unix)]
#[expect(clippy::too_many_lines, reason = "the parent and the child are one scenario")]
fn forks_once(
    s: &Subject,
    busy: bool,
    (ctx, queue): (&Context, &CommandQueue),
    recorded: &Event,
    of_other: &Event,
) {
    use std::time::Duration;
    {
        let mut x = ctx.zeros::<u32, 1>([64]).unwrap();
        let gate = ctx.user_event("gate");
        let text = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
            @compute @workgroup_size(64) fn adds(@builtin(local_invocation_index) i: u32) { x[i] += 1u; }";
        let kernel = ctx.kernel_from(text, "adds").unwrap();
        let launch = |x: &mut _| queue.launch_dyn(&kernel, Grid::groups([1]), args![x = x]);
        launch(&mut x).unwrap();
        queue.finish().wait().unwrap();
        let read = queue.read(&x);
        let other = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
            @compute @workgroup_size(64) fn adds(@builtin(local_invocation_index) i: u32) { x[i] += 2u; }";
        let source = ShaderSource::text("other.wgsl", other);
        let later = [0; 2].map(|_| ctx.kernel_from_later(&source, "adds", &[]));
        let pinned = ctx.pinned::<u32, Upload, 1>([64]).unwrap();
        let (mut graph, output) = queue
            .capture(|c| {
                let mut own = c.zeros::<u32, 1>([8])?;
                c.fill(&mut own, 1)?;
                c.read_as("own", &own)
            })
            .unwrap();
        let replay = queue.replay(&graph).unwrap();
        replay.wait().unwrap();
        queue.fill(&mut x, 1).unwrap();
        queue.finish().wait().unwrap();
        let event = queue.marker();
        let saved = graph.to_bytes().unwrap();
        let [written, seen] = [0, 1].map(|_| ctx.zeros::<u32, 1>([64]).unwrap());
        let maps = (written.map_write().wait().unwrap(), seen.map_read().wait().unwrap());
        if busy {
            queue.wait_for(&gate.event()).unwrap();
            launch(&mut x).unwrap();
            queue.flush().unwrap();
        }
        // SAFETY: the child is ended by `_exit`, and by the alarm if it hangs.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: the call is always safe.
            unsafe { libc::alarm(60) };
            let passed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let forked = |error: fencepost::Error| {
                    assert!(matches!(error.detail(), fencepost::ErrorDetail::Forked { .. }), "{error}");
                };
                forked(queue.finish().wait().unwrap_err());
                forked(queue.finish().wait_timeout(Duration::from_secs(1)).unwrap_err());
                forked(pollster::block_on(queue.finish()).unwrap_err());
                forked(launch(&mut x).unwrap_err());
                forked(queue.flush().unwrap_err());
                forked(read.wait().unwrap_err());
                forked(queue.read(&x).wait().unwrap_err());
                forked(x.map_read().wait().map(drop).unwrap_err());
                forked(ctx.zeros::<u32, 1>([4]).map(drop).unwrap_err());
                forked(queue.marker().is_complete().unwrap_err());
                forked(ctx.synchronize().wait().unwrap_err());
                forked(recorded.wait().unwrap_err());
                forked(recorded.is_complete().unwrap_err());
                assert!(format!("{recorded:?}").contains("fork"), "{recorded:?}");
                forked(queue.wait_for(of_other).unwrap_err());
                uses_own_contexts();
                let y = x.clone();
                let copied = &mut y.clone();
                let [first, second] = later;
                let calls: Vec<NamedCall<'_>> = vec![
                    ("a kernel that is compiled", Box::new(|| ctx.kernel_from(text, "adds").map(drop))),
                    ("a kernel that is not compiled", Box::new(|| ctx.kernel_from(other, "adds").map(drop))),
                    (
                        "Context::kernel_from_with",
                        Box::new(|| ctx.kernel_from_with(&source, "adds", &[]).map(drop)),
                    ),
                    (
                        "Context::kernel_from_with",
                        Box::new(|| queue.context().kernel_from_with(&source, "adds", &[]).map(drop)),
                    ),
                    (
                        "kernel_from_source_later, waited for",
                        Box::new(|| ctx.kernel_from_later(&source, "adds", &[]).wait().map(drop)),
                    ),
                    (
                        "kernel_from_source_later, awaited",
                        Box::new(|| {
                            pollster::block_on(ctx.kernel_from_later(&source, "adds", &[])).map(drop)
                        }),
                    ),
                    ("a kernel of the parent, waited for", Box::new(|| first.wait().map(drop))),
                    ("a kernel of the parent, awaited", Box::new(|| pollster::block_on(second).map(drop))),
                    ("fill", Box::new(|| queue.fill(&mut y.clone(), 1))),
                    ("upload", Box::new(|| queue.upload(&[1_u32; 64], &mut y.clone()).map(drop))),
                    ("copy", Box::new(|| queue.copy(&y, copied))),
                    ("get", Box::new(|| queue.get(&y, [0]).wait().map(drop))),
                    ("set", Box::new(|| queue.set(&mut y.clone(), [0], 7).map(drop))),
                    ("sum", Box::new(|| queue.sum(&y, &mut y.slice(0..1)?))),
                    ("sum_of", Box::new(|| queue.value_of(|out| queue.sum(&y, out)).wait().map(drop))),
                    ("CommandQueue::zeros", Box::new(|| queue.zeros::<u32, 1>([4]).map(drop))),
                    ("CommandQueue::empty", Box::new(|| queue.empty::<u32, 1>([4]).map(drop))),
                    ("CommandQueue::array", Box::new(|| queue.array(&[7_u32]).map(drop))),
                    ("Context::full", Box::new(|| ctx.full([4], 1_u32).map(drop))),
                    ("Context::array", Box::new(|| ctx.array(&[7_u32]).map(drop))),
                    ("Context::empty", Box::new(|| ctx.empty::<u32, 1>([4]).map(drop))),
                    ("pinned", Box::new(|| ctx.pinned::<u32, Upload, 1>([4]).map(drop))),
                    ("HostArray::host", Box::new(|| pinned.host().map(drop))),
                    ("HostArray::try_host", Box::new(|| pinned.try_host().map(drop))),
                    ("map_write", Box::new(|| y.map_write().wait().map(drop))),
                    ("to_vec", Box::new(|| ctx.to_vec(&y).map(drop))),
                    ("callback", Box::new(|| queue.callback(|| ()))),
                    ("marker", Box::new(|| queue.marker().wait())),
                    ("record", Box::new(|| ctx.event().record(queue))),
                    ("wait_for", Box::new(|| queue.wait_for(&event))),
                    ("wait_for a queue", Box::new(|| queue.wait_for(&ctx.default_queue()))),
                    ("fork", Box::new(|| queue.fork("side").finish().wait())),
                    ("a new queue", Box::new(|| ctx.queue("new").finish().wait())),
                    ("Event::wait", Box::new(|| event.wait())),
                    ("Event::done", Box::new(|| pollster::block_on(event.done()))),
                    ("Event::submitted", Box::new(|| event.submitted().wait())),
                    ("Event::is_complete", Box::new(|| event.is_complete().map(drop))),
                    ("take_error", Box::new(|| queue.take_error().map_or(Ok(()), Err))),
                    ("Context::take_error", Box::new(|| ctx.take_error().map_or(Ok(()), Err))),
                    ("seconds_since", Box::new(|| event.seconds_since(&event).wait().map(drop))),
                    ("Context::flush", Box::new(|| ctx.flush())),
                    ("capture", Box::new(|| queue.capture(|c| c.fill(&mut y.clone(), 1)).map(drop))),
                    ("Replay::wait", Box::new(|| replay.wait())),
                    ("Replay::cancel", Box::new(|| replay.cancel())),
                    ("Replay::read", Box::new(|| replay.read(&output)?.wait().map(drop))),
                    ("replay", Box::new(|| queue.replay(&graph).map(drop))),
                    ("to_bytes", Box::new(|| graph.to_bytes().map(drop))),
                    ("graph_from_bytes", Box::new(|| Graph::from_bytes(ctx, &saved).map(drop))),
                    ("profile", Box::new(|| ctx.profile().finish().wait().map(drop))),
                ];
                let mut right = Vec::new();
                for (name, call) in calls {
                    match call() {
                        Err(error) if matches!(error.detail(), fencepost::ErrorDetail::Forked { .. }) => {}
                        other => {
                            right.push(format!("{name}: {:?}", other.map_err(|error| error.to_string())))
                        }
                    }
                }
                assert!(right.is_empty(), "{right:#?}");
                forked(graph.edit().map(drop).unwrap_err());
                if s.place().is_native() || s.is_cpu() {
                    let code = |_: [u32; 3], _: [u32; 3], _: &[u8], _: &mut [HostBuffer<'_>]| ();
                    forked(ctx.host_kernel("adds", Arc::new(code)).unwrap_err());
                }
                ctx.set_print(PrintOptions::default());
                assert!(!ctx.diagnostics().state_dump().is_empty());
                gate.signal();
                drop(maps);
                drop((x, kernel.clone(), queue.clone(), ctx.clone()));
            }));
            drop((kernel, queue, ctx));
            // The CPU needs no driver, so a child can open it.
            if s.place().is_native() || s.is_cpu() {
                let ctx = s.ctx();
                let y = ctx.full([1 << 20], 3_u32).unwrap();
                assert_eq!(ctx.to_vec(&y).unwrap()[5], 3);
            }
            // SAFETY: the call is always safe.
            unsafe { libc::_exit(i32::from(passed.is_err())) };
        }
        let mut status = 0;
        // SAFETY: the pointer refers to a local variable.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0, "the child failed, was ended by a signal, or hung");
        gate.signal();
        assert_eq!(queue.read(&x).wait().unwrap(), [1 + u32::from(busy); 64]);
    }
}
