//! The report of an allocation tracker.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// The counts of an [`AllocationTracker`](crate::AllocationTracker). `Display` prints a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AllocationReport {
    /// Bytes of live arrays.
    pub live_bytes: u64,
    /// Maximum of `live_bytes` so far.
    pub peak_bytes: u64,
    /// Number of all arrays made.
    pub count: u64,
    /// Allocation sites, those with the most live bytes first. A site is a line and a scope.
    pub sites: Vec<AllocationSite>,
    /// Live arrays, oldest first.
    pub live: Vec<Allocation>,
}

/// The counts of the arrays that were made at one line in one scope.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AllocationSite {
    /// Line of the site.
    pub location: &'static Location<'static>,
    /// [Scopes](crate::AllocationTracker::scope) around the line, as in `outer/inner`.
    pub scope: String,
    /// Number of all arrays made at this site.
    pub count: u64,
    /// Number of live arrays.
    pub live: u64,
    /// Bytes of the live arrays.
    pub live_bytes: u64,
    /// Maximum of `live_bytes` so far.
    pub peak_bytes: u64,
}

/// A live array.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Allocation {
    /// Name of the array in messages.
    pub label: Arc<str>,
    /// Bytes of the array.
    pub bytes: u64,
    /// `true` if the array is a pinned array of the host.
    pub pinned: bool,
    /// Name of the queue that made the array, or `context`.
    pub queue: Arc<str>,
    /// Line that made the array.
    pub location: &'static Location<'static>,
    /// [Scopes](crate::AllocationTracker::scope) around that line, as in `outer/inner`.
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
