//! A01 and Q01: the compilation of kernels before the first call of a verb, and during it.

use super::*;
use crate::common::{COMPILES_AT_CALL, ONE_THREAD};
use std::future::Future;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context as TaskContext, Wake};
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_warm_up_makes_its_calls_and_executes_nothing", calls),
        case("a01_threads_may_warm_up_a_queue_that_executes_commands", threads).not_in_a_page(ONE_THREAD),
        case("a01_lengths_between_two_limits_of_a_verb_share_their_kernels", same_limits)
            .not_in_a_page(COMPILES_AT_CALL)
            .on_devices(NOTHING_COMPILES),
        case("q01_the_first_call_of_a_verb_returns_before_its_kernel_is_compiled", first_call)
            .not_in_a_page(COMPILES_AT_CALL)
            .on_devices(NOTHING_COMPILES),
        case("q01_the_first_body_with_a_verb_returns_before_its_kernels_are_compiled", first_bodies)
            .not_in_a_page(COMPILES_AT_CALL)
            .on_devices(NOTHING_COMPILES),
        case("q01_a_capture_compiles_the_kernels_of_its_verbs", captured)
            .not_in_a_page(COMPILES_AT_CALL)
            .on_devices(NOTHING_COMPILES),
        case("a07_other_values_and_shapes_need_no_other_kernel", same_kernel)
            .not_in_a_page(COMPILES_AT_CALL)
            .on_devices(NOTHING_COMPILES),
    ]
}

const NOTHING_COMPILES: &str = "the CPU recorder runs functions of the host, and interprets other kernels";

fn calls(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let x = queue.full([5000], 3_u32).unwrap();
    let mut out = queue.full([5000], 7_u32).unwrap();
    let mut total = queue.full([1], 7_u32).unwrap();
    let before = dump::enqueued(&ctx, "q");
    queue
        .warm_up(|q| {
            q.sum(&x, &mut total)?;
            q.sort(&x, &mut out, Sort::ascending())
        })
        .unwrap();
    // The compiler refuses an expression, so a call compiles its kernel.
    let error = assert_refused!(queue.warm_up(|q| q.map(&x, "x * nothing", &mut out)), Kernel);
    assert!(error.to_string().contains("nothing"), "{error}");
    assert_refused!(queue.warm_up(|q| q.value_of(|out| q.sum(&x, out)).wait().map(drop)), Captured);
    let captured = queue.capture(|c| c.warm_up(|q| q.sum(&x, &mut total)));
    assert_refused!(captured.map(drop), Captured { call: "warm_up", .. });
    assert_refused!(queue.warm_up(|q| q.sum(&x, &mut x.slice(0..1)?)), Aliased);
    assert_eq!(dump::enqueued(&ctx, "q"), before);
    assert_eq!(queue.read(&out).wait().unwrap(), [7; 5000]);
    assert_eq!(queue.read(&total).wait().unwrap(), [7]);
    queue.sum(&x, &mut total).unwrap();
    assert_eq!(queue.read(&total).wait().unwrap(), [15_000]);
}

fn threads(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.full([5000], 3_u32).unwrap();
    let mut total = queue.full([1], 0_u32).unwrap();
    crate::common::thread::scope(|scope| {
        for at in 0..4_u32 {
            let queue = &queue;
            let x = &x;
            scope.spawn(move || {
                queue.warm_up(|q| q.map(x, &format!("x + {at}u"), &mut q.empty::<u32, 1>([5000])?)).unwrap();
            });
        }
        for _ in 0..20 {
            queue.axpy(1, &x.slice(0..1).unwrap(), &mut total).unwrap();
        }
    });
    assert_eq!(queue.read(&total).wait().unwrap(), [60]);
}

/// Number of threads of a context that compile.
const COMPILERS: usize = 4;

