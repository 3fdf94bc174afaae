//! Records of array allocations, kept while a tracker exists.

use crate::memory::allocation_book::{AllocationBook, SCOPES};
use crate::memory::allocation_report::AllocationReport;
use crate::runtime::owner::Owner;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// A tracker that records every array made on a context while the tracker exists: its label, bytes, line, queue and
/// scope.
///
/// [`Context::track_allocations`](crate::Context::track_allocations) makes a tracker. Several trackers may exist at
/// once, each with its own records. Slices and handles are not counted as arrays.
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
    book: Arc<AllocationBook>,
}

impl AllocationTracker {
    pub(crate) fn new(owner: Owner) -> Self {
        let book = Arc::<AllocationBook>::default();
        owner.engine().lock().pool.books.push(book.clone());
        Self { owner, book }
    }

    /// Returns the arrays made so far, and those that still exist.
    pub fn report(&self) -> AllocationReport {
        self.book.report()
    }

    /// Ends the tracker and returns its report. The arrays stay.
    pub fn finish(self) -> AllocationReport {
        self.report()
    }

    /// Clears the records: arrays made so far are not counted any more.
    pub fn clear(&self) {
        self.book.clear();
    }

    /// Opens a scope for the arrays that this thread makes until the guard is dropped. Scopes nest: `outer/inner`.
    pub fn scope(&self, name: &str) -> AllocationScope<'_> {
        // In a destructor at the end of a thread, the list may be gone already, and the scope has no name.
        let _ = SCOPES.try_with(|scopes| scopes.borrow_mut().push((self.book.number, name.to_owned())));
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

/// A name for the arrays that one thread makes until this guard is dropped: [`AllocationTracker::scope`].
#[must_use = "a scope ends when this is dropped"]
pub struct AllocationScope<'a> {
    tracker: PhantomData<&'a AllocationTracker>,
    book: u64,
    /// Marker that keeps the scope on its thread.
    thread: PhantomData<*const ()>,
}

impl Drop for AllocationScope<'_> {
    fn drop(&mut self) {
        let _ = SCOPES.try_with(|scopes| {
            let mut scopes = scopes.borrow_mut();
            if let Some(at) = scopes.iter().rposition(|(book, _)| *book == self.book) {
                scopes.remove(at);
            }
        });
    }
}
