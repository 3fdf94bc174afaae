//! Contexts whose device the test can take away.

use crate::common::{Subject, raw};
use fencepost::prelude::*;
use fencepost::{AdoptOptions, CpuOptions, DynKernel, HostBuffer, RecorderChoice};
use std::sync::Arc;

/// A context, and the way to lose its device.
pub struct Doomed {
    pub name: &'static str,
    pub ctx: Context,
    /// Whether it has threads; without, nobody goes on but who asks.
    pub threads: bool,
    /// Whether wgpu makes its submissions for sure.
    pub by_wgpu: bool,
    breaker: Option<Breaker>,
}

type Breaker = (CommandQueue, DynKernel, DeviceArray<u32>);

/// All sorts of contexts that the subject has: on a device of their own, or of the program's.
pub fn doomed(s: &Subject) -> Vec<Doomed> {
    let ctx = s.ctx();
    let breaker = s.is_cpu().then(|| breaker(&ctx));
    let own = Doomed { name: "own", ctx, threads: true, by_wgpu: false, breaker };
    if s.is_cpu() {
        return vec![own];
    }
    let adopt = |name, options: AdoptOptions| {
        let (device, queue) = raw::open(s);
        let (threads, by_wgpu) = (options.threads, !options.alone);
        Doomed { name, ctx: Context::adopt(device, queue, options).unwrap(), threads, by_wgpu, breaker: None }
    };
    let plain = AdoptOptions { recorder: RecorderChoice::Wgpu, ..AdoptOptions::default() };
    let native = AdoptOptions { recorder: RecorderChoice::Hal, ..AdoptOptions::default() };
    let alone = AdoptOptions { recorder: RecorderChoice::Direct, alone: true, ..AdoptOptions::default() };
    let all = vec![
        own,
        adopt("adopted", plain.clone()),
        adopt("adopted, native", native),
        adopt("adopted, alone", alone),
        adopt("adopted, without threads", AdoptOptions { threads: false, ..plain }),
    ];
    all.iter().for_each(|doomed| s.watch(&doomed.ctx));
    all
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
