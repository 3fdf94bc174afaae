//! The records of allocation trackers.

use crate::memory::allocation_report::{Allocation, AllocationReport, AllocationSite};
use fencepost_sync::prim::{Mutex, lock};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The records of the arrays that one tracker sees.
pub(crate) struct AllocationBook {
    /// Id of the book in the scopes of a thread. The address would not do, because a later book may reuse the memory.
    pub(crate) number: u64,
    pages: Mutex<AllocationPages>,
}

/// The arrays and the counts of a book. `live_bytes` is the sum of the bytes in `live`, and `live_bytes <= peak_bytes`.
#[derive(Default)]
pub(crate) struct AllocationPages {
    next: u64,
    live: BTreeMap<u64, (Allocation, usize)>,
    live_bytes: u64,
    peak_bytes: u64,
    count: u64,
    sites: Vec<AllocationSite>,
}

/// The entries of one array in the books. The drop removes the array from each book.
#[derive(Default)]
pub(crate) struct AllocationEntries(Vec<(Arc<AllocationBook>, u64)>);

impl AllocationEntries {
    /// Adds an array to all `books`. Each entry has the scopes that this thread has opened for that book.
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

    /// Removes every array from the book, live ones too. The numbering of entries continues, so that the later drop of
    /// a removed array removes no new entry.
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
        let (id, bytes, at) = (self.next, entry.bytes, self.site_of(&entry));
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
