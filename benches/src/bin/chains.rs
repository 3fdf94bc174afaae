//! Measures a kernel on the CPU device whose invocations follow chains of different lengths. The faster form of its
//! machine code depends on the lengths: several invocations together, or one after the other.

use anyhow::Result;
use fencepost::prelude::*;
use fencepost::{AdapterChoice, ContextOptions};
use std::time::Instant;

/// Launches of each row. The second half is measured.
const LAUNCHES: usize = 200;
/// Number of chains.
const N: u32 = 1 << 16;

/// Length of the chain at a place.
type Length = fn(u32) -> u32;

/// The rows: a name, and the length of each chain. They have about the same number of links.
const ROWS: [(&str, Length); 4] = [
    ("equal", |_| 100),
    ("one of 4 is long", |at| if at.is_multiple_of(4) { 400 } else { 0 }),
    ("one of 64 is long", |at| if at.is_multiple_of(64) { 6400 } else { 0 }),
    ("a half, a quarter ...", |at| 16 << scattered(at).leading_zeros().min(8)),
];

#[derive(KernelArgs)]
#[kernel(wgsl = "
    @group(0) @binding(0) var<storage, read> next: array<u32>;
    @group(0) @binding(1) var<storage, read> lengths: array<u32>;
    @group(0) @binding(2) var<storage, read_write> ends: array<u32>;
    @compute @workgroup_size(64) fn follow(@builtin(global_invocation_id) id: vec3<u32>) {
        var at = id.x;
        for (var link = 0u; link < lengths[id.x]; link++) { at = next[at]; }
        ends[id.x] = at;
    }")]
struct Follow<'a> {
    next: &'a DeviceArray<u32>,
    lengths: &'a DeviceArray<u32>,
    ends: &'a mut DeviceArray<u32>,
}

fn main() -> Result<()> {
    let ctx = Context::with_options(ContextOptions::default().adapter(AdapterChoice::Cpu)).wait()?;
    let queue = ctx.queue("chains");
    let follow = ctx.kernel::<Follow>()?;
    let next: Vec<u32> = (0..N).map(|at| scattered(at) % N).collect();
    let next = queue.array(&next)?;
    let mut ends = queue.zeros::<u32, 1>([N as usize])?;
    println!("{N} chains, one kernel: medians of {} launches in microseconds, row after row", LAUNCHES / 2);
    for (name, length) in ROWS.iter().chain(&ROWS[..1]) {
        let lengths: Vec<u32> = (0..N).map(length).collect();
        let lengths = queue.array(&lengths)?;
        let mut times = Vec::new();
        for _ in 0..LAUNCHES {
            queue.finish().wait()?;
            let start = Instant::now();
            let chains = Follow { next: &next, lengths: &lengths, ends: &mut ends };
            queue.launch(&follow, Grid::threads([N as usize]), chains)?;
            queue.finish().wait()?;
            times.push(start.elapsed());
        }
        let measured = &mut times[LAUNCHES / 2..];
        measured.sort();
        println!("{name:24}{:10.0}", measured[measured.len() / 2].as_secs_f64() * 1e6);
    }
    Ok(())
}

/// Returns a number whose bits depend on all bits of `at`.
fn scattered(at: u32) -> u32 {
    let mut bits = at.wrapping_mul(0x9e37_79b9);
    bits ^= bits >> 15;
    bits.wrapping_mul(0x85eb_ca6b)
}
