//! Keeps a device busy, and checks that calls return while it is busy.
//!
//! On Vulkan and on the CPU recorder the device stays busy until the test releases it, so a call that waits for the
//! device never returns. On other devices, and in a web page, a kernel runs for a limited time. If the machine was too
//! slow, the check is repeated with a longer kernel.

use super::held::HeldLane;
use super::{Subject, dump};
use crate::common::thread;
use fencepost::prelude::*;
use fencepost::{Event, HostBuffer, testing};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Milliseconds of the kernels that are tried where a device cannot be held.
pub const LENGTHS: [u32; 4] = [50, 150, 450, 1350];
/// Longest time of a call while the device is held. It is long, because a machine can be slow.
const PATIENCE: Duration = Duration::from_secs(15);

/// Work that keeps a device busy.
pub struct Busy {
    hold: Hold,
    end: Event,
}

enum Hold {
    /// The hardware queue is blocked before a command that writes to this array.
    Lane(HeldLane, DeviceArray<u32>),
    /// A host kernel on the CPU blocks until this sender is dropped.
    Kernel(Mutex<Option<Sender<()>>>),
    /// The kernel ends by itself.
    Time,
}

impl Busy {
    /// Makes `queue` keep the device busy until it is [released](Self::let_go), or for about `milliseconds` where the
    /// device cannot be held. The context must be idle, and must have threads.
    pub fn start(subject: &Subject, ctx: &Context, queue: &CommandQueue, milliseconds: u32) -> Self {
        if cfg!(target_arch = "wasm32") {
            // A page can neither hold a hardware queue nor block in a kernel.
            return Self::for_a_while(subject, ctx, queue, milliseconds);
        }
        ctx.synchronize().wait().expect("an idle context");
        let Some(device) = testing::device(ctx) else {
            return stand_still(ctx, queue);
        };
        let Some(lane) = HeldLane::new(device) else {
            return Self::for_a_while(subject, ctx, queue, milliseconds);
        };
        let before = dump::submitted(ctx);
        let work = queue.full([1], 1_u32).expect("memory");
        Self::begun(ctx, queue, before, Hold::Lane(lane, work))
    }

    /// Like [`start`](Self::start), with a kernel of about `milliseconds` on every device.
    pub fn for_a_while(subject: &Subject, ctx: &Context, queue: &CommandQueue, milliseconds: u32) -> Self {
        ctx.synchronize().wait().expect("an idle context");
        let before = dump::submitted(ctx);
        subject.spin(ctx, queue, milliseconds);
        Self::begun(ctx, queue, before, Hold::Time)
    }

    /// Flushes the enqueued work, and returns when it is submitted.
    fn begun(ctx: &Context, queue: &CommandQueue, before: u64, hold: Hold) -> Self {
        let end = queue.marker();
        queue.flush().expect("a flush");
        // Some drivers block in the submit call until the work ends.
        dump::until(|| {
            dump::submitted(ctx) > before || ctx.diagnostics().state_dump().contains(", submitting")
        });
        Self { hold, end }
    }

    /// Returns `true` if the device stays busy until it is released.
    pub fn is_held(&self) -> bool {
        !matches!(self.hold, Hold::Time)
    }

    /// Returns `true` if the device has completed this work.
    pub fn is_over(&self) -> bool {
        !self.is_held() && self.end.is_complete().expect("work that cannot fail")
    }

