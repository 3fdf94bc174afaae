//! What the pool and the process hold, and how much more they may.

use fencepost::Context;
use serde::Serialize;

const MIB: u64 = 1 << 20;
/// How much the pool may grow after the warm-up: a size or two that never came up before.
const POOL: u64 = 4 * MIB;
/// How much the process may grow after the warm-up: what the allocator keeps, and the driver.
const PROCESS: u64 = 32 * MIB;

/// Bytes when it was warm, and the most since.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Memory {
    /// In arrays and kept for later ones.
    pool: Flat,
    /// Resident in the process; nothing where the system does not tell.
    process: Option<Flat>,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Flat {
    warm: u64,
    most: u64,
}

impl Flat {
    fn see(&mut self, bytes: u64, warm: bool) {
        self.most = self.most.max(bytes);
        if !warm || self.warm == 0 {
            self.warm = self.most;
        }
    }

    fn grown(self) -> u64 {
        self.most - self.warm
    }
}

impl Memory {
    /// Looks how much there is; until it is `warm`, that is how much there may be.
    pub(super) fn look(&mut self, ctx: &Context, warm: bool) {
        let stats = ctx.pool_stats();
        self.pool.see(stats.used + stats.free, warm);
        if let Some(bytes) = resident() {
            self.process.get_or_insert_default().see(bytes, warm);
        }
    }

    /// What is over its bound, if anything is.
    pub(super) fn over(&self) -> Option<String> {
        let over = |name: &str, flat: Flat, bound: u64| {
            let Flat { warm, most } = flat;
            let grown = format!("{name} grew from {warm} to {most} bytes after the warm-up");
            (flat.grown() > bound).then(|| format!("{grown}, the bound is {bound} more"))
        };
        let process = self.process.and_then(|flat| over("the process", flat, PROCESS));
        over("the pool", self.pool, POOL).or(process)
    }

    /// For a line of the summary.
    pub(super) fn text(&self) -> String {
        let mib = |bytes: u64| bytes as f64 / MIB as f64;
        let flat = |flat: Flat, bound: u64| {
            format!("{:.1} -> {:.1} MiB (at most {} more)", mib(flat.warm), mib(flat.most), bound / MIB)
        };
        let process = self.process.map_or("not told by this system".into(), |found| flat(found, PROCESS));
        format!("pool {}, process {process}", flat(self.pool, POOL))
    }
}

/// Resident bytes of this process.
#[cfg(target_os = "linux")]
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(not(target_os = "linux"))]
fn resident() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_counts_from_the_warm_up_on() {
        let mut memory = Memory::default();
        for (bytes, warm) in [(10 * MIB, false), (3 * MIB, false), (14 * MIB, true), (2 * MIB, true)] {
            memory.pool.see(bytes, warm);
        }
        assert_eq!((memory.pool.warm, memory.pool.most, memory.over()), (10 * MIB, 14 * MIB, None));
        memory.pool.see(14 * MIB + 1, true);
        assert!(memory.over().is_some_and(|over| over.contains("the pool")));
    }

    #[test]
    fn a_process_that_grows_is_over() {
        let flat = Flat { warm: MIB, most: 34 * MIB };
        let memory = Memory { process: Some(flat), ..Memory::default() };
        assert!(memory.over().is_some_and(|over| over.contains("the process")));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_tells_what_is_resident() {
        assert!(resident().is_some_and(|bytes| bytes > MIB));
    }
}
