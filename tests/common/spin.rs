//! A kernel that keeps an adapter busy for some time.

use super::kernels::Spin;
use super::subject::Subject;
use fencepost::prelude::*;
use web_time::Instant;

type SpinKernel = Kernel<Spin<'static>>;

/// Number of invocations of a launch, where loops may be long.
const INVOCATIONS: usize = 1024;
/// Iterations of a short loop, fewer than llvmpipe's limit.
const SHORT: u32 = 50_000;

/// Speed of an adapter, measured once.
#[derive(Clone, Copy)]
pub struct Rate {
    /// Unit of work of the rate.
    unit: Work,
    /// Number of units per millisecond.
    per_millisecond: f64,
}

#[derive(Clone, Copy)]
struct Work {
    invocations: usize,
    rounds: u32,
}

impl Work {
    /// Returns `times` as much work: more invocations where loops must stay short, longer loops elsewhere.
    fn times(self, times: f64, short_loops: bool) -> Self {
        if short_loops {
            let invocations = (self.invocations as f64 * times).ceil() as usize;
            return Self { invocations: invocations.next_multiple_of(64), ..self };
        }
        Self { rounds: (f64::from(self.rounds) * times).ceil().min(4e9) as u32, ..self }
    }
}

pub(super) fn enqueue(subject: &Subject, ctx: &Context, queue: &CommandQueue, milliseconds: u32) {
    let rate = *subject.place().spin.get_or_init(|| measure(subject));
    let times = rate.per_millisecond * f64::from(milliseconds);
    let kernel = ctx.kernel::<Spin>().expect("a built-in kernel");
    launch(&kernel, queue, rate.unit.times(times, subject.place().is_llvmpipe()));
}

fn launch(kernel: &SpinKernel, queue: &CommandQueue, work: Work) {
    let mut out = queue.empty([work.invocations]).expect("memory");
    let args = Spin { rounds: work.rounds, out: &mut out };
    queue.launch(kernel, Grid::threads([work.invocations]), args).expect("a launch");
}

/// Doubles the work until it takes 20 ms. The fastest of three tries counts. If the machine is busy during the
/// measurement, later spins are shorter than requested, so a case that needs a running kernel also tries longer ones.
fn measure(subject: &Subject) -> Rate {
    let short_loops = subject.place().is_llvmpipe();
    let ctx = subject.ctx();
    let kernel = ctx.kernel::<Spin>().expect("a built-in kernel");
    let queue = ctx.queue("spin rate");
    let invocations = if subject.is_cpu() { 64 } else { INVOCATIONS };
    let mut unit = Work { invocations, rounds: if short_loops { SHORT } else { 1000 } };
    let fastest = |unit| (0..3).map(|_| milliseconds(&kernel, &queue, unit)).fold(f64::INFINITY, f64::min);
    let mut best = fastest(unit);
    while best < 20.0 {
        unit = unit.times((30.0 / best).clamp(1.5, 8.0), short_loops);
        best = fastest(unit);
    }
    Rate { unit, per_millisecond: 1.0 / best }
}

fn milliseconds(kernel: &SpinKernel, queue: &CommandQueue, work: Work) -> f64 {
    let start = Instant::now();
    launch(kernel, queue, work);
    queue.finish().wait().expect("a spin");
    start.elapsed().as_secs_f64() * 1e3
}
