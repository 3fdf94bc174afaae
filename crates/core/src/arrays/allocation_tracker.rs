//! Who allocates what: noted while somebody wants to know.

use crate::api::context::Owner;
use crate::memory::allocation_report::{Allocation, AllocationReport, AllocationSite};
use fencepost_sync::prim::{Mutex, lock};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Notes every array that is made on a context while this lives: its label, bytes, line, queue and scope.
///
/// Made by [`Context::track_allocations`](crate::Context::track_allocations). Several may be at it at once, each with
/// its own account. Slices and handles are no arrays of their own.
///
/// # Example
/// ```
/// # let (ctx, queue) = fencepost::doctest();
/// let tracker = ctx.track_allocations();
/// let x = {
///     let _loading = tracker.scope("loading");
///     ctx.zeros::<f32, 1>([1024])?
/// };
/// drop(queue.full([16], 1_u32)?);
/// let report = tracker.finish();
/// assert_eq!((report.live_bytes, report.peak_bytes, report.count), (4096, 4160, 2));
/// assert_eq!(report.live[0].scope, "loading");       // `x` outlives the tracker
/// assert!(report.to_string().contains("loading"));   // a table by line
/// # drop(x);
/// # Ok::<(), fencepost::Error>(())
/// ```
pub struct AllocationTracker {
    owner: Owner,
    book: Arc<Book>,
}

/// The account of one tracker.
pub(crate) struct Book {
    /// No other book has it: memory may be that of a book before.
    number: u64,
    pages: Mutex<Pages>,
}

#[derive(Default)]
struct Pages {
    next: u64,
    live: BTreeMap<u64, (Allocation, usize)>,
    live_bytes: u64,
    peak_bytes: u64,
    count: u64,
    sites: Vec<AllocationSite>,
}

/// What is known of an array when it is made.
pub(crate) struct Made<'a> {
    pub(crate) label: &'a Arc<str>,
    pub(crate) bytes: u64,
    pub(crate) pinned: bool,
    pub(crate) queue: Arc<str>,
    pub(crate) at: &'static Location<'static>,
}

/// The places of an array in the books, struck out when it goes.
#[derive(Default)]
pub(crate) struct Entries(Vec<(Arc<Book>, u64)>);

impl Entries {
    /// Enters an array into all `books`.
    pub(crate) fn new(books: Vec<Arc<Book>>, made: &Made<'_>) -> Self {
        let enter = |book: Arc<Book>| {
            let id = book.enter(made);
            (book, id)
        };
        Self(books.into_iter().map(enter).collect())
    }
}

impl Drop for Entries {
    fn drop(&mut self) {
        for (book, id) in &self.0 {
            lock(&book.pages).strike_out(*id);
        }
    }
}

impl Default for Book {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { number: NEXT.fetch_add(1, Ordering::Relaxed), pages: Mutex::default() }
    }
}

impl Book {
    fn enter(self: &Arc<Self>, made: &Made<'_>) -> u64 {
        let scope = scope_in(self);
        let Made { label, bytes, pinned, queue, at } = made;
        let (label, queue) = (Arc::clone(label), queue.clone());
        let entry = Allocation { label, bytes: *bytes, pinned: *pinned, queue, location: at, scope };
        lock(&self.pages).enter(entry)
    }
}

impl Pages {
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

    fn strike_out(&mut self, id: u64) {
        // Unknown if the book was cleared meanwhile.
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

impl AllocationTracker {
    pub(crate) fn new(owner: Owner) -> Self {
        let book = Arc::<Book>::default();
        owner.engine().lock().pool.books.push(book.clone());
        Self { owner, book }
    }

    /// What was made so far, and what of it is there.
    pub fn report(&self) -> AllocationReport {
        lock(&self.book.pages).report()
    }

    /// Ends the account: the arrays that are there outlive it.
    pub fn finish(self) -> AllocationReport {
        self.report()
    }

    /// Forgets everything: arrays that are there count no more.
    pub fn clear(&self) {
        let before = {
            let mut pages = lock(&self.book.pages);
            let next = pages.next;
            std::mem::replace(&mut *pages, Pages { next, ..Pages::default() })
        };
        drop(before);
    }

    /// Names what this thread allocates until the guard is dropped. Scopes nest: `outer/inner`.
    pub fn scope(&self, name: &str) -> AllocationScope<'_> {
        SCOPES.with_borrow_mut(|scopes| scopes.push((self.book.number, name.to_owned())));
        AllocationScope { tracker: PhantomData, book: self.book.number, thread: PhantomData }
    }
}

impl Drop for AllocationTracker {
    fn drop(&mut self) {
        self.owner.engine().lock().pool.books.retain(|book| !Arc::ptr_eq(book, &self.book));
    }
}

impl fmt::Debug for AllocationTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = self.report();
        write!(f, "AllocationTracker({} bytes, {} arrays)", report.live_bytes, report.live.len())
    }
}

/// A name for what its thread allocates until it is dropped: [`AllocationTracker::scope`].
#[must_use = "a scope ends when this is dropped"]
pub struct AllocationScope<'a> {
    tracker: PhantomData<&'a AllocationTracker>,
    book: u64,
    /// It stays on its thread.
    thread: PhantomData<*const ()>,
}

impl Drop for AllocationScope<'_> {
    fn drop(&mut self) {
        SCOPES.with_borrow_mut(|scopes| {
            if let Some(at) = scopes.iter().rposition(|(book, _)| *book == self.book) {
                scopes.remove(at);
            }
        });
    }
}

thread_local! {
    /// The scopes that this thread is in, outermost first, each with its book.
    static SCOPES: RefCell<Vec<(u64, String)>> = const { RefCell::new(Vec::new()) };
}

fn scope_in(book: &Book) -> String {
    SCOPES.with_borrow(|scopes| {
        let own = scopes.iter().filter(|(of, _)| *of == book.number).map(|(_, name)| name.as_str());
        own.collect::<Vec<_>>().join("/")
    })
}
