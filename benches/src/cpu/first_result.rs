//! The time from the start of a process to its first result.

use std::io::Write;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use fastrand::Rng;
use fencepost::prelude::*;
use fencepost::{ContextOptions, args};

use super::{
    contestant::{Contestant, DEVICES},
    measure::{Entry, Measured},
};

pub(crate) const NAME: &str = "first result";

/// Output of a process.
const RESULT: &str = "[3.0, 5.0, 7.0, 9.0]";

const SAXPY: &str = "
struct Params { a: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn saxpy(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    y[id.x] = params.a * x[id.x] + y[id.x];
}";

/// Opens a device, compiles a kernel, launches it and prints the result.
pub(crate) fn produce(contestant: &str, out: &mut dyn Write) -> Result<()> {
    let known = DEVICES.iter().find(|(name, _)| *name == contestant);
    let (_, adapter) = known.with_context(|| format!("there is no device `{contestant}`"))?;
    let Ok(adapter) = adapter.parse();
    let ctx = Context::with_options(ContextOptions::default().adapter(adapter)).wait()?;
    let queue = ctx.queue("main");
    let saxpy = ctx.kernel_from(SAXPY, "saxpy")?;
    let x = queue.array(&[1.0_f32, 2.0, 3.0, 4.0])?;
    let mut y = queue.array(&[1.0_f32; 4])?;
    queue.launch_dyn(&saxpy, Grid::threads([4]), args![a = 2.0_f32, x = &x, y = &mut y])?;
    writeln!(out, "{:?}", queue.read(&y).wait()?)?;
    Ok(())
}

/// Measures whole processes, from the start to the end.
pub(crate) fn measure(contestants: &[Box<dyn Contestant>], quick: bool) -> Result<Measured> {
    let program = std::env::current_exe()?;
    let devices = contestants.iter().filter(|contestant| contestant.is_device());
    let mut entries: Vec<Entry> = devices
        .map(|device| {
            let contestant = device.name().to_owned();
            Entry { contestant, launches: 1, samples: Vec::new(), first: None }
        })
        .collect();
    for round in 0..if quick { 1 } else { 31 } {
        let mut order: Vec<usize> = (0..entries.len()).collect();
        Rng::with_seed(round).shuffle(&mut order);
        for at in order {
            let entry = &mut entries[at];
            let begun = Instant::now();
            let mut process = Command::new(&program);
            // A driver may keep compiled kernels on disk here, as in any program.
            process.args(["--first-result", &entry.contestant]).env_remove("MESA_SHADER_CACHE_DISABLE");
            let ended = process.output()?;
            let took = begun.elapsed();
            let printed = String::from_utf8_lossy(&ended.stdout);
            ensure!(printed.trim() == RESULT, "{} printed `{printed}`", entry.contestant);
            entry.samples.push(took);
        }
    }
    Ok(Measured { name: NAME, work: None, entries })
}
