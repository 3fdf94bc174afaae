//! Counts of memory: records and reports of allocation trackers, counters of a device's staging memory, and the recent
//! peak of the bytes in use.

use fencepost_sync::prim::{Mutex, lock};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The records of one tracker about arrays.
pub(crate) struct AllocationBook {
    /// Id of the book in the scopes of a thread. An address would not be unique, because a later book may reuse the
    /// memory.
    pub(crate) number: u64,
    pages: Mutex<AllocationPages>,
}

/// The arrays and counts of a book: `live_bytes` is the sum over `live`, and `live_bytes <= peak_bytes`.
#[derive(Default)]
pub(crate) struct AllocationPages {
    next: u64,
    live: BTreeMap<u64, (Allocation, usize)>,
    live_bytes: u64,
    peak_bytes: u64,
    count: u64,
    sites: Vec<AllocationSite>,
}

/// The entries of one array in the books. Dropping them removes the array from each book.
#[derive(Default)]
pub(crate) struct AllocationEntries(Vec<(Arc<AllocationBook>, u64)>);

impl AllocationEntries {
    /// Adds an array to all `books`. Each entry gets the scopes that this thread has opened for that book.
    pub(crate) fn new(books: Vec<Arc<AllocationBook>>, made: &Allocation) -> Self {
        let enter = |book: Arc<AllocationBook>| {
            let id = book.enter(made);
            (book, id)
        };
        Self(books.into_iter().map(enter).collect())
    }
}

impl Drop for AllocationEntries {
    fn drop(&mut self) {
        for (book, id) in &self.0 {
            lock(&book.pages).remove(*id);
        }
    }
}

impl Default for AllocationBook {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { number: NEXT.fetch_add(1, Ordering::Relaxed), pages: Mutex::default() }
    }
}

impl AllocationBook {
    /// Returns a report of the arrays made so far and of the live ones.
    pub(crate) fn report(&self) -> AllocationReport {
        lock(&self.pages).report()
    }

    /// Removes all arrays from the book, even live ones. Entry numbers are not reused, so a later drop of a removed
    /// array does no harm.
    pub(crate) fn clear(&self) {
        let before = {
            let mut pages = lock(&self.pages);
            let next = pages.next;
            std::mem::replace(&mut *pages, AllocationPages { next, ..AllocationPages::default() })
        };
        drop(before);
    }

    fn enter(&self, made: &Allocation) -> u64 {
        let entry = Allocation { scope: scope_in(self), ..made.clone() };
        lock(&self.pages).enter(entry)
    }
}

impl AllocationPages {
    fn enter(&mut self, entry: Allocation) -> u64 {
        let id = self.next;
        let bytes = entry.bytes;
        let at = self.site_of(&entry);
        self.next += 1;
        self.count += 1;
        self.live_bytes += bytes;
        self.peak_bytes = self.peak_bytes.max(self.live_bytes);
        let site = &mut self.sites[at];
        site.count += 1;
        site.live += 1;
        site.live_bytes += bytes;
        site.peak_bytes = site.peak_bytes.max(site.live_bytes);
        self.live.insert(id, (entry, at));
        id
    }

    fn site_of(&mut self, entry: &Allocation) -> usize {
        let same = |site: &AllocationSite| site.location == entry.location && site.scope == entry.scope;
        self.sites.iter().position(same).unwrap_or_else(|| {
            self.sites.push(AllocationSite::new(entry.location, entry.scope.clone()));
            self.sites.len() - 1
        })
    }

    fn remove(&mut self, id: u64) {
        // The entry is missing if the book was cleared meanwhile.
        let Some((entry, at)) = self.live.remove(&id) else { return };
        self.live_bytes -= entry.bytes;
        self.sites[at].live -= 1;
        self.sites[at].live_bytes -= entry.bytes;
    }

    fn report(&self) -> AllocationReport {
        let mut sites = self.sites.clone();
        sites.sort_by_key(|site| std::cmp::Reverse((site.live_bytes, site.peak_bytes)));
        AllocationReport {
            live_bytes: self.live_bytes,
            peak_bytes: self.peak_bytes,
            count: self.count,
            sites,
            live: self.live.values().map(|(entry, _)| entry.clone()).collect(),
        }
    }
}

thread_local! {
    /// Scopes of this thread, outermost first, each with the number of its book.
    pub(crate) static SCOPES: RefCell<Vec<(u64, String)>> = const { RefCell::new(Vec::new()) };
}

