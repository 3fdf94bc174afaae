//! Tests what concerns a process as a whole: a program that holds the lock of its standard output (R08), and fork(2).
//!
//! Each test starts this program again, with a word and the name of a place.
#![cfg_attr(unix, allow(unsafe_code, reason = "fork(2)"))]

mod common;

use common::{Subject, adapters};
use fencepost::{Grid, args};
use libtest_mimic::{Arguments, Failed, Trial};
use std::io::Write as _;
use std::process::Command;

/// A program, by the first argument.
type Program = (&'static str, &'static str, fn(&Subject));

const PROGRAMS: [Program; 2] = [
    ("stdout", "r08_a_program_that_holds_the_standard_output_waits_for_lines", holds_standard_output),
    ("fork", "r08_a_child_of_fork_gets_errors_and_drops_what_its_parent_opened", forks),
];

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
    let output = Command::new(std::env::current_exe()?).args([word, place]).output()?;
    let [said, failed] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    if output.status.success() && said.ends_with("passed\n") {
        return Ok(());
    }
    Err(format!("{}: {said}{failed}", output.status).into())
}

/// Waits for a launch that prints while this thread has the lock of the standard output.
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

/// Forks with and without work on the device, and uses in the child what the parent has opened.
#[cfg(unix)]
fn forks(s: &Subject) {
    use std::time::Duration;
    for busy in [false, true] {
        let ctx = s.ctx();
        let queue = ctx.queue("q");
        let (mut x, gate) = (ctx.zeros::<u32, 1>([64]).unwrap(), ctx.user_event("gate"));
        let text = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
            @compute @workgroup_size(64) fn adds(@builtin(local_invocation_index) i: u32) { x[i] += 1u; }";
        let kernel = ctx.kernel_from(text, "adds").unwrap();
        let launch = |x: &mut _| queue.launch_dyn(&kernel, Grid::groups([1]), args![x = x]);
        launch(&mut x).unwrap();
        queue.finish().wait().unwrap();
        let read = queue.read(&x);
        if busy {
            queue.wait_for(&gate.event()).unwrap();
            launch(&mut x).unwrap();
            queue.flush().unwrap();
        }
        // SAFETY: the child is ended by `_exit`, and by the alarm if it hangs.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: the call has no condition.
            unsafe { libc::alarm(60) };
            let passed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let forked = |error: fencepost::Error| {
                    assert!(matches!(error.kind(), fencepost::Kind::Forked { .. }), "{error}");
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
                forked(queue.is_complete().unwrap_err());
                forked(ctx.synchronize().wait().unwrap_err());
                assert!(!ctx.state_dump().is_empty());
                gate.signal();
                drop((x, kernel.clone(), queue.clone(), ctx.clone()));
            }));
            drop((kernel, queue, ctx));
            // The CPU needs no driver, so a child can open it.
            if s.place().is_native() || s.is_cpu() {
                let ctx = s.ctx();
                let y = ctx.full([1 << 20], 3_u32).unwrap();
                assert_eq!(ctx.to_vec(&y).unwrap()[5], 3);
            }
            // SAFETY: the call has no condition.
            unsafe { libc::_exit(i32::from(passed.is_err())) };
        }
        let mut status = 0;
        // SAFETY: the pointer is that of a local variable.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0, "the child failed, was ended by a signal, or hung");
        gate.signal();
        assert_eq!(queue.read(&x).wait().unwrap(), [1 + u32::from(busy); 64]);
    }
    println!("passed");
}
