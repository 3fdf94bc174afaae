//! Measures the memory of the pool and the process, and bounds its growth.

use fencepost::Context;
use serde::Serialize;

const MIB: u64 = 1 << 20;
/// Maximum growth of the pool after the warm-up: enough for a size or two that did not occur before.
const POOL: u64 = 4 * MIB;
/// Maximum growth of the process after the warm-up: enough for memory that the allocator and the driver keep.
const PROCESS: u64 = 32 * MIB;

/// Bytes at the end of the warm-up, and the maximum since.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Memory {
    /// Bytes in arrays, and bytes kept for later arrays.
    pool: Flat,
    /// Resident bytes of the process. `None` if the system does not report them.
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
    /// Measures the memory. Until it is `warm`, the measurements set the bound.
    pub(super) fn look(&mut self, ctx: &Context, warm: bool) {
        let stats = ctx.pool().stats();
        self.pool.see(stats.used + stats.free, warm);
        if let Some(bytes) = resident() {
            self.process.get_or_insert_default().see(bytes, warm);
        }
    }

    /// Returns a message if the memory exceeds its bound.
    pub(super) fn over(&self) -> Option<String> {
        let over = |name: &str, flat: Flat, bound: u64| {
            let Flat { warm, most } = flat;
            let grown = format!("{name} grew from {warm} to {most} bytes after the warm-up");
            (flat.grown() > bound).then(|| format!("{grown}, the bound is {bound} more"))
        };
        let process = self.process.and_then(|flat| over("the process", flat, PROCESS));
        over("the pool", self.pool, POOL).or(process)
    }

    /// Returns the text for a line of the summary.
    pub(super) fn text(&self) -> String {
        let mib = |bytes: u64| bytes as f64 / MIB as f64;
        let flat = |flat: Flat, bound: u64| {
            format!("{:.1} -> {:.1} MiB (at most {} more)", mib(flat.warm), mib(flat.most), bound / MIB)
        };
        let process = self.process.map_or("not reported by this system".into(), |found| flat(found, PROCESS));
        format!("pool {}, process {process}", flat(self.pool, POOL))
    }
}

/// Returns the resident bytes of this process.
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
    fn a_process_that_grows_exceeds_its_bound() {
        let flat = Flat { warm: MIB, most: 34 * MIB };
        let memory = Memory { process: Some(flat), ..Memory::default() };
        assert!(memory.over().is_some_and(|over| over.contains("the process")));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_reports_the_resident_bytes() {
        assert!(resident().is_some_and(|bytes| bytes > MIB));
    }
}