    /// Releases the device. A kernel that ends by itself continues.
    pub fn let_go(&self) {
        match &self.hold {
            Hold::Lane(lane, _) => lane.let_go(),
            Hold::Kernel(sender) => drop(sender.lock().expect("no panic while it is taken").take()),
            Hold::Time => {}
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.let_go();
    }
}

const STAND_STILL: &str = "
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(1)
fn stand_still() {
    out[0] = 1u;
}
";

/// Launches a host kernel that blocks until it is released. Returns when the kernel has begun.
fn stand_still(ctx: &Context, queue: &CommandQueue) -> Busy {
    let ((go, told), (begin, begun)) = (channel::<()>(), channel());
    let told = Mutex::new(told);
    let begin = Mutex::new(begin);
    let run = move |_: [u32; 3], _: [u32; 3], _: &[u8], _: &mut [HostBuffer<'_>]| {
        let told = told.lock().expect("one run at a time");
        // The receiver is gone if the test has ended.
        let _ = begin.lock().expect("one run at a time").send(());
        let _ = told.recv();
    };
    ctx.host_kernel("stand_still", Arc::new(run)).expect("a context on the CPU recorder");
    let kernel = ctx.kernel_from(STAND_STILL, "stand_still").expect("the kernel is right");
    let mut out = queue.zeros::<u32, 1>([1]).expect("memory");
    queue.launch_dyn(&kernel, Grid::groups([1]), args![out = &mut out]).expect("a launch");
    let end = queue.marker();
    queue.flush().expect("a flush");
    begun.recv().expect("the kernel begins");
    Busy { hold: Hold::Kernel(Mutex::new(Some(go))), end }
}

/// A call with its name.
pub type Verb<T> = (&'static str, fn(&mut T));

/// The context and the object on which calls are made, and the queue that keeps the device busy.
pub struct Setup<T> {
    pub ctx: Context,
    pub busy: CommandQueue,
    pub things: T,
}

/// The bound `Send` of values that a thread gets. No bound in a web page, which has one thread.
#[cfg(not(target_arch = "wasm32"))]
pub use std::marker::Send as MayMove;
#[cfg(target_arch = "wasm32")]
pub trait MayMove {}
#[cfg(target_arch = "wasm32")]
impl<T> MayMove for T {}

/// Makes each call while the device is busy. `check` verifies the results when the device is no longer busy.
///
/// # Panics
/// Panics with the name of a call that returned only when the device was no longer busy. Where a kernel ends by itself,
/// the same call has to be late three times, because on a slow machine any call can be late.
pub fn each_returns<T: MayMove>(
    subject: &Subject,
    make: impl Fn() -> Setup<T>,
    verbs: &[Verb<T>],
    check: impl Fn(T),
) {
    let mut late = Vec::new();
    for milliseconds in LENGTHS {
        let Setup { ctx, busy, mut things } = make();
        let device = Busy::start(subject, &ctx, &busy, milliseconds);
        let outcome = if device.is_held() {
            beside(&device, &mut things, verbs)
        } else {
            before_the_end(&device, &mut things, verbs)
        };
        device.let_go();
        let Err(verb) = outcome else {
            return check(things);
        };
        late.push(verb);
        let times = late.iter().filter(|other| **other == verb).count();
        assert!(!device.is_held() && times < 3, "`{verb}` returned only after the device was no longer busy");
    }
    panic!("the machine is too slow to tell: {late:?}");
}

/// Makes the calls on a new thread. Returns the first call that does not return before the device is released.
fn beside<T: MayMove>(device: &Busy, things: &mut T, verbs: &[Verb<T>]) -> Result<(), &'static str> {
    thread::scope(|scope| {
        let (sender, returned) = channel();
        scope.spawn(move || {
            for (_, verb) in verbs {
                verb(things);
                sender.send(()).expect("the test listens until the thread ends");
            }
        });
        for &(name, _) in verbs {
            match returned.recv_timeout(PATIENCE) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => {
                    device.let_go();
                    (0..).take_while(|_| returned.recv().is_ok()).for_each(drop);
                    return Err(name);
                }
                // The call has panicked, and the scope panics with it.
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
        Ok(())
    })
}

/// Makes the calls one after the other. Returns the first call that returned after the end of the kernel.
fn before_the_end<T>(device: &Busy, things: &mut T, verbs: &[Verb<T>]) -> Result<(), &'static str> {
    let mut late = None;
    for &(name, verb) in verbs {
        verb(things);
        if late.is_none() && device.is_over() {
            late = Some(name);
        }
    }
    late.map_or(Ok(()), Err)
}
