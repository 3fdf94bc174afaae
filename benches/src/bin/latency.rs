//! Measures for each adapter of this machine how long calls take while a kernel of half a second runs, and if a queue
//! that waits for the host blocks another queue.

use std::time::{Duration, Instant};

use anyhow::Result;
use fencepost::prelude::*;
use fencepost::{AdapterChoice, ContextOptions, Kernel, adapters};

/// Number of calls of each kind while one kernel keeps the device busy.
const CALLS: usize = 200;
const BUSY: Duration = Duration::from_millis(500);
/// Number of waits while one kernel keeps the device busy. `LIMIT` is the timeout of each.
const WAITS: usize = 10;
const LIMIT: Duration = Duration::from_millis(10);
const N: usize = 1 << 14;
/// Maximum number of iterations of a loop: llvmpipe cuts longer loops off.
const ROUNDS: u32 = 50_000;

#[derive(KernelArgs)]
#[kernel(source = "spin.wgsl")]
struct Spin<'a> {
    rounds: u32,
    out: &'a mut DeviceArray<u32>,
}

fn main() -> Result<()> {
    println!("calls after a kernel of {BUSY:?}, and round trips beside a queue that waits for the host:");
    println!(
        "microseconds, median / 95 % / worst of {CALLS}, and of {WAITS} waits with a limit of {LIMIT:?}"
    );
    let heads = ["launch", "upload", "plain copy", "flush", "wait_timeout", "beside a gate"]
        .map(|head| format!("{head:>28}"))
        .concat();
    println!("{:42} {:>8}{heads}", "adapter", "busy ms");
    for (place, info) in adapters().iter().enumerate() {
        let options = ContextOptions::default().adapter(AdapterChoice::Index(place));
        let ctx = Context::with_options(options).wait()?;
        let bench = Bench::new(&ctx)?;
        let (busy, calls) = bench.after_a_busy_kernel()?;
        let beside = bench.beside_a_gate()?;
        let name = format!("{} ({})", info.name, info.backend);
        let busy = busy.as_secs_f64() * 1e3;
        let calls = calls.map(|times| format!("{times:>28}")).concat();
        println!("{name:42.42} {busy:8.0}{calls}{beside:>28}");
    }
    Ok(())
}

struct Bench<'a> {
    ctx: &'a Context,
    queue: CommandQueue,
    spin: Kernel<Spin<'static>>,
    small: DeviceArray<u32>,
    /// The array whose kernel keeps the adapter busy.
    large: DeviceArray<u32>,
}

impl<'a> Bench<'a> {
    fn new(ctx: &'a Context) -> Result<Self> {
        let queue = ctx.queue("busy");
        let spin = ctx.kernel::<Spin>()?;
        let mut bench = Self { ctx, queue, spin, small: ctx.zeros([N])?, large: ctx.zeros([64])? };
        while bench.busy_time()? < BUSY {
            bench.large = ctx.zeros([2 * bench.large.len()])?;
        }
        Ok(bench)
    }

    fn launch_large(&self) -> Result<()> {
        let grid = Grid::threads([self.large.len()]);
        let out = &mut self.large.clone();
        Ok(self.queue.launch(&self.spin, grid, Spin { rounds: ROUNDS, out })?)
    }

    fn busy_time(&self) -> Result<Duration> {
        let start = Instant::now();
        self.launch_large()?;
        self.queue.finish().wait()?;
        Ok(start.elapsed())
    }

    /// Returns the time of the busy kernel, and the times of calls enqueued after it: a launch, an upload, a copy of
    /// the same bytes by the host, a flush, and a wait that times out.
    fn after_a_busy_kernel(&self) -> Result<(Duration, [Times; 5])> {
        let bytes = vec![1; N];
        let grid = Grid::threads([N]);
        let launch = || self.queue.launch(&self.spin, grid, Spin { rounds: 1, out: &mut self.small.clone() });
        let upload = || self.queue.upload(&bytes, &mut self.small.clone());
        let flush = || self.queue.flush();
        (0..3).try_for_each(|_| launch().and_then(|()| upload()).and_then(|()| flush()))?;
        self.queue.finish().wait()?;
        let start = Instant::now();
        self.launch_large()?;
        self.queue.flush()?;
        let busy = self.queue.marker();
        // Wait until the device has started the kernel. A driver may then block a thread that submits.
        std::thread::sleep(Duration::from_millis(20));
        let mut samples: [Vec<Duration>; 5] = Default::default();
        let mut copies = Vec::new();
        for _ in 0..CALLS {
            samples[0].push(timed(launch)?);
            samples[1].push(timed(upload)?);
            samples[2].push(timed(|| {
                copies.push(bytes.clone());
                Ok(())
            })?);
            samples[3].push(timed(flush)?);
        }
        let mut done = self.queue.finish();
        for _ in 0..WAITS {
            samples[4].push(timed(|| done.wait_timeout(LIMIT))?);
        }
        let late = busy.is_complete()?;
        busy.wait()?;
        let took = start.elapsed();
        self.queue.finish().wait()?;
        anyhow::ensure!(!late, "the calls took longer than the busy kernel");
        Ok((took, samples.map(Times::of)))
    }

    /// Measures a launch and a finish on one queue, while another queue waits for an unsignalled event.
    fn beside_a_gate(&self) -> Result<Times> {
        let held = self.ctx.queue("held");
        let gate = self.ctx.user_event("gate");
        held.wait_for(&gate.event())?;
        let mut own = self.ctx.zeros([64])?;
        held.launch(&self.spin, Grid::threads([64]), Spin { rounds: 1, out: &mut own })?;
        held.flush()?;
        let round_trip = || {
            self.queue.launch(
                &self.spin,
                Grid::threads([64]),
                Spin { rounds: 1, out: &mut self.small.clone() },
            )?;
            self.queue.finish().wait()
        };
        let samples = (0..CALLS).map(|_| timed(round_trip)).collect::<Result<Vec<_>>>()?;
        anyhow::ensure!(!held.marker().is_complete()?, "the gate was closed all the time");
        gate.signal();
        held.finish().wait()?;
        Ok(Times::of(samples))
    }
}

fn timed<T>(call: impl FnOnce() -> fencepost::Result<T>) -> Result<Duration> {
    let start = Instant::now();
    call()?;
    Ok(start.elapsed())
}

/// Median, 95th percentile and maximum.
struct Times([Duration; 3]);

impl Times {
    fn of(mut samples: Vec<Duration>) -> Self {
        samples.sort();
        Self([50, 95, 100].map(|percent| samples[(samples.len() - 1) * percent / 100]))
    }
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [median, most, worst] = self.0.map(|time| time.as_secs_f64() * 1e6);
        f.pad(&format!("{median:.1} / {most:.1} / {worst:.0}"))
    }
}
