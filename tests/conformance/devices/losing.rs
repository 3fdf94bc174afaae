//! Contexts whose device the test can take away.

use crate::common::{Subject, raw};
use fencepost::prelude::*;
use fencepost::{AdoptOptions, CpuOptions, DynKernel, Error, HostBuffer, RecorderChoice};
use std::sync::Arc;

/// A context, and the way to lose its device.
pub struct Doomed {
    pub name: &'static str,
    pub ctx: Context,
    /// Whether it has threads; without, only calls that wait or flush move it on.
    pub threads: bool,
    /// Whether wgpu makes its submissions for sure.
    pub by_wgpu: bool,
    breaker: Option<Breaker>,
}

type Breaker = (CommandQueue, DynKernel, DeviceArray<u32>);

/// All sorts of contexts that the subject has: on a device of their own, or of the program's.
pub fn doomed(s: &Subject) -> Vec<Doomed> {
    let mut all = with_threads(s);
    if !s.is_cpu() {
        let recorder = RecorderChoice::Wgpu;
        let options = AdoptOptions { recorder, threads: false, ..AdoptOptions::default() };
        all.push(adopted(s, "adopted, without threads", options));
    }
    all
}

/// Those that have threads.
pub fn with_threads(s: &Subject) -> Vec<Doomed> {
    if s.is_cpu() {
        return vec![own(s)];
    }
    let plain = AdoptOptions { recorder: RecorderChoice::Wgpu, ..AdoptOptions::default() };
    let native = AdoptOptions { recorder: RecorderChoice::Hal, ..AdoptOptions::default() };
    let alone = AdoptOptions { recorder: RecorderChoice::Direct, alone: true, ..AdoptOptions::default() };
    vec![
        own(s),
        adopted(s, "adopted", plain),
        adopted(s, "adopted, native", native),
        adopted(s, "adopted, alone", alone),
    ]
}

/// A context on a device of its own.
pub fn own(s: &Subject) -> Doomed {
    let ctx = s.ctx();
    let breaker = s.is_cpu().then(|| breaker(&ctx));
    Doomed { name: "own", ctx, threads: true, by_wgpu: false, breaker }
}

fn adopted(s: &Subject, name: &'static str, options: AdoptOptions) -> Doomed {
    let (device, queue) = raw::open(s);
    let (threads, by_wgpu) = (options.threads, !options.alone);
    let ctx = Context::adopt(device, queue, options).unwrap();
    s.watch(&ctx);
    Doomed { name, ctx, threads, by_wgpu, breaker: None }
}

impl Doomed {
    /// Takes the device away: as a program may on an adapter; on the CPU recorder by a kernel that breaks it.
    pub fn lose(&self) {
        match &self.breaker {
            Some((queue, kernel, out)) => {
                queue.launch_dyn(kernel, Grid::groups([1]), args![out = &mut out.handle()]).unwrap();
                let _ = queue.flush(); // which may find out already
            }
            None => self.ctx.wgpu().unwrap().0.destroy(),
        }
    }
}

/// Loses the device, and returns when the context has noticed.
pub fn lost(doomed: &Doomed) -> Error {
    let gate = doomed.ctx.user_event("never");
    doomed.lose();
    gate.event().wait().expect_err("nothing signals it")
}

/// A queue that comes after nothing, and a kernel that breaks the CPU recorder.
fn breaker(ctx: &Context) -> Breaker {
    let breaks = |_: [u32; 3], _: [u32; 3], _: &[u8], _: &mut [HostBuffer<'_>]| {
        std::panic::resume_unwind(Box::new("on purpose"));
    };
    ctx.host_kernel("breaks", Arc::new(breaks)).unwrap();
    let text = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(1) fn breaks() { out[0] = 1u; }";
    (ctx.queue("breaks"), ctx.kernel_from(text, "breaks").unwrap(), ctx.empty([1]).unwrap())
}

/// A context on the CPU recorder that is lost after so many steps.
pub fn lost_after(s: &Subject, steps: u64) -> Context {
    let lanes = s.place().lanes() as usize;
    let ctx = Context::on_cpu(CpuOptions { lost_after: Some(steps), lanes, ..CpuOptions::default() });
    s.watch(&ctx);
    ctx
}