fn scope_in(book: &AllocationBook) -> String {
    let scope = SCOPES.try_with(|scopes| {
        let scopes = scopes.borrow();
        let own = scopes.iter().filter(|(of, _)| *of == book.number).map(|(_, name)| name.as_str());
        own.collect::<Vec<_>>().join("/")
    });
    scope.unwrap_or_default()
}

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
    /// Allocation sites, those with the most live bytes first. A site is a source line and a scope.
    pub sites: Vec<AllocationSite>,
    /// Live arrays, oldest first.
    pub live: Vec<Allocation>,
}

/// The counts of the arrays that were made at one source line in one scope.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AllocationSite {
    /// Source line of the site.
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
    /// Source line that made the array.
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

/// Counters of the bytes of one device's staging memory.
#[derive(Default)]
pub(crate) struct ByteMeter {
    used: AtomicU64,
    free: AtomicU64,
}

/// Bytes of staging memory that are counted until this is dropped.
pub(crate) struct MeteredBytes {
    meter: Arc<ByteMeter>,
    pub(crate) bytes: u64,
    free: bool,
}

/// Staging memory that is ordinary host memory.
pub(crate) struct MeteredVec {
    bytes: Box<[u8]>,
    _count: MeteredBytes,
}

impl ByteMeter {
    /// Counts `bytes` of new memory as used.
    pub(crate) fn count(self: &Arc<Self>, bytes: u64) -> MeteredBytes {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        MeteredBytes { meter: self.clone(), bytes, free: false }
    }

    /// Returns the bytes in use and the bytes kept for later use.
    pub(crate) fn read(&self) -> (u64, u64) {
        (self.used.load(Ordering::Relaxed), self.free.load(Ordering::Relaxed))
    }
}

impl MeteredBytes {
    /// Moves the bytes to the free counter if `free` is `true`, and to the used counter otherwise.
    pub(crate) fn set_free(mut self, free: bool) -> Self {
        if free != self.free {
            self.counter().fetch_sub(self.bytes, Ordering::Relaxed);
            self.free = free;
            self.counter().fetch_add(self.bytes, Ordering::Relaxed);
        }
        self
    }

    fn counter(&self) -> &AtomicU64 {
        if self.free { &self.meter.free } else { &self.meter.used }
    }
}

impl Drop for MeteredBytes {
    fn drop(&mut self) {
        self.counter().fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl MeteredVec {
    pub(crate) fn new(bytes: impl Into<Box<[u8]>>, meter: &Arc<ByteMeter>) -> Self {
        let bytes = bytes.into();
        Self { _count: meter.count(bytes.len() as u64), bytes }
    }
}

impl Deref for MeteredVec {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}
/// Length of a window in turns. Values older than two windows are forgotten.
pub(crate) const WINDOW: u32 = 1024;

/// The largest value in the current window and the previous one. A turn is the end of a use, when a block becomes free.
#[derive(Default)]
pub(crate) struct RecentPeak {
    this: u64,
    before: u64,
    turns: u32,
}

impl RecentPeak {
    /// Records that a use has ended, with `bytes` bytes in use.
    pub(crate) fn note_end_of_use(&mut self, bytes: u64) {
        self.turns += 1;
        if self.turns == WINDOW {
            self.before = self.this;
            self.this = 0;
            self.turns = 0;
        }
        self.note(bytes);
    }

    /// Records `bytes` bytes in use without the end of a use, so that the window does not advance.
    pub(crate) fn note(&mut self, bytes: u64) {
        self.this = self.this.max(bytes);
    }

    pub(crate) fn peak(&self) -> u64 {
        self.this.max(self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m08_a_peak_lasts_for_one_window_at_least_and_two_at_most() {
        for early in [0, 1, WINDOW / 2, WINDOW - 1] {
            let mut recent_peak = RecentPeak::default();
            (0..early).for_each(|_| recent_peak.note_end_of_use(1));
            recent_peak.note_end_of_use(100);
            for turn in 1..=WINDOW {
                recent_peak.note_end_of_use(1);
                assert_eq!(recent_peak.peak(), 100, "turn {turn} after {early}");
            }
            (0..WINDOW).for_each(|_| recent_peak.note_end_of_use(1));
            assert_eq!(recent_peak.peak(), 1, "after {early}");
        }
    }

    #[test]
    fn m08_a_noted_value_does_not_advance_the_window() {
        let mut recent_peak = RecentPeak::default();
        (0..3 * WINDOW).for_each(|_| recent_peak.note(7));
        (0..WINDOW - 1).for_each(|_| recent_peak.note_end_of_use(1));
        assert_eq!(recent_peak.peak(), 7);
    }
}
