//! Time limits that are not reached just because the machine is busy: time in which a process waits for a processor
//! does not count.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Duration;
use std::time::Instant;

/// Shortest time between two checks of a limit.
pub const TICK: Duration = Duration::from_millis(500);
/// Multiple of the limit after which a process ends even if it mostly waited for processors.
const MOST: u32 = 20;

/// A limit on the time during which a process could run.
pub struct Patience {
    process: u32,
    limit: Duration,
    begun: Instant,
    looked: Instant,
    pub left: Duration,
    /// For each thread, the nanoseconds in which it was ready but had no processor, at the last check.
    waited: HashMap<u32, u64>,
}

impl Patience {
    /// Begins to count the time of a process and its children.
    pub fn new(process: u32, limit: Duration) -> Self {
        let now = Instant::now();
        let waited = waited(process);
        Self { process, limit, begun: now, looked: now, left: limit, waited }
    }

    /// Returns `true` once the process could run for as long as the limit. Callers check every [`TICK`] or more often.
    pub fn is_over(&mut self) -> bool {
        let now = Instant::now();
        let waited = waited(self.process);
        self.count(now - self.looked, starved(&self.waited, &waited));
        (self.looked, self.waited) = (now, waited);
        self.left.is_zero() || now - self.begun > self.limit * MOST
    }

    /// Adds a time, without the part in which threads were ready but had no processor.
    pub fn count(&mut self, time: Duration, starved: Duration) {
        self.left = self.left.saturating_sub(time.saturating_sub(starved));
    }

    /// Returns the time until the next check.
    pub fn tick(&self) -> Duration {
        self.left.min(TICK)
    }
}

/// Returns the time between two checks in which threads were ready but had no processor. It is the sum over all
/// threads, because work that passes from thread to thread waits for a processor in each of them. Threads that wait for
/// each other add nothing.
pub fn starved(before: &HashMap<u32, u64>, after: &HashMap<u32, u64>) -> Duration {
    let since =
        |(thread, waited): (&u32, &u64)| waited.saturating_sub(before.get(thread).copied().unwrap_or(0));
    Duration::from_nanos(after.iter().map(since).sum())
}

/// Returns for each thread of a process and its children the nanoseconds in which the thread was ready but had no
/// processor. Only Linux reports this.
pub fn waited(process: u32) -> HashMap<u32, u64> {
    let mut all = HashMap::new();
    let mut open = vec![process];
    while let Some(process) = open.pop() {
        let Ok(threads) = fs::read_dir(Path::new("/proc").join(process.to_string()).join("task")) else {
            continue;
        };
        for thread in threads.flatten() {
            let Some(id) = thread.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            let text = |name: &str| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
            let nanoseconds = text("schedstat").split_whitespace().nth(1).and_then(|word| word.parse().ok());
            all.extend(nanoseconds.map(|nanoseconds| (id, nanoseconds)));
            open.extend(text("children").split_whitespace().filter_map(|word| word.parse::<u32>().ok()));
        }
    }
    all
}
