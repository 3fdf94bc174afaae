//! What an allocation tracker has to say.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// What an [`AllocationTracker`](crate::AllocationTracker) has noted. Its `Display` is a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AllocationReport {
    /// Bytes of the arrays that are there.
    pub live_bytes: u64,
    /// The most bytes that were there at once.
    pub peak_bytes: u64,
    /// Arrays made in all.
    pub count: u64,
    /// By line and scope, those with the most bytes first.
    pub sites: Vec<AllocationSite>,
    /// The arrays that are there, oldest first.
    pub live: Vec<Allocation>,
}

/// What was made at one line, in one scope.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AllocationSite {
    /// The line.
    pub location: &'static Location<'static>,
    /// The [scopes](crate::AllocationTracker::scope) around it, as in `outer/inner`.
    pub scope: String,
    /// Arrays made in all.
    pub count: u64,
    /// Arrays that are there.
    pub live: u64,
    /// Their bytes.
    pub live_bytes: u64,
    /// The most bytes that were there at once.
    pub peak_bytes: u64,
}

/// One array.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Allocation {
    /// What messages call it.
    pub label: Arc<str>,
    /// Its bytes.
    pub bytes: u64,
    /// Whether it is a pinned array of the host.
    pub pinned: bool,
    /// The queue that made it, or `context`.
    pub queue: Arc<str>,
    /// The line that made it.
    pub location: &'static Location<'static>,
    /// The [scopes](crate::AllocationTracker::scope) around it, as in `outer/inner`.
    pub scope: String,
}

impl AllocationSite {
    pub(crate) fn new(location: &'static Location<'static>, scope: String) -> Self {
        Self { location, scope, count: 0, live: 0, live_bytes: 0, peak_bytes: 0 }
    }
}

impl fmt::Display for AllocationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { live_bytes, peak_bytes, count, sites, live } = self;
        writeln!(
            f,
            "{live_bytes} bytes in {} arrays, {peak_bytes} at the peak, {count} arrays made",
            live.len()
        )?;
        writeln!(f, "{:>14} {:>14} {:>8} {:>8}  made at", "live bytes", "peak bytes", "live", "made")?;
        for site in sites {
            let AllocationSite { location, scope, count, live, live_bytes, peak_bytes } = site;
            let scope = if scope.is_empty() { String::new() } else { format!(" in `{scope}`") };
            writeln!(f, "{live_bytes:>14} {peak_bytes:>14} {live:>8} {count:>8}  {location}{scope}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pinned = if self.pinned { "pinned, " } else { "" };
        let Self { label, bytes, queue, location, .. } = self;
        write!(f, "`{label}`: {pinned}{bytes} bytes, made by queue `{queue}` at {location}")
    }
}