/// A waker that blocks each thread that wakes it, until the gate is opened.
#[derive(Default)]
struct Gate {
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Gate {
    fn change(&self, change: impl FnOnce(&mut (usize, bool))) {
        change(&mut self.state.lock().unwrap());
        self.changed.notify_all();
    }

    fn sleep_until(&self, done: impl Fn(&(usize, bool)) -> bool) {
        drop(self.changed.wait_while(self.state.lock().unwrap(), |state| !done(state)).unwrap());
    }
}

impl Wake for Gate {
    fn wake(self: Arc<Self>) {
        self.change(|(blocked, _)| *blocked += 1);
        self.sleep_until(|&(_, open)| open);
    }
}

/// Calls `with` while user wakers block all threads of the context that compile.
fn without_compilers<R>(ctx: &Context, with: impl FnOnce() -> R) -> R {
    let gate = Arc::new(Gate::default());
    let waker = gate.clone().into();
    let mut blocked = 0;
    let mut pending = Vec::new();
    for number in 0.. {
        let text = format!(
            "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
             @compute @workgroup_size(1) fn k() {{ x[0] = {number}u; }}"
        );
        let mut kernel = Box::pin(ctx.kernel_from_later(ShaderSource::text("k.wgsl", text), "k", &[]));
        if kernel.as_mut().poll(&mut TaskContext::from_waker(&waker)).is_pending() {
            blocked += 1;
            gate.sleep_until(|&(count, _)| count == blocked);
            pending.push(kernel);
        }
        if blocked == COMPILERS {
            break;
        }
    }
    let result = with();
    gate.change(|(_, open)| *open = true);
    pending.into_iter().for_each(|kernel| drop(crate::common::block_on(kernel).unwrap()));
    result
}

fn first_call(s: &Subject) {
    let (ctx, queue) = s.with_queue("verbs");
    let other = ctx.queue("other");
    let x = queue.full([5000], 3_u32).unwrap();
    let mut out = queue.full([5000], 0_u32).unwrap();
    let mut total = queue.zeros([1]).unwrap();
    queue.finish().wait().unwrap();
    let end = without_compilers(&ctx, || {
        queue.map(&x, "7u * x", &mut out).unwrap();
        queue.sum(&out, &mut total).unwrap();
        assert_refused!(queue.sum(&x, &mut x.slice(0..1).unwrap()), Aliased);
        assert_refused!(queue.map(&x, "x * nothing", &mut out), Kernel);
        let end = queue.marker();
        queue.flush().unwrap();
        // Another queue is not held back, and the verbs have no kernels to run.
        assert_eq!(other.read(&other.full([3], 5_u32).unwrap()).wait().unwrap(), [5; 3]);
        assert!(
            end.done().wait_timeout(Duration::from_millis(30)).unwrap().is_none(),
            "the call has compiled a kernel"
        );
        end
    });
    end.wait().unwrap();
    assert_eq!(queue.read(&total).wait().unwrap(), [105_000]);
    assert_eq!(queue.read(&out).wait().unwrap(), [21; 5000]);
}

fn first_bodies(s: &Subject) {
    let (ctx, queue) = s.with_queue("verbs");
    let other = ctx.queue("other");
    let x = queue.full([20_000], 3_u32).unwrap();
    let mut out = queue.full([20_000], 0_u32).unwrap();
    let mut total = queue.zeros([1]).unwrap();
    let [yes, count] = [1_u32, 2].map(|value| queue.full([1], value).unwrap());
    queue.finish().wait().unwrap();
    let end = without_compilers(&ctx, || {
        queue.if_(&yes, |body| body.map(&x, "13u * x", &mut out)).unwrap();
        queue
            .repeat(&count, Bound::Chunked(9), |body| {
                body.repeat(&count, Bound::AtMost(2), |body| body.sum(&out, &mut total)).map(drop)
            })
            .unwrap();
        let end = queue.marker();
        queue.flush().unwrap();
        assert_eq!(other.read(&other.full([3], 5_u32).unwrap()).wait().unwrap(), [5; 3]);
        assert!(
            end.done().wait_timeout(Duration::from_millis(30)).unwrap().is_none(),
            "the call has compiled a kernel"
        );
        end
    });
    end.wait().unwrap();
    assert_eq!(queue.read(&total).wait().unwrap(), [780_000]);
}

fn captured(s: &Subject) {
    let (ctx, queue) = s.with_queue("verbs");
    let x = queue.full([5000], 3_u32).unwrap();
    let mut out = queue.full([5000], 0_u32).unwrap();
    without_compilers(&ctx, || {
        // The call has started a compilation, but the capture does not wait for the blocked threads.
        queue.map(&x, "9u * x", &mut out).unwrap();
        let (graph, ()) = queue.capture(|c| c.map(&x, "9u * x", &mut out)).unwrap();
        queue.replay(&graph).unwrap();
        assert_eq!(queue.read(&out).wait().unwrap(), [27; 5000]);
    });
}

/// Warms up scans and sorts with one length between each two limits, and calls them with others.
fn same_limits(s: &Subject) {
    let (ctx, queue) = s.with_queue("verbs");
    let numbers_down = |q: &CommandQueue, n: usize| -> Result<DeviceArray<u32>> {
        let ones = q.full([n], 1_u32)?;
        let mut numbers = q.zeros::<u32, 1>([n])?;
        q.scan(&ones, &mut numbers, Scan::inclusive(Operation::Sum))?;
        let mut sorted = q.zeros::<u32, 1>([n])?;
        q.sort(&numbers, &mut sorted, Sort::descending())?;
        Ok(sorted)
    };
    for n in [2, 5000, 20_000] {
        queue.warm_up(|q| numbers_down(q, n).map(drop)).unwrap();
    }
    without_compilers(&ctx, || {
        for n in [4096, 4097, 16_384, 16_385, 60_000] {
            let sorted = numbers_down(&queue, n).unwrap();
            // A wait for the elements does not compile, so it would not end without the kernels.
            let elements = queue.read(&sorted).wait_timeout(Duration::from_secs(20)).unwrap();
            let expected: Vec<u32> = (1..=n as u32).rev().collect();
            assert_eq!(elements.expect("the kernels are compiled"), expected);
        }
    });
}

fn same_kernel(s: &Subject) {
    let (ctx, queue) = s.with_queue("maps");
    let map = |rows: usize, columns: usize, by: u32, offset: [f32; 2]| {
        let x = queue.full([rows, columns], 2_u32).unwrap();
        let row = queue.full([rows, 1], 5_u32).unwrap();
        let mut out = queue.zeros::<u32, 2>([rows, columns]).unwrap();
        let inputs = args![x = &x, row = &row, by = by, offset = offset];
        queue.map(inputs, "x * by + row + u32(offset.y)", &mut out).unwrap();
        queue.map_in_place(args![out_before = &mut out, by = by], "out_before + by").unwrap();
        // A wait for the elements does not compile, so it would not end without the kernel.
        let elements = queue.read(&out).wait_timeout(Duration::from_secs(20)).unwrap();
        let expected = 3 * by + 5 + offset[1] as u32;
        assert_eq!(elements.expect("the kernel is compiled"), vec![expected; rows * columns]);
    };
    map(3, 4, 7, [0.0, 1.0]);
    without_compilers(&ctx, || {
        map(3, 4, 9, [0.5, 2.0]);
        map(1000, 7, 0, [0.0, 0.0]);
        map(2, 3000, 1, [8.0, 16.0]);
    });
}
