//! Objects that all threads of a storm share.

use super::common::kernels::mix_by_text;
use super::contexts::{self, Watches};
use super::handover::Handover;
use super::progress::Progress;
use super::seed::Drawn;
use fencepost::builtin_shader;
use fencepost::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Number of elements of the array that every thread reads and none writes. `PART` is the size of each thread's part of
/// the divided array.
pub const CONSTANTS: usize = 256;
pub const PART: usize = 128;

/// A context, with the objects that were made on it before the threads began.
pub struct Home {
    pub ctx: Context,
    pub policy: Policy,
    pub threads: bool,
    pub constants: DeviceArray<u32>,
    pub words: Vec<u32>,
    /// One array, of which each thread has a part.
    pub parts: DeviceArray<u32>,
    mixed: OnceLock<DynKernel>,
}

/// A queue with an identifier.
#[derive(Clone)]
pub struct Lane {
    pub queue: CommandQueue,
    pub home: usize,
    pub key: u64,
}

pub struct Shared {
    pub drawn: Drawn,
    pub homes: Vec<Home>,
    /// Queues that all threads use.
    pub queues: Vec<Lane>,
    pub handover: Handover,
    pub progress: Arc<Progress>,
    pub watches: Watches,
    keys: AtomicU64,
}

impl Shared {
    pub fn open(drawn: Drawn, watches: Watches, progress: Arc<Progress>) -> Result<Self> {
        let homes = (0..drawn.homes.len())
            .map(|at| Home::new(contexts::open(&drawn, at, &watches)?, &drawn, at))
            .collect::<Result<Vec<_>>>()?;
        let keys = AtomicU64::new(1);
        let mut shared =
            Self { drawn, homes, queues: Vec::new(), handover: Handover::default(), progress, watches, keys };
        shared.queues =
            shared.drawn.queues.iter().map(|&(home, urgency)| shared.queue(home, urgency)).collect();
        Ok(shared)
    }

    /// Makes a new queue of a context.
    pub fn queue(&self, home: usize, urgency: i32) -> Lane {
        let key = self.key();
        let options = QueueOptions::default()
            .label(format!("q{key}"))
            .priority(Priority::clamped(urgency))
            .timing(self.drawn.timed && key.is_multiple_of(3));
        Lane { queue: self.homes[home].ctx.queue_with(options), home, key }
    }

    /// Returns a lane for an existing queue.
    pub fn lane(&self, queue: CommandQueue, home: usize) -> Lane {
        Lane { queue, home, key: self.key() }
    }

    fn key(&self) -> u64 {
        self.keys.fetch_add(1, Ordering::Relaxed)
    }
}

impl Home {
    fn new(ctx: Context, drawn: &Drawn, at: usize) -> Result<Self> {
        let words: Vec<u32> =
            (0..CONSTANTS as u32).map(|i| i.wrapping_mul(0x9E37_79B9) ^ at as u32).collect();
        let constants = ctx.array(&words)?;
        let parts = ctx.full([drawn.threads * PART], at as u32)?;
        let home = &drawn.homes[at];
        let policy = home.policy;
        let threads = home.device.threads();
        Ok(Self { ctx, policy, threads, constants, words, parts, mixed: OnceLock::new() })
    }

    /// Returns the kernel for launches whose arguments are checked at the call. Two threads may make it at the same time.
    pub fn mixed(&self) -> Result<DynKernel> {
        if let Some(kernel) = self.mixed.get() {
            return Ok(kernel.clone());
        }
        // Where kernels are WGSL, the text of the typed kernel, which other threads compile too.
        let kernel = match self.ctx.wgpu() {
            None => mix_by_text(&self.ctx)?,
            Some(_) => self.ctx.kernel_from(builtin_shader("mix.wgsl").expect("it is built in"), "mix")?,
        };
        Ok(self.mixed.get_or_init(|| kernel).clone())
    }
}
